import type { ApiContext } from "./door.ts";
import type { SessionsCapability } from "./host-parts.ts";
import { isCurrent } from "./identify.ts";
import type { RequestContext } from "./route.ts";
import { EventStream } from "./streams.ts";
import type { SessionFrame } from "./wire.ts";

/** What a session says, entries first that the reader has not seen, until the reader goes. */
export function streamSession(
  { key, after, part }: { key: string; after: number; part: SessionsCapability },
  api: ApiContext,
  { identity, incoming, outgoing }: RequestContext,
): void {
  api.streams.admit();
  const { maxUnread } = api.streams;
  const stream = new EventStream(outgoing, { maxUnread, headers: api.streamHeaders(incoming) });
  const gone = new AbortController();
  const remove = api.streams.add({
    heartbeat: () => {
      stream.send(": \n\n");
      void isCurrent(identity, api.tokens, api.clock).then((current) => current || stream.end());
    },
    close: () => stream.end(),
  });
  stream.onClosed(() => {
    gone.abort();
    remove();
  });
  void (async () => {
    try {
      for await (const frame of part.follow(key, { after, signal: gone.signal })) stream.send(textOf(frame));
    } finally {
      stream.end();
    }
    // The store does not answer: the reader comes again, and goes on after what it has seen.
  })().catch(() => undefined);
}

function textOf(frame: SessionFrame): string {
  const id = frame.type === "entry" ? `id: ${frame.entry.seq}\n` : "";
  return `${id}event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`;
}
