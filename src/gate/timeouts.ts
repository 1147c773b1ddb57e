import { type Call, waitsForEnd } from "../core/call.ts";
import { ToolCategory } from "../core/category.ts";
import type { Clock, Timer } from "../core/clock.ts";
import type { AnyTool, ToolLimits } from "../core/tool.ts";

export interface Timeouts {
  defaultMs: number;
  networkMs: number;
  /** The upper limit for tools and callers. */
  maxMs: number;
  /** How long the result of a tool that was stopped is waited for, if it may have had an effect. */
  graceMs: number;
}

export const DEFAULT_TIMEOUTS: Timeouts = { defaultMs: 30_000, networkMs: 60_000, maxMs: 3_600_000, graceMs: 2000 };

/** The call's own limit, else the tool's, else the category's; capped. */
export function timeoutOf(call: Call, tool: AnyTool, timeouts: Timeouts): number {
  const own = tool.limits.timeoutMs;
  const wish =
    call.options.timeoutMs ??
    (typeof own === "function" ? callTimeout(own, call) : own) ??
    (tool.category === ToolCategory.NETWORK ? timeouts.networkMs : timeouts.defaultMs);
  return wish > 0 ? Math.min(wish, timeouts.maxMs) : timeouts.defaultMs;
}

type LimitOfCall = Extract<ToolLimits["timeoutMs"], (...args: never) => unknown>;

/** If the tool's function fails, the default applies. */
function callTimeout(own: LimitOfCall, call: Call): number | undefined {
  try {
    return own(call.input, { waitForEnd: waitsForEnd(call) });
  } catch {
    return undefined;
  }
}

/** A deadline, and its node in the list of deadlines. */
export class Deadline {
  at = 0;
  before: Deadline | undefined = undefined;
  after: Deadline | undefined = undefined;
  list: DeadlineList | undefined = undefined;

  constructor(readonly expire: () => void) {}
}

interface DeadlineList {
  readonly ms: number;
  first: Deadline | undefined;
  last: Deadline | undefined;
  timer: Timer | undefined;
  /** Whether the timer keeps the process alive. */
  held: boolean;
}

/** One real timer for each duration: such calls expire as they were armed (docs/decisions/0057). */
export class Deadlines {
  readonly #clock: Clock;
  readonly #lists = new Map<number, DeadlineList>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `now`: the monotonic time, read once per call by the caller. */
  arm(deadline: Deadline, ms: number, now: number): void {
    const list = this.#listOf(ms);
    deadline.at = now + ms;
    deadline.before = list.last;
    deadline.after = undefined;
    deadline.list = list;
    if (list.last) list.last.after = deadline;
    else list.first = deadline;
    list.last = deadline;
    if (!list.timer) {
      list.timer = this.#clock.after(ms, () => this.#fire(list));
      list.held = true;
    } else if (!list.held) {
      list.timer.setRef(true);
      list.held = true;
    }
  }

  disarm(deadline: Deadline): void {
    const { list } = deadline;
    if (!list) return;
    deadline.list = undefined;
    if (deadline.before) deadline.before.after = deadline.after;
    else list.first = deadline.after;
    if (deadline.after) deadline.after.before = deadline.before;
    else list.last = deadline.before;
    // The timer stays for the next call, but must not keep the process alive.
    if (list.first) return;
    list.timer?.setRef(false);
    list.held = false;
  }

  /** Cancels every timer. Armed deadlines never expire. */
  close(): void {
    for (const list of this.#lists.values()) list.timer?.cancel();
    this.#lists.clear();
  }

  #fire(list: DeadlineList): void {
    list.timer = undefined;
    const now = this.#clock.monotonic();
    // A timer may fire a fraction of a millisecond early.
    while (list.first && list.first.at <= now + 1) {
      const due = list.first;
      this.disarm(due);
      due.expire();
    }
    // A callback may have armed another deadline of the same duration, and with it the timer.
    if (list.timer) return;
    if (list.first) {
      list.timer = this.#clock.after(list.first.at - now, () => this.#fire(list));
      list.held = true;
    } else this.#lists.delete(list.ms);
  }

  #listOf(ms: number): DeadlineList {
    let list = this.#lists.get(ms);
    if (!list) this.#lists.set(ms, (list = { ms, first: undefined, last: undefined, timer: undefined, held: false }));
    return list;
  }
}

/** Pauses time limits while a person is asked. */
export class PausedTimeLimits {
  readonly #stopped = new WeakMap<Deadline, { holds: number; leftMs: number }>();
  readonly #deadlines: Deadlines;
  readonly #clock: Clock;

  constructor(deadlines: Deadlines, clock: Clock) {
    this.#deadlines = deadlines;
    this.#clock = clock;
  }

  /** Pauses until the returned function is called; of several pauses, until the last one ends. */
  hold(deadline: Deadline, isOver: () => boolean): () => void {
    const stopped = this.#stopped.get(deadline) ?? this.#stop(deadline);
    // Not armed: the call has not started, or is ending.
    if (!stopped) return () => undefined;
    stopped.holds++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      if (--stopped.holds > 0) return;
      this.#stopped.delete(deadline);
      if (!isOver()) this.#deadlines.arm(deadline, stopped.leftMs, this.#clock.monotonic());
    };
  }

  #stop(deadline: Deadline): { holds: number; leftMs: number } | undefined {
    if (!deadline.list) return undefined;
    const stopped = { holds: 0, leftMs: Math.max(1, Math.ceil(deadline.at - this.#clock.monotonic())) };
    this.#deadlines.disarm(deadline);
    this.#stopped.set(deadline, stopped);
    return stopped;
  }
}
