import { ToolError } from "../../core/error.ts";
import { parseJson } from "../../core/parse-json.ts";
import type { JsonType } from "../../schema/json-schema.ts";
import { admitsType, typeOfValue } from "../../schema/schema-properties.ts";
import { type JsonReader, readJson, skipBlanks } from "./json-reader.ts";
import { Malformed, markerSet, Source } from "./text-source.ts";

/** How to type a value without a schema: infer booleans and numbers, keep the text, or parse JSON if it is valid. */
export type Untyped = "infer" | "text" | "json";

/** Whether the value is the literal text, which can be streamed before it is complete. */
export function isPlainText(types: ReadonlySet<JsonType> | undefined, untyped: Untyped): boolean {
  if (!types) return untyped === "text";
  return types.has("string") && types.size === 1;
}

/** Text as the type of the schema, if nothing is lost: `42`, but not `042`. Otherwise it stays text. */
export function typeValue(
  text: string,
  types: ReadonlySet<JsonType> | undefined,
  { untyped, repair }: { untyped: Untyped; repair(what: string): void },
): unknown {
  if (!types) return untyped === "text" ? text : untyped === "json" ? (jsonIn(text, repair) ?? text) : inferType(text);
  const trimmed = text.trim().replace(/^(\\?")([-+.\w]*)\1$/, types.has("string") ? "$&" : "$2");
  if (types.has("null") && trimmed === "null") return null;
  if (types.has("string")) return otherThanText(trimmed, types) ?? text;
  if (types.has("boolean") && /^(?:true|false)$/i.test(trimmed)) return trimmed.toLowerCase() === "true";
  if ((types.has("number") || types.has("integer")) && NUMBER.test(trimmed)) {
    const number = Number(trimmed);
    if (Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number))) return number;
  }
  if (types.has("object") || types.has("array")) return jsonIn(text, repair) ?? text;
  return text;
}

function otherThanText(text: string, types: ReadonlySet<JsonType>): unknown {
  try {
    const value = /^[[{]/.test(text) ? parseJson(text) : inferType(text);
    return admitsType(types, typeOfValue(value)) ? value : undefined;
  } catch {
    return undefined;
  }
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Converts true, false, 123 and 3.14, but only if nothing is lost: 007 and 1.10 stay text. */
function inferType(text: string): unknown {
  if (text === "true" || text === "false") return text === "true";
  if (!/^-?\d{1,16}(?:\.\d{1,16})?$/.test(text)) return text;
  const number = Number(text);
  return String(number) === text ? number : text;
}

function jsonIn(text: string, repair: (what: string) => void): unknown {
  const first = text.trimStart()[0];
  if (first === undefined || !/[[{"\d\-tfn]/.test(first)) return undefined;
  try {
    return parseJson(text);
  } catch {
    if (first !== "[" && first !== "{") return undefined;
    return repairJson(text, repair) ?? unescapedJson(text, repair);
  }
}

/** `[\\"a\\"]`: all quotation marks are escaped, as in the JSON of a string, but nothing is around it. */
function unescapedJson(text: string, repair: (what: string) => void): unknown {
  if (!text.includes('\\"') || /(?<!\\)"/.test(text)) return undefined;
  try {
    const value = parseJson(JSON.parse(`"${text.trim()}"`) as string);
    repair("escaped quotation marks were read as quotation marks");
    return value;
  } catch {
    return undefined;
  }
}

/** Parses text as JSON and repairs what has only one meaning. Returns undefined if it is not JSON. */
export function repairJson(text: string, repair: (what: string) => void): unknown {
  const source = new Source();
  source.feed(text);
  source.ended = true;
  let json = "";
  const repairs = new Set<string>();
  const reader: JsonReader = {
    source,
    dialect: { quotesUntil: markerSet([]) },
    repair: (what) => void repairs.add(what),
    write: (piece) => void (json += piece),
  };
  try {
    // A reader of a text that has ended never pauses, so one step reads everything.
    readJson(reader, "object").next();
    skipBlanks(reader).next();
    if (source.left > 0) return undefined;
    const value = parseJson(json);
    for (const what of repairs) repair(what);
    return value;
  } catch (thrown) {
    if (thrown instanceof Malformed || thrown instanceof ToolError) return undefined;
    throw thrown;
  }
}

/** Which white space around a value is removed: none, one line break at either side, or all of it. */
export type Trim = "none" | "line" | "outer";

/** A value that arrives in pieces. */
export interface TextValue {
  add(piece: string): void;
  /** Whether the next piece starts a line. */
  readonly isAtLineStart: boolean;
  readonly isOneLine: boolean;
  /** The complete, trimmed value. */
  end(): string;
}

/** `stream` receives each piece as soon as it is certain to be part of the value. */
export function createTextValue(trim: Trim, stream?: (piece: string) => void): TextValue {
  let text = "";
  let lastCharacter = "";
  let lines: "none" | "one" | "one ended" | "several" = "none";
  let streamed = 0;
  let held = "";
  let state: "before" | "indented" | "begun" = "before";

  const countLines = (piece: string): void => {
    const content = piece.trim();
    if (content === "") {
      if (lines === "one" && piece.includes("\n")) lines = "one ended";
      return;
    }
    const start = piece.indexOf(content);
    const isNextLine = lines === "one ended" || (lines === "one" && piece.lastIndexOf("\n", start - 1) !== -1);
    if (isNextLine || content.includes("\n")) lines = "several";
    else if (lines !== "several") lines = piece.includes("\n", start + content.length) ? "one ended" : "one";
  };
  const send = (emit: (piece: string) => void, piece: string): void => {
    // White space is held back: it is part of the value only if something follows it.
    const end = trim === "none" ? piece.length : lengthWithoutBlanks(piece);
    if (end === 0) return void (held += piece);
    if (state === "before") {
      const whole = held + piece;
      held = whole.slice(leadLength(whole, trim));
      // The indentation of the first line matters only if there is a second line.
      state = trim === "outer" && /^\s/.test(held) ? "indented" : "begun";
    } else held += piece;
    if (state === "indented" && lines !== "several") return;
    state = "begun";
    const ready = held.slice(0, held.length - (piece.length - end));
    held = piece.slice(end);
    streamed += ready.length;
    emit(ready);
  };

  return {
    add(piece) {
      if (piece === "") return;
      text += piece;
      lastCharacter = piece.slice(-1);
      if (lines !== "several") countLines(piece);
      if (stream) send(stream, piece);
    },
    get isAtLineStart() {
      return lastCharacter === "" || lastCharacter === "\n";
    },
    get isOneLine() {
      return lines !== "several";
    },
    end() {
      const value = trim === "outer" && lines !== "several" ? text.trim() : trimmed(text, trim);
      if (stream && value.length > streamed) stream(value.slice(streamed));
      return value;
    },
  };
}

function trimmed(text: string, trim: Trim): string {
  if (trim === "none") return text;
  const lead = leadLength(text, trim);
  const rest = text.slice(lead);
  let end = rest.length;
  // The last line end belongs to a text of several lines whose first line begins directly after the tag.
  if (trim === "line" && lead === 0 && rest.trimEnd().includes("\n")) return rest;
  if (trim === "outer") while (isBlank(rest, end - 1)) end--;
  if (rest[end - 1] === "\n") {
    end--;
    if (rest[end - 1] === "\r") end--;
  }
  return rest.slice(0, end);
}

function leadLength(text: string, trim: Trim): number {
  if (trim === "none") return 0;
  let lead = 0;
  if (trim === "outer") while (isBlank(text, lead)) lead++;
  if (text.startsWith("\r\n", lead)) return lead + 2;
  return text[lead] === "\n" ? lead + 1 : lead;
}

function isBlank(text: string, at: number): boolean {
  return text[at] === " " || text[at] === "\t";
}

function lengthWithoutBlanks(piece: string): number {
  let end = piece.length;
  while (end > 0 && /\s/.test(piece.charAt(end - 1))) end--;
  return end;
}
