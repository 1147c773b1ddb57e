import type { ErrorCode } from "../../core/error.ts";
import type { CallReader } from "./text-format.ts";

/** Markers that a text is searched for together, in one pass. `*:` in a marker is any namespace. */
export interface MarkerSet {
  readonly markers: readonly string[];
  /** The first of them from `from` on. */
  search(text: string, from: number): RegExpExecArray | null;
  readonly firsts: ReadonlySet<string>;
  readonly longest: number;
  markerOf(match: RegExpExecArray): string;
  /** How long the marker is at the beginning of `text`; 0 where it is not there. */
  lengthAt(marker: string, text: string): number;
}

const MAX_NAMESPACE_LENGTH = 24;
const WILD = `[A-Za-z][\\w-]{0,${MAX_NAMESPACE_LENGTH - 1}}`;

/** Markers hold names that come from models: what is kept is bounded. */
const MAX_KEPT = 500;
const kept = new Map<string, MarkerSet>();

export function markerSet(markers: readonly string[]): MarkerSet {
  const key = markers.length === 1 ? markers[0]! : markers.join("\n");
  let set = kept.get(key);
  if (!set) {
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(key, (set = compile(markers)));
  }
  return set;
}

function compile(markers: readonly string[]): MarkerSet {
  // The longest first: of two that begin alike, a pattern takes the first.
  const sorted = [...new Set(markers)].sort((a, b) => b.length - a.length);
  const wild = sorted.filter((marker) => marker.includes("*:"));
  const wildPatterns = wild.map((marker) => new RegExp(`^${markerPattern(marker)}`));
  const wildAt = (text: string) => wildPatterns.findIndex((pattern) => pattern.test(text));
  const alternatives = sorted.length > 0 ? sorted.map(markerPattern).join("|") : "(?!)";
  const firsts = new Set(sorted.map((marker) => marker[0]!));
  let search: MarkerSet["search"] | undefined;
  return {
    markers: sorted,
    search(text, from) {
      // Compiled when it is first used: most formats never are.
      search ??= firsts.size === 1 ? searchByFirst([...firsts][0]!, alternatives) : searchByPattern(alternatives);
      return search(text, from);
    },
    firsts,
    longest: Math.max(0, ...sorted.map((marker) => marker.length + (marker.includes("*:") ? MAX_NAMESPACE_LENGTH : 0))),
    markerOf: ([found]) => (wild.length === 0 || sorted.includes(found) ? found : wild[wildAt(found)]!),
    lengthAt(marker, text) {
      if (!marker.includes("*:")) return text.startsWith(marker) ? marker.length : 0;
      return wildPatterns[wild.indexOf(marker)]!.exec(text)?.[0].length ?? 0;
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

/** Prose has few angle brackets, and to jump from one to the next is many times faster than to try a pattern everywhere. */
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

/** Whether the text, from there to its end, is a beginning of the marker, but not all of it. */
function couldBecome(marker: string, text: string, from: number): boolean {
  let at = from;
  for (let i = 0; i < marker.length; i++) {
    if (at === text.length) return true;
    if (marker[i] === "*" && marker[i + 1] === ":") {
      let end = at;
      while (end < text.length && end - at < MAX_NAMESPACE_LENGTH && /[\w-]/.test(text[end]!)) end++;
      if (end === text.length) return /^[A-Za-z]/.test(text[at]!);
      if (end === at) return false;
      at = end;
    } else if (text[at++] !== marker[i]) return false;
  }
  return false;
}

/** A reader that pauses (`yield`) where it can decide nothing without more text. Chunks therefore never change a result. */
export type Reading<T = void> = Generator<undefined, T, undefined>;

export interface Found {
  marker: string;
  length: number;
}

/** White space that a reader looks over before it decides without having seen what follows. */
const FARTHEST_LOOK = 256;
/** An offset at which nothing stands, ever. */
const TOO_FAR = Number.POSITIVE_INFINITY;

/**
 * The text that has come and was not taken yet. Readers take what they have decided about and look ahead only a bounded
 * way: what lies untaken is copied with every chunk.
 */
export class Source {
  #text = "";
  #at = 0;
  #markedAt = 0;
  #takenBefore = "";
  /** Where texts were last found: a search that came to nothing is not made again. */
  readonly #found = new Map<string, { from: number; index: number }>();
  ended = false;
  /** Characters looked at or copied, for tests of linear time. */
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

  /** The code unit there, or -1 beyond what has come. */
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

  /** All that was taken since this was last called. */
  takeMarked(): string {
    const marked = this.#takenBefore + this.#text.slice(this.#markedAt, this.#at);
    this.#takenBefore = "";
    this.#markedAt = this.#at;
    return marked;
  }

  get markedLength(): number {
    return this.#takenBefore.length + this.#at - this.#markedAt;
  }

  startsWith(text: string, offset = 0): boolean {
    this.work += text.length;
    return this.#text.startsWith(text, this.#at + offset);
  }

  /** What a sticky pattern finds at that offset. */
  match(pattern: RegExp, offset: number): RegExpExecArray | null {
    pattern.lastIndex = this.#at + offset;
    const match = pattern.exec(this.#text);
    this.work += match ? match[0].length + 1 : 1;
    return match;
  }

  /** The offset at which a text stands, from another one on; -1 where it has not come. */
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

  /** Takes the white space that has come; the next character, or -1 where none has. */
  skipSpace(): number {
    let at = this.#at;
    while (at < this.#text.length && isSpace(this.#text.charCodeAt(at))) at++;
    this.work += at - this.#at + 1;
    this.#at = at;
    return at < this.#text.length ? this.#text.charCodeAt(at) : -1;
  }

  /** How long a stretch of characters of a class is that begins here. */
  spanOf(belongs: (code: number) => boolean, from = 0): number {
    let end = this.#at + from;
    while (end < this.#text.length && belongs(this.#text.charCodeAt(end))) end++;
    this.work += end - this.#at - from + 1;
    return end - this.#at;
  }

  /** The first marker, or how much can be passed because no marker begins in it. What is farther than `limit` is not seen. */
  find(set: MarkerSet, limit: number): { distance: number; found?: Found } {
    const isBounded = this.left > limit + set.longest;
    const text = isBounded ? this.#text.slice(this.#at, this.#at + limit + set.longest) : this.#text;
    const start = isBounded ? 0 : this.#at;
    const match = set.search(text, start);
    const end = text.length;
    this.work += (match ? match.index + match[0].length : end) - start + 1;
    const position = match ? match.index : end;
    if (!this.ended || isBounded) {
      // What the text ends with may be the beginning of a marker, of a longer one too than the one that is there.
      for (let from = Math.max(start, end - set.longest + 1); from <= position && from < end; from++) {
        this.work++;
        if (set.firsts.has(text[from]!) && this.#mayGrow(set, text, from)) return { distance: from - start };
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

/** Waits for so many characters, or the end of the text. */
export function* awaitLength(source: Source, count: number): Reading<boolean> {
  while (source.left < count && !source.ended) yield;
  return source.left >= count;
}

/** Which of the markers stands here; the longest where several do. Nothing is taken. */
export function* atMarker(source: Source, set: MarkerSet, offset = 0): Reading<Found | undefined> {
  while (set.longest > 0 && offset !== TOO_FAR) {
    const here = source.peek(set.longest, offset);
    if (here !== "" && !set.firsts.has(here[0]!)) return undefined;
    let found: Found | undefined;
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

/** Passes on everything before the next marker, which is not taken; undefined at the end of the text. */
export function readUntil(source: Source, set: MarkerSet, pass: (piece: string) => void): Reading<Found | undefined> {
  return readWithin(source, set, pass, Number.POSITIVE_INFINITY) as Reading<Found | undefined>;
}

/** The same, but no farther than `limit`, whatever the chunks are. */
export function* readWithin(
  source: Source,
  set: MarkerSet,
  pass: (piece: string) => void,
  limit: number,
): Reading<Found | typeof TOO_LONG | undefined> {
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

/** Where the next character stands that is no white space, beyond `offset`; nowhere, if that is too far to look. */
export function* lookPastSpace(source: Source, offset: number): Reading<number> {
  let at = offset;
  for (;;) {
    at = source.spanOf(isSpace, at);
    if (at - offset > FARTHEST_LOOK) return TOO_FAR;
    if (at < source.left || source.ended) return at;
    yield;
  }
}

/**
 * Thrown by readers where a call cannot be understood; it becomes the failure of that call and goes no further. No Error:
 * nobody needs its stack, and to take one costs more than all the reading where every bracket may begin a call.
 */
export class Malformed {
  constructor(
    readonly reason: string,
    readonly code: ErrorCode = "invalid_input",
  ) {}
}

export function cutOff(where: string): Malformed {
  return new Malformed(`the text ended ${where}`);
}

/** Passes on everything before the next marker, which must come, and within `limit`. */
export function* readBounded(
  source: Source,
  set: MarkerSet,
  { pass, limit, what }: { pass: (piece: string) => void; limit: number; what: string },
): Reading<Found> {
  const found = yield* readWithin(source, set, pass, limit);
  if (found === TOO_LONG) throw new Malformed(`${what} is too long`, "input_too_large");
  if (!found) throw cutOff(`inside ${what}`);
  return found;
}

/** What stands here instead of what should. Waits for enough to show, so that the words are the same for all chunks. */
export function* unexpected(source: Source, wanted: string): Reading<Malformed> {
  yield* awaitLength(source, SHOWN);
  if (source.left === 0) return cutOff(`where ${wanted} should stand`);
  return new Malformed(`${JSON.stringify(source.peek(SHOWN))} stands where ${wanted} should stand`);
}

const SHOWN = 16;

export interface Recovery {
  /** The end of a broken call, and part of it. */
  through?: readonly string[];
  /** What begins behind a broken call. */
  before?: readonly string[];
}

/** Reads one call. Where that fails the call has failed, and reading goes on where the next thing can begin. */
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

/** A call that is broken from the start. */
// oxlint-disable-next-line require-yield
export function* refuse(reason: string): Reading {
  throw new Malformed(reason);
}

/** The marker that closes a call that was read. A wrong one, half of it, or none is forgiven: nothing else can be meant. */
export function* readEnd({ source, calls }: CallReader, close: MarkerSet): Reading {
  for (let code = yield* skipSpace(source); code === CLOSE_OBJECT || code === CLOSE_LIST;) {
    source.take(1);
    calls.repair("a closing bracket too many was ignored");
    code = yield* skipSpace(source);
  }
  const found = yield* atMarker(source, close);
  if (found) return void source.take(found.length);
  const rest = source.peek(close.longest);
  const wanted = close.markers[0]!;
  if (source.ended && rest !== "" && close.markers.some((marker) => couldBecome(marker, rest, 0))) {
    source.take(source.left);
    calls.repair(`the closing ${wanted} was completed`);
    return;
  }
  const wrong = yield* wrongTag(source);
  source.take(wrong.length);
  calls.repair(wrong ? `${wrong} was read as the closing ${wanted}` : `the closing ${wanted} was missing`);
}

function* wrongTag(source: CallReader["source"]): Reading<string> {
  while (!source.ended && source.left < 48 && /^(?:$|<$|<\/[\w:.|-]*$)/.test(source.peek(48))) yield;
  return /^<\/[\w:.|-]+>/.exec(source.peek(48))?.[0] ?? "";
}

const CLOSE_LIST = 93;
const CLOSE_OBJECT = 125;
