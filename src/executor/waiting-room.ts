import { type Call, toolOf } from "../core/call.ts";

/** A call that waits for its turn. */
export interface Waiting {
  readonly call: Call;
  readonly locks: readonly string[];
  admit(): void;
}

/** How far behind the first waiting call of a session one may be and still be let in before it. */
const LOOK_AHEAD = 32;

/** Who waits, in which order they are asked in: sessions take turns, and within a session the first goes first. */
export class WaitingRoom {
  readonly #sessions = new Map<string, Waiting[]>();
  #size = 0;
  #nested = 0;

  get size(): number {
    return this.#size;
  }

  add(waiting: Waiting): void {
    const key = waiting.call.caller.session ?? "";
    const queue = this.#sessions.get(key);
    if (queue) queue.push(waiting);
    else this.#sessions.set(key, [waiting]);
    this.#count(waiting, 1);
  }

  remove(waiting: Waiting): void {
    const key = waiting.call.caller.session ?? "";
    const queue = this.#sessions.get(key);
    const at = queue?.indexOf(waiting) ?? -1;
    if (!queue || at < 0) return;
    queue.splice(at, 1);
    this.#count(waiting, -1);
    if (queue.length === 0) this.#sessions.delete(key);
  }

  /** Lets in whoever `tryAdmit` accepts, one of each session in turn, until nobody fits. */
  letIn(tryAdmit: (call: Call) => boolean, hasRoom: () => boolean): void {
    for (let progress = true; progress && this.#size > 0; ) {
      progress = false;
      for (const [key, queue] of this.#sessions) {
        // Nested calls take no slot, so that they alone may fit when there is no room.
        if (!hasRoom() && this.#nested === 0) return;
        const next = this.#nextOf(queue, tryAdmit);
        if (!next) continue;
        progress = true;
        this.#count(next, -1);
        // To the back of the turn order: the session has had its turn.
        this.#sessions.delete(key);
        if (queue.length > 0) this.#sessions.set(key, queue);
        next.admit();
      }
    }
  }

  #count(waiting: Waiting, change: 1 | -1): void {
    this.#size += change;
    if (waiting.call.parent) this.#nested += change;
  }

  /** Nobody overtakes a call that waits for the session to be empty, or for a lock that it wants too. */
  #nextOf(queue: Waiting[], tryAdmit: (call: Call) => boolean): Waiting | undefined {
    const wantedBefore = new Set<string>();
    for (let i = 0; i < Math.min(queue.length, LOOK_AHEAD); i++) {
      const waiting = queue[i]!;
      if (!waiting.locks.some((key) => wantedBefore.has(key)) && tryAdmit(waiting.call)) {
        queue.splice(i, 1);
        return waiting;
      }
      if (toolOf(waiting.call).concurrency === "exclusive") return undefined;
      for (const key of waiting.locks) wantedBefore.add(key);
    }
    return undefined;
  }
}
