import { type Call, type CallIn, toolOf } from "../core/call.ts";
import type { AnyTool, ToolKind } from "../core/tool.ts";

/** Locks by resource. A nested call may use a lock of its ancestor; two nested calls still take turns. */
class LockTable {
  /** The holders of a lock: the last one uses it, the earlier ones are its ancestors. */
  readonly #holders = new Map<string, Call[]>();
  readonly #keys = new Map<Call, readonly string[]>();
  /** The keys that each waiting call needs, to find deadlocks. */
  readonly #wanted = new Map<Call, readonly string[]>();

  /** All of the keys or none. */
  tryAcquire(call: Call, keys: readonly string[]): boolean {
    if (!keys.every((key) => this.#isFreeFor(call, key))) return false;
    for (const key of keys) {
      const holders = this.#holders.get(key);
      if (holders) holders.push(call);
      else this.#holders.set(key, [call]);
    }
    this.#keys.set(call, keys);
    this.#wanted.delete(call);
    return true;
  }

  release(call: Call): boolean {
    if (this.#keys.size === 0 && this.#wanted.size === 0) return false;
    const keys = this.#keys.get(call);
    this.#wanted.delete(call);
    if (!keys) return false;
    this.#keys.delete(call);
    for (const key of keys) {
      const holders = this.#holders.get(key)!.filter((holder) => holder !== call);
      if (holders.length > 0) this.#holders.set(key, holders);
      else this.#holders.delete(key);
    }
    return true;
  }

  /** Records that the call waits; true if that is a deadlock. */
  waits(call: Call, keys: readonly string[]): boolean {
    if (keys.length === 0) return false;
    this.#wanted.set(call, keys);
    const seen = new Set<Call>();
    const open = this.#blockersOf(call);
    for (let holder = open.pop(); holder; holder = open.pop()) {
      // Waiting for a call means waiting for the locks that it, or a call nested in it, waits for.
      if (holder === call || isAncestor(holder, call)) return true;
      if (seen.has(holder)) continue;
      seen.add(holder);
      for (const waiting of this.#wanted.keys()) {
        if (waiting === holder || isAncestor(holder, waiting)) open.push(...this.#blockersOf(waiting));
      }
    }
    return false;
  }

  holderOf(key: string): Call | undefined {
    return this.#holders.get(key)?.at(-1);
  }

  #blockersOf(call: Call): Call[] {
    const wanted = this.#wanted.get(call) ?? [];
    return wanted.flatMap((key) => (this.#isFreeFor(call, key) ? [] : (this.holderOf(key) ?? [])));
  }

  #isFreeFor(call: Call, key: string): boolean {
    const holder = this.holderOf(key);
    return holder === undefined || isAncestor(holder, call);
  }
}

function isAncestor(candidate: Call, call: Call): boolean {
  for (let above = call.parent; above; above = above.parent) if (above === candidate) return true;
  return false;
}

export interface ConcurrencyLimits {
  /** Max calls that run at once, over all tools. */
  maxConcurrent: number;
  /** The same for one kind. */
  byKind?: Partial<Record<ToolKind, number>>;
  /** Max waiting calls; further calls fail as `busy`. */
  maxWaiting: number;
  /** How long a call may wait to start. */
  maxWaitMs: number;
}

export const DEFAULT_CONCURRENCY: ConcurrencyLimits = { maxConcurrent: 3, maxWaiting: 100_000, maxWaitMs: 600_000 };

/** The slots that the calls of one session use. */
interface SessionLoad {
  running: number;
  exclusive: boolean;
}

/** Counts running calls and decides whether another may start. It has no queue. */
export class Admission {
  readonly locks = new LockTable();
  readonly #limits: ConcurrencyLimits;
  readonly #byKind: Record<ToolKind, number> = { readonly: 0, write: 0, execute: 0 };
  readonly #byTool = new Map<string, number>();
  readonly #sessions = new Map<string, SessionLoad>();
  /** For calls without a session: the common case, never dropped. */
  readonly #noSession: SessionLoad = { running: 0, exclusive: false };
  #running = 0;

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits;
  }

  get running(): number {
    return this.#running;
  }

  /** Whether any call could be admitted now. */
  get hasCapacity(): boolean {
    return this.#running < this.#limits.maxConcurrent;
  }

  /** A nested call needs only its locks. It uses its parent's slot: with a limit of one it would deadlock otherwise. */
  tryAdmit(call: CallIn<"admit">, keys: readonly string[] | undefined): boolean {
    const tool = toolOf(call);
    if (!call.parent && !this.#fits(call, tool)) return false;
    if (keys && keys.length > 0 && !this.locks.tryAcquire(call, keys)) return false;
    if (call.parent) return true;
    const session = this.#sessionOf(call);
    session.running++;
    if (tool.concurrency === "exclusive") session.exclusive = true;
    this.#running++;
    this.#byKind[tool.kind]++;
    if (tool.limits.maxConcurrent !== undefined) this.#byTool.set(tool.name, (this.#byTool.get(tool.name) ?? 0) + 1);
    call.holdsSlot = true;
    return true;
  }

  /** Frees the slot. The locks stay until the tool itself has ended: two writes never overlap. */
  leave(call: CallIn<"admit">): boolean {
    if (!call.holdsSlot) return false;
    call.holdsSlot = false;
    const tool = toolOf(call);
    this.#running--;
    this.#byKind[tool.kind]--;
    if (tool.limits.maxConcurrent !== undefined) this.#byTool.set(tool.name, (this.#byTool.get(tool.name) ?? 1) - 1);
    const session = this.#sessionOf(call);
    session.running--;
    if (tool.concurrency === "exclusive") session.exclusive = false;
    if (session.running === 0 && call.caller.session !== undefined) this.#sessions.delete(call.caller.session);
    return true;
  }

  #fits(call: Call, tool: AnyTool): boolean {
    const { maxConcurrent, byKind } = this.#limits;
    if (this.#running >= maxConcurrent) return false;
    const ofKind = byKind?.[tool.kind];
    if (ofKind !== undefined && this.#byKind[tool.kind] >= ofKind) return false;
    const ofTool = tool.limits.maxConcurrent;
    if (ofTool !== undefined && (this.#byTool.get(tool.name) ?? 0) >= ofTool) return false;
    const { session: key } = call.caller;
    const session = key === undefined ? this.#noSession : this.#sessions.get(key);
    if (!session || session.running === 0) return true;
    return !session.exclusive && tool.concurrency === "shared";
  }

  #sessionOf(call: Call): SessionLoad {
    const { session: key } = call.caller;
    if (key === undefined) return this.#noSession;
    let session = this.#sessions.get(key);
    if (!session) this.#sessions.set(key, (session = { running: 0, exclusive: false }));
    return session;
  }
}
