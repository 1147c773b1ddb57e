import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import {
  createToolCallParser,
  type ParsedText,
  parseToolCalls,
  type ToolCallEvent,
  type ToolCallParserOptions,
} from "./tool-call-parser.ts";

function countedIds(): () => string {
  let count = 0;
  return () => `id${count++}`;
}

export function readInChunks(
  chunks: readonly string[],
  options: ToolCallParserOptions,
): { events: ToolCallEvent[]; result: ParsedText } {
  const parser = createToolCallParser({ ...options, newId: countedIds() });
  const events = chunks.flatMap((chunk) => parser.push(chunk));
  events.push(...parser.end());
  return { events, result: parser.result };
}

/** Rebuilds the text from the events. */
function textOfEvents(events: readonly ToolCallEvent[]): string {
  return events.map((event) => ("text" in event ? event.text : "call" in event ? event.call.rawText : "")).join("");
}

/** Reads the text whole, by character and split at every position, and checks that the result is always the same. */
export function readEveryWay(text: string, options: ToolCallParserOptions): ParsedText {
  return readIn([text.split(""), [text], ...Array.from(text, (_, at) => [text.slice(0, at), text.slice(at)])], options);
}

/** Like `readEveryWay`, but only whole, by character and in pieces: for many texts. */
export function readSomeWays(text: string, options: ToolCallParserOptions): ParsedText {
  return readIn([text.split(""), text.match(/[^]{1,7}/g) ?? []], options);
}

function readIn(ways: readonly (readonly string[])[], options: ToolCallParserOptions): ParsedText {
  const text = ways[0]?.join("") ?? "";
  const whole = parseToolCalls(text, { ...options, newId: countedIds() });
  // One assertion for all: a text is read hundreds of times.
  const wrong = ways.filter((chunks) => {
    const { events, result } = readInChunks(chunks, options);
    return !isDeepStrictEqual(result, whole) || textOfEvents(events) !== text;
  });
  expect(wrong).toEqual([]);
  return whole;
}

/** The name, input and failure of each call. */
export function callsOf({ calls }: ParsedText): { name: string; input: unknown; failed?: true }[] {
  return calls.map(({ name, input, failure }) => ({ name, input, failed: failure ? (true as const) : undefined }));
}
