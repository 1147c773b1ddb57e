import { expect, test } from "vitest";
import { z } from "zod";
import { eventStream } from "../contracts/contract.ts";
import { KEEP_ALIVE, readEvents, readFrame, readLines, writeFrame } from "./event-stream.ts";

function bodyOf(...chunks: (string | Uint8Array)[]): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks)
        controller.enqueue(typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk);
      controller.close();
    },
  });
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

const read = (...chunks: (string | Uint8Array)[]) => collect(readEvents(bodyOf(...chunks)));

test("events are read whole, wherever the network cuts them, even inside a character", async () => {
  const bytes = new TextEncoder().encode('id: 1-2\nevent: update\ndata: {"text":"é…"}\n\n');
  for (let cut = 1; cut < bytes.length; cut++) {
    expect(await read(bytes.slice(0, cut), bytes.slice(cut))).toEqual([
      { id: "1-2", type: "update", data: '{"text":"é…"}' },
    ]);
  }
});

test("comments are skipped, lines of data are joined, and an event that is cut off at the end is dropped", async () => {
  expect(await read(KEEP_ALIVE, "data: a\ndata: b\n\n", "event: x\ndata: cut")).toEqual([
    { id: undefined, type: "message", data: "a\nb" },
  ]);
});

test("a frame is read as it was written", async () => {
  const stream = eventStream(z.strictObject({ type: z.string(), seq: z.number().optional(), text: z.string() }), {
    resume: "after",
    id: ({ seq }) => (seq === undefined ? undefined : String(seq)),
  });
  const frames = [
    { type: "entry", seq: 4, text: "line\nbreak\r\n\n" },
    { type: "text", text: "\u2028 data: x" },
  ];
  const events = await read(...frames.map((frame) => writeFrame(stream, frame)));
  expect(events.map(({ id, type }) => [id, type])).toEqual([
    ["4", "entry"],
    [undefined, "text"],
  ]);
  expect(events.map((event) => readFrame(stream, event))).toEqual(frames);
});

test("the fields of an envelope are the fields of the event", async () => {
  const stream = eventStream(z.strictObject({ id: z.string(), type: z.string(), data: z.unknown() }), {
    isEnvelope: true,
    id: ({ id }) => id,
  });
  const message = { id: "7-1", type: "hello", data: { startedAt: 7 } };
  expect(writeFrame(stream, message)).toBe('id: 7-1\nevent: hello\ndata: {"startedAt":7}\n\n');
  const [event] = await read(writeFrame(stream, message));
  expect(event && readFrame(stream, event)).toEqual(message);
});

test("JSON lines are read one by one", async () => {
  expect(await collect(readLines(bodyOf('{"a":1}\n{"a"', ":2}\n")))).toEqual([{ a: 1 }, { a: 2 }]);
});
