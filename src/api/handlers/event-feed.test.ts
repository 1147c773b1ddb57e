import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { events } from "../../contracts/events.ts";
import type { EventMessage } from "../../contracts/events.ts";
import type { ToolEvent } from "../../core/events.ts";
import { writeFrame } from "../event-stream.ts";
import { estimateLength, EventFeed } from "./event-feed.ts";

// Time stands still: on a busy machine the pause between two deliveries may be over too soon.
beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

test("the estimated length of an event is about right, and exact if it is large", () => {
  const event = {
    type: "tool_call_completed",
    result: { content: [{ type: "text", text: "x".repeat(1000) }], details: { a: [1, 2, 3] } },
  };
  const exact = JSON.stringify(event).length;
  expect(estimateLength(event)).toBeGreaterThan(exact * 0.8);
  expect(estimateLength(event)).toBeLessThan(exact * 1.3);
  const many = { rows: Array.from({ length: 5000 }, (_, id) => ({ id, name: "x" })) };
  expect(estimateLength(many)).toBe(JSON.stringify(many).length);
});

const event = { type: "tool_registered", at: 1, toolName: "a", source: "own" } as const;

test("an event is written once for all its readers", () => {
  let written = 0;
  const data = { ...event, toJSON: () => ({ n: ++written }) } as ToolEvent;
  const feed = new EventFeed(7);
  const sent: string[] = [];
  const send = (messages: readonly EventMessage[]): void =>
    void sent.push(...messages.map((message) => writeFrame(events.subscribe.stream, message)));
  feed.read({}, undefined, send);
  feed.read({}, undefined, send);
  feed.add(data, estimateLength(data));
  expect(sent.slice(2)).toEqual(Array(2).fill('id: 7-1\nevent: tool_registered\ndata: {"n":1}\n\n'));
  expect(written).toBe(1);
});

test("an event whose JSON is too large is sent without its content, also if its estimated length is not", () => {
  const input = { text: "\u0000".repeat(500) };
  const caller = { depth: 0 };
  const large = { type: "tool_call_requested", at: 1, callId: "c", toolName: "a", caller, input } as ToolEvent;
  expect(estimateLength(large)).toBeLessThan(1000);
  const feed = new EventFeed(7, { maxEventSize: 1000 });
  const seen: EventMessage[] = [];
  feed.read({}, undefined, (messages) => seen.push(...messages));
  feed.add(large, estimateLength(large));
  expect(seen[1]).toMatchObject({ data: { callId: "c", input: { cut: true } } });
});

test("an event has nothing that a person answered", () => {
  const result = { status: "completed", content: [{ type: "text", text: "pin" }], display: "pin", details: ["pin"] };
  const ended = { type: "tool_call_completed", callId: "c", result: { ...result, metadata: { isPrivate: true } } };
  const feed = new EventFeed(7);
  const seen: EventMessage[] = [];
  feed.read({}, undefined, (messages) => seen.push(...messages));
  feed.add(ended as unknown as ToolEvent, 10);
  expect(seen[1]).toMatchObject({ data: { callId: "c", result: { status: "completed" } } });
  expect(JSON.stringify(seen)).not.toContain("pin");
});

test("a reader that returns gets what it missed, and a heartbeat tells every reader where to resume", () => {
  const feed = new EventFeed(7);
  const seen: EventMessage[] = [];
  feed.add(event, 10);
  const { stop } = feed.read({ tool: "other" }, "7-0", (messages) => seen.push(...messages));
  feed.add(event, 10);
  feed.beat(5);
  stop();
  feed.beat(6);
  expect(seen).toMatchObject([
    { id: "7-0", type: "hello" },
    { id: "7-2", type: "heartbeat", data: { at: 5 } },
  ]);
  const all: EventMessage[] = [];
  feed.read({}, "7-1", (messages) => all.push(...messages));
  expect(all.map(({ id }) => id)).toEqual(["7-1", "7-2"]);
});

test("many readers get events together, in one list for all with the same filter, and none is lost or doubled", async () => {
  const feed = new EventFeed(7);
  const lists: (readonly EventMessage[])[][] = Array.from({ length: 500 }, () => []);
  const readers = lists.map((own, at) =>
    feed.read(at % 2 === 0 ? {} : { tool: "a" }, undefined, (messages) => own.push(messages)),
  );
  for (let count = 0; count < 100; count++) feed.add({ ...event, toolName: count % 2 === 0 ? "a" : "b" }, 10);
  // One reader gets a message with the last id, so it gets everything before it.
  readers[0]!.flush();
  expect(idsOf(lists[0]!)).toHaveLength(101);
  feed.add(event, 10);
  await expect.poll(() => idsOf(lists[499]!).length).toBe(52);
  for (const [at, own] of lists.entries()) {
    const ids = idsOf(own);
    expect(ids).toHaveLength(at % 2 === 0 ? 102 : 52);
    expect(new Set(ids.slice(1)).size).toBe(ids.length - 1);
    // `hello`, the first event at once, and the rest together.
    expect(own.length).toBeLessThanOrEqual(4);
  }
  expect(lists[2]!.at(-1)).toBe(lists[4]!.at(-1));
  expect(lists[1]!.at(-1)).toBe(lists[3]!.at(-1));
});

test("a reader for which events were collected gets `reset` if they are no longer kept", () => {
  const feed = new EventFeed(7, { maxEvents: 5 });
  const seen: EventMessage[] = [];
  const reader = feed.read({}, undefined, (messages) => seen.push(...messages));
  for (let count = 0; count < 10; count++) feed.read({}, undefined, () => undefined);
  for (let count = 0; count < 20; count++) feed.add(event, 10);
  reader.flush();
  expect(seen.map(({ type }) => type)).toEqual(["hello", "tool_registered", "reset"]);
});

function idsOf(lists: readonly (readonly EventMessage[])[]): string[] {
  return lists.flat().map(({ id }) => id);
}
