import { decodeEntities } from "./decode-entities.ts";
import { Malformed, readBounded } from "./malformed.ts";
import { markerPattern, markerSet, type MarkerSet } from "./marker-set.ts";
import { atMarker, type Found, type Reading, type Source } from "./source.ts";

/** What tags look like: `<name …>` and `</name>`, or a model's own tokens in their place. */
export interface TagStyle {
  readonly open: string;
  readonly close: string;
  readonly end: string;
}

export interface Tag {
  /** As it is written, and without its namespace. */
  readonly name: string;
  readonly local: string;
  /** Of `<function=get_weather>`: get_weather. */
  readonly value: string | undefined;
  readonly attributes: ReadonlyMap<string, string>;
  readonly isClosing: boolean;
  /** `<name/>` */
  readonly isEmpty: boolean;
}

const MAX_TAG_LENGTH = 4096;
const MAX_ATTRIBUTES = 32;
const QUOTE_ENDS = new Map(['"', "'"].map((quote) => [quote, markerSet([quote])]));
/** Which kind of tag begins here. */
export function* atTag(source: Source, style: TagStyle): Reading<"open" | "close" | undefined> {
  const found = yield* atMarker(source, markerSet([style.open, style.close]));
  return found && (found.marker === style.close ? "close" : "open");
}

const simpleTags = new WeakMap<TagStyle, { pattern: RegExp; known: Map<string, Tag> }>();

/** A tag without attributes that has come whole, as nearly all have; nothing is taken. The same text is the same tag. */
export function simpleTagAt(source: Source, style: TagStyle): { tag: Tag; length: number } | undefined {
  let simple = simpleTags.get(style);
  if (!simple) {
    const [open, close, end] = [style.open, style.close, style.end].map(markerPattern);
    simple = { pattern: new RegExp(`(?:(${close})|${open})([A-Za-z_][\\w.-]{0,60})${end}`, "y"), known: new Map() };
    simpleTags.set(style, simple);
  }
  const match = source.match(simple.pattern, 0);
  if (!match) return undefined;
  const text = match[0];
  let tag = simple.known.get(text);
  if (!tag) {
    tag = parseTag(match[2]!, match[1] !== undefined);
    // Names come from models: what is kept is bounded.
    if (simple.known.size < 500) simple.known.set(text, tag);
  }
  return { tag, length: text.length };
}

export function* readTag(source: Source, style: TagStyle): Reading<Tag> {
  const kind = yield* atTag(source, style);
  source.take(kind === "close" ? style.close.length : style.open.length);
  const stops = markerSet([style.end, '"', "'"]);
  let inside = "";
  const read = (set: MarkerSet): Reading<Found> =>
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
    // Elsewhere it is an apostrophe.
    if (!/=\s?.$/.test(inside.slice(-3))) continue;
    yield* read(QUOTE_ENDS.get(mark)!);
    inside += source.take(1);
  }
}

function parseTag(inside: string, isClosing: boolean): Tag {
  const isEmpty = !isClosing && inside.endsWith("/");
  const text = (isEmpty ? inside.slice(0, -1) : inside).trim();
  const name = /^[^\s=/"']*/.exec(text)![0];
  if (name === "") throw new Malformed(`the tag "${inside.slice(0, 40)}" has no name`);
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
    if (found.has(name)) throw new Malformed(`the attribute ${name} stands twice in one tag`);
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
