import { ApiError } from "../contracts/errors.ts";
import type { Clock, Timer } from "../core/clock.ts";

export interface StreamLimits {
  /** Event streams and WebSockets together. Default: 2000. */
  maxStreams?: number;
  /** How many bytes a client may leave unread before it is disconnected. Default: 1 MiB. */
  maxUnread?: number;
  /** Default: 15,000. */
  heartbeatMs?: number;
}

export interface OpenStream {
  /** Keeps the connection alive, and ends it if the client may no longer read. */
  heartbeat(): void;
  close(): void;
  /** Whether its client waits for the result of a call on it. Default: no. */
  isAwaited?(): boolean;
}

/** All connected streams: counted, kept alive by one timer, and closed with the server. */
export class OpenStreams {
  readonly maxUnread: number;
  readonly #open = new Set<OpenStream>();
  readonly #clock: Clock;
  readonly #max: number;
  readonly #heartbeatMs: number;
  readonly #onBeat: () => void;
  #timer: Timer | undefined;

  /** `onBeat` is called before the heartbeat of each stream. */
  constructor(clock: Clock, limits: StreamLimits = {}, onBeat: () => void = () => undefined) {
    const { maxStreams = 2000, maxUnread = 1024 * 1024, heartbeatMs = 15_000 } = limits;
    this.#clock = clock;
    this.#max = maxStreams;
    this.#heartbeatMs = heartbeatMs;
    this.#onBeat = onBeat;
    this.maxUnread = maxUnread;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Throws `too_many_requests` if the limit is reached. */
  requireFree(): void {
    if (this.#open.size < this.#max) return;
    const headers = { "retry-after": "10" };
    const message = `There are ${this.#max} open streams already`;
    throw new ApiError("too_many_requests", message, "Close some, then try again.", { headers });
  }

  /** Throws if the limit is reached: call it before anything is sent. Returns what removes the stream. */
  add(stream: OpenStream): () => void {
    this.requireFree();
    this.#open.add(stream);
    this.#timer ??= this.#arm();
    return () => void this.#open.delete(stream);
  }

  /** Closes the streams on which no client waits for a result. Returns how many are left. */
  closeUnawaited(): number {
    for (const stream of this.#open) {
      if (stream.isAwaited?.()) continue;
      stream.close();
      this.#open.delete(stream);
    }
    return this.#open.size;
  }

  close(): void {
    this.#timer?.cancel();
    for (const stream of this.#open) stream.close();
    this.#open.clear();
  }

  #arm(): Timer {
    const timer = this.#clock.after(this.#heartbeatMs, () => {
      this.#onBeat();
      for (const stream of this.#open) stream.heartbeat();
      this.#timer = this.#open.size > 0 ? this.#arm() : undefined;
    });
    timer.setRef(false);
    return timer;
  }
}
