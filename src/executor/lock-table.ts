import type { Call } from "../core/call.ts";

/**
 * Locks by resource. A lock that an ancestor holds is handed down to the nested call for its time, so that a chain which
 * writes a file may call a tool that writes it, while two nested calls still take turns.
 */
export class LockTable {
  /** The holders of a lock: the last one has it, those before it lent it down. */
  readonly #holders = new Map<string, Call[]>();
  readonly #keys = new Map<Call, readonly string[]>();
  /** Which keys a waiting call cannot get, to find circles. */
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

  /** Remembers that the call waits; true if, through others that wait, it waits for itself. */
  waits(call: Call, keys: readonly string[]): boolean {
    if (keys.length === 0) return false;
    this.#wanted.set(call, keys);
    const seen = new Set<Call>();
    const open = this.#blockersOf(call);
    for (let holder = open.pop(); holder; holder = open.pop()) {
      // Who waits for a call waits for what that one, or a call nested in it, waits for.
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
