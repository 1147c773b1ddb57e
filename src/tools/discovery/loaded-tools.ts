import type { Caller } from "../../core/call.ts";

const MAX_CONVERSATIONS = 1000;
const MAX_NAMES = 100;

/** What conversations have loaded, in memory: forgotten, it is found again. */
export class LoadedTools {
  readonly #names = new Map<string, readonly string[]>();

  /** The newest last. */
  of(caller: Partial<Caller>): readonly string[] {
    return this.#names.get(keyOf(caller)) ?? [];
  }

  add(caller: Partial<Caller>, names: readonly string[]): void {
    const key = keyOf(caller);
    const older = this.of(caller).filter((name) => !names.includes(name));
    // Put in anew, so that the conversation that is idle the longest is the first to go.
    this.#names.delete(key);
    this.#names.set(key, [...older, ...new Set(names)].slice(-MAX_NAMES));
    if (this.#names.size > MAX_CONVERSATIONS) this.#names.delete(this.#names.keys().next().value!);
  }
}

/** A session is one conversation; without one, all calls of the same caller are. */
function keyOf({ session, user, agent, task }: Partial<Caller>): string {
  return JSON.stringify(session === undefined ? [user, agent, task] : session);
}
