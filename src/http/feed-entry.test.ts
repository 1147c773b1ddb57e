import { expect, test } from "vitest";
import { FeedEntry, estimateLength } from "./feed-entry.ts";

test("the length of an event is about right without writing it, and exact where it is large", () => {
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

test("an event is written once for all its readers", () => {
  let written = 0;
  const data = { toJSON: () => ({ n: ++written }) };
  const entry = new FeedEntry(7, 3, "tool_call_updated", data);
  expect(entry.message).toBe('{"id":"7-3","type":"tool_call_updated","data":{"n":1}}');
  expect(String(entry.stream)).toBe('id: 7-3\nevent: tool_call_updated\ndata: {"n":1}\n\n');
  expect(written).toBe(1);
});
