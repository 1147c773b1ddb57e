import { expect, test } from "vitest";
import { readEventStream } from "./read-event-stream.ts";

async function read(...chunks: (string | Uint8Array)[]) {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks)
        controller.enqueue(typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk);
      controller.close();
    },
  });
  const events = [];
  for await (const event of readEventStream(body)) events.push(event);
  return events;
}

test("events are read whole, wherever the network cuts them, also inside a character", async () => {
  const bytes = new TextEncoder().encode('id: 1-2\nevent: update\ndata: {"text":"é…"}\n\n');
  for (let cut = 1; cut < bytes.length; cut++) {
    expect(await read(bytes.slice(0, cut), bytes.slice(cut))).toEqual([
      { id: "1-2", type: "update", data: '{"text":"é…"}' },
    ]);
  }
});

test("comments are no events, several lines of data are one, and what was cut off at the end is none", async () => {
  expect(await read(": \n\ndata: a\ndata: b\n\n", "event: x\ndata: cut")).toEqual([
    { id: undefined, type: "message", data: "a\nb" },
  ]);
});
