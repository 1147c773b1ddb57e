import { allSections } from "./format-table.ts";
import { markerPattern } from "./marker-set.ts";
import { createToolTable, type ToolLike } from "./tool-table.ts";

/** Tags that results stand in. */
const RESULT_TAGS = ["tool_result", "tool_response", "function_results", "result"].flatMap((tag) => [
  `<${tag}`,
  `</${tag}`,
]);

/** Where text without a marker could be taken for a call: at the beginning of a line, as JSON or as Python. */
const BARE_CALL = String.raw`(?<=^[^\S\n]*)[[{](?=[\s[{]*(?:["']?(?:name|tool|function|arg|param|input|id|type|call|index)|[\p{L}_][\p{L}\p{N}_.:-]*\())`;

let withoutTools: RegExp | undefined;

/** The first character of everything that would be read as a call, or as the end of a result. */
export function createHidingPattern(tools: Iterable<ToolLike>): RegExp {
  const list = [...tools];
  return list.length > 0 ? compile(list) : (withoutTools ??= compile(list));
}

function compile(tools: readonly ToolLike[]): RegExp {
  const opens = allSections(createToolTable(tools))
    .filter(({ onLineStart }) => !onLineStart)
    .flatMap(({ open }) => open);
  const starts = [...RESULT_TAGS, ...opens].map((marker) => {
    const pattern = markerPattern(marker);
    return pattern.startsWith("\\")
      ? `${pattern.slice(0, 2)}(?=${pattern.slice(2)})`
      : `${pattern[0]}(?=${pattern.slice(1)})`;
  });
  return new RegExp([...starts, BARE_CALL].join("|"), "gmu");
}
