import {
  atMarker,
  awaitLength,
  cutOff,
  isSpace,
  lookPastSpace,
  Malformed,
  markerSet,
  type MarkerSet,
  type Reading,
  readUntil,
  skipSpace,
  type Source,
  unexpected,
} from "./text-source.ts";

/** How the values of a format differ from JSON. */
export interface JsonDialect {
  /** Python literals: single quotes, True, None, tuples, sets, escapes. */
  python?: boolean;
  /** A marker around strings instead of a quotation mark. */
  quote?: string;
  /** Text without quotation marks is a string that ends at the next comma or bracket. */
  bareText?: boolean;
  /** The markers that end the call. Brackets still open before them are closed. */
  ends?: MarkerSet;
  /** Unescaped quotation marks inside strings are repaired up to these markers. If omitted, they are not repaired. */
  quotesUntil?: MarkerSet;
}

export interface JsonReader {
  readonly source: Source;
  readonly dialect: JsonDialect;
  repair(what: string): void;
  write(piece: string): void;
}

const MAX_DEPTH = 64;
const MAX_WORD_LENGTH = 128;
const MAX_NUMBER_LENGTH = 400;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const COMMENT_END = markerSet(["*/"]);
const LINE_END = markerSet(["\n"]);

/** Skips white space and comments. */
export function* skipBlanks(reader: JsonReader): Reading<number> {
  const { source } = reader;
  for (;;) {
    const code = yield* skipSpace(source);
    if (code !== SLASH || !(yield* awaitLength(source, 2))) return code;
    const kind = source.code(1);
    if (kind !== SLASH && kind !== STAR) return code;
    reader.repair("comments were removed from the JSON");
    source.take(2);
    const end = yield* readUntil(source, kind === SLASH ? LINE_END : COMMENT_END, () => {});
    source.take(end?.length ?? 0);
  }
}

/**
 * Reads one value and writes it as strict, compact JSON while it arrives. Repairs what has only one meaning: comments,
 * trailing commas, literals and quotes of other languages, quotation marks inside strings.
 */
export function* readJson(reader: JsonReader, position: StringPosition, depth = 0): Reading {
  const { dialect } = reader;
  const code = yield* skipBlanks(reader);
  if (code === -1) throw cutOff("inside its JSON");
  if (depth > MAX_DEPTH) throw new Malformed(`its JSON is nested deeper than ${MAX_DEPTH} levels`, "input_too_large");
  if (code === OPEN_OBJECT) return yield* readBraces(reader, depth);
  if (code === OPEN_LIST) return yield* readItems(reader, CLOSE_LIST, depth);
  if (code === OPEN_PAREN && dialect.python) return yield* readItems(reader, CLOSE_PAREN, depth);
  if (yield* readJsonString(reader, position)) return;
  if (code === MINUS || code === PLUS || code === DOT || isDigit(code)) return yield* readNumber(reader, position);
  yield* readWord(reader, position);
}

interface Members {
  /** Called before each member with the number of previous ones. */
  begin(count: number): unknown;
  /** Called with the pieces of the key as JSON. */
  key(piece: string): void;
  /** Reads the value. */
  value(key: string): Reading;
}

/** Reads the members of an object with its braces. */
export function* readMembers(reader: JsonReader, members: Members): Reading {
  const { source } = reader;
  source.take(1);
  for (let count = 0; ; count++) {
    if ((yield* nextItem(reader, CLOSE_OBJECT, count)) !== "item") return;
    members.begin(count);
    const key = yield* readKey(reader, members.key);
    if ((yield* skipBlanks(reader)) !== COLON) throw yield* unexpected(source, "a colon");
    source.take(1);
    yield* members.value(key);
  }
}

function* readBraces(reader: JsonReader, depth: number): Reading {
  if (reader.dialect.python) return yield* readPythonBraces(reader, depth);
  reader.write("{");
  yield* readMembers(reader, {
    begin: (count) => count > 0 && reader.write(","),
    key: reader.write,
    *value() {
      reader.write(":");
      yield* readJson(reader, "object", depth + 1);
    },
  });
  reader.write("}");
}

/** Braces in Python enclose an object or a set. The character after the first key or item decides. */
function* readPythonBraces(reader: JsonReader, depth: number): Reading {
  const { source } = reader;
  source.take(1);
  let kind: "object" | "set" | undefined;
  for (let count = 0; (yield* nextItem(reader, CLOSE_OBJECT, count)) === "item"; count++) {
    let item = "";
    yield* readJson({ ...reader, write: (piece) => void (item += piece) }, "braces", depth + 1);
    const isMember = (yield* skipBlanks(reader)) === COLON;
    kind ??= isMember ? "object" : "set";
    if ((kind === "object") !== isMember) throw yield* unexpected(source, kind === "object" ? "a colon" : "a comma");
    reader.write(count > 0 ? "," : isMember ? "{" : "[");
    reader.write(isMember && !item.startsWith('"') ? JSON.stringify(item) : item);
    if (!isMember) continue;
    source.take(1);
    reader.write(":");
    yield* readJson(reader, "object", depth + 1);
  }
  reader.write(kind === "set" ? "]" : kind === "object" ? "}" : "{}");
}

function* readItems(reader: JsonReader, close: number, depth: number): Reading {
  reader.source.take(1);
  reader.write("[");
  for (let count = 0; (yield* nextItem(reader, close, count)) === "item"; count++) {
    if (count > 0) reader.write(",");
    yield* readJson(reader, close === CLOSE_PAREN ? "tuple" : "list", depth + 1);
  }
  reader.write("]");
}

/** Moves to the next item, or takes the end of the list. */
export function* nextItem(reader: JsonReader, close: number, count: number): Reading<"item" | "end"> {
  const { source, dialect } = reader;
  let code = yield* skipBlanks(reader);
  if (count > 0 && code === COMMA) {
    source.take(1);
    code = yield* skipBlanks(reader);
    if (code === close && !dialect.python) reader.repair("a trailing comma was removed from the JSON");
  } else if (count > 0 && code !== close) {
    if (code !== -1 && dialect.ends && (yield* atMarker(source, dialect.ends))) {
      reader.repair("missing closing brackets were added to the JSON");
      return "end";
    }
    throw yield* unexpected(source, `"," or "${String.fromCharCode(close)}"`);
  }
  if (code === -1) throw cutOff("inside its JSON");
  if (code !== close) return "item";
  source.take(1);
  return "end";
}

function* readKey(reader: JsonReader, pass: (piece: string) => void): Reading<string> {
  let key = "";
  const write = (piece: string): void => {
    pass(piece);
    key += piece;
  };
  if (yield* readJsonString({ ...reader, write }, "key")) return String(JSON.parse(key));
  const word = yield* takeRun(reader, isWordPart, MAX_WORD_LENGTH);
  if (word === "") throw yield* unexpected(reader.source, "a key");
  if (!reader.dialect.bareText) reader.repair("keys without quotation marks were quoted in the JSON");
  write(JSON.stringify(word));
  return word;
}

function* readNumber(reader: JsonReader, position: StringPosition): Reading {
  const token = yield* takeRun(reader, isNumberPart, MAX_NUMBER_LENGTH);
  if (NUMBER.test(token)) return reader.write(token);
  const plain = token.replaceAll("_", "");
  const value = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(plain) ? Number(plain) : Number.NaN;
  if (Number.isFinite(value)) {
    if (!reader.dialect.python) reader.repair(`the number ${token.slice(0, 40)} was written as JSON`);
    return reader.write(JSON.stringify(value));
  }
  if (reader.dialect.bareText) return yield* readBareText(reader, token, position);
  throw new Malformed(`"${token.slice(0, 40)}" in its JSON is not a number`);
}

const WORDS = new Map([
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
]);

function* readWord(reader: JsonReader, position: StringPosition): Reading {
  const word = yield* takeRun(reader, isWordPart, MAX_WORD_LENGTH);
  const json = WORDS.get(word);
  if (json !== undefined) {
    if (json !== word && !reader.dialect.python) reader.repair(`${word} was written as ${json} in the JSON`);
    return reader.write(json);
  }
  if (reader.dialect.bareText) return yield* readBareText(reader, word, position);
  if (word !== "") throw new Malformed(`"${word.slice(0, 40)}" in its JSON has no quotation marks`);
  throw yield* unexpected(reader.source, "a value");
}

const VALUE_END = markerSet([",", "}", "]"]);

function* readBareText(reader: JsonReader, start: string, position: StringPosition): Reading {
  const { quote } = reader.dialect;
  let text = start;
  const ends = quote === undefined ? VALUE_END : markerSet([...VALUE_END.markers, quote]);
  const end = yield* readUntil(reader.source, ends, (piece) => void (text += piece));
  if (!end) throw cutOff(`inside its ${position}`);
  if (end.marker === quote) {
    reader.repair("the missing mark before a text was added");
    reader.source.take(end.length);
  }
  reader.write(JSON.stringify(text.trim()));
}

/** Takes a complete run of characters of one class. */
function* takeRun(reader: JsonReader, belongs: (code: number) => boolean, maxLength: number): Reading<string> {
  const { source } = reader;
  let run = "";
  for (;;) {
    run += source.take(Math.min(source.spanOf(belongs), maxLength + 1 - run.length));
    if (run.length > maxLength) throw new Malformed("a name or number in its JSON is too long", "input_too_large");
    if (source.left > 0 || source.ended) return run;
    yield;
  }
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;
const isLetter = (code: number): boolean => (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
const isNumberPart = (code: number): boolean =>
  isDigit(code) || code === PLUS || code === MINUS || code === DOT || code === 101 || code === 69 || code === 95;
/** The characters of keys without quotation marks: letters of every language, digits, `_`, `$` and `-`. */
const isWordPart = (code: number): boolean =>
  code > 127 ? !isSpace(code) : isDigit(code) || isLetter(code) || code === 95 || code === 36 || code === 45;

const PLUS = 43;
const COMMA = 44;
const MINUS = 45;
const DOT = 46;
const SLASH = 47;
const STAR = 42;
const COLON = 58;
export const OPEN_PAREN = 40;
export const CLOSE_PAREN = 41;
export const OPEN_LIST = 91;
export const CLOSE_LIST = 93;
export const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** What a string is part of. It determines what may follow the closing quotation mark. */
type StringPosition = "key" | "object" | "list" | "tuple" | "call" | "braces";

const FOLLOWS: Record<StringPosition, string> = {
  key: ":",
  object: ",}",
  list: ",]",
  tuple: ",)",
  call: ",)",
  braces: ":,}",
};

const OPENERS = markerSet(['"', "'"]);
const PYTHON_OPENERS = markerSet(['"', "'", '"""', "'''"]);

/** Reads a string, if one starts here, and writes it as JSON while it arrives. */
function* readJsonString(reader: JsonReader, position: StringPosition): Reading<boolean> {
  const { source, dialect } = reader;
  if (dialect.quote !== undefined) {
    const quote = markerSet([dialect.quote]);
    if (yield* atMarker(source, quote)) {
      source.take(dialect.quote.length);
      reader.write('"');
      const end = yield* readUntil(source, quote, (piece) => reader.write(escaped(piece)));
      if (!end) throw cutOff("inside a string");
      source.take(end.length);
      reader.write('"');
      return true;
    }
  }
  const opener = yield* atMarker(source, dialect.python ? PYTHON_OPENERS : OPENERS);
  if (!opener) return false;
  if (opener.marker === "'" && !dialect.python) reader.repair("single quotation marks were replaced in the JSON");
  yield* readQuoted(reader, opener.marker, position);
  return true;
}

function* readQuoted(reader: JsonReader, quote: string, position: StringPosition): Reading {
  const { source, dialect } = reader;
  const isLong = quote.length === 3;
  let stops = markerSet([quote, "\\"]);
  source.take(quote.length);
  reader.write('"');
  for (;;) {
    const found = yield* readUntil(source, stops, (piece) => writePiece(reader, piece, isLong));
    if (!found) throw cutOff("inside a string");
    if (found.marker === "\\") yield* readEscape(reader);
    else if (found.marker !== quote) throw new Malformed("it is not clear where a string in it ends");
    else if (yield* closes(reader, quote, position)) break;
    else {
      reader.repair("quotation marks inside a string were escaped");
      reader.write(escaped(source.take(quote.length)));
      // From here on the end of the string is a guess. It must not reach into the next call.
      stops = markerSet([quote, "\\", ...(dialect.quotesUntil?.markers ?? [])]);
    }
  }
  source.take(quote.length);
  reader.write('"');
}

function writePiece(reader: JsonReader, piece: string, isLong: boolean): void {
  if (!isLong && /[\u0000-\u001f]/.test(piece)) reader.repair("line ends and tabs inside a string were escaped");
  reader.write(escaped(piece));
}

/** Escapes text for a JSON string, without the quotation marks. */
export function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Whether the quotation mark here ends the string. If what follows is invalid in JSON, the mark is part of the string. */
function* closes(reader: JsonReader, quote: string, position: StringPosition): Reading<boolean> {
  const { source, dialect } = reader;
  if (position === "key" || !dialect.quotesUntil) return true;
  const at = yield* lookPastSpace(source, quote.length);
  const follower = source.peek(1, at);
  if (follower === "") return true;
  if (follower === ",") return yield* continues(source, at + 1, position);
  if (FOLLOWS[position].includes(follower) || (yield* isComment(source, at))) return true;
  return dialect.ends !== undefined && (yield* atMarker(source, dialect.ends, at)) !== undefined;
}

function* isComment(source: Source, at: number): Reading<boolean> {
  if (source.peek(1, at) !== "/") return false;
  yield* awaitLength(source, at + 2);
  return /^\/[/*]/.test(source.peek(2, at));
}

/** Whether the text after a comma can be the next member or item. */
function* continues(source: Source, offset: number, position: StringPosition): Reading<boolean> {
  if (!FOLLOWS[position].includes(",")) return false;
  const at = yield* lookPastSpace(source, offset);
  const next = source.peek(1, at);
  if (next === "" || "\"'/".includes(next) || FOLLOWS[position].includes(next)) return true;
  if (position === "list" || position === "tuple" || position === "braces") return /[-\d[{(tfnTFN]/.test(next);
  while (source.left < at + 64 && !source.ended && /^[\w$-]*\s*$/.test(source.peek(64, at))) yield;
  return (position === "call" ? /^[\w$-]+\s*=/ : /^[\w$-]+\s*:/).test(source.peek(64, at));
}

const PLAIN_ESCAPES = '"\\/bfnrt';

function* readEscape(reader: JsonReader): Reading {
  const { source, dialect } = reader;
  if (!(yield* awaitLength(source, 2))) throw cutOff("inside a string");
  const kind = source.peek(1, 1);
  if (PLAIN_ESCAPES.includes(kind)) return reader.write(source.take(2));
  if (kind === "u" || (kind === "x" && dialect.python)) {
    const length = kind === "u" ? 6 : 4;
    yield* awaitLength(source, length);
    const digits = source.peek(length - 2, 2);
    if (new RegExp(`^[0-9a-fA-F]{${length - 2}}$`).test(digits)) {
      source.take(length);
      return reader.write(`\\u${digits.padStart(4, "0")}`);
    }
  }
  source.take(1);
  if (kind === "'") {
    if (!dialect.python) reader.repair("an escape that is invalid in JSON was read as the character itself");
    return reader.write(source.take(1));
  }
  if (kind === "\n" && dialect.python) return void source.take(1);
  if (!dialect.python) reader.repair("a backslash inside a string was escaped");
  reader.write("\\\\");
}
