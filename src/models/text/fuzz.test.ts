import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { textFormat } from "./format-table.ts";
import { TEXT_FORMATS, type TextFormatName } from "../../core/text-formats.ts";
import {
  createToolCallParser,
  parseToolCalls,
  type ToolCallEvent,
  type ToolCallParserOptions,
} from "./tool-call-parser.ts";

const TOOLS = [
  {
    name: "search",
    parameters: {
      type: "object",
      properties: {
        query: { type: "string" },
        count: { type: "integer" },
        deep: { type: "boolean" },
        tags: { type: "array" },
        note: {},
      },
    },
  },
  { name: "now", parameters: { type: "object", properties: {} } },
];

/** Pieces of calls in every format, and pieces that break them. */
const PIECES = [
  ...TEXT_FORMATS.flatMap((name) => {
    const text = textFormat(name).write([
      { name: "search", input: { query: "a b", count: 3 } },
      { name: "now", input: {} },
    ]);
    return [text, ...text.split(/(?<=[>\]}\n|])|(?=[<[{])/)];
  }),
  "<think>",
  "</think>",
  "[THINK]",
  "[/THINK]",
  "<![CDATA[",
  "]]>",
  "&amp;",
  "&#65;",
  "&nope;",
  ...[
    "```",
    "```json\n",
    "\n```\n",
    "\n~~~~\n",
    "`",
    "``",
    "\\`",
    "\n> ",
    "\n>",
    "<!--",
    "\n<!-- ",
    "-->",
    "\n\n",
    "\n",
  ],
  ...["<mm:think>", "</mm:think>", "<thinking>", "</reasoning>", "<longcat_think>", "</s>", "<|im_end|>"],
  '<|tool_call_start|>[{"name": "search", "arguments": {}}]<|tool_call_end|>',
  '<|function_call|>{"name": "now", "arguments": {}}',
  "<longcat_tool_call>now\n</longcat_tool_call>",
  "<|python_start|>[now()]<|python_end|>",
  "so [now()]",
  "   ",
  '"',
  "'",
  "\\",
  "{",
  "}",
  "[",
  "]",
  "(",
  ")",
  ",",
  ":",
  "=",
  "//",
  "<",
  "</",
  "<!",
  "<?",
  "[ARGS]",
  "[CALL_ID]",
  '{"name": "search", "arguments": {"query": "x"}}',
  "{'name': 'search', 'arguments': {query: None,}}",
  "<function=search>",
  "<parameter=query>",
  '<ns:invoke name="now"/>',
  "to=functions.now",
  "search",
  "007",
  "prose ",
  "😀",
  "\ud83d",
];

const optionsOf = (format: TextFormatName | "auto"): ToolCallParserOptions => {
  let count = 0;
  return { format, tools: TOOLS, newId: () => `id${count++}` };
};

function readIn(chunks: readonly string[], options: ToolCallParserOptions) {
  const parser = createToolCallParser(options);
  const events = chunks.flatMap((chunk) => parser.push(chunk));
  events.push(...parser.end());
  return { events, result: parser.result };
}

/** Rebuilds the text from the events. */
function textOfEvents(events: readonly ToolCallEvent[]): string {
  return events.map((event) => ("text" in event ? event.text : "call" in event ? event.call.rawText : "")).join("");
}

function cut(text: string, positions: readonly number[]): string[] {
  const at = [...new Set(positions.map((position) => position % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, index) => text.slice(from, at[index] ?? text.length));
}

const anyText = fc
  .array(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...PIECES) }, { weight: 1, arbitrary: fc.string() }), {
    maxLength: 12,
  })
  .map((pieces) => pieces.join(""));
const anyFormat = fc.constantFrom<TextFormatName | "auto">("auto", "auto", ...TEXT_FORMATS);

describe("any text", () => {
  test("is read without an exception, is complete in the events, and reads the same in any chunks", () => {
    fc.assert(
      fc.property(anyText, anyFormat, fc.array(fc.nat(), { maxLength: 6 }), (text, format, positions) => {
        const whole = parseToolCalls(text, optionsOf(format));
        const { events, result } = readIn(cut(text, positions), optionsOf(format));
        expect(result).toEqual(whole);
        expect(textOfEvents(events)).toBe(text);
        const single = readIn(text.split(""), optionsOf(format));
        expect(single.result).toEqual(whole);
        expect(textOfEvents(single.events)).toBe(text);
      }),
      { numRuns: Number(process.env["HAFT_FUZZ_RUNS"] ?? 1000) },
    );
  });

  test("gives calls with unique ids whose name comes first and whose deltas add up to the input", () => {
    fc.assert(
      fc.property(anyText, anyFormat, (text, format) => {
        const { events, result } = readIn(text.split(""), optionsOf(format));
        const started = events.filter((event) => event.type === "call_started").map(({ id }) => id);
        expect(new Set(started).size).toBe(started.length);
        const completed = events.filter((event) => event.type === "call_completed");
        for (const { id, call } of completed) {
          const own = events.filter((event) => "id" in event && event.id === id);
          expect(own[0]).toMatchObject({ type: "call_started", name: call.name });
          const json = own.map((event) => (event.type === "call_arguments" ? event.delta : "")).join("");
          expect(JSON.parse(json)).toEqual(call.input);
        }
        expect(new Set(result.calls.map(({ id }) => id)).size).toBe(result.calls.length);
        expect(result.calls.filter(({ failure, name }) => !failure && name === "")).toEqual([]);
      }),
      { numRuns: Number(process.env["HAFT_FUZZ_RUNS"] ?? 400) },
    );
  });
});
