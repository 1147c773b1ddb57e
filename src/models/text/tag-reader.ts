import type { TagShape } from "./tag-calls.ts";
import type { CallReader } from "./text-format.ts";
import {
  atMarker,
  cutOff,
  type FoundMarker,
  lookPastSpace,
  Malformed,
  markerPattern,
  markerSet,
  type MarkerSet,
  readBounded,
  type Reading,
  readUntil,
  type Source,
} from "./text-source.ts";
import { createTextValue, type TextValue } from "./text-values.ts";

/** The delimiters of tags: `<name …>` and `</name>`, or special tokens instead. */
export interface TagStyle {
  readonly open: string;
  readonly close: string;
  readonly end: string;
}

export interface Tag {
  /** With its namespace. */
  readonly name: string;
  /** Without its namespace. */
  readonly local: string;
  /** `get_weather` in `<function=get_weather>`. */
  readonly value: string | undefined;
  readonly attributes: ReadonlyMap<string, string>;
  readonly isClosing: boolean;
  /** `<name/>` */
  readonly isEmpty: boolean;
}

const MAX_TAG_LENGTH = 4096;
const MAX_ATTRIBUTES = 32;

/** The kind of tag that starts here. */
export function* atTag(source: Source, style: TagStyle): Reading<"open" | "close" | undefined> {
  const found = yield* atMarker(source, markerSet([style.open, style.close]));
  return found && (found.marker === style.close ? "close" : "open");
}

const MAX_CACHED_TAGS = 500;
const simpleTags = new WeakMap<TagStyle, { pattern: RegExp; known: Map<string, Tag> }>();

/** A complete tag without attributes, as nearly all are. Takes nothing. Equal texts give the same tag object. */
export function simpleTagAt(source: Source, style: TagStyle): { tag: Tag; length: number } | undefined {
  let simple = simpleTags.get(style);
  if (!simple) {
    const [open, close, end] = [style.open, style.close, style.end].map(markerPattern);
    simple = { pattern: new RegExp(`(?:(${close})|${open})([A-Za-z_][\\w.-]{0,60})${end}`, "y"), known: new Map() };
    simpleTags.set(style, simple);
  }
  const [text, closing, name] = source.match(simple.pattern, 0) ?? [];
  if (text === undefined || name === undefined) return undefined;
  let tag = simple.known.get(text);
  if (!tag) {
    tag = parseTag(name, closing !== undefined);
    // Names come from models, so the cache is bounded.
    if (simple.known.size < MAX_CACHED_TAGS) simple.known.set(text, tag);
  }
  return { tag, length: text.length };
}

export function* readTag(source: Source, style: TagStyle): Reading<Tag> {
  const kind = yield* atTag(source, style);
  source.take(kind === "close" ? style.close.length : style.open.length);
  const stops = markerSet([style.end, '"', "'"]);
  let inside = "";
  const read = (set: MarkerSet): Reading<FoundMarker> =>
    readBounded(source, set, {
      pass: (piece) => void (inside += piece),
      limit: MAX_TAG_LENGTH - inside.length,
      what: "one of its tags",
    });
  for (;;) {
    const found = yield* read(stops);
    const mark = source.take(found.length);
    if (found.marker === style.end) return parseTag(inside, kind === "close");
    inside += mark;
    // A quotation mark that does not follow "=" is an apostrophe.
    if (!/=\s?.$/.test(inside.slice(-3))) continue;
    yield* read(markerSet([mark]));
    inside += source.take(1);
  }
}

function parseTag(inside: string, isClosing: boolean): Tag {
  const isEmpty = !isClosing && inside.endsWith("/");
  const text = (isEmpty ? inside.slice(0, -1) : inside).trim();
  const name = /^[^\s=/"']+/.exec(text)?.[0];
  if (name === undefined) throw new Malformed(`the tag "${inside.slice(0, 40)}" has no name`);
  const rest = text.slice(name.length).trimStart();
  const value = rest.startsWith("=") ? unquote(rest.slice(1).trim()) : undefined;
  return {
    name,
    local: name.slice(name.lastIndexOf(":") + 1),
    value,
    attributes: value === undefined ? parseAttributes(rest) : new Map(),
    isClosing,
    isEmpty,
  };
}

function parseAttributes(text: string): Map<string, string> {
  const found = new Map<string, string>();
  const attribute = /([^\s=/"']+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+))/g;
  for (const [, name = "", double, single, bare] of text.matchAll(attribute)) {
    if (found.has(name)) throw new Malformed(`the attribute ${name} occurs twice in one tag`);
    if (found.size >= MAX_ATTRIBUTES) throw new Malformed("one of its tags has too many attributes");
    found.set(
      name,
      decodeEntities(double ?? single ?? bare ?? "", () => {}),
    );
  }
  return found;
}

function unquote(text: string): string {
  return /^"[^"]*"$|^'[^']*'$/.test(text) ? text.slice(1, -1) : text;
}

/** How to recognise the end of a value. */
export interface ValueEnds {
  /** The tag that closes the value. */
  close: string;
  /** Whether the text at the offset can follow a value. Only then a closing tag before it is real. */
  follows(source: Source, at: number): Reading<boolean>;
  /** Whether the next parameter starts here although this one was not closed. */
  beginsNext?(source: Source): Reading<boolean>;
  /** The starts of tags that open a parameter or a call, and the tag that closes a call. */
  parameterHeads: readonly string[];
  callHeads: readonly string[];
  callClose: string;
  /** Whether the closing tag of the call may end a value of one line. */
  mayEndAtCall: boolean;
}

const CDATA = "<![CDATA[";
const CDATA_OPEN = markerSet([CDATA]);
const CDATA_CLOSE = markerSet(["]]>"]);

/** Reads the value of a parameter and its closing tag. */
export function* readTagValue(
  reader: CallReader,
  shape: TagShape,
  ends: ValueEnds,
  stream?: (piece: string) => void,
): Reading<string> {
  if (shape.markup === "xml") return yield* readXmlValue(reader, ends, stream);
  // Only MiniCPM5, which writes CDATA, has the short tag: `auto` reads its calls as those of Qwen.
  if (shape.markup === "cdata" || ends.close === "</param>") {
    const at = yield* lookPastSpace(reader.source, 0);
    if (yield* atMarker(reader.source, CDATA_OPEN, at)) return yield* readXmlValue(reader, ends, stream);
  }
  return yield* readRawValue(reader, ends, createTextValue(shape.trim, stream));
}

/** Reads a literal value. It may quote complete calls whose tags start on their own lines. */
export function* readRawValue({ source, calls }: CallReader, ends: ValueEnds, value: TextValue): Reading<string> {
  const { close, parameterHeads, callHeads, callClose } = ends;
  const stops = markerSet([close, callClose, ...parameterHeads, ...callHeads]);
  let depth = 0;
  let sawClose = false;
  for (;;) {
    const found = yield* readUntil(source, stops, value.add);
    if (!found) throw cutOff(`before ${close}`);
    const { marker } = found;
    if (callHeads.includes(marker) && value.isAtLineStart) depth++;
    else if (marker === callClose && depth > 0) depth--;
    else if (depth === 0) {
      if (!(sawClose && marker === callClose) && (yield* endsHere(source, found, ends, value))) {
        if (marker === close) source.take(found.length);
        else calls.repair(`the missing ${close} was added`);
        return value.end();
      }
      // Otherwise a value with text after it would extend into the next call.
      if (marker === callClose && sawClose) throw new Malformed(`there is text between ${close} and ${callClose}`);
      sawClose ||= marker === close;
    }
    value.add(source.take(found.length));
  }
}

function* endsHere(source: Source, found: FoundMarker, ends: ValueEnds, value: TextValue): Reading<boolean> {
  if (found.marker === ends.close) return yield* ends.follows(source, found.length);
  if (ends.parameterHeads.includes(found.marker)) {
    return value.isAtLineStart && ends.beginsNext !== undefined && (yield* ends.beginsNext(source));
  }
  // In a value of several lines the tag may be quoted. Truncating the value would be worse than rejecting it.
  if (found.marker !== ends.callClose || !ends.mayEndAtCall || !value.isOneLine) return false;
  return yield* ends.follows(source, found.length);
}

/** Reads text with entities and CDATA sections. CDATA is literal; white space between sections is dropped. */
function* readXmlValue(
  { source, calls }: CallReader,
  ends: ValueEnds,
  stream?: (piece: string) => void,
): Reading<string> {
  const stops = xmlStops(ends);
  let value = "";
  let text = "";
  let hasCdata = false;
  const append = (piece: string): void => {
    value += piece;
    stream?.(piece);
  };
  for (;;) {
    const found = yield* readUntil(source, stops, (piece) => void (text += piece));
    if (!found) throw cutOff(`before ${ends.close}`);
    if (found.marker === ends.close) {
      if (yield* ends.follows(source, found.length)) break;
      text += source.take(found.length);
    } else if (found.marker === CDATA) {
      if (text.trim() !== "") append(decoded(hasCdata ? text : text.trimStart(), calls.repair));
      text = "";
      hasCdata = true;
      source.take(found.length);
      if (!(yield* readUntil(source, CDATA_CLOSE, append))) throw cutOff("before ]]>");
      source.take(3);
    } else throw new Malformed(`${found.marker} is allowed only inside <![CDATA[…]]>`);
  }
  if (text.trim() !== "") append(decoded(hasCdata ? text.trimEnd() : trimText(text), calls.repair));
  source.take(ends.close.length);
  if (value.includes("\0")) throw new Malformed("it contains a NUL character");
  if (!value.isWellFormed()) throw new Malformed("it contains half of a surrogate pair");
  return value;
}

const stopsByClose = new Map<string, MarkerSet>();

/** Cached by closing tag, because building the key of a marker set for every value is slow. */
function xmlStops({ close, callClose }: ValueEnds): MarkerSet {
  let stops = stopsByClose.get(close);
  if (!stops?.markers.includes(callClose)) {
    if (stopsByClose.size >= MAX_CACHED_TAGS) stopsByClose.clear();
    stopsByClose.set(close, (stops = markerSet([close, callClose, CDATA, "<!", "<?", "]]>"])));
  }
  return stops;
}

function trimText(text: string): string {
  const value = createTextValue("outer");
  value.add(text);
  return value.end();
}

function decoded(text: string, repair: (what: string) => void): string {
  if (text.includes("<")) repair("a value with < was read although it is not inside <![CDATA[…]]>");
  return decodeEntities(text, () => repair("a value with & was read although it is not inside <![CDATA[…]]>"));
}

const NAMED = [
  ["lt;", "<"],
  ["gt;", ">"],
  ["amp;", "&"],
  ["quot;", '"'],
  ["apos;", "'"],
] as const;
const NUMERIC = /#(?:(\d{1,7})|x([0-9a-fA-F]{1,6}));/y;

/** Decodes XML's five entities and numeric references. Others stay as they are, and `onUnknown` is called. */
function decodeEntities(text: string, onUnknown: () => void): string {
  let decoded = "";
  let from = 0;
  // A loop: `replace` with a function is several times slower, and code is full of references.
  for (let at = text.indexOf("&"); at !== -1; at = text.indexOf("&", at + 1)) {
    const named = NAMED.find(([name]) => text.startsWith(name, at + 1));
    const { character, length } = named ? { character: named[1], length: named[0].length } : numeric(text, at + 1);
    if (length === 0) onUnknown();
    else {
      decoded += text.slice(from, at) + character;
      from = at + 1 + length;
    }
  }
  return from === 0 ? text : decoded + text.slice(from);
}

function numeric(text: string, at: number): { character: string; length: number } {
  NUMERIC.lastIndex = at;
  const match = NUMERIC.exec(text);
  if (!match) return { character: "", length: 0 };
  const [reference, decimal, hexadecimal = ""] = match;
  const code = decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal);
  if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    throw new Malformed(`&${reference} is not a character`);
  }
  return { character: String.fromCodePoint(code), length: reference.length };
}
