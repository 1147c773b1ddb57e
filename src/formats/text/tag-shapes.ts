import { headsOf } from "./read-tag-calls.ts";
import { tagShape } from "./tag-shape.ts";

/** `<tool_call><name>f</name><params><a><![CDATA[1]]></a></params></tool_call>` */
export const SEED_SHAPE = tagShape({
  format: "xml",
  callTags: ["tool_call"],
  nameTags: ["name", "tool_name"],
  groupTags: ["params", "parameters"],
  trim: "outer",
  markup: "xml",
});

/** `<function=f><parameter=a>1</parameter></function>` */
export const FUNCTION_SHAPE = tagShape({
  format: "qwen3-coder",
  callTags: ["function"],
  parameterTags: ["parameter", "param"],
  trim: "line",
  ends: ["</tool_call>"],
});
export const FUNCTION_HEADS = ["<function=", "<function name="];

/** `<invoke name="f"><parameter name="a">1</parameter></invoke>`, and as it was before: with tags for the names. */
export const INVOKE_SHAPE = tagShape({
  format: "anthropic-xml",
  callTags: ["invoke"],
  nameTags: ["tool_name"],
  groupTags: ["parameters"],
  parameterTags: ["parameter"],
  markup: "cdata",
  ends: ["</function_calls>", "</*:function_calls>"],
});
export const INVOKE_HEADS = [...headsOf(INVOKE_SHAPE), ...headsOf(INVOKE_SHAPE, "*:")].filter(
  (head) => !head.endsWith("="),
);
