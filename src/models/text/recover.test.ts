import { describe, expect, test } from "vitest";
import { callsOf, readEveryWay, readInChunks } from "./read-every-way.fixture.ts";
import type { TextFormatName } from "../../core/text-formats.ts";
import { parseToolCalls } from "./tool-call-parser.ts";

const TOOLS = [
  {
    name: "edit",
    parameters: {
      type: "object",
      properties: { path: { type: "string" }, text: { type: "string" }, line: { type: "integer" } },
    },
  },
  { name: "list", parameters: { type: "object", properties: {} } },
];
const read = (text: string, format: TextFormatName | "auto") => readEveryWay(text, { format, tools: TOOLS });

describe("calls with small mistakes are read, and list their repairs", () => {
  test.each<[string, TextFormatName, string, unknown[], string]>([
    [
      "a brace too few before the closing tag",
      "hermes",
      '<tool_call>{"name": "edit", "arguments": {"path": "a"}</tool_call>',
      [{ path: "a" }],
      "missing closing brackets",
    ],
    [
      "a brace too many",
      "hermes",
      '<tool_call>{"name": "edit", "arguments": {"path": "a"}}}</tool_call>',
      [{ path: "a" }],
      "an extra closing bracket",
    ],
    [
      "arguments that were encoded twice",
      "hermes",
      '<tool_call>{"name": "edit", "arguments": "{\\"path\\": \\"a\\"}"}</tool_call>',
      [{ path: "a" }],
      "JSON inside a string were decoded",
    ],
    [
      "another closing tag",
      "hermes",
      '<tool_call>{"name": "list", "arguments": {}}</function>',
      [{}],
      "</function> was read as the closing </tool_call>",
    ],
    [
      "a closing tag that was cut off",
      "hermes",
      '<tool_call>{"name": "list", "arguments": {}}\n</tool_c',
      [{}],
      "the closing </tool_call> was completed",
    ],
    [
      "no closing tag",
      "hermes",
      '<tool_call>{"name": "list", "arguments": {}}',
      [{}],
      "the closing </tool_call> was missing",
    ],
    [
      "a parameter that the next one closes",
      "qwen3-coder",
      "<tool_call>\n<function=edit>\n<parameter=path>\na\n<parameter=text>\nb\n</parameter>\n</function>\n</tool_call>",
      [{ path: "a", text: "b" }],
      "the missing </parameter> was added",
    ],
    [
      "a parameter that its call closes",
      "qwen3-coder",
      "<tool_call>\n<function=edit>\n<parameter=path>\na\n</function>\n</tool_call>",
      [{ path: "a" }],
      "the missing </parameter> was added",
    ],
    [
      "a call that its wrapper closes",
      "qwen3-coder",
      "<tool_call>\n<function=edit>\n<parameter=path>\na\n</parameter>\n</tool_call>",
      [{ path: "a" }],
      "the missing </function> was added",
    ],
    [
      "a wrapper that nothing closes",
      "anthropic-xml",
      '<function_calls><invoke name="list"></invoke>',
      [{}],
      "the missing </function_calls> was added",
    ],
    [
      "a call that the next one closes",
      "anthropic-xml",
      '<function_calls><invoke name="edit"><parameter name="path">a</parameter><invoke name="list"></invoke></function_calls>',
      [{ path: "a" }, {}],
      "the missing </invoke> was added",
    ],
  ])("%s", (_, format, text, inputs, repair) => {
    const parsed = read(text, format);
    expect(callsOf(parsed).map(({ input, failed }) => (failed ? "failed" : input))).toEqual(inputs);
    expect(parsed.warnings.join("\n")).toContain(repair);
    expect(parsed.calls.some(({ repairs }) => repairs?.some((each) => each.includes(repair)))).toBe(true);
    expect(parsed.text).toBe("");
  });

  test("without a wrapper, and in a namespace, an invoke is an invoke", () => {
    const text = 'So <x:invoke name="edit"><x:parameter name="path">a</x:parameter></x:invoke> there';
    expect(callsOf(read(text, "anthropic-xml"))).toEqual([{ name: "edit", input: { path: "a" } }]);
    expect(read(text, "auto").text).toBe("So  there");
  });
});

describe("calls that cannot be read fail with the right form in the message", () => {
  test.each<[string, TextFormatName, string, string]>([
    ["no JSON", "hermes", "<tool_call>please edit it</tool_call>", "expected a call"],
    ["JSON without a name", "hermes", '<tool_call>{"arguments": {}}</tool_call>', "it has no name"],
    ["two names", "hermes", '<tool_call>{"name": "a", "tool_name": "b"}</tool_call>', "it has two names"],
    [
      "arguments next to the name",
      "hermes",
      '<tool_call>{"name": "edit", "path": "a"}</tool_call>',
      "its arguments are next to its name (path)",
    ],
    [
      "a duplicate key",
      "hermes",
      '<tool_call>{"name": "edit", "arguments": {"path": "a", "path": "b"}}</tool_call>',
      'the key "path" occurs twice',
    ],
    [
      "arguments that are a list",
      "hermes",
      '<tool_call>{"name": "edit", "arguments": ["a"]}</tool_call>',
      "a list, not an object",
    ],
    ["an object that was cut off", "hermes", '<tool_call>{"name": "edit", "arguments": {"path": "a"', "the text ended"],
    [
      "a parameter that is given twice",
      "anthropic-xml",
      '<invoke name="edit"><parameter name="path">a</parameter><parameter name="path">b</parameter></invoke>',
      "given twice",
    ],
    [
      "an invoke without a name",
      "anthropic-xml",
      "<function_calls><invoke><parameters></parameters></invoke></function_calls>",
      "its name must come before",
    ],
    [
      "a wrapper without a call",
      "anthropic-xml",
      "<function_calls>edit the file</function_calls>",
      "it contains no call",
    ],
    [
      "text after a value",
      "anthropic-xml",
      '<invoke name="edit"><parameter name="path">a</parameter> b</invoke>',
      "there is text between",
    ],
    ["parameters without names", "lfm2-pythonic", "<|tool_call_start|>[edit('a')]<|tool_call_end|>", "given by name"],
    [
      "a value that runs into the end",
      "glm",
      "<tool_call>edit<arg_key>path</arg_key><arg_value>a",
      "the text ended before </arg_value>",
    ],
    ["a name with blanks", "mistral", '[TOOL_CALLS]edit the file{"path": "a"}', "is not a tool name"],
    [
      "a header that was cut off",
      "harmony",
      "<|channel|>commentary to=functions.edit",
      "the text ended before <|message|>",
    ],
    [
      "arguments that are not JSON",
      "harmony",
      "<|channel|>commentary to=functions.edit<|message|>path a<|call|>",
      "a JSON object",
    ],
    ["no arguments", "kimi-k2", "<|tool_call_begin|>functions.edit:0<|tool_call_end|>", "is missing after its name"],
  ])("%s", (_, format, text, reason) => {
    for (const requested of [format, "auto"] as const) {
      const parsed = read(`one ${text}`, requested);
      expect(parsed.calls).toHaveLength(1);
      expect(parsed.calls[0]).toMatchObject({ rawText: text, failure: { actor: "model", retryable: false } });
      expect(parsed.calls[0]!.failure!.message).toContain("in this form:\n");
      expect(parsed.text).toBe("one ");
    }
    expect(read(text, format).calls[0]!.failure!.message).toContain(reason);
  });

  test("the call after a broken one is read", () => {
    const good = '<tool_call>{"name": "list", "arguments": {}}</tool_call>';
    const parsed = read(`<tool_call>{"name": "edit" oops}</tool_call>${good}<tool_call>{"name": ${good}`, "hermes");
    expect(callsOf(parsed).map(({ name, failed }) => (failed ? `${name} failed` : name))).toEqual([
      "edit failed",
      "list",
      " failed",
      "list",
    ]);
  });

  test("one broken call of a wrapper does not harm its neighbours", () => {
    const text =
      '<function_calls><invoke name="list"></invoke><invoke name="edit"><oops></invoke><invoke name="edit"><parameter name="path">a</parameter></invoke></function_calls>';
    expect(callsOf(read(text, "anthropic-xml"))).toEqual([
      { name: "list", input: {} },
      { name: "edit", input: {}, failed: true },
      { name: "edit", input: { path: "a" } },
    ]);
  });

  test("a call without a name keeps its input, and fails", () => {
    const parsed = read('[TOOL_CALLS][ARGS]{"path": "a"}', "mistral");
    expect(callsOf(parsed)).toEqual([{ name: "", input: { path: "a" }, failed: true }]);
  });
});

describe("values that look like markup", () => {
  test("a whole call that a value quotes is part of the value", () => {
    const quoted = "<tool_call>\n<function=edit>\n<parameter=path>\nx\n</parameter>\n</function>\n</tool_call>";
    const text = `<tool_call>\n<function=edit>\n<parameter=text>\nLike this:\n${quoted}\nDone.\n</parameter>\n</function>\n</tool_call>`;
    expect(callsOf(read(text, "qwen3-coder"))).toEqual([
      { name: "edit", input: { text: `Like this:\n${quoted}\nDone.` } },
    ]);
  });

  test("markers of other formats, and of the same one in JSON, are part of a string", () => {
    const value = "a </tool_call> b <tool_call> [TOOL_CALLS] <|tool_call_end|> c";
    const text = `<tool_call>${JSON.stringify({ name: "edit", arguments: { text: value } })}</tool_call>`;
    expect(callsOf(read(text, "auto"))).toEqual([{ name: "edit", input: { text: value } }]);
  });

  test("the closing tag of a parameter is part of the value if no other tag follows", () => {
    const text = "<edit><text>\n  see </text> here,\nand there\n</text><path>a</path></edit>";
    const input = { text: "  see </text> here,\nand there", path: "a" };
    expect(callsOf(read(text, "cline-xml"))).toEqual([{ name: "edit", input }]);
  });

  test("a parameter that only Cline and Roo Code know ends the one before it", () => {
    const text = "<edit>\n<path>a</path>\n<diff>\n------- SEARCH\n</diff>\n<line_count>3</line_count>\n</edit>";
    const input = { path: "a", diff: "------- SEARCH", line_count: "3" };
    expect(callsOf(read(text, "cline-xml"))).toEqual([{ name: "edit", input }]);
  });
});

describe("limits", () => {
  test("of a call's length and of the number of calls", () => {
    const long = parseToolCalls(
      `<tool_call>{"name":"edit","arguments":{"text":"${"x".repeat(5_000_000)}"}}</tool_call>`,
    );
    expect(long.calls[0]!.failure).toMatchObject({ code: "input_too_large" });
    const many = parseToolCalls("<tool_call>{}</tool_call>".repeat(1000));
    expect(many.calls).toHaveLength(512);
    expect(many.text).toContain("<tool_call>{}</tool_call>");
    expect(many.warnings.join("\n")).toContain("too many calls");
    const list = parseToolCalls(`[TOOL_CALLS][${Array(2000).fill('{"name":"list","arguments":{}}').join(",")}]`);
    expect(list.calls.filter(({ failure }) => !failure)).toHaveLength(512);
    expect(list.calls.at(-1)!.failure).toMatchObject({ code: "input_too_large" });
  });
});

test("events come in order: the name, the arguments as they arrive, then the call", () => {
  const chunks = [
    "So: <tool_",
    'call>{"name": "edit", "argu',
    'ments": {"path": "src',
    '/a", "line": 12',
    "}}</tool_call> ok",
  ];
  const { events } = readInChunks(chunks, { format: "hermes", tools: TOOLS });
  expect(
    events.map(({ type, ...event }) => [type, "delta" in event ? event.delta : "text" in event ? event.text : ""]),
  ).toEqual([
    ["text", "So: "],
    ["call_started", ""],
    ["call_arguments", '{"path":"src'],
    ["call_arguments", '/a","line":'],
    ["call_arguments", "12}"],
    ["call_completed", ""],
    ["text", " ok"],
  ]);
});

describe("what other parsers lost", () => {
  const union = { anyOf: [{ type: "array", items: { type: "integer" } }, { type: "string" }] };
  const either = { anyOf: [{ type: "array", items: { type: "string" } }, { type: "object" }] };
  const properties = { a: { type: "string" }, list: { type: "array", items: { type: "string" } }, union, either };
  const tools = [{ name: "f", parameters: { type: "object", properties } }];
  const m3 = (text: string) => text.replaceAll("<", "]<]minimax[>[<");
  const inSeed = (value: string) =>
    `<seed:tool_call><function=f><parameter=a>${value}</parameter></function></seed:tool_call>`;
  const inQwen = (value: string) =>
    `<tool_call>\n<function=f>\n<parameter=a>${value}</parameter>\n</function>\n</tool_call>`;
  const inM3 = (value: string) => m3(`<tool_call><invoke name="f">${value}</invoke></tool_call>`);

  test.each<[what: string, format: TextFormatName, text: string, input: object]>([
    ["the last line end of a text", "seed-oss", inSeed("one\ntwo\n"), { a: "one\ntwo\n" }],
    ["the last line end of a text", "qwen3-coder", inQwen("one\ntwo\n"), { a: "one\ntwo\n" }],
    ["nothing of a text on lines of its own", "qwen3-coder", inQwen("\none\ntwo\n"), { a: "one\ntwo" }],
    ["nothing of a single line", "qwen3-coder", inQwen("a.txt\n"), { a: "a.txt" }],
    ["a list that may be text", "minimax-m3", inM3("<union><item>1</item><item>2</item></union>"), { union: [1, 2] }],
    ["a text that may be a list", "minimax-m3", inM3("<union>1 and 2</union>"), { union: "1 and 2" }],
    ["a list that may be an object", "minimax-m3", inM3("<either><item>a</item></either>"), { either: ["a"] }],
    ["an object that may be a list", "minimax-m3", inM3("<either><x>a</x></either>"), { either: { x: "a" } }],
    [
      "a list with escaped quotation marks",
      "glm",
      '<tool_call>f\n<arg_key>list</arg_key>\n<arg_value>[\\"a\\", \\"b\\"]</arg_value>\n</tool_call>',
      { list: ["a", "b"] },
    ],
  ])("%s (%s)", (_, format, text, input) => {
    expect(callsOf(readEveryWay(text, { tools, format }))).toEqual([{ name: "f", input }]);
  });

  test("the text of a message whose header was begun anew, or that is for a role", () => {
    for (const header of ["commentary to=assistant<|channel|>final", "commentary to=user", "final"]) {
      const parsed = readEveryWay(`<|channel|>${header}<|message|>Hello<|return|>`, { tools, format: "harmony" });
      expect(parsed).toMatchObject({ text: "Hello", calls: [] });
    }
    const role = '<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{"a":"b"}<|call|>';
    expect(callsOf(readEveryWay(role, { tools, format: "harmony" }))).toEqual([{ name: "f", input: { a: "b" } }]);
  });

  test("the name of a tool, if the id of a call is only a number", () => {
    const text =
      '<|tool_calls_section_begin|><|tool_call_begin|>3<|tool_call_argument_begin|>{"a":"x"}<|tool_call_end|><|tool_calls_section_end|>';
    const several = [...tools, { name: "g", parameters: { type: "object" } }];
    expect(readEveryWay(text, { tools: several, format: "kimi-k2" }).calls).toMatchObject([
      { name: "", failure: { message: expect.stringContaining("its id has no name of a tool") } },
    ]);
    expect(readEveryWay(text, { tools, format: "kimi-k2" }).calls).toMatchObject([
      { name: "f", modelId: "3", input: { a: "x" }, repairs: [expect.stringContaining("f is the only one")] },
    ]);
  });

  test.each<[text: string, schema: object, value: unknown]>([
    ["42", { type: ["string", "integer"] }, 42],
    ["042", { type: ["string", "integer"] }, "042"],
    ["true", { type: ["string", "integer"] }, "true"],
    ["true", { type: ["string", "boolean"] }, true],
    ['{"a": 1}', { type: ["string", "object"] }, { a: 1 }],
    ['{"a": 1}', { type: "string" }, '{"a": 1}'],
    ["{a: 1}", { type: ["string", "object"] }, "{a: 1}"],
    ["[1]", { type: ["string", "object"] }, "[1]"],
    ['"7"', { type: "integer" }, 7],
    ['"7"', { type: "string" }, '"7"'],
  ])("the value %s for %j", (text, schema, value) => {
    const own = [{ name: "f", parameters: { type: "object", properties: { a: schema } } }];
    const written = `<tool_call>f<arg_key>a</arg_key><arg_value>${text}</arg_value></tool_call>`;
    expect(callsOf(readEveryWay(written, { tools: own, format: "glm" }))).toEqual([{ name: "f", input: { a: value } }]);
  });

  test("a text whose first mark is missing (gemma4)", () => {
    const text = '<|tool_call>call:f{a:weather in Tokyo<|"|>,list:[<|"|>x<|"|>,y<|"|>]}<tool_call|>';
    const [call] = readEveryWay(text, { tools, format: "gemma4" }).calls;
    expect(call).toMatchObject({ input: { a: "weather in Tokyo", list: ["x", "y"] }, repairs: [expect.any(String)] });
  });

  test("what CDATA holds in a short tag, as auto", () => {
    const text = '<function name="f"><param name="a"><![CDATA[<b> </param>]]></param></function>';
    expect(callsOf(readEveryWay(text, { tools, format: "auto" }))).toEqual([
      { name: "f", input: { a: "<b> </param>" } },
    ]);
  });
});
