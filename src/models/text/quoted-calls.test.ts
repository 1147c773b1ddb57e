import { describe, expect, test } from "vitest";
import { textFormat } from "./format-table.ts";
import { callsOf, readEveryWay, readInChunks, readSomeWays } from "./read-every-way.fixture.ts";
import { TEXT_FORMATS, type TextFormatName } from "../../core/text-formats.ts";

const TOOLS = [{ name: "search", parameters: { type: "object", properties: { query: { type: "string" } } } }];
const JSON_CALL = '{"name": "search", "arguments": {"query": "x"}}';
const CALL = '<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>';
const LINES = '<tool_call>\n{"name": "search", "arguments": {"query": "x"}}\n</tool_call>';
const read = (text: string, options = {}) => readSomeWays(text, { tools: TOOLS, ...options });

describe("a quoted call is text, with a warning", () => {
  test.each<[string, string, string]>([
    ["in inline code", `Write \`${CALL}\` to search.`, "inline code"],
    ["in inline code of several lines", `Write \`${LINES}\` to search.`, "inline code"],
    ["in inline code with two backticks", `Write \`\` ${CALL} \`x\` \`\` to search.`, "inline code"],
    ["in inline code that begins on the line before", `So: \`\n${CALL}\`\nThat is all.`, "inline code"],
    ["in inline code with text before it", `Write \`call: ${CALL} and ${CALL}\`.`, "inline code"],
    ["in inline code with backticks in the call", `Write \`${CALL.replace("x", "`x`")}\`.`, "inline code"],
    ["in a fence of backticks", `So:\n\`\`\`xml\n${LINES}\n\`\`\`\nThat is all.`, "code block"],
    ["in a fence of tildes", `So:\n~~~\n${LINES}\n~~~\nThat is all.`, "code block"],
    ["in a longer fence that contains another", `\`\`\`\`md\n\`\`\`\n${LINES}\n\`\`\`\n\`\`\`\`\nEnd.`, "code block"],
    ["in a fence of a list", `1. So:\n   \`\`\`\n   ${CALL}\n   \`\`\`\n2. End.`, "code block"],
    ["in a fence that ends with the text", `So:\n\`\`\`\n${LINES}\n`, "code block"],
    ["in a block quote", `The page says:\n> Do this:\n> ${CALL}\n\nI do not.`, "block quote"],
    [
      "in a block quote of several lines",
      `> <tool_call>\n> {"name": "search", "arguments": {}}\n> </tool_call>`,
      "quote",
    ],
    ["in a nested block quote", `> > ${CALL}\nSo.`, "block quote"],
    ["in a block quote of a list item", `- > ${CALL}\nSo.`, "block quote"],
    ["in a block quote of a numbered item", `1. > ${LINES.replaceAll("\n", "\n   > ")}\nSo.`, "block quote"],
    ["in a block quote below a nested item", `- a\n  10) b\n      > ${CALL}`, "block quote"],
    ["in a block quote of nested items", `* +   > ${CALL}`, "block quote"],
    ["in a fence that begins in a list item", `1. \`\`\`xml\n   ${CALL}\n   \`\`\`\n2. End.`, "code block"],
    ["in tildes that begin in a list item", `- 2) ~~~\n  ${CALL}\n  ~~~\nEnd.`, "code block"],
    ["in an HTML comment", `<!-- ${CALL} -->\nSo.`, "HTML comment"],
    ["in an HTML comment inside a line", `So <!-- as in\n${CALL} --> there.`, "HTML comment"],
    ["in an HTML comment that ends with the text", `<!--\n\n${LINES}`, "HTML comment"],
  ])("%s", (_, text, kind) => {
    for (const parsed of [readEveryWay(text, { tools: TOOLS }), read(text, { format: "hermes" })]) {
      expect(parsed.calls).toEqual([]);
      expect(parsed.text).toBe(text);
      expect(parsed.warnings.join()).toContain("The call of search in ");
      expect(parsed.warnings.join()).toContain(kind);
    }
  });

  test.each(TEXT_FORMATS.filter((format) => format !== "json"))("in %s", (format) => {
    const call = textFormat(format).write([{ name: "search", input: { query: "x" } }]);
    for (const text of [`\`${call}\` so`, `~~~\n${call}\n~~~\nso`, `<!-- ${call} --> so`, quoteLines(call)]) {
      for (const requested of [format, "auto"] as const) {
        const parsed = read(text, { format: requested });
        expect(parsed).toMatchObject({ calls: [], text });
        expect(parsed.warnings.join(), text).toContain("The call of search");
      }
    }
  });

  test("bare JSON after a block quote belongs to it", () => {
    const text = '> <tool_call>\n{"name": "search", "arguments": {}}\n';
    expect(read(text)).toMatchObject({ calls: [], text });
  });

  test("in a code block that nothing closes, the warning names the line where it begins", () => {
    const text = `${LINES}\n\`\`\`markdown\n# T\n\`\`\`bash\nls\n\`\`\`\nmore\n\`\`\`\n${CALL}`;
    expect(read(text).warnings.join()).toContain("in a code block that begins in line 10 and is not closed");
  });

  test("in text that turns out to be reasoning", () => {
    const { calls, warnings } = read(`${CALL} x </think> y`);
    expect(calls).toEqual([]);
    expect(warnings.join()).toContain("The call of search in reasoning was not made");
  });

  test("a marker that is only mentioned gives no warning", () => {
    for (const text of ["Use `<tool_call>` and `</tool_call>`.", "```\n<search>\n```", "> see `[TOOL_CALLS]`"]) {
      expect(read(text)).toMatchObject({ calls: [], text, warnings: [] });
    }
  });
});

function quoteLines(call: string): string {
  return `${call
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n")}\n\nso`;
}

describe("a real call is made", () => {
  test.each<[string, string]>([
    ["after a stray backtick", `Use the \` key. ${CALL}`],
    ["after a stray backtick and with one in its arguments", `Use the \` key. ${CALL.replace("x", "`x` y")}`],
    ["on the line after a stray backtick", `Use the \` key:\n${CALL}\nThen \`this\`.`],
    ["in the paragraph after one", `Use the \` key.\n\nSo ${CALL}\`.`],
    ["after an escaped backtick", `Use \\\` here: ${CALL} and \\\` there.`],
    ["after inline code", `Use \`ls\` and \`\`a \` b\`\`: ${CALL} or \`cat\`.`],
    ["after inline code of two lines", `Use \`ls\n-l\` now: ${CALL} or \`cat\`.`],
    ["after a mention of its marker", `The tag \`<tool_call>\` calls: ${CALL}`],
    ["after a fence", `\`\`\`sh\nls\n\`\`\`\n${CALL}`],
    ["directly after the closing fence", `\`\`\`sh\nls\n\`\`\`${CALL}`],
    ["after a line with backticks that is no fence", `\`\`\`ls\`\`\` lists:\n${CALL}`],
    ["after a block quote", `> Do it.\n${CALL}`],
    ["on a line that contains >", `If 2 > 1 ${CALL}`],
    ["after a comment", `<!-- so --> ${CALL}`],
    ["after a comment that nothing closes in its paragraph", `Write <!-- first.\n\n${CALL} -->`],
    ["in a list item", `- ${CALL}`],
    ["after a fence of a list item", `- \`\`\`\n  - \`\`\`\n  \`\`\`\n${CALL}`],
    ["after a line that is only a number", `2\n${CALL}`],
    ["after an empty comment", `<!-->\n${CALL}`],
    ["after another empty comment", `<!--->\n${CALL}`],
    ["in an indented line", `Look:\n    ${CALL}`],
  ])("%s", (_, text) => {
    for (const parsed of [readEveryWay(text, { tools: TOOLS }), read(text, { format: "hermes" })]) {
      expect(parsed.calls).toMatchObject([{ name: "search" }]);
      expect(parsed.calls[0]!.failure).toBeUndefined();
      expect(parsed.text).toBe(text.replace(/<tool_call>\{[^]*<\/tool_call>/, ""));
    }
  });

  test.each([
    ["in a fence before prose", `\`\`\`json\n${JSON_CALL}\n\`\`\`\nRun it with your own key.`],
    ["in a fence after prose", `The model answers:\n\n\`\`\`json\n${JSON_CALL}\n\`\`\``],
    ["in a second fence", `\`\`\`json\n{"a": 1}\n\`\`\`\n\`\`\`json\n${JSON_CALL}\n\`\`\``],
    ["without a fence, before prose", `The model answers:\n${JSON_CALL}\nYour code then runs search.`],
    ["in a list, before prose", `The model answers:\n[${JSON_CALL}]\nand waits.`],
    ["in other data", `It returns:\n{\n"tool_calls": [\n${JSON_CALL},\n${JSON_CALL}\n]\n}`],
    ["as Python, before prose", `The model answers:\n[search(query="x")]\nYour code then runs search.`],
  ])("not %s, in a text of an unknown format", (_, text) => {
    const parsed = readEveryWay(text, { tools: TOOLS });
    expect(parsed.calls).toEqual([]);
    expect(parsed.text).toBe(text);
  });

  test("not the definition of a tool", () => {
    const definition = { name: "search", parameters: { type: "object", properties: { query: { type: "string" } } } };
    for (const text of [JSON.stringify(definition), JSON.stringify(definition, null, 2)]) {
      for (const format of ["auto", "json", "llama3-json"] as const) {
        expect(readEveryWay(text, { tools: TOOLS, format })).toMatchObject({ calls: [], text });
      }
    }
    const values = '{"name": "search", "parameters": {"query": "type"}}';
    expect(readEveryWay(values, { tools: TOOLS }).calls).toMatchObject([{ input: { query: "type" } }]);
  });

  test("at the end of a text of an unknown format, and alone in a fence", () => {
    const fenced = `<think>So</think>\n\`\`\`json\n${JSON_CALL}\n\`\`\`\n<|im_end|>`;
    for (const text of [`I search:\n${JSON_CALL}\n`, `${JSON_CALL}<|eot_id|>`, `${JSON_CALL}\n${CALL}`, fenced]) {
      expect(readEveryWay(text, { tools: TOOLS }).calls[0]).toMatchObject({ name: "search", input: { query: "x" } });
    }
    const { warnings } = read(`${JSON_CALL}\nI wait.`);
    expect(warnings.join()).toContain("The call of search was not made, because text follows it");
  });

  test("in a fence, if the format writes its calls in fences", () => {
    const json = '{"name": "search", "arguments": {"query": "x"}}';
    for (const fence of ["```json", "```tool_call", "```"]) {
      const parsed = read(`So:\n${fence}\n${json}\n\`\`\``, { format: "json" });
      expect(callsOf(parsed)).toEqual([{ name: "search", input: { query: "x" } }]);
    }
    expect(callsOf(read(`\`\`\`json\n${json}\n\`\`\``))).toHaveLength(1);
    expect(callsOf(read(`\`\`\`js\n${json}\n\`\`\``))).toEqual([]);
  });

  test("is emitted at once if nothing can quote it", () => {
    const { events } = readInChunks([`\`ls\` lists. ${CALL}`, "\n`"], { tools: TOOLS });
    expect(events.findIndex(({ type }) => type === "call_completed")).toBeLessThan(events.length - 1);
  });
});

describe("reasoning", () => {
  test.each([
    ["<think>", "</think>"],
    ["<thinking>", "</thinking>"],
    ["<reasoning>", "</reasoning>"],
    ["<thought>", "</thought>"],
    ["<mm:think>", "</mm:think>"],
    ["<seed:think>", "</seed:think>"],
    ["<longcat_think>", "</longcat_think>"],
  ])("between %s and %s is known in all formats; a call in it is not made", (open, close) => {
    for (const format of ["auto", "hermes", "minimax-m3", "json"] as const) {
      const call = textFormat(format === "auto" ? "xml" : format).write([{ name: "search", input: { query: "x" } }]);
      const parsed = read(`${open}I try ${call}${close}Done.`, { format });
      expect(parsed).toMatchObject({ reasoning: `I try ${call}`, text: "Done.", calls: [] });
      expect(parsed.warnings).toEqual([expect.stringContaining("The call of search in reasoning was not made")]);
      expect(read(`${open}I try ${call}`, { format })).toMatchObject({
        reasoning: `I try ${call}`,
        text: "",
        calls: [],
      });
    }
  });

  test("in code is text", () => {
    const text = "Put it into `<think>` or\n```\n<reasoning>\n```\nSo.";
    expect(read(text)).toMatchObject({ text, reasoning: "" });
  });

  const ENDING: readonly TextFormatName[] = ["kimi-k2", "qwen3-coder", "deepseek-dsml", "glm"];

  test.each(ENDING)("that nothing closes ends at a call of %s", (format) => {
    const call = textFormat(format).write([{ name: "search", input: { query: "x" } }]);
    for (const requested of [format, "auto"] as const) {
      for (const [text, startsInReasoning] of [
        [`<think>so\n${call}`, false],
        [`so\n${call}`, true],
      ] as const) {
        const parsed = read(text, { format: requested, startsInReasoning });
        expect(parsed).toMatchObject({
          reasoning: "so\n",
          text: "",
          calls: [{ name: "search", input: { query: "x" } }],
        });
        expect(parsed.warnings).toEqual(["The reasoning was not closed before the call."]);
      }
      const closed = read(`<think>so ${call} no</think>Done.`, { format: requested });
      expect(closed).toMatchObject({ reasoning: `so ${call} no`, text: "Done.", calls: [] });
      const quoted = read(`<think>so \`${call}\` no`, { format: requested });
      expect(quoted).toMatchObject({ reasoning: `so \`${call}\` no`, calls: [] });
    }
  });

  test("that nothing closes does not end at a call of another format", () => {
    expect(read(`<think>so ${CALL}`)).toMatchObject({ reasoning: `so ${CALL}`, calls: [] });
  });
});

describe("text has no markers of calls", () => {
  test.each<[TextFormatName | "auto", string, string]>([
    ["auto", "Done.<|tool_calls_section_end|>", "Done."],
    ["kimi-k2", "Done.<|tool_call_end|><|tool_calls_section_end|> So.", "Done. So."],
    ["auto", `${CALL}</tool_call>\nSo.`, "\nSo."],
    ["hermes", "Done.</tool_call>", "Done."],
    ["mistral", '[TOOL_CALLS]search{"query": "x"}</s>', ""],
    ["auto", "Done.</s>", "Done."],
    ["hermes", "Done.<|im_end|>", "Done."],
    ["auto", "Not <s>old</s> but new.", "Not <s>old</s> but new."],
    ["auto", "This is <s>old</s>", "This is <s>old</s>"],
    ["auto", "This is <s>old</s> and done.</s>", "This is <s>old</s> and done."],
    ["auto", "The token <|im_end|> ends a turn.<|im_end|>", "The token <|im_end|> ends a turn."],
    ["auto", `Ok.<|im_end|> ${CALL}<|im_end|>\n`, "Ok. \n"],
    ["auto", "A tag: <function>x</function>.", "A tag: <function>x</function>."],
    ["qwen3-coder", "<function=search>\n</function></function>\n</tool_call>So.", "\nSo."],
    ["cohere", "<|START_TEXT|>Done.<|END_TEXT|>", "Done."],
    ["glm", "Done.<|role_end|>", "Done."],
  ])("in %s: %j", (format, text, says) => {
    expect(read(text, { format }).text).toBe(says);
  });
});

describe("variants", () => {
  const JSON_LIST = '[{"name": "search", "arguments": {"query": "x"}}]';
  test.each<[TextFormatName, string, string]>([
    ["gigachat", '<|function_call|>{"name": "search", "arguments": {"query": "x"}}', ""],
    ["gigachat", 'Ok.<|function_call|>{"name": "search", "arguments": {"query": "x"}}</s>', "Ok."],
    ["lfm2-pythonic", `<|tool_call_start|>${JSON_LIST}<|tool_call_end|>`, ""],
    ["lfm2-pythonic", `<|tool_call_start|> ${JSON_LIST.slice(1, -1)}<|tool_call_end|>Wait.`, "Wait."],
    ["lfm2-pythonic", "<|tool_call_start|>[search(query='x'),]<|tool_call_end|>", ""],
    ["granite", `<tool_call> ${JSON_LIST}`, ""],
    ["granite", `Ok.<tool_call>${JSON_LIST}</tool_call>`, "Ok."],
    ["llama4-pythonic", "<|python_start|>[search(query='x')]<|python_end|>", ""],
    ["longcat", '<longcat_tool_call>{"name": "search", "arguments": {"query": "x"}}</longcat_tool_call>', ""],
    [
      "longcat",
      "<longcat_tool_call>search\n<longcat_arg_key>query</longcat_arg_key>\n<longcat_arg_value>x</longcat_arg_value>\n</longcat_tool_call>",
      "",
    ],
    [
      "step3",
      '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>search\n<steptml:invoke name="search"><steptml:parameter name="query">x</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
      "",
    ],
  ])("of %s: %s", (format, text, says) => {
    for (const requested of [format, "auto"] as const) {
      const parsed = read(text, { format: requested });
      expect(callsOf(parsed)).toEqual([{ name: "search", input: { query: "x" } }]);
      expect(parsed.text).toBe(says);
    }
  });

  test("with quotation marks in a shell command", () => {
    const text = "<|tool_call_start|>[search(query='sed -n '3,4p' /a.py')]<|tool_call_end|>";
    expect(callsOf(read(text, { format: "lfm2-pythonic" }))).toEqual([
      { name: "search", input: { query: "sed -n '3,4p' /a.py" } },
    ]);
  });

  test("of a model that begins with the end of its reasoning", () => {
    expect(read(`</mm:think>\n${CALL}`)).toMatchObject({ text: "\n", reasoning: "", warnings: [], calls: [{}] });
  });

  test("of llama4-pythonic after text, if the call ends its line", () => {
    for (const end of ["", "\nSo.", " \n", "<|eot|>"]) {
      const parsed = readEveryWay(`I search: [search(query='x')]${end}`, { format: "llama4-pythonic", tools: TOOLS });
      expect(callsOf(parsed)).toEqual([{ name: "search", input: { query: "x" } }]);
      expect(parsed.text).toBe(`I search: ${end.replace("<|eot|>", "")}`);
    }
  });

  test.each([
    "See [search(query='x')](https://docs) for docs.",
    "See [search(query='x')][1]",
    "See [search(query='x'), search()]: it searches.\nSo.",
    "x = [search(query='x')]",
    "| fn | [search()] |",
    "| fn | [search()]",
    `"[search(query='x')]"`,
    `It says " [search(query='x')]`,
    "So f[search(query='x')]",
    "See [search(query=",
    "See [search(query=1 2)] there.",
  ])("prose makes no call: %s", (text) => {
    for (const format of ["auto", "llama4-pythonic"] as const) {
      expect(readEveryWay(text, { format, tools: TOOLS })).toMatchObject({ calls: [], text });
    }
  });

  test("prose with brackets in the middle of a line stays text", () => {
    const text = "See [search] and [see(1)] and [remove(a=1)] and [search](x).";
    expect(read(text)).toMatchObject({ calls: [], text });
    const named = "See [see(1)] and [1, 2].";
    expect(read(named, { format: "llama4-pythonic" })).toMatchObject({ calls: [], text: named });
  });
});
