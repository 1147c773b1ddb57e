/** Server-sent events: how frames are written by the server and read by the client. */
import type { EventStream } from "../contracts/contract.ts";

export const KEEP_ALIVE = ": \n\n";

interface Envelope {
  id: string;
  type: string;
  data: unknown;
}

/** An envelope is sent to many readers, so its text is kept as long as it is. The same for a list of them. */
const written = new WeakMap<object, string>();
const encoded = new WeakMap<readonly unknown[], Uint8Array>();
const encoder = new TextEncoder();

/** The bytes of frames that are sent together. */
export function encodeFrames(stream: EventStream, frames: readonly unknown[]): Uint8Array {
  let bytes = encoded.get(frames);
  if (bytes) return bytes;
  bytes = encoder.encode(frames.map((frame) => writeFrame(stream, frame)).join(""));
  if (stream.isEnvelope) encoded.set(frames, bytes);
  return bytes;
}

export function writeFrame(stream: EventStream, frame: unknown): string {
  if (!stream.isEnvelope) return write(stream, frame as Envelope, frame);
  const envelope = frame as Envelope;
  let text = written.get(envelope);
  if (text === undefined) written.set(envelope, (text = write(stream, envelope, envelope.data)));
  return text;
}

/** JSON has no line breaks of its own, so one `data:` line is enough. */
function write(stream: EventStream, frame: Envelope, data: unknown): string {
  const id = stream.id?.(frame);
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${frame.type}\ndata: ${JSON.stringify(data)}\n\n`;
}

export interface ServerSentEvent {
  id: string | undefined;
  type: string;
  data: string;
}

export function readFrame(stream: EventStream, { id = "", type, data }: ServerSentEvent): unknown {
  const value: unknown = JSON.parse(data);
  return stream.isEnvelope ? ({ id, type, data: value } satisfies Envelope) : value;
}

/** The events of a response, one by one. Comments are skipped, and an event that is cut off at the end is dropped. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent, void, undefined> {
  for await (const block of splitText(body, "\n\n")) {
    const event = parseBlock(block);
    if (event) yield event;
  }
}

/** JSON documents, one a line. */
export async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown, void, undefined> {
  for await (const line of splitText(body, "\n")) if (line !== "") yield JSON.parse(line);
}

async function* splitText(body: ReadableStream<Uint8Array>, separator: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + decoder.decode(value, { stream: true })).split(separator);
      rest = parts.pop() ?? "";
      yield* parts;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parseBlock(block: string): ServerSentEvent | undefined {
  const event: ServerSentEvent = { id: undefined, type: "message", data: "" };
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).replace(/^ /, "");
    switch (line.slice(0, Math.max(colon, 0))) {
      case "id":
        event.id = value;
        break;
      case "event":
        event.type = value;
        break;
      case "data":
        data.push(value);
        break;
      default:
        break;
    }
  }
  return data.length > 0 ? { ...event, data: data.join("\n") } : undefined;
}
