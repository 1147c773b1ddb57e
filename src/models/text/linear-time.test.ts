import { describe, expect, test } from "vitest";
import { textFormat } from "./format-table.ts";
import { TEXT_FORMATS, type TextFormatName } from "../../core/text-formats.ts";
import { TextParser } from "./tool-call-parser.ts";

const TOOLS = [{ name: "search", parameters: { type: "object", properties: { query: { type: "string" } } } }];
const LENGTH = (process.env["HAFT_FULL"] ? 256 : 64) * 1024;

/** Texts that take a careless reader quadratic time or worse. */
const HOSTILE: Record<string, string> = {
  "openers that nothing closes": "<tool_call>",
  "beginnings of a marker": "<tool_cal",
  "angle brackets": "<",
  "closing tags": "</tool_call>",
  "wrappers of wrappers": "<function_calls>",
  "namespaces without end": "<aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:",
  "opening brackets": "[",
  "opening braces": "{",
  "names of nothing": '{"name":',
  "quotation marks": '"',
  backslashes: "\\",
  blanks: " ",
  "line ends": "\n",
  backticks: "`",
  references: "&#65;",
  "the beginnings of CDATA": "<![CDATA[",
  "the ends of CDATA": "]]>",
  "comments that never end": "/*",
  tokens: "<|tool_call_begin|>",
  thoughts: "<think>",
  "lists of Mistral": "[TOOL_CALLS]",
  headers: "<|channel|>",
};

/** Texts in which it takes a look ahead to decide whether a call is quoted. */
const QUOTING: Record<string, string> = {
  "calls after backticks": "` <tool_call>",
  "calls after more and more kinds of backticks": "`<tool_call> ``<tool_call> ```<tool_call> {",
  "brackets after backticks": "` { [f(",
  "comments in a line": "a <!-- ",
  "quoted markers": "\n> <tool_call>",
  fences: "\n```\n<tool_call>",
  "reasoning that is not closed": "<think><|tool_calls_section_begin|>",
  "the ends of reasoning": "a</think>",
};

/** Beginnings after which the text becomes hostile. */
const BEGINNINGS: readonly string[] = [
  "",
  "<tool_call>",
  '<tool_call>{"name":"search","arguments":{"query":"',
  '<tool_call>{"name":"search","arguments":{"query":1',
  "<tool_call><name>search</name><params><query>",
  "<tool_call><name>search</name><params><query><![CDATA[",
  "<tool_call>\n<function=search>\n<parameter=query>\n",
  '<function_calls><invoke name="search"><parameter name="query">',
  '<invoke name="',
  "<search><query>",
  "<tool_call>search\n<arg_key>query</arg_key><arg_value>",
  "<|tool_call_start|>[search(query='",
  '<|tool_call>call:search{query:<|"|>',
  "[TOOL_CALLS]search",
  ...(process.env["HAFT_FULL"] ? ["` <tool_call>", "` {", "a <!-- ", "```\n<tool_call>", "<think><tool_call>"] : []),
];

function workOn(text: string, format: TextFormatName | "auto", size: number): number {
  const parser = new TextParser({ format, tools: TOOLS });
  for (let at = 0; at < text.length; at += size) parser.push(text.slice(at, at + size));
  parser.end();
  return parser.source.work / text.length;
}

describe("reading takes linear time", () => {
  test.each(Object.entries(HOSTILE))("for a long text of %s", (_, piece) => {
    const text = piece.repeat(Math.ceil(LENGTH / piece.length));
    expect(workOn(text, "auto", text.length)).toBeLessThan(40);
  });

  test.each(Object.entries(QUOTING))("for %s, whole and in pieces", (_, piece) => {
    for (const size of [LENGTH, 3]) {
      const [work, more] = [2_000, 16_000].map((length) =>
        workOn(piece.repeat(Math.ceil(length / piece.length)), "auto", size),
      );
      expect(more, JSON.stringify({ size, work })).toBeLessThan(Math.max(100, work! * 1.5));
    }
  });

  test.each(BEGINNINGS)("for hostile text after %j, whole and in pieces", (beginning) => {
    for (const piece of Object.values(HOSTILE)) {
      const text = beginning + piece.repeat(Math.ceil(1_500 / piece.length));
      const longer = beginning + piece.repeat(Math.ceil(12_000 / piece.length));
      for (const size of [longer.length, 3]) {
        const [work, more] = [workOn(text, "auto", size), workOn(longer, "auto", size)];
        expect(more, JSON.stringify({ piece, size, work, more })).toBeLessThan(Math.max(100, work * 1.5));
      }
    }
  });

  test.each(TEXT_FORMATS)("for too many calls, whole or broken, in the format %s", (format) => {
    const call = textFormat(format).write([{ name: "search", input: { query: "a" } }]);
    const pieces = [`${call}\n`, ...call.split(/(?<=[>\]}|])|(?=[<[{])/).filter((piece) => piece.trim().length > 3)];
    for (const piece of pieces) {
      for (const read of [format, "auto"] as const) {
        const text = piece.repeat(700);
        expect(workOn(text, read, text.length), piece).toBeLessThan(300);
      }
    }
  });

  test.each(TEXT_FORMATS)("in the format %s", (format) => {
    for (const piece of Object.values(HOSTILE)) {
      const text = piece.repeat(Math.ceil(2_000 / piece.length));
      expect(workOn(text, format, 5), piece).toBeLessThan(200);
    }
  });
});
