import { cutOff, Malformed } from "./malformed.ts";
import { markerSet } from "./marker-set.ts";
import type { JsonReader } from "./read-json.ts";
import { awaitLength, atMarker, lookPastSpace, type Reading, readUntil, type Source } from "./source.ts";

/** What a string is part of: it says what may follow a quotation mark that closes it. */
export type StringPosition = "key" | "object" | "list" | "tuple" | "call" | "braces";

const FOLLOWS: Record<StringPosition, string> = {
  key: ":",
  object: ",}",
  list: ",]",
  tuple: ",)",
  call: ",)",
  braces: ":,}",
};

const DOUBLE = markerSet(['"', "\\"]);
const SINGLE = markerSet(["'", "\\"]);
const TRIPLE_DOUBLE = markerSet(['"""', "\\"]);
const TRIPLE_SINGLE = markerSet(["'''", "\\"]);
const OPENERS = markerSet(['"', "'"]);
const PYTHON_OPENERS = markerSet(['"', "'", '"""', "'''"]);
const SETS = new Map([
  ['"', DOUBLE],
  ["'", SINGLE],
  ['"""', TRIPLE_DOUBLE],
  ["'''", TRIPLE_SINGLE],
]);

/** Reads a string, where one begins here, and writes it as JSON while it comes. */
export function* readJsonString(reader: JsonReader, position: StringPosition): Reading<boolean> {
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
  let stops = SETS.get(quote)!;
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
      // From here on the end is guessed, and no guess may reach into the next call.
      stops = markerSet([quote, "\\", ...dialect.quotesUntil!.markers]);
    }
  }
  source.take(quote.length);
  reader.write('"');
}

function writePiece(reader: JsonReader, piece: string, isLong: boolean): void {
  if (!isLong && /[\u0000-\u001f]/.test(piece)) reader.repair("line ends and tabs inside a string were escaped");
  reader.write(escaped(piece));
}

/** As it stands inside of a JSON string. */
export function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/**
 * Whether the quotation mark here ends the string. In JSON it does, and only one thing can follow; where something else
 * does, the mark was meant as part of the string.
 */
function* closes(reader: JsonReader, quote: string, position: StringPosition): Reading<boolean> {
  const { source, dialect } = reader;
  if (position === "key" || !dialect.quotesUntil) return true;
  const at = yield* lookPastSpace(source, quote.length);
  const follower = source.peek(1, at);
  if (follower === "") return true;
  if (follower === ",") return yield* continues(source, at + 1, position);
  if (FOLLOWS[position].includes(follower) || follower === "/") return true;
  return dialect.ends !== undefined && (yield* atMarker(source, dialect.ends, at)) !== undefined;
}

/** Whether what stands behind a comma can be the next member or item. */
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
    if (!dialect.python) reader.repair("an escape that JSON does not have was read as the character itself");
    return reader.write(source.take(1));
  }
  if (kind === "\n" && dialect.python) return void source.take(1);
  if (!dialect.python) reader.repair("a backslash inside a string was escaped");
  reader.write("\\\\");
}
