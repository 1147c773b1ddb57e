import { AsyncLocalStorage } from "node:async_hooks";
import { inspect } from "node:util";
import { BoundedMap } from "../core/bounded-map.ts";
import { type Call, toolOf } from "../core/call.ts";
import type { Clock, Timer } from "../core/clock.ts";
import { errorMessage } from "../core/error.ts";
import type { Middleware } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import type { AuditFact } from "../gate/audit-log.ts";
import { hideSecrets } from "../core/secrets/mask-secrets.ts";

/** A delay that users notice. */
const MAX_BLOCK_MS = 1000;
const TICK_MS = 250;
/** The same problem of the same tool is reported once in this time. */
const REPEAT_MS = 10_000;
/** How long a problem is shown, and how many are. */
const SHOWN_MS = 600_000;
const MAX_SHOWN = 20;
const MAX_SUSPECTS = 5;

export interface ProcessGuardOptions {
  clock: Clock;
  warn(warning: string): void;
  record(fact: AuditFact): Promise<void>;
  /** Whether anybody waits while the event loop is blocked. A command that makes one call has nobody. Default: true. */
  servesOthers?: boolean;
}

interface Problem {
  text: string;
  at: number;
  /** Reports that were left out since. */
  repeats: number;
}

/**
 * For a process that belongs to Haft. An error that a tool leaves behind (a throw in a timer, a rejection that nothing
 * handles) is recorded with its call, and the process goes on. An error of no call ends the process, as in every Node
 * program. If the event loop was blocked, the calls that may have blocked it are named.
 *
 * Not for a library: a process has one place for uncaught errors, and it belongs to the program.
 */
export class ProcessGuard {
  readonly #options: ProcessGuardOptions;
  /** One for the process, as its handler. */
  static readonly #current = new AsyncLocalStorage<{ guard: ProcessGuard; call: Call }>();
  static readonly #open = new Set<ProcessGuard>();
  readonly #running = new Set<Call>();
  readonly #problems = new BoundedMap<string, Problem>(MAX_SHOWN);
  #timer: Timer | undefined = undefined;
  #tickedAt: number;
  #cpu = process.cpuUsage();
  /** The call whose code blocked before it first waited, if one did since the last tick. */
  #blocked: { call: Call; ms: number } | undefined = undefined;

  constructor(options: ProcessGuardOptions) {
    this.#options = options;
    this.#tickedAt = performance.now();
    if (ProcessGuard.#open.size === 0) process.on("uncaughtException", ProcessGuard.#onError);
    ProcessGuard.#open.add(this);
    if (options.servesOthers ?? true) this.#tick();
  }

  /** Knows which call an asynchronous operation belongs to: about half a microsecond per call. */
  readonly middleware: Middleware = {
    name: "process guard",
    after: "begin",
    around: (call) => (run) => {
      if (!isRemote(toolOf(call))) this.#running.add(call);
      const startedAt = performance.now();
      try {
        return ProcessGuard.#current.run({ guard: this, call }, run);
      } finally {
        const ms = Math.round(performance.now() - startedAt);
        if (ms > MAX_BLOCK_MS) this.#blocked = { call, ms };
      }
    },
    ended: (call) => void this.#running.delete(call),
  };

  /** What happened in the last ten minutes, the latest last. */
  problems(): string[] {
    const since = this.#options.clock.now() - SHOWN_MS;
    return [...this.#problems.values()].filter(({ at }) => at >= since).map(({ text }) => text);
  }

  close(): void {
    ProcessGuard.#open.delete(this);
    if (ProcessGuard.#open.size === 0) process.off("uncaughtException", ProcessGuard.#onError);
    this.#timer?.cancel();
  }

  static readonly #onError = (error: unknown): void => {
    const current = ProcessGuard.#current.getStore();
    if (current) return current.guard.#reportStray(current.call, error);
    process.stderr.write(`${hideSecrets(inspect(error))}\n`);
    process.exit(1);
  };

  #reportStray(call: Call, error: unknown): void {
    const { name } = toolOf(call);
    const when = this.#running.has(call) ? "while it ran" : "after its call had ended";
    const message = hideSecrets(errorMessage(error));
    const stack = error instanceof Error ? (error.stack ?? "") : "";
    this.#report(
      `${name}: ${message}`,
      `${name} left an error that nothing caught, ${when} (call ${call.id}): ${message}`,
      {
        kind: "note",
        callId: call.id,
        toolName: name,
        caller: call.caller,
        data: { action: "stray_error", message, stack },
      },
    );
  }

  #tick(): void {
    const { clock } = this.#options;
    this.#timer = clock.after(TICK_MS, () => {
      const now = performance.now();
      const lateMs = Math.round(now - this.#tickedAt - TICK_MS);
      this.#tickedAt = now;
      const { user, system } = process.cpuUsage(this.#cpu);
      this.#cpu = process.cpuUsage();
      // A call may block without using the CPU. If no call runs and this process used little, the machine was busy.
      const isOurs = this.#running.size > 0 || (user + system) / 1000 > lateMs / 2;
      if (this.#blocked || (lateMs > MAX_BLOCK_MS && isOurs)) this.#reportBlock(this.#blocked?.ms ?? lateMs);
      this.#blocked = undefined;
      this.#tick();
    });
    this.#timer.setRef(false);
  }

  #reportBlock(blockedMs: number): void {
    const certain = this.#blocked?.call;
    const suspects = (certain ? [certain] : [...this.#running]).slice(0, MAX_SUSPECTS);
    const names = suspects.map((call) => `${toolOf(call).name} (call ${call.id})`).join(", ");
    const others = names === "" ? "No call of a tool was running" : `Running at that time: ${names}`;
    const text = `The event loop was blocked for ${blockedMs} ms. ${certain ? `${names} blocked it` : others}.`;
    this.#report(`block ${suspects.map((call) => toolOf(call).name).join()}`, text, {
      kind: "note",
      callId: certain?.id,
      toolName: certain && toolOf(certain).name,
      data: { action: "event_loop_blocked", blockedMs, calls: suspects.map(({ id }) => id) },
    });
  }

  #report(key: string, text: string, fact: AuditFact): void {
    const { clock, warn, record } = this.#options;
    const at = clock.now();
    const known = this.#problems.get(key);
    if (known && at - known.at < REPEAT_MS) {
      known.repeats += 1;
      return;
    }
    const repeats = known?.repeats ?? 0;
    this.#problems.set(key, { text, at, repeats: 0 });
    warn(repeats === 0 ? text : `${text} ${repeats} more were not reported.`);
    // The process goes on also if this cannot be written; the store reports that itself.
    record({ ...fact, data: { ...fact.data, repeats } }).catch(() => undefined);
  }
}

/** Tools whose code runs in another process. */
const remoteTools = new WeakSet<AnyTool>();

export function markRemote(tools: Iterable<AnyTool>): void {
  for (const tool of tools) remoteTools.add(tool);
}

function isRemote(tool: AnyTool): boolean {
  return remoteTools.has(tool) || tool.origin.type === "mcp" || tool.origin.type === "client";
}

const guards = new WeakMap<object, ProcessGuard>();

/** Remembers the guard of a runtime. */
export function bindGuard(haft: object, guard: ProcessGuard): void {
  guards.set(haft, guard);
}

/** What the guard of this runtime has reported lately. */
export function recentProblems(haft: object): string[] {
  return guards.get(haft)?.problems() ?? [];
}
