import type { ServerResponse } from "node:http";
import type { Clock, Timer } from "../core/clock.ts";
import { HttpError } from "./door-error.ts";

export interface StreamLimits {
  /** Event streams and WebSockets together. */
  maxStreams?: number;
  /** What a reader may be behind before it is closed. */
  maxUnread?: number;
  heartbeatMs?: number;
}

/** One who is told as things happen. */
export interface Stream {
  /** A sign of life; also the moment to look whether the reader may still read. */
  heartbeat(): void;
  close(): void;
}

/** Everyone who is connected: counted, kept alive by one timer, and closed with the server. */
export class Streams {
  readonly maxUnread: number;
  readonly #open = new Set<Stream>();
  readonly #clock: Clock;
  readonly #max: number;
  readonly #heartbeatMs: number;
  #timer: Timer | undefined;

  constructor(clock: Clock, { maxStreams = 2000, maxUnread = 1024 * 1024, heartbeatMs = 15_000 }: StreamLimits = {}) {
    this.#clock = clock;
    this.#max = maxStreams;
    this.#heartbeatMs = heartbeatMs;
    this.maxUnread = maxUnread;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Before anything is sent, so that the refusal can still be an ordinary answer. */
  admit(): void {
    if (this.#open.size < this.#max) return;
    throw new HttpError(
      "too_many_requests",
      `There are ${this.#max} open streams already`,
      "Close some, then try again.",
      {
        headers: { "retry-after": "10" },
      },
    );
  }

  add(stream: Stream): () => void {
    this.#open.add(stream);
    this.#timer ??= this.#arm();
    return () => void this.#open.delete(stream);
  }

  close(): void {
    this.#timer?.cancel();
    for (const stream of this.#open) stream.close();
    this.#open.clear();
  }

  #arm(): Timer {
    const timer = this.#clock.after(this.#heartbeatMs, () => {
      for (const stream of this.#open) stream.heartbeat();
      this.#timer = this.#open.size > 0 ? this.#arm() : undefined;
    });
    timer.setRef(false);
    return timer;
  }
}

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  // Proxies that collect an answer before they pass it on would hold events back.
  "x-accel-buffering": "no",
};

/** Server-sent events. A reader that does not read is closed: what it has not taken is held in memory. */
export class EventStream {
  readonly #outgoing: ServerResponse;
  readonly #maxUnread: number;

  constructor(
    outgoing: ServerResponse,
    { maxUnread, headers }: { maxUnread: number; headers: Readonly<Record<string, string>> },
  ) {
    this.#outgoing = outgoing;
    this.#maxUnread = maxUnread;
    outgoing.writeHead(200, { ...headers, ...HEADERS });
    outgoing.flushHeaders();
  }

  send(chunk: string | Uint8Array): void {
    if (this.#outgoing.destroyed || this.#outgoing.writableEnded) return;
    this.#outgoing.write(chunk);
    if (this.#outgoing.writableLength > this.#maxUnread) this.#outgoing.destroy();
  }

  onClosed(listener: () => void): void {
    if (this.#outgoing.destroyed) listener();
    else this.#outgoing.once("close", listener);
  }

  end(): void {
    this.#outgoing.end();
  }
}
