/** Which request is worked on next when the server is busy, and which is refused. */
import { ApiError } from "../contracts/errors.ts";

export interface LoadLimits {
  /** The max number of requests of one caller that wait for their turn. Default: 1000. */
  maxWaitingPerCaller?: number;
  /** The max number of requests that wait, of all callers. Default: 5000. */
  maxWaiting?: number;
  /** The max time that a request waits for its turn. Default: 10,000. */
  maxWaitMs?: number;
}

interface Waiter {
  readonly since: number;
  start(): void;
  refuse(error: ApiError): void;
}

/** Node accepts one connection in each turn of the event loop, so a turn must be short. */
const TURN_MS = 5;
const FIRST_STARTS = 32;
const MAX_STARTS = 1024;
const CHECK_MS = 100;
/** How long a refusal is reported. */
const REPORT_MS = 10_000;

/**
 * Starts as many requests in a turn of the event loop as keep the turn short. The others wait, in a queue for each caller, and
 * callers take turns. A request that waits too long, or finds its queue full, is refused: nothing stays unanswered.
 */
export class LoadControl {
  readonly #maxPerCaller: number;
  readonly #max: number;
  readonly #maxWaitMs: number;
  /** In the order of their turns. */
  readonly #queues = new Map<string, Waiter[]>();
  #waiting = 0;
  /** How many requests may start in a turn: doubled after short turns, halved after long ones. */
  #startsPerTurn = FIRST_STARTS;
  #started = 0;
  #isArmed = false;
  #turnBegan = 0;
  #checkedAt = 0;
  #lastWaitMs = 0;
  #refusedAt = Number.NEGATIVE_INFINITY;

  constructor({ maxWaitingPerCaller = 1000, maxWaiting = 5000, maxWaitMs = 10_000 }: LoadLimits = {}) {
    this.#maxPerCaller = maxWaitingPerCaller;
    this.#max = maxWaiting;
    this.#maxWaitMs = maxWaitMs;
  }

  /** Whether a request was refused in the last ten seconds. */
  get isOverloaded(): boolean {
    return performance.now() - this.#refusedAt < REPORT_MS;
  }

  /** Returns if the request may start now, or resolves when it may. Throws or rejects if it is refused. */
  enter(caller: string): Promise<void> | undefined {
    if (!this.#isArmed) this.#arm(performance.now());
    if (this.#waiting === 0 && this.#started < this.#startsPerTurn) {
      this.#started++;
      return undefined;
    }
    const queue = this.#queueOf(caller);
    return new Promise((start, refuse) => {
      queue.push({ since: performance.now(), start, refuse });
      this.#waiting++;
    });
  }

  /** Refuses everything that waits: the server closes. */
  close(): void {
    for (const [caller, queue] of this.#queues) {
      for (const { refuse } of queue) refuse(overloaded(1));
      this.#queues.delete(caller);
    }
    this.#waiting = 0;
  }

  #queueOf(caller: string): Waiter[] {
    const known = this.#queues.get(caller);
    if (known && known.length >= this.#maxPerCaller) throw this.#refusal(known);
    if (this.#waiting >= this.#max) this.#makeRoom(known);
    // Only now: a refused request must not leave an empty queue.
    const queue = known ?? [];
    if (!known) this.#queues.set(caller, queue);
    return queue;
  }

  /** Refuses the newest request of the longest queue, or throws if that is the caller's own. */
  #makeRoom(own: Waiter[] | undefined): void {
    const [longest = []] = [...this.#queues.values()].sort((a, b) => b.length - a.length);
    if (longest === own || longest.length <= 1) throw this.#refusal(own ?? []);
    longest.pop()?.refuse(this.#refusal(longest, true));
    this.#waiting--;
  }

  /** 429 for a caller with more than its share of the waiting requests, 503 if there is too much work for the server. */
  #refusal(queue: readonly Waiter[], isOverShare = this.#isOverShare(queue)): ApiError {
    this.#refusedAt = performance.now();
    const seconds = Math.max(1, Math.ceil(this.#lastWaitMs / 1000));
    return isOverShare ? tooMany(seconds) : overloaded(seconds);
  }

  #isOverShare({ length }: readonly Waiter[]): boolean {
    return length >= this.#maxPerCaller || (this.#queues.size > 1 && length > this.#waiting / this.#queues.size);
  }

  #arm(now: number): void {
    this.#isArmed = true;
    this.#turnBegan = now;
    setImmediate(this.#onTurn);
  }

  /** After the events of each turn, as long as requests come. */
  readonly #onTurn = (): void => {
    const now = performance.now();
    const isLong = now - this.#turnBegan > TURN_MS;
    if (isLong) this.#startsPerTurn = Math.max(1, Math.floor(Math.min(this.#startsPerTurn, this.#started) / 2));
    else if (this.#started >= this.#startsPerTurn) this.#startsPerTurn = Math.min(MAX_STARTS, this.#startsPerTurn * 2);
    const hasStarted = this.#started > 0;
    this.#started = 0;
    this.#isArmed = false;
    if (this.#waiting === 0 && !hasStarted) return;
    // Once more after the last start: its work belongs to the next turn.
    this.#arm(now);
    if (now - this.#checkedAt >= CHECK_MS) this.#refuseOld(now);
    while (this.#waiting > 0 && this.#started < this.#startsPerTurn) this.#startNext(now);
  };

  /** Of the caller whose turn it is; the caller then goes to the end. */
  #startNext(now: number): void {
    const [next] = this.#queues;
    if (!next) return;
    const [caller, queue] = next;
    const waiter = queue.shift();
    this.#queues.delete(caller);
    if (queue.length > 0) this.#queues.set(caller, queue);
    if (!waiter) return;
    this.#waiting--;
    this.#started++;
    this.#lastWaitMs = now - waiter.since;
    waiter.start();
  }

  /** The first of a queue has waited longest. */
  #refuseOld(now: number): void {
    this.#checkedAt = now;
    for (const [caller, queue] of this.#queues) {
      while (queue[0] && now - queue[0].since > this.#maxWaitMs) {
        this.#lastWaitMs = now - queue[0].since;
        queue[0].refuse(this.#refusal(queue));
        queue.shift();
        this.#waiting--;
      }
      if (queue.length === 0) this.#queues.delete(caller);
    }
  }
}

function tooMany(seconds: number): ApiError {
  return new ApiError(
    "too_many_requests",
    "Too many requests from this caller are waiting",
    `Wait ${seconds} s, then send it again. Nothing was done.`,
    { headers: { "retry-after": String(seconds) } },
  );
}

export function overloaded(seconds: number): ApiError {
  return new ApiError(
    "overloaded",
    "The server is overloaded",
    `Wait ${seconds} s, then send it again. Nothing was done.`,
    { headers: { "retry-after": String(seconds) } },
  );
}
