import type { ErrorCode } from "../../core/error.ts";
import type { CallReader } from "./text-format.ts";

/** Markers that are searched for together in one pass. `*:` in a marker matches any namespace. */
export interface MarkerSet {
  /** The longest first. */
  readonly markers: readonly string[];
  /** Finds the first marker at or after `from`. */
  search(text: string, from: number): RegExpExecArray | null;
  /** The first characters of the markers. */
  readonly firsts: ReadonlySet<string>;
  /** The length of the longest marker. */
  readonly longest: number;
  markerOf(match: RegExpExecArray): string;
  /** The length of the marker if `text` starts with it, otherwise 0. */
  lengthAt(marker: string, text: string): number;
}

const MAX_NAMESPACE_LENGTH = 24;
const WILD = `[A-Za-z][\\w-]{0,${MAX_NAMESPACE_LENGTH - 1}}`;

/** Some markers contain names that a model made up, so the cache is bounded. */
const MAX_CACHED_SETS = 500;
const cachedSets = new Map<string, MarkerSet>();

export function markerSet(markers: readonly string[]): MarkerSet {
  const key = markers.join("\n");
  let set = cachedSets.get(key);
  if (!set) {
    if (cachedSets.size >= MAX_CACHED_SETS) cachedSets.clear();
    cachedSets.set(key, (set = compile(markers)));
  }
  return set;
}

function compile(markers: readonly string[]): MarkerSet {
  // Longest first: if two markers start alike, a pattern takes the first alternative.
  const sorted = [...new Set(markers)].sort((a, b) => b.length - a.length);
  const wildcards = new Map<string, RegExp>();
  for (const marker of sorted) {
    if (marker.includes("*:")) wildcards.set(marker, new RegExp(`^${markerPattern(marker)}`));
  }
  const alternatives = sorted.length > 0 ? sorted.map(markerPattern).join("|") : "(?!)";
  const firsts = new Set(sorted.map((marker) => marker.charAt(0)));
  let search: MarkerSet["search"] | undefined;
  return {
    markers: sorted,
    search(text, from) {
      // Compiled on first use: a text rarely needs more than a few formats.
      search ??= firsts.size === 1 ? searchByFirst([...firsts].join(""), alternatives) : searchByPattern(alternatives);
      return search(text, from);
    },
    firsts,
    longest: Math.max(0, ...sorted.map((marker) => marker.length + (wildcards.has(marker) ? MAX_NAMESPACE_LENGTH : 0))),
    markerOf([found]) {
      if (sorted.includes(found)) return found;
      return [...wildcards.keys()].find((marker) => wildcards.get(marker)?.test(found)) ?? found;
    },
    lengthAt(marker, text) {
      const wildcard = wildcards.get(marker);
      if (wildcard) return wildcard.exec(text)?.[0].length ?? 0;
      return text.startsWith(marker) ? marker.length : 0;
    },
  };
}

function searchByPattern(alternatives: string): MarkerSet["search"] {
  const pattern = new RegExp(alternatives, "g");
  return (text, from) => {
    pattern.lastIndex = from;
    return pattern.exec(text);
  };
}

/** Prose has few angle brackets: jumping from one to the next is many times faster than trying a pattern everywhere. */
function searchByFirst(first: string, alternatives: string): MarkerSet["search"] {
  const pattern = new RegExp(alternatives, "y");
  return (text, from) => {
    for (let at = text.indexOf(first, from); at !== -1; at = text.indexOf(first, at + 1)) {
      pattern.lastIndex = at;
      const match = pattern.exec(text);
      if (match) return match;
    }
    return null;
  };
}

export function markerPattern(marker: string): string {
  return marker.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&").replace("\\*:", `${WILD}:`);
}

/** Whether the text after `from` is a proper prefix of the marker. */
function couldBecome(marker: string, text: string, from: number): boolean {
  let at = from;
  for (let i = 0; i < marker.length; i++) {
    if (at === text.length) return true;
    if (marker[i] === "*" && marker[i + 1] === ":") {
      let end = at;
      while (end < text.length && end - at < MAX_NAMESPACE_LENGTH && /[\w-]/.test(text.charAt(end))) end++;
      if (end === text.length) return /^[A-Za-z]/.test(text.charAt(at));
      if (end === at) return false;
      at = end;
    } else if (text[at++] !== marker[i]) return false;
  }
  return false;
}

/** The end of a comment in HTML. */
export const COMMENT_END = markerSet(["-->"]);

/** A reader that pauses (`yield`) when it needs more text to decide. So the chunk boundaries never change a result. */
export type Reading<T = void> = Generator<undefined, T, undefined>;

export interface FoundMarker {
  marker: string;
  length: number;
}

/** How much white space a reader looks past before it decides without seeing what follows. */
const MAX_LOOKAHEAD = 256;
/** An offset beyond any text. */
const TOO_FAR = Number.POSITIVE_INFINITY;

/**
 * The text that has arrived and was not taken yet. Readers take what they have decided on and look ahead a bounded
 * distance only, because the rest is copied with every chunk.
 */
export class Source {
  #text = "";
  #at = 0;
  #markedAt = 0;
  #takenBefore = "";
  /** Earlier results of `indexOf`: a failed search is not repeated. */
  readonly #found = new Map<string, { from: number; index: number }>();
  ended = false;
  /** The number of characters examined or copied, for tests of linear time. */
  work = 0;

  feed(chunk: string): void {
    this.#found.clear();
    this.#takenBefore += this.#text.slice(this.#markedAt, this.#at);
    const rest = this.#text.slice(this.#at);
    this.work += rest.length + chunk.length;
    this.#text = rest + chunk;
    this.#at = 0;
    this.#markedAt = 0;
  }

  get left(): number {
    return this.#text.length - this.#at;
  }

  /** The code unit at the offset, or -1 if it has not arrived. */
  code(offset = 0): number {
    this.work++;
    const at = this.#at + offset;
    return at < this.#text.length ? this.#text.charCodeAt(at) : -1;
  }

  peek(count: number, offset = 0): string {
    this.work += count;
    return this.#text.slice(this.#at + offset, this.#at + offset + count);
  }

  take(count: number): string {
    const piece = this.#text.slice(this.#at, this.#at + count);
    this.#at += piece.length;
    return piece;
  }

  /** Everything taken since the last call of this method. */
  takeMarked(): string {
    const marked = this.#takenBefore + this.#text.slice(this.#markedAt, this.#at);
    this.#takenBefore = "";
    this.#markedAt = this.#at;
    return marked;
  }

  /** Puts back everything taken since the last call of `takeMarked`. */
  untake(): void {
    if (this.#takenBefore === "") {
      // Nothing is copied: the rest of a whole text may be long.
      this.#at = this.#markedAt;
      return;
    }
    const rest = this.#text.slice(this.#at);
    this.#text = this.takeMarked() + rest;
    this.work += this.#text.length - rest.length;
    this.#at = 0;
    this.#markedAt = 0;
    this.#found.clear();
  }

  get markedLength(): number {
    return this.#takenBefore.length + this.#at - this.#markedAt;
  }

  startsWith(text: string, offset = 0): boolean {
    this.work += text.length;
    return this.#text.startsWith(text, this.#at + offset);
  }

  /** Matches a sticky pattern at the offset. */
  match(pattern: RegExp, offset: number): RegExpExecArray | null {
    pattern.lastIndex = this.#at + offset;
    const match = pattern.exec(this.#text);
    this.work += match ? match[0].length + 1 : 1;
    return match;
  }

  /** The first offset of `text` at or after `offset`; -1 if it has not arrived. */
  indexOf(text: string, offset: number): number {
    const from = this.#at + offset;
    let known = this.#found.get(text);
    if (!known || from < known.from || (known.index !== -1 && from > known.index)) {
      known = { from, index: this.#text.indexOf(text, from) };
      this.work += (known.index === -1 ? this.#text.length : known.index) - from + 1;
      this.#found.set(text, known);
    }
    return known.index === -1 ? -1 : known.index - this.#at;
  }

  /** Takes the white space that has arrived. Returns the next code unit, or -1 if none has arrived. */
  skipSpace(): number {
    let at = this.#at;
    while (at < this.#text.length && isSpace(this.#text.charCodeAt(at))) at++;
    this.work += at - this.#at + 1;
    this.#at = at;
    return at < this.#text.length ? this.#text.charCodeAt(at) : -1;
  }

  /** The offset of the first character, at or after `from`, that does not belong to the class. */
  spanOf(belongs: (code: number) => boolean, from = 0): number {
    let end = this.#at + from;
    while (end < this.#text.length && belongs(this.#text.charCodeAt(end))) end++;
    this.work += end - this.#at - from + 1;
    return end - this.#at;
  }

  /** Finds the first marker within `limit`. Without one, `distance` is how much text certainly contains no start of a marker. */
  find(set: MarkerSet, limit: number): { distance: number; found?: FoundMarker } {
    const isBounded = this.left > limit + set.longest;
    const text = isBounded ? this.#text.slice(this.#at, this.#at + limit + set.longest) : this.#text;
    const start = isBounded ? 0 : this.#at;
    const match = set.search(text, start);
    const end = text.length;
    this.work += (match ? match.index + match[0].length : end) - start + 1;
    const position = match ? match.index : end;
    if (!this.ended || isBounded) {
      // The end of the text may be the start of a marker, also of a longer one than the one found.
      for (let from = Math.max(start, end - set.longest + 1); from <= position && from < end; from++) {
        this.work++;
        if (set.firsts.has(text.charAt(from)) && this.#mayGrow(set, text, from)) return { distance: from - start };
      }
    }
    if (!match) return { distance: end - start };
    return { distance: position - start, found: { marker: set.markerOf(match), length: match[0].length } };
  }

  #mayGrow(set: MarkerSet, text: string, from: number): boolean {
    return set.markers.some((marker) => {
      this.work++;
      return couldBecome(marker, text, from);
    });
  }
}

export const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13);

export function* skipSpace(source: Source): Reading<number> {
  for (;;) {
    const code = source.skipSpace();
    if (code !== -1 || source.ended) return code;
    yield;
  }
}

/** Waits for `count` characters or the end of the text. */
export function* awaitLength(source: Source, count: number): Reading<boolean> {
  while (source.left < count && !source.ended) yield;
  return source.left >= count;
}

/** The longest marker at the offset. Takes nothing. */
export function* atMarker(source: Source, set: MarkerSet, offset = 0): Reading<FoundMarker | undefined> {
  while (set.longest > 0 && offset !== TOO_FAR) {
    const here = source.peek(set.longest, offset);
    if (here !== "" && !set.firsts.has(here.charAt(0))) return undefined;
    let found: FoundMarker | undefined;
    let mayGrow = false;
    for (const marker of set.markers) {
      const length = set.lengthAt(marker, here);
      if (length > (found?.length ?? 0)) found = { marker, length };
      else if (length === 0 && here !== "" && couldBecome(marker, here, 0)) mayGrow = true;
    }
    if (source.ended || (!mayGrow && here !== "")) return found;
    yield;
  }
  return undefined;
}

export const TOO_LONG = "too long";

/** Passes everything before the next marker to `pass`. The marker is not taken. Returns undefined at the end of the text. */
export function* readUntil(
  source: Source,
  set: MarkerSet,
  pass: (piece: string) => void,
): Reading<FoundMarker | undefined> {
  for (;;) {
    const { distance, found } = source.find(set, Number.POSITIVE_INFINITY);
    if (distance > 0) pass(source.take(distance));
    if (found) return found;
    if (source.ended) return undefined;
    yield;
  }
}

/** Like `readUntil`, but reads at most `limit` characters, independent of chunk boundaries. */
export function* readWithin(
  source: Source,
  set: MarkerSet,
  pass: (piece: string) => void,
  limit: number,
): Reading<FoundMarker | typeof TOO_LONG | undefined> {
  for (let room = limit; ;) {
    const { distance, found } = source.find(set, room);
    if (distance > 0) pass(source.take(Math.min(distance, room)));
    room -= distance;
    if (room < 0) return TOO_LONG;
    if (found) return found;
    if (source.ended) return undefined;
    yield;
  }
}

/** The offset of the next character that is not white space; `TOO_FAR` if it is beyond the lookahead. */
export function* lookPastSpace(source: Source, offset: number): Reading<number> {
  let at = offset;
  for (;;) {
    at = source.spanOf(isSpace, at);
    if (at - offset > MAX_LOOKAHEAD) return TOO_FAR;
    if (at < source.left || source.ended) return at;
    yield;
  }
}

/** Thrown by readers for a call that cannot be understood. Not an Error: capturing stacks would cost the most. */
export class Malformed {
  constructor(
    readonly reason: string,
    readonly code: ErrorCode = "invalid_input",
  ) {}
}

export function cutOff(where: string): Malformed {
  return new Malformed(`the text ended ${where}`);
}

/** Passes everything before the next marker to `pass`. The marker must come within `limit` characters. */
export function* readBounded(
  source: Source,
  set: MarkerSet,
  { pass, limit, what }: { pass: (piece: string) => void; limit: number; what: string },
): Reading<FoundMarker> {
  const found = yield* readWithin(source, set, pass, limit);
  if (found === TOO_LONG) throw new Malformed(`${what} is too long`, "input_too_large");
  if (!found) throw cutOff(`inside ${what}`);
  return found;
}

const EXCERPT_LENGTH = 16;

/** The error for unexpected text. Waits for a full excerpt, so the message does not depend on chunk boundaries. */
export function* unexpected(source: Source, expected: string): Reading<Malformed> {
  yield* awaitLength(source, EXCERPT_LENGTH);
  if (source.left === 0) return cutOff(`where ${expected} was expected`);
  return new Malformed(`expected ${expected}, found ${JSON.stringify(source.peek(EXCERPT_LENGTH))}`);
}

interface Recovery {
  /** Markers that end a broken call and belong to it. */
  through?: readonly string[];
  /** Markers that start what follows a broken call. */
  before?: readonly string[];
}

/** Reads one call. If it is malformed, the call fails and reading resumes at the next recovery marker. */
export function* attempt(reader: CallReader, body: Reading, { through = [], before = [] }: Recovery): Reading {
  try {
    yield* body;
  } catch (thrown) {
    if (!(thrown instanceof Malformed) || reader.calls.isTentative) throw thrown;
    reader.calls.fail(thrown);
    const found = yield* readUntil(reader.source, markerSet([...through, ...before]), () => {});
    if (found && through.includes(found.marker)) reader.source.take(found.length);
  }
}

/** A reader of a call that is broken from the start. */
// oxlint-disable-next-line require-yield
export function* refuse(reason: string): Reading {
  throw new Malformed(reason);
}

/** Reads the closing marker of a complete call. A wrong, incomplete or missing one is repaired: the meaning is clear. */
export function* readEnd({ source, calls }: CallReader, close: MarkerSet): Reading {
  for (let code = yield* skipSpace(source); code === CLOSE_OBJECT || code === CLOSE_LIST;) {
    source.take(1);
    calls.repair("an extra closing bracket was ignored");
    code = yield* skipSpace(source);
  }
  const found = yield* atMarker(source, close);
  if (found) return void source.take(found.length);
  const rest = source.peek(close.longest);
  const [expected] = close.markers;
  if (source.ended && rest !== "" && close.markers.some((marker) => couldBecome(marker, rest, 0))) {
    source.take(source.left);
    calls.repair(`the closing ${expected} was completed`);
    return;
  }
  const wrong = yield* wrongTag(source);
  source.take(wrong.length);
  calls.repair(wrong ? `${wrong} was read as the closing ${expected}` : `the closing ${expected} was missing`);
}

function* wrongTag(source: CallReader["source"]): Reading<string> {
  while (!source.ended && source.left < 48 && /^(?:$|<$|<\/[\w:.|-]*$)/.test(source.peek(48))) yield;
  return /^<\/[\w:.|-]+>/.exec(source.peek(48))?.[0] ?? "";
}

const CLOSE_LIST = 93;
const CLOSE_OBJECT = 125;
