import { ToolError } from "../../core/error.ts";
import { parseJson } from "../../core/parse-json.ts";
import type { JsonType } from "../../schema/json-schema.ts";
import { type JsonReader, readJson, skipBlanks } from "./json-reader.ts";
import { Malformed, markerSet, Source } from "./text-source.ts";

/** What a text is where no schema says it: as the table of the seed has it, always text, or JSON where it is some. */
export type Untyped = "table" | "text" | "json";

/** Whether a value is the very text, so that it need not be waited for to its end. */
export function isPlainText(types: ReadonlySet<JsonType> | undefined, untyped: Untyped): boolean {
  if (!types) return untyped === "text";
  return types.has("string") && !types.has("null");
}

/**
 * A text as the value that the schema wants. What does not fit stays text: the gate says what is wrong with it, and a
 * text is never changed into something that somebody else would read differently.
 */
export function typeValue(
  text: string,
  types: ReadonlySet<JsonType> | undefined,
  { untyped, repair }: { untyped: Untyped; repair(what: string): void },
): unknown {
  if (!types) return untyped === "text" ? text : untyped === "json" ? (jsonIn(text, repair) ?? text) : byTable(text);
  const trimmed = text.trim();
  if (types.has("null") && trimmed === "null") return null;
  if (types.has("string")) return text;
  if (types.has("boolean") && /^(?:true|false)$/i.test(trimmed)) return trimmed.toLowerCase() === "true";
  if ((types.has("number") || types.has("integer")) && NUMBER.test(trimmed)) {
    const number = Number(trimmed);
    if (Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number))) return number;
  }
  if (types.has("object") || types.has("array")) return jsonIn(text, repair) ?? text;
  return text;
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** true, false, 123, 3.14; only where nothing of the text would be lost, so that 007 and 1.10 stay text. */
function byTable(text: string): unknown {
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
    return first === "[" || first === "{" ? mendJson(text, repair) : undefined;
  }
}

/** A whole text as JSON, mended where that has one meaning; undefined where it has none. */
export function mendJson(text: string, repair: (what: string) => void): unknown {
  const source = new Source();
  source.feed(text);
  source.ended = true;
  let json = "";
  const found: string[] = [];
  const reader: JsonReader = {
    source,
    dialect: { quotesUntil: markerSet([]) },
    repair: (what) => void found.push(what),
    write: (piece) => void (json += piece),
  };
  try {
    // Of a text that has ended, a reader never waits for more.
    readJson(reader, "object").next();
    skipBlanks(reader).next();
    if (source.left > 0) return undefined;
    const value = parseJson(json);
    for (const what of new Set(found)) repair(what);
    return value;
  } catch (thrown) {
    if (thrown instanceof Malformed || thrown instanceof ToolError) return undefined;
    throw thrown;
  }
}

/** What of the white space around a value is the value's own: all of it, all but a line end at either side, or none. */
export type Trim = "none" | "line" | "outer";

/** A value that grows while it comes. */
export interface TextValue {
  add(piece: string): void;
  /** Whether what comes next begins a line. */
  readonly isOnLineStart: boolean;
  readonly isOneLine: boolean;
  /** The whole, trimmed. */
  end(): string;
}

/** `stream` is given the value piece by piece, as soon as a piece is certain to be part of it. */
export function createTextValue(trim: Trim, stream?: (piece: string) => void): TextValue {
  let text = "";
  let last = "";
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
  const send = (piece: string): void => {
    // Blanks wait: they are part of the value only if something else follows them.
    const end = trim === "none" ? piece.length : lengthWithoutBlanks(piece);
    if (end === 0) return void (held += piece);
    if (state === "before") {
      const whole = held + piece;
      held = whole.slice(leadLength(whole, trim));
      // How far a first line is indented matters only if there is a second one.
      state = trim === "outer" && /^\s/.test(held) ? "indented" : "begun";
    } else held += piece;
    if (state === "indented" && lines !== "several") return;
    state = "begun";
    const ready = held.slice(0, held.length - (piece.length - end));
    held = piece.slice(end);
    streamed += ready.length;
    stream!(ready);
  };

  return {
    add(piece) {
      if (piece === "") return;
      text += piece;
      last = piece[piece.length - 1]!;
      if (lines !== "several") countLines(piece);
      if (stream) send(piece);
    },
    get isOnLineStart() {
      return last === "" || last === "\n";
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
  const rest = text.slice(leadLength(text, trim));
  let end = rest.length;
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
  while (end > 0 && /\s/.test(piece[end - 1]!)) end--;
  return end;
}
