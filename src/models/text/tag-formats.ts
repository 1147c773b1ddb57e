import { FUNCTION_HEADS, FUNCTION_SHAPE, INVOKE_HEADS, INVOKE_SHAPE, tagSection, tagShape } from "./tag-calls.ts";
import type { Section, TextFormat, ToolTable } from "./text-format.ts";
import { looseXmlSection, toolCallSection } from "./tool-call-section.ts";
import { cdata, textOfValue, writeEach, writeTags } from "./write-calls.ts";

const XML: TextFormat = {
  name: "xml",
  sharesMarkers: true,
  sections: () => [toolCallSection("xml"), looseXmlSection],
  notes: [
    "Put every value into <![CDATA[ and ]]>, as it is: no escaping is needed, and it may have several lines.",
    "If a value itself contains ]]>, write ]]]]><![CDATA[> instead.",
  ],
  write: writeEach(
    writeTags(
      (name) => `<tool_call>\n  <name>${name}</name>\n  <params>\n`,
      (key, value) => `    <${key}>${cdata(textOfValue(value))}</${key}>\n`,
      () => "  </params>\n</tool_call>",
    ),
  ),
};

export const invokeSection = tagSection({
  shape: INVOKE_SHAPE,
  wrappers: ["<function_calls>", "<*:function_calls>"],
  heads: INVOKE_HEADS,
});

const ANTHROPIC: TextFormat = {
  name: "anthropic-xml",
  sections: () => [invokeSection],
  reasoning: [["<thinking>", "</thinking>"]],
  write: writeEach(
    writeTags(
      (name) => `<invoke name="${name}">\n`,
      (key, value) => `<parameter name="${key}">${textOfValue(value)}</parameter>\n`,
      () => "</invoke>",
    ),
    { before: "<function_calls>\n", after: "\n</function_calls>" },
  ),
};

const ANTHROPIC_LEGACY: TextFormat = {
  ...ANTHROPIC,
  name: "anthropic-xml-legacy",
  sharesMarkers: true,
  write: writeEach(
    writeTags(
      (name) => `<invoke>\n<tool_name>${name}</tool_name>\n<parameters>\n`,
      (key, value) => `<${key}>${textOfValue(value)}</${key}>\n`,
      () => "</parameters>\n</invoke>",
    ),
    { before: "<function_calls>\n", after: "\n</function_calls>" },
  ),
};

const functionSection = tagSection({ shape: FUNCTION_SHAPE, heads: FUNCTION_HEADS });

const QWEN3_CODER: TextFormat = {
  name: "qwen3-coder",
  sharesMarkers: true,
  sections: () => [toolCallSection("qwen3-coder"), functionSection],
  callEndsReasoning: true,
  write: writeEach(
    writeTags(
      (name) => `<tool_call>\n<function=${name}>\n`,
      (key, value) => `<parameter=${key}>\n${textOfValue(value)}\n</parameter>\n`,
      () => "</function>\n</tool_call>",
    ),
  ),
};

const SEED_OSS: TextFormat = {
  name: "seed-oss",
  sections: () => [
    tagSection({
      shape: { ...FUNCTION_SHAPE, format: "seed-oss", ends: ["</seed:tool_call>"] },
      wrappers: ["<seed:tool_call>"],
      heads: FUNCTION_HEADS,
    }),
  ],
  reasoning: [["<seed:think>", "</seed:think>"]],
  write: writeEach(
    writeTags(
      (name) => `<seed:tool_call>\n<function=${name}>\n`,
      (key, value) => `<parameter=${key}>${textOfValue(value)}</parameter>\n`,
      () => "</function>\n</seed:tool_call>",
    ),
  ),
};

const MINICPM5: TextFormat = {
  name: "minicpm5-xml",
  sharesMarkers: true,
  sections: () => [
    tagSection({
      shape: { ...FUNCTION_SHAPE, format: "minicpm5-xml", trim: "none", markup: "cdata" },
      heads: FUNCTION_HEADS,
    }),
  ],
  write: writeEach(
    writeTags(
      (name) => `<function name="${name}">`,
      (key, value) => `<param name="${key}">${textOfValue(value)}</param>`,
      () => "</function>",
    ),
  ),
};

/** The tag is the tool name, so only known tools can be distinguished from other markup. */
export function clineSection({ names }: ToolTable): Section {
  const shape = tagShape({
    format: "cline-xml",
    childIsParameter: true,
    otherParameters: ["regex", "diff", "line_count", "requires_approval", "follow_up", "task_progress", "timeout"],
    trim: "outer",
    markup: "cdata",
    untyped: "text",
  });
  return tagSection({ shape, heads: names.filter((name) => /^[\w.-]+$/.test(name)).map((name) => `<${name}>`) });
}

const CLINE: TextFormat = {
  name: "cline-xml",
  sharesMarkers: true,
  sections: (tools) => [clineSection(tools)],
  reasoning: [["<thinking>", "</thinking>"]],
  write: writeEach(
    writeTags(
      (name) => `<${name}>\n`,
      (key, value) => `<${key}>${textOfValue(value)}</${key}>\n`,
      (name) => `</${name}>`,
    ),
  ),
};

const GLM: TextFormat = {
  name: "glm",
  sharesMarkers: true,
  sections: () => [toolCallSection("glm")],
  // So does Ling 3, which writes the same calls.
  callEndsReasoning: true,
  write: writeEach(
    writeTags(
      (name) => `<tool_call>${name}\n`,
      (key, value) => `<arg_key>${key}</arg_key>\n<arg_value>${textOfValue(value)}</arg_value>\n`,
      () => "</tool_call>",
    ),
  ),
};

const DSML_SHAPE = tagShape({
  format: "deepseek-dsml",
  style: { open: "<｜DSML｜", close: "</｜DSML｜", end: ">" },
  callTags: ["invoke"],
  parameterTags: ["parameter"],
  typeAttribute: "string",
  ends: ["</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"],
});

const DEEPSEEK_DSML: TextFormat = {
  name: "deepseek-dsml",
  sections: () => [tagSection({ shape: DSML_SHAPE, wrappers: ["<｜DSML｜function_calls>", "<｜DSML｜tool_calls>"] })],
  callEndsReasoning: true,
  write: writeEach(
    writeTags(
      (name) => `<｜DSML｜invoke name="${name}">\n`,
      (key, value) =>
        `<｜DSML｜parameter name="${key}" string="${typeof value === "string"}">${textOfValue(value)}</｜DSML｜parameter>\n`,
      () => "</｜DSML｜invoke>",
    ),
    { before: "<｜DSML｜tool_calls>\n", after: "\n</｜DSML｜tool_calls>" },
  ),
};

const MINIMAX_M2: TextFormat = {
  name: "minimax-m2",
  sections: () => [
    tagSection({
      shape: { ...INVOKE_SHAPE, format: "minimax-m2", untyped: "text", markup: "raw", ends: ["</minimax:tool_call>"] },
      wrappers: ["<minimax:tool_call>"],
      heads: INVOKE_HEADS,
    }),
  ],
  write: writeEach(
    writeTags(
      (name) => `<invoke name="${name}">\n`,
      (key, value) => `<parameter name="${key}">${textOfValue(value)}</parameter>\n`,
      () => "</invoke>",
    ),
    { before: "<minimax:tool_call>\n", after: "\n</minimax:tool_call>" },
  ),
};

const M3 = "]<]minimax[>[";

const MINIMAX_M3: TextFormat = {
  name: "minimax-m3",
  sections: () => [
    tagSection({
      shape: tagShape({
        format: "minimax-m3",
        style: { open: `${M3}<`, close: `${M3}</`, end: ">" },
        callTags: ["invoke"],
        childIsParameter: true,
        untyped: "json",
        isNested: true,
        ends: [`${M3}</tool_call>`],
      }),
      wrappers: [`${M3}<tool_call>`],
    }),
  ],
  write: writeEach(
    writeTags(
      (name) => `${M3}<invoke name="${name}">`,
      (key, value) => `${M3}<${key}>${textOfValue(value)}${M3}</${key}>`,
      () => `${M3}</invoke>`,
    ),
    { before: `${M3}<tool_call>\n`, after: `\n${M3}</tool_call>` },
  ),
};

const KIMI_K3: TextFormat = {
  name: "kimi-k3",
  sections: () => [
    tagSection({
      shape: tagShape({
        format: "kimi-k3",
        style: { open: "<|open|>", close: "<|close|>", end: "<|sep|>" },
        callTags: ["call"],
        nameAttribute: "tool",
        parameterTags: ["argument"],
        keyAttribute: "key",
        jsonTags: ["json"],
        typeAttribute: "type",
        ends: ["<|close|>tools<|sep|>"],
      }),
      wrappers: ["<|open|>tools<|sep|>"],
    }),
  ],
  reasoning: [["<|open|>think<|sep|>", "<|close|>think<|sep|>"]],
  controlTokens: ["<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>", "<|end_of_msg|>"],
  write: (calls) =>
    writeEach(
      ({ name, input }) =>
        `<|open|>call tool="${name}" index="1"<|sep|><|open|>json type="object"<|sep|>${JSON.stringify(input)}` +
        "<|close|>json<|sep|><|close|>call<|sep|>",
      { before: "<|open|>tools<|sep|>", after: "<|close|>tools<|sep|>", between: "" },
    )(calls),
};

export const TAG_FORMATS: readonly TextFormat[] = [
  XML,
  ANTHROPIC,
  ANTHROPIC_LEGACY,
  QWEN3_CODER,
  SEED_OSS,
  MINICPM5,
  CLINE,
  GLM,
  DEEPSEEK_DSML,
  MINIMAX_M2,
  MINIMAX_M3,
  KIMI_K3,
];
