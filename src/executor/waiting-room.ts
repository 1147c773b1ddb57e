import { type Call, toolOf } from "../core/call.ts";

/** A call that waits for its turn. */
export interface WaitingCall {
  readonly call: Call;
  readonly locks: readonly string[];
  admit(): void;
}

/** How far behind the first waiting call of a session one may be and still be let in before it. */
const LOOK_AHEAD = 32;

/** Who waits, in which order they are asked in: sessions take turns, and within a session the first goes first. */
export class AdmissionQueue {
  readonly #sessions = new Map<string, Line>();
  /** They wait for locks only, and their parents for them: behind calls that wait for such a parent they never came in. */
  readonly #nested = new Line();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(waiting: WaitingCall): void {
    this.#size++;
    if (waiting.call.parent) {
      this.#nested.push(waiting);
      return;
    }
    const key = waiting.call.caller.session ?? "";
    let queue = this.#sessions.get(key);
    if (!queue) this.#sessions.set(key, (queue = new Line()));
    queue.push(waiting);
  }

  remove(waiting: WaitingCall): void {
    const key = waiting.call.caller.session ?? "";
    const queue = waiting.call.parent ? this.#nested : this.#sessions.get(key);
    const at = queue?.indexOf(waiting) ?? -1;
    if (!queue || at < 0) return;
    queue.removeAt(at);
    this.#size--;
    if (queue.length === 0 && queue !== this.#nested) this.#sessions.delete(key);
  }

  /** Lets in whoever `tryAdmit` accepts, nested calls first, then one of each session in turn, until nobody fits. */
  admitWaiting(tryAdmit: (waiting: WaitingCall) => boolean, hasCapacity: () => boolean): void {
    for (let next = nextOf(this.#nested, tryAdmit, Infinity); next; next = nextOf(this.#nested, tryAdmit, Infinity)) {
      this.#size--;
      next.admit();
    }
    for (let progress = true; progress && this.#sessions.size > 0;) {
      progress = false;
      for (const [key, queue] of this.#sessions) {
        if (!hasCapacity()) return;
        const next = nextOf(queue, tryAdmit, LOOK_AHEAD);
        if (!next) continue;
        progress = true;
        this.#size--;
        // To the back of the turn order: the session has had its turn.
        this.#sessions.delete(key);
        if (queue.length > 0) this.#sessions.set(key, queue);
        next.admit();
      }
    }
  }
}

/** Nobody overtakes a call that waits for the session to be empty, or for a lock that it wants too. */
function nextOf(queue: Line, tryAdmit: (waiting: WaitingCall) => boolean, lookAhead: number): WaitingCall | undefined {
  const wantedBefore = new Set<string>();
  for (let i = 0; i < Math.min(queue.length, lookAhead); i++) {
    const waiting = queue.at(i);
    const isOvertaking = !waiting.call.parent && waiting.locks.some((key) => wantedBefore.has(key));
    if (!isOvertaking && tryAdmit(waiting)) {
      queue.removeAt(i);
      return waiting;
    }
    if (!waiting.call.parent && toolOf(waiting.call).concurrency === "exclusive") return undefined;
    for (const key of waiting.locks) wantedBefore.add(key);
  }
  return undefined;
}

/** A list that is left near its front, without moving those behind: an array would move a long queue for each. */
class Line {
  readonly #items: (WaitingCall | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  at(index: number): WaitingCall {
    return this.#items[this.#head + index]!;
  }

  indexOf(waiting: WaitingCall): number {
    const found = this.#items.indexOf(waiting, this.#head);
    return found < 0 ? -1 : found - this.#head;
  }

  push(waiting: WaitingCall): void {
    this.#items.push(waiting);
  }

  removeAt(index: number): void {
    this.#items.copyWithin(this.#head + 1, this.#head, this.#head + index);
    this.#items[this.#head++] = undefined;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items.splice(0, this.#head);
      this.#head = 0;
    }
  }
}
