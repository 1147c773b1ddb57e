import type { EventMessage, ToolEventType } from "../http/wire.ts";
import { HaftClientError } from "./client-error.ts";
import type { Connection } from "./connection.ts";
import { readEventStream } from "./read-event-stream.ts";

export interface EventOptions {
  types?: readonly ToolEventType[];
  tool?: string;
  session?: string;
  call?: string;
  /** The id of the last message that was seen. */
  after?: string;
  signal?: AbortSignal;
  /** Told when the connection was lost and is made again; throw in it to stop. */
  onReconnect?: (error: unknown) => void;
}

const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 10_000;

/** Messages in order, over lost connections: each time it asks for what came after the last one. */
export async function* followEvents(
  { open }: Connection,
  { signal, onReconnect, after, ...filter }: EventOptions,
): AsyncGenerator<EventMessage, void, undefined> {
  let last = after;
  let wait = FIRST_WAIT_MS;
  for (;;) {
    try {
      const { body } = await open("/api/events", { query: { ...filter, after: last }, signal: signal || undefined });
      for await (const { id, type, data } of readEventStream(body!)) {
        wait = FIRST_WAIT_MS;
        last = id ?? last;
        yield { id: last ?? "", type, data: JSON.parse(data) } as EventMessage;
      }
      signal?.throwIfAborted();
      onReconnect?.(undefined);
    } catch (error) {
      if (signal?.aborted) return;
      // What the server refuses it will refuse again.
      if (error instanceof HaftClientError && error.status !== 0 && error.status !== 429) throw error;
      onReconnect?.(error);
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, MAX_WAIT_MS);
  }
}
