import { type Content, isContentList } from "../../core/content.ts";
import { isObject } from "../../schema/json-schema.ts";
import { allSections } from "./format-table.ts";
import type { TextFormatName } from "../../core/text-formats.ts";
import { createToolTable, type ToolLike, type ToolTable } from "./text-format.ts";
import { markerPattern } from "./text-source.ts";
import { readQuotedText } from "./tool-call-parser.ts";
import { cdata } from "./write-calls.ts";

export interface ToolResultOptions {
  /** Default: the format of the call, or of the last prompt that described the tool, or `xml`. */
  format?: TextFormatName;
  /** The tools that a result must not seem to call. Default: those of the last prompt that described the tool, or any. */
  tools?: Iterable<ToolLike>;
}

/** A call that was read from text, or the name of its tool. */
export type AnsweredCall = string | { readonly name: string; readonly format?: TextFormatName };

/**
 * Formats a result as text for the model. The result may be a `ToolResult`, a plain `{ success, data, error }` or any
 * value. Its content can neither close its own tag nor read as a call; everything else is left as it is.
 */
export function formatToolResult(call: AnsweredCall, result: unknown, options: ToolResultOptions = {}): string {
  const { name, format: written } = typeof call === "string" ? { name: call } : call;
  const prompt = prompts.get(name);
  const format = options.format ?? written ?? prompt?.format ?? "xml";
  const given = [...(options.tools ?? prompt?.tools ?? [])];
  const assumesTools = given.length === 0;
  const tools = assumesTools && /^[\w.-]+$/.test(name) ? [{ name }] : given;
  const { success, value } = readResult(result);
  const text = textFrom(value);
  const table = createToolTable(tools);
  const reading = { tools, format, assumesTools };
  const marks = findMarks(text, table, reading);
  if (format === "xml") {
    const tag = success ? "data" : "error";
    const written = writeCdata(text, marks, table);
    return `<tool_result>\n  <name>${entities(name)}</name>\n  <success>${success}</success>\n  <${tag}>${written}</${tag}>\n</tool_result>`;
  }
  if (format === "anthropic-xml" || format === "anthropic-xml-legacy") {
    const tag = success ? "stdout" : "stderr";
    const body = `<tool_name>${entities(name)}</tool_name>\n<${tag}>${writeEntities(text, marks)}</${tag}>`;
    return `<function_results>\n<result>\n${body}\n</result>\n</function_results>`;
  }
  const key = success ? "content" : "error";
  const wrap = (content: string): string =>
    `<tool_response>\n{"name":${quoteJson(name)},"success":${success},"${key}":${content}}\n</tool_response>`;
  const asJson = marks.size === 0 ? jsonIn(value) : undefined;
  const embedded = asJson === undefined ? undefined : wrap(asJson);
  // JSON has no other way to write a bracket, so JSON that reads as a call becomes a string.
  if (embedded !== undefined && !callsIn(embedded, reading)) return embedded;
  const quoted = wrap(writeJsonString(text, marks));
  // Some formats read calls anywhere in a line.
  return callsIn(quoted, reading) ? wrap(writeJsonString(text, new Set([...marks, ...brackets(text)]))) : quoted;
}

/** The tools that a result must not seem to call, and the format of the prompt. */
interface ResultReading {
  tools: readonly ToolLike[];
  format: TextFormatName;
  /** The tools are not known: every name may be a tool. */
  assumesTools: boolean;
}

const MAX_PROMPTS = 10_000;
const prompts = new Map<string, { format: TextFormatName; tools: readonly ToolLike[] }>();

/** The model was shown the tools in this format. Results of calls that are known by name only are written for it. */
export function rememberPrompt(names: Iterable<string>, format: TextFormatName): void {
  if (prompts.size >= MAX_PROMPTS) prompts.clear();
  // Only the names are kept: a tool may hold much more.
  const prompt = { format, tools: [...new Set(names)].map((name) => ({ name })) };
  for (const { name } of prompt.tools) prompts.set(name, prompt);
}

function readResult(result: unknown): { success: boolean; value: unknown } {
  if (!isObject(result)) return { success: true, value: result };
  const { success = true, status, content, data, details, error } = result;
  if (success === false && status !== "pending") {
    return { success: false, value: isContentList(content) && content.length > 0 ? content : messageOf(error) };
  }
  if (isContentList(content)) return { success: true, value: content };
  return { success: true, value: "success" in result ? (data ?? details ?? "") : result };
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

/** The value as JSON that can be part of a JSON text, if it is an object or a list, or a text of one. */
function jsonIn(value: unknown): string | undefined {
  const isText = typeof value === "string" || isContentList(value);
  const json = isText ? textFrom(value).trim() : (JSON.stringify(value) ?? "").toWellFormed();
  if (!/^[[{]/.test(json)) return undefined;
  if (!isText) return json;
  try {
    JSON.parse(json);
    return json;
  } catch {
    return undefined;
  }
}

/** Writes the marked characters as entities between two CDATA sections, so the value reads back unchanged. */
function writeCdata(text: string, marks: ReadonlySet<number>, tools: ToolTable): string {
  let written = "";
  let from = 0;
  for (const at of marks) {
    written += section(text.slice(from, at), tools) + reference(text.charAt(at));
    from = at + 1;
  }
  return written + section(text.slice(from), tools);
}

/** `<![CDATA[` ends with a bracket, which can form a marker together with the text after it. */
function section(text: string, tools: ToolTable): string {
  const isMarker = markerPatternOf(tools).test(`[${text.slice(0, 40)}`);
  return isMarker ? reference(text.charAt(0)) + cdata(text.slice(1)) : cdata(text);
}

/** An ampersand is escaped only if it would read as a reference. */
function writeEntities(text: string, marks: ReadonlySet<number>): string {
  let written = "";
  let from = 0;
  const plain = (piece: string): string =>
    piece.replace(/&(?=#?\w{1,10};)/g, "&amp;").replaceAll("<![CDATA[", "&lt;![CDATA[");
  for (const at of marks) {
    written += plain(text.slice(from, at)) + reference(text.charAt(at));
    from = at + 1;
  }
  return written + plain(text.slice(from));
}

function writeJsonString(text: string, marks: ReadonlySet<number>): string {
  let written = "";
  let from = 0;
  const plain = (piece: string): string => JSON.stringify(piece).slice(1, -1);
  for (const at of [...marks].sort((a, b) => a - b)) {
    written += `${plain(text.slice(from, at))}\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`;
    from = at + 1;
  }
  return `"${written}${plain(text.slice(from))}"`;
}

/** A tool name from a model may contain anything. */
function quoteJson(name: string): string {
  return JSON.stringify(name.toWellFormed()).replaceAll("<", "\\u003c").replaceAll("[", "\\u005b");
}

function reference(character: string): string {
  return character === "<" ? "&lt;" : `&#${character.charCodeAt(0)};`;
}

function entities(text: string): string {
  return text.replace(/[<>&[\]{]/g, (character) =>
    character === "&" ? "&amp;" : character === ">" ? "&gt;" : reference(character),
  );
}

/** Tags around results and their parts. */
const RESULT_TAGS = ["tool_result", "tool_response", "function_results", "result", "stdout", "stderr"].flatMap(
  (tag) => [`<${tag}`, `</${tag}`],
);

const MAX_CACHED_PATTERNS = 50;
const patterns = new Map<string, RegExp>();

/** Matches the markers of calls and the tags of results at any place. */
function markerPatternOf(tools: ToolTable): RegExp {
  const key = tools.names.join("\n");
  let pattern = patterns.get(key);
  if (!pattern) {
    const opens = allSections(tools)
      .filter(({ onlyAtLineStart }) => !onlyAtLineStart)
      // A bare bracket is a call only together with what follows.
      .flatMap(({ open }) => open.filter((marker) => marker.length > 1));
    if (patterns.size >= MAX_CACHED_PATTERNS) patterns.clear();
    pattern = new RegExp([...RESULT_TAGS, ...opens].map(markerPattern).join("|"), "u");
    patterns.set(key, pattern);
  }
  return pattern;
}

const PLACEHOLDER = "\u0001";
const MAX_ROUNDS = 8;

const ANY_TAG = /<(?=[a-z][\w.-]*>)/gi;
/** A tag that is a tool name in snake case, which no tag of HTML is. */
const TAG_OF_TOOL = /<(?=[a-z][a-z0-9]*_\w*>)/gi;

/** The places of characters that must not stand as they are: the first of each marker, and of each call without markers. */
function findMarks(text: string, table: ToolTable, reading: ResultReading): ReadonlySet<number> {
  const marks = new Set<number>();
  const pattern = new RegExp(markerPatternOf(table), "gu");
  // One character later, because a marker may begin inside another.
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    marks.add(match.index);
    pattern.lastIndex = match.index + 1;
  }
  if (reading.assumesTools) {
    for (const { index } of text.matchAll(reading.format === "cline-xml" ? ANY_TAG : TAG_OF_TOOL)) marks.add(index);
  }
  let hidden = hide(text, marks);
  for (let round = 0; ; round++) {
    const found = round < MAX_ROUNDS ? callStarts(hidden, reading) : lineBrackets(hidden);
    if (found.length === 0) break;
    for (const at of found) marks.add(at);
    if (round === MAX_ROUNDS) break;
    hidden = hide(text, marks);
  }
  return new Set([...marks].sort((a, b) => a - b));
}

function hide(text: string, marks: ReadonlySet<number>): string {
  let hidden = "";
  let from = 0;
  for (const at of [...marks].sort((a, b) => a - b)) {
    hidden += text.slice(from, at) + PLACEHOLDER;
    from = at + 1;
  }
  return hidden + text.slice(from);
}

/** Where the calls without markers begin. */
function callStarts(text: string, { tools, assumesTools }: ResultReading): number[] {
  const starts: number[] = [];
  let at = 0;
  for (const event of readQuotedText(text, { tools, assumesTools })) {
    if ("call" in event) starts.push(at);
    at += "text" in event ? event.text.length : "call" in event ? event.call.rawText.length : 0;
  }
  return starts;
}

function lineBrackets(text: string): number[] {
  return [...text.matchAll(/(?<=^[^\S\n]*)[[{]/gm)].map(({ index }) => index);
}

function brackets(text: string): number[] {
  return [...text.matchAll(/[[{]/g)].map(({ index }) => index);
}

function callsIn(text: string, reading: ResultReading): boolean {
  return [reading.format, "auto" as const].some((format) =>
    readQuotedText(text, { ...reading, format }).some((event) => "call" in event),
  );
}
