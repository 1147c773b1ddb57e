import { describe, expect, test } from "vitest";
import { callsOf, readEveryWay, readInChunks } from "./read-every-way.fixture.ts";

const TOOLS = [{ name: "search", parameters: { type: "object", properties: { query: { type: "string" } } } }];
const CALL = '<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>';
const read = (text: string, options = {}) => readEveryWay(text, { tools: TOOLS, ...options });

describe("reasoning", () => {
  test("is separated from the text, without its tags", () => {
    expect(read(`<think>a\nb</think>answer`)).toMatchObject({ reasoning: "a\nb", text: "answer", warnings: [] });
  });

  test("contains no calls", () => {
    const parsed = read(`<think>I could write ${CALL} but</think>${CALL}`);
    expect(parsed.calls).toHaveLength(1);
    expect(parsed.reasoning).toBe(`I could write ${CALL} but`);
  });

  test("that the prompt opened ends at its closing tag", () => {
    expect(read(`so</think>${CALL}`, { startsInReasoning: true })).toMatchObject({ reasoning: "so", text: "" });
    const parsed = read(`so ${CALL}`, { startsInReasoning: true });
    expect(parsed.calls).toEqual([]);
    expect(parsed.warnings.join()).toContain("ended inside its reasoning");
  });

  test("that the prompt opened ends at a call in formats whose models omit the closing tag", () => {
    const call = '<｜DSML｜tool_calls><｜DSML｜invoke name="search"/></｜DSML｜tool_calls>';
    const parsed = read(`so\n${call}`, { startsInReasoning: true, format: "deepseek-dsml" });
    expect(parsed).toMatchObject({ reasoning: "so\n", calls: [{ name: "search" }] });
  });

  test("whose opening tag is in the prompt is taken back at its closing tag, with the calls in it", () => {
    const parsed = read(`I try ${CALL} later</think> so ${CALL}`);
    expect(parsed).toMatchObject({ text: " so ", reasoning: `I try ${CALL} later`, calls: [{ name: "search" }] });
    expect(parsed.warnings).toEqual([
      "</think> closes reasoning that the prompt opened: set startsInReasoning.",
      expect.stringContaining("The call of search in reasoning was not made"),
    ]);
    const { events } = readInChunks(["I try", "</think>", " so"], { tools: TOOLS });
    expect(events.map(({ type }) => type)).toEqual(["text", "retracted", "skipped", "text"]);
  });

  test("is closed once: a second closing tag is left out with a warning", () => {
    const parsed = read("<think>a</think>done</think> so");
    expect(parsed).toMatchObject({ text: "done so", reasoning: "a" });
    expect(parsed.warnings).toEqual(["</think> closes reasoning that was not opened in this text."]);
  });
});

describe("text", () => {
  test.each([
    "a <tool shed is not a <tool_cal",
    "1 < 2 && 3 > 2, <b>bold</b>, [link], {json: no}, `code`",
    "Use the `<tool_call>` tag, or `<search>`, or `<think>`.",
    "An example:\n```\n<search>\n<query>x</query>\n</search>\n```\nSo.",
    '```json\n{"name": "Ada", "age": 36}\n```',
    '{"name": "Ada", "arguments": "none"}',
    "[search] found [see(1)]",
    'The list [{"a": 1}] and {"name": "x"}',
    "functools.partial, and functools [1]",
  ])("stays text: %j", (text) => {
    const parsed = read(text);
    expect(parsed.calls).toEqual([]);
    expect(parsed.text).toBe(text);
  });

  test("is never emitted with the start of a marker in it", () => {
    for (let at = 1; at < CALL.length; at++) {
      const { events } = readInChunks([`see ${CALL.slice(0, at)}`, CALL.slice(at)], { tools: TOOLS });
      expect(events.filter(({ type }) => type === "text")).toEqual([{ type: "text", text: "see " }]);
    }
  });

  test("that looked like the start of a marker is emitted in order", () => {
    const { events } = readInChunks(["a <tool", "_c", "ase", " b"], { format: "hermes" });
    expect(events).toEqual([
      { type: "text", text: "a " },
      { type: "text", text: "<tool_case" },
      { type: "text", text: " b" },
    ]);
  });

  test("after the calls of a finished turn is dropped with a warning", () => {
    const call =
      "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>";
    const parsed = read(`I look.${call} The result is 7.`);
    expect(parsed.text).toBe("I look.");
    expect(parsed.warnings.join()).toContain("wait for their results");
  });
});

describe("calls without markers", () => {
  test("are calls if the tool exists", () => {
    expect(callsOf(read('{"name": "search", "arguments": {"query": "x"}}'))).toEqual([
      { name: "search", input: { query: "x" } },
    ]);
    expect(callsOf(read("Ok:\n[search(query='x')]"))).toEqual([{ name: "search", input: { query: "x" } }]);
    expect(read('{"name": "remove", "arguments": {}}').calls).toEqual([]);
    expect(read("[remove(a=1)]").calls).toEqual([]);
  });

  test("are always calls in a format without markers, also in the middle of a line", () => {
    const parsed = read('Here: {"name": "remove", "parameters": {"a": 1}} there', { format: "llama3-json", tools: [] });
    expect(callsOf(parsed)).toEqual([{ name: "remove", input: { a: 1 } }]);
    expect(parsed.text).toBe("Here:  there");
  });

  test("that are cut off fail once it is certain that they are calls", () => {
    expect(callsOf(read('{"name": "search", "arguments": {"qu'))).toEqual([
      { name: "search", input: {}, failed: true },
    ]);
    expect(read('{"name": "sea').text).toBe('{"name": "sea');
  });
});

test("an empty list of calls contains no call", () => {
  expect(read("[TOOL_CALLS][]ok")).toMatchObject({ calls: [], text: "ok" });
  expect(read("<TOOLCALL>[ ]</TOOLCALL>ok")).toMatchObject({ calls: [], text: "ok" });
});

test("the same text twice gives calls with different ids", async () => {
  const { parseToolCalls } = await import("./tool-call-parser.ts");
  const ids = [1, 2].flatMap(() => parseToolCalls(CALL).calls.map(({ id }) => id));
  expect(new Set(ids).size).toBe(2);
});
