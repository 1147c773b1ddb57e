import { type Content, isContentList } from "../../core/content.ts";
import { isObject } from "../../schema/json-schema.ts";
import { allSections } from "./format-table.ts";
import type { TextFormatName } from "../../core/text-formats.ts";
import { createToolTable, type ToolLike } from "./text-format.ts";
import { markerPattern } from "./text-source.ts";
import { cdata } from "./write-calls.ts";

export interface ToolResultOptions {
  /** Default: `xml`. */
  format?: TextFormatName;
  /** The known tools. In formats whose tags are tool names, a result must not look like a call of them. */
  tools?: Iterable<ToolLike>;
}

/**
 * Formats a result as text for the model. The result may be a `ToolResult`, a plain `{ success, data, error }` or any
 * value. Its content can neither close its own tag nor read as a call.
 */
export function formatToolResult(
  name: string,
  result: unknown,
  { format = "xml", tools = [] }: ToolResultOptions = {},
): string {
  const { success, text } = readResult(result);
  const hidden = createHidingPattern(tools);
  if (format === "xml") {
    const tag = success ? "data" : "error";
    const value = hideInCdata(text, hidden);
    return `<tool_result>\n  <name>${entities(name)}</name>\n  <success>${success}</success>\n  <${tag}>${value}</${tag}>\n</tool_result>`;
  }
  if (format === "anthropic-xml" || format === "anthropic-xml-legacy") {
    const tag = success ? "stdout" : "stderr";
    const body = `<tool_name>${entities(name)}</tool_name>\n<${tag}>${hideAsEntities(text, hidden)}</${tag}>`;
    return `<function_results>\n<result>\n${body}\n</result>\n</function_results>`;
  }
  const json = JSON.stringify({ name, success, [success ? "content" : "error"]: text });
  return `<tool_response>\n${hideInJson(json, hidden)}\n</tool_response>`;
}

function readResult(result: unknown): { success: boolean; text: string } {
  if (!isObject(result)) return { success: true, text: textFrom(result) };
  const { success = true, status, content, data, details, error } = result;
  if (success === false && status !== "pending") {
    const shown = isContentList(content) && content.length > 0 ? textFrom(content) : textFrom(messageOf(error));
    return { success: false, text: shown };
  }
  if (isContentList(content)) return { success: true, text: textFrom(content) };
  return { success: true, text: textFrom("success" in result ? (data ?? details ?? "") : result) };
}

function messageOf(error: unknown): unknown {
  return isObject(error) && typeof error["message"] === "string" ? error["message"] : (error ?? "The tool failed.");
}

function textFrom(value: unknown): string {
  if (typeof value === "string") return value.toWellFormed();
  if (isContentList(value)) return value.map(blockText).join("\n").toWellFormed();
  return (JSON.stringify(value, null, 2) ?? "").toWellFormed();
}

function blockText(block: Content): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type}: ${block.mimeType}, cannot be shown as text]`;
    case "resource":
      return block.resource.text ?? `[resource: ${block.resource.uri}]`;
    case "resource_link":
      return `[link: ${block.uri}]`;
  }
}

/** Writes the first character of each marker as an entity between two CDATA sections, so the value reads back unchanged. */
function hideInCdata(text: string, hidden: RegExp): string {
  let written = "";
  let from = 0;
  for (const { index } of text.matchAll(hidden)) {
    written += section(text.slice(from, index), hidden) + reference(text.charAt(index));
    from = index + 1;
  }
  return written + section(text.slice(from), hidden);
}

/** `<![CDATA[` ends with a bracket, which can form a marker together with the text after it. */
function section(text: string, hidden: RegExp): string {
  const isMarker = `[${text.slice(0, 40)}`.search(hidden) === 0;
  return isMarker ? reference(text.charAt(0)) + cdata(text.slice(1)) : cdata(text);
}

function hideAsEntities(text: string, hidden: RegExp): string {
  const marks = new Set([...text.matchAll(hidden)].map(({ index }) => index));
  return Array.from(text.split(""), (character, at) =>
    marks.has(at) ? reference(character) : entities(character),
  ).join("");
}

function hideInJson(json: string, hidden: RegExp): string {
  const plain = json.replace(/[<>]/g, unicode);
  return `{${plain.slice(1).replace(hidden, (marker) => `${unicode(marker.charAt(0))}${marker.slice(1)}`)}`;
}

function unicode(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function reference(character: string): string {
  return character === "<" ? "&lt;" : `&#${character.charCodeAt(0)};`;
}

function entities(text: string): string {
  return text.replace(/[<>&\]]/g, (character) =>
    character === "&" ? "&amp;" : character === ">" ? "&gt;" : reference(character),
  );
}

/** Tags around results. */
const RESULT_TAGS = ["tool_result", "tool_response", "function_results", "result"].flatMap((tag) => [
  `<${tag}`,
  `</${tag}`,
]);

/** Text without a marker that could be read as a call: JSON or Python at the start of a line. */
const BARE_CALL = String.raw`(?<=^[^\S\n]*)[[{](?=[\s[{]*(?:["']?(?:name|tool|function|arg|param|input|id|type|call|index)|[\p{L}_][\p{L}\p{N}_.:-]*\())`;

let withoutTools: RegExp | undefined;

/** Matches the first character of everything that would be read as a call or as the end of a result. */
function createHidingPattern(tools: Iterable<ToolLike>): RegExp {
  const list = [...tools];
  return list.length > 0 ? compile(list) : (withoutTools ??= compile(list));
}

function compile(tools: readonly ToolLike[]): RegExp {
  const opens = allSections(createToolTable(tools))
    .filter(({ onlyAtLineStart }) => !onlyAtLineStart)
    .flatMap(({ open }) => open);
  const starts = [...RESULT_TAGS, ...opens].map((marker) => {
    const pattern = markerPattern(marker);
    return pattern.startsWith("\\")
      ? `${pattern.slice(0, 2)}(?=${pattern.slice(2)})`
      : `${pattern[0]}(?=${pattern.slice(1)})`;
  });
  return new RegExp([...starts, BARE_CALL].join("|"), "gmu");
}
