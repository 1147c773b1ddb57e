import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { callsOf, readEveryWay, readInChunks } from "./read-every-way.fixture.ts";
import { TEXT_FORMATS, type TextFormatName } from "../../core/text-formats.ts";
import { parseToolCalls } from "./tool-call-parser.ts";

const TOOLS = [
  {
    name: "forecast",
    parameters: {
      type: "object",
      properties: {
        city: { type: "string" },
        days: { type: "integer" },
        exact: { type: "boolean" },
        tags: { type: "array", items: { type: "string" } },
        position: { type: "object", properties: { zip: { type: "string" }, floor: { type: "integer" } } },
      },
    },
  },
  { name: "now", parameters: { type: "object", properties: {} } },
];

const OSLO = { name: "forecast", input: { city: "Oslo", days: 3 } };
const NOW = { name: "now", input: {} };

/** Two calls as models of each format write them, with the surrounding text. */
const EXAMPLES: Record<TextFormatName, { text: string; calls?: unknown[]; says?: string; thinks?: string }> = {
  xml: {
    text: "I look.\n<tool_call>\n  <name>forecast</name>\n  <params>\n    <city><![CDATA[Oslo]]></city>\n    <days><![CDATA[3]]></days>\n  </params>\n</tool_call>\n<tool_call><name>now</name><params></params></tool_call>",
    says: "I look.",
  },
  hermes: {
    text: '<think>which?</think><tool_call>\n{"name": "forecast", "arguments": {"city": "Oslo", "days": 3}}\n</tool_call>\n<tool_call>{"arguments": {}, "name": "now"}</tool_call>',
    thinks: "which?",
  },
  "anthropic-xml": {
    text: '<thinking>hm</thinking>One moment.\n<function_calls>\n<invoke name="forecast">\n<parameter name="city">Oslo</parameter>\n<parameter name="days">3</parameter>\n</invoke>\n<invoke name="now">\n</invoke>\n</function_calls>',
    says: "One moment.",
    thinks: "hm",
  },
  "anthropic-xml-legacy": {
    text: "<function_calls>\n<invoke>\n<tool_name>forecast</tool_name>\n<parameters>\n<city>Oslo</city>\n<days>3</days>\n</parameters>\n</invoke>\n<invoke>\n<tool_name>now</tool_name>\n<parameters>\n</parameters>\n</invoke>\n</function_calls>",
  },
  "qwen3-coder": {
    text: "<tool_call>\n<function=forecast>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=now>\n</function>\n</tool_call>",
  },
  "seed-oss": {
    text: "<seed:think>well</seed:think><seed:tool_call>\n<function=forecast>\n<parameter=city>Oslo</parameter>\n<parameter=days>3</parameter>\n</function>\n</seed:tool_call>\n<seed:tool_call>\n<function=now>\n</function>\n</seed:tool_call>",
    thinks: "well",
  },
  "minicpm5-xml": {
    text: '<function name="forecast"><param name="city">Oslo</param><param name="days">3</param></function>\n<function name="now"></function>',
  },
  "cline-xml": {
    text: "Let me see.\n<forecast>\n<city>Oslo</city>\n<days>3</days>\n</forecast>\n<now>\n</now>",
    says: "Let me see.",
  },
  glm: {
    text: "<tool_call>forecast\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n<tool_call>now\n</tool_call>",
  },
  "deepseek-v3": {
    text: 'So:<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>forecast\n```json\n{"city": "Oslo", "days": 3}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>',
    says: "So:",
  },
  "deepseek-v3.1": {
    text: '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>forecast<｜tool▁sep｜>{"city": "Oslo", "days": 3}<｜tool▁call▁end｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  },
  "deepseek-dsml": {
    text: '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="forecast">\n<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>\n<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name="now"/>\n</｜DSML｜tool_calls>',
  },
  "kimi-k2": {
    text: '<|tool_calls_section_begin|><|tool_call_begin|>functions.forecast:0<|tool_call_argument_begin|>{"city": "Oslo", "days": 3}<|tool_call_end|><|tool_call_begin|>functions.now:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>',
  },
  "kimi-k3": {
    text: '<|open|>think<|sep|>hm<|close|>think<|sep|><|open|>response<|sep|>Here.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="forecast" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>Oslo<|close|>argument<|sep|><|open|>argument key="days" type="number"<|sep|>3<|close|>argument<|sep|><|close|>call<|sep|><|open|>call tool="now" index="2"<|sep|><|open|>json type="object"<|sep|>{}<|close|>json<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>',
    says: "Here.",
    thinks: "hm",
  },
  "minimax-m2": {
    text: '<minimax:tool_call>\n<invoke name="forecast">\n<parameter name="city">Oslo</parameter>\n<parameter name="days">3</parameter>\n</invoke>\n<invoke name="now">\n</invoke>\n</minimax:tool_call>',
  },
  "minimax-m3": {
    text: ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="forecast">]<]minimax[>[<city>Oslo]<]minimax[>[</city>]<]minimax[>[<position>]<]minimax[>[<zip>0150]<]minimax[>[</zip>]<]minimax[>[<floor>2]<]minimax[>[</floor>]<]minimax[>[</position>]<]minimax[>[<tags>]<]minimax[>[<item>a]<]minimax[>[</item>]<]minimax[>[<item>7]<]minimax[>[</item>]<]minimax[>[</tags>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>',
    calls: [{ name: "forecast", input: { city: "Oslo", position: { zip: "0150", floor: 2 }, tags: ["a", "7"] } }],
  },
  mistral: {
    text: '[THINK]hm[/THINK]Sure.[TOOL_CALLS]forecast[CALL_ID]a1b2c3d4e[ARGS]{"city": "Oslo", "days": 3}[TOOL_CALLS]now{}',
    says: "Sure.",
    thinks: "hm",
  },
  "llama3-json": {
    text: '<|python_tag|>{"name": "forecast", "parameters": {"city": "Oslo", "days": 3}}; {"name": "now", "parameters": {}}<|eom_id|>',
  },
  "llama4-pythonic": { text: "[forecast(city='Oslo', days=3), now()]" },
  "lfm2-pythonic": {
    text: '<|tool_call_start|>[forecast(city="Oslo", days=3), now()]<|tool_call_end|>Wait.',
    says: "Wait.",
  },
  "olmo3-pythonic": { text: "<function_calls>forecast(city='Oslo', days=3)\nnow()</function_calls>" },
  harmony: {
    text: '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>Let me look.<|end|><|start|>assistant<|channel|>commentary to=functions.forecast <|constrain|>json<|message|>{"city": "Oslo", "days": 3}<|call|><|start|>assistant to=functions.now<|channel|>commentary json<|message|>{}<|call|>',
    says: "Let me look.",
    thinks: "hm",
  },
  gemma4: {
    text: '<|channel>thought\nhm<channel|>Ok.<|tool_call>call:forecast{city:<|"|>Oslo<|"|>,days:3}<tool_call|><|tool_call>call:now{}<tool_call|><turn|>',
    says: "Ok.",
    thinks: "hm",
  },
  functiongemma: {
    text: "<start_function_call>call:forecast{city:<escape>Oslo<escape>,days:3}<end_function_call><start_function_call>call:now{}<end_function_call>",
  },
  granite: {
    text: '<|tool_call|> [{"name": "forecast", "arguments": {"city": "Oslo", "days": 3}}, {"name": "now", "arguments": {}}]',
  },
  "phi4-mini": {
    text: 'functools[{"name": "forecast", "arguments": {"city": "Oslo", "days": 3}}, {"name": "now", "arguments": {}}]',
  },
  jamba: {
    text: '<tool_calls>[\n {"name": "forecast", "arguments": {"city": "Oslo", "days": 3}},\n {"name": "now", "arguments": {}}\n]</tool_calls>',
  },
  nemotron: {
    text: '<TOOLCALL>[{"name": "forecast", "arguments": {"city": "Oslo", "days": 3}}, {"name": "now", "arguments": {}}]</TOOLCALL>',
  },
  cohere: {
    text: '<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[\n {"tool_call_id": "0", "tool_name": "forecast", "parameters": {"city": "Oslo", "days": 3}},\n {"tool_call_id": "1", "tool_name": "now", "parameters": {}}\n]<|END_ACTION|>',
    thinks: "hm",
  },
  internlm: {
    text: 'Ok<|action_start|><|plugin|>\n{"name": "forecast", "parameters": {"city": "Oslo", "days": 3}}<|action_end|>',
    calls: [OSLO],
    says: "Ok",
  },
  gigachat: {
    text: 'Ok<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "forecast", "arguments": {"city": "Oslo", "days": 3}}',
    calls: [OSLO],
    says: "Ok",
  },
  apertus: {
    text: '<|inner_prefix|>hm<|inner_suffix|><|tools_prefix|>[{"forecast": {"city": "Oslo", "days": 3}}, {"now": {}}]<|tools_suffix|>',
    thinks: "hm",
  },
  longcat: {
    text: '<longcat_think>hm</longcat_think>Ok.\n<longcat_tool_call>\n{"name": "forecast", "arguments": {"city": "Oslo", "days": 3}}\n</longcat_tool_call><longcat_tool_call>now\n</longcat_tool_call>',
    says: "Ok.",
    thinks: "hm",
  },
  step3: {
    text: 'Ok.<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="forecast"><steptml:parameter name="city">Oslo</steptml:parameter><steptml:parameter name="days"> 3 </steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_sep｜><｜tool_call_begin｜><steptml:invoke name="now"></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
    says: "Ok.",
  },
  json: {
    // After prose only if the format is known: `auto` reads it as an example.
    text: '```json\n[{"name": "forecast", "arguments": {"city": "Oslo", "days": 3}}, {"name": "now", "arguments": {}}]\n```',
  },
};

describe.each(TEXT_FORMATS)("%s", (format) => {
  const { text, calls = [OSLO, NOW], says = "", thinks = "" } = EXAMPLES[format];

  test.each([format, "auto"] as const)("is read as %s, the same in all chunks, without repairs", (requested) => {
    const parsed = readEveryWay(text, { format: requested, tools: TOOLS });
    expect(callsOf(parsed)).toEqual(calls);
    expect({ text: parsed.text.trim(), reasoning: parsed.reasoning, warnings: parsed.warnings }).toEqual({
      text: says,
      reasoning: thinks,
      warnings: [],
    });
  });

  test("is a failed call or plain text if it is cut off anywhere", () => {
    const options = { format, tools: TOOLS };
    const [first] = parseToolCalls(text, options).calls;
    const start = text.indexOf(first!.rawText);
    const cuts = Array.from({ length: first!.rawText.length }, (_, at) => text.slice(0, start + at));
    const read = cuts.map((cut) => ({ cut, ...readInChunks(cut.split(""), options).result }));
    // No value is made up. A call that lacks only its closing tag is complete.
    const made = read.flatMap(({ calls: found }) => found.filter(({ failure }) => !failure));
    expect(made.filter(({ input }) => !isDeepStrictEqual(input, first!.input))).toEqual([]);
    const failed = read.flatMap(({ calls: found }) => found.filter(({ failure }) => failure));
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.filter(({ failure }) => !failure!.message.includes("in this form:\n"))).toEqual([]);
    // Once it is certain to be a call, it stays one.
    const isCall = read.map(({ calls: found }) => found.length > 0);
    expect(isCall.slice(isCall.indexOf(true))).not.toContain(false);
  });
});

test("another format than the requested one is text", () => {
  const parsed = readEveryWay(EXAMPLES.mistral.text.slice(16), { format: "hermes", tools: TOOLS });
  expect(parsed.calls).toEqual([]);
  expect(parsed.text).toContain("[TOOL_CALLS]forecast");
});
