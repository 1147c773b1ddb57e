import type { Clock, Timer } from "../core/clock.ts";

/** Something that must be over by a time. Owned by the list it stands in. */
export interface Deadline {
  at: number;
  expire(): void;
  before: Deadline | undefined;
  after: Deadline | undefined;
  list: DeadlineList | undefined;
}

interface DeadlineList {
  readonly ms: number;
  first: Deadline | undefined;
  last: Deadline | undefined;
  timer: Timer | undefined;
}

/**
 * Arms and disarms in constant time with one real timer for each duration: calls of one duration expire in the order they
 * were armed, so a list is enough. A timer for each call would cost more than the rest of the gate.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #lists = new Map<number, DeadlineList>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `now` is the caller's reading of the monotonic clock, so that it is read once a call. */
  arm(ms: number, now: number, expire: () => void): Deadline {
    const list = this.#listOf(ms);
    const deadline: Deadline = { at: now + ms, expire, before: list.last, after: undefined, list };
    if (list.last) list.last.after = deadline;
    else list.first = deadline;
    list.last = deadline;
    if (!list.timer) list.timer = this.#clock.after(ms, () => this.#fire(list));
    else if (list.first === deadline) list.timer.hold(true);
    return deadline;
  }

  disarm(deadline: Deadline): void {
    const { list } = deadline;
    if (!list) return;
    deadline.list = undefined;
    if (deadline.before) deadline.before.after = deadline.after;
    else list.first = deadline.after;
    if (deadline.after) deadline.after.before = deadline.before;
    else list.last = deadline.before;
    // The timer stays, so that the next call need not make one; an empty list must not keep the process alive.
    if (!list.first) list.timer?.hold(false);
  }

  /** Cancels every timer. What is armed never expires. */
  close(): void {
    for (const list of this.#lists.values()) list.timer?.cancel();
    this.#lists.clear();
  }

  #fire(list: DeadlineList): void {
    list.timer = undefined;
    const now = this.#clock.monotonic();
    // A timer may come a fraction of a millisecond early.
    while (list.first && list.first.at <= now + 1) {
      const due = list.first;
      this.disarm(due);
      due.expire();
    }
    if (list.first) list.timer = this.#clock.after(list.first.at - now, () => this.#fire(list));
    else this.#lists.delete(list.ms);
  }

  #listOf(ms: number): DeadlineList {
    let list = this.#lists.get(ms);
    if (!list) this.#lists.set(ms, (list = { ms, first: undefined, last: undefined, timer: undefined }));
    return list;
  }
}
