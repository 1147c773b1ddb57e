import { attempt, toolError } from "../../core/error.ts";

export interface GlobOptions {
  caseSensitive?: boolean;
  /** Whether wildcards also match names that begin with a dot. Default: true. */
  hidden?: boolean;
}

/** A pattern of `*`, `**`, `?`, `[abc]` and `{a,b}` for paths with forward slashes. Parentheses are literal. */
export interface GlobPattern {
  matches(path: string): boolean;
  /** Max number of names in a matching path, or Infinity. */
  readonly depth: number;
  /** Globs for the last name of a match; null if there is no simple form. */
  readonly names: readonly string[] | null;
}

const MAX_PATTERN_LENGTH = 4_096;
const STAR_STAR = Symbol("**");
type Part = NameMatcher | typeof STAR_STAR;

export function compileGlob(pattern: string, { caseSensitive = true, hidden = true }: GlobOptions = {}): GlobPattern {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw toolError("bad_pattern", `The pattern has more than ${MAX_PATTERN_LENGTH} characters`, {
      next: "Use a shorter one.",
    });
  }
  const alternatives = expandBraces(pattern).map(splitGlob);
  const options: SegmentOptions = { ignoreCase: !caseSensitive, dot: hidden };
  const matchers = alternatives.map(
    (segments) => compileNameAnywhere(segments, options) ?? compilePath(segments, options),
  );
  const names = alternatives.map((segments) => segments.at(-1) ?? "");
  return {
    matches: (path) => matchers.some((matches) => matches(path)),
    depth: Math.max(...alternatives.map((segments) => (segments.includes("**") ? Infinity : segments.length))),
    names: caseSensitive && names.every((name) => /^[\w.*?-]*[\w.?-][\w.*?-]*$/.test(name)) ? names : null,
  };
}

/** Splits off the leading folders without wildcards, where a walk can start. The rest is never empty. */
export function splitBase(pattern: string): { base: string; rest: string } {
  const isAbsolute = pattern.startsWith("/");
  const segments = splitGlob(pattern);
  const first = segments.findIndex((segment) => /[*?[{\\]/.test(segment));
  const at = Math.min(first === -1 ? segments.length : first, segments.length - 1);
  const base = segments.slice(0, at).join("/");
  return { base: isAbsolute ? `/${base}` : base, rest: segments.slice(at).join("/") };
}

/** The pattern with literal brackets: `app/[id]/page.tsx` is also a file name. Null if it has no brackets. */
export function withLiteralBrackets(pattern: string): string | null {
  return pattern.includes("[")
    ? pattern.replace(/\\.|[[\]]/gs, (found) => (found.length > 1 ? found : `\\${found}`))
    : null;
}

/** A trailing slash means everything below. */
function splitGlob(pattern: string): string[] {
  const segments = (pattern.endsWith("/") ? `${pattern}**` : pattern)
    .split("/")
    .filter((part) => part !== "" && part !== ".");
  return segments.length === 0 ? ["**"] : segments.filter((part, i) => part !== "**" || segments[i - 1] !== "**");
}

type PathMatcher = (path: string) => boolean;

/** The common form `**` and a name: only the last name of a path is compared. */
function compileNameAnywhere([first, name, ...rest]: readonly string[], options: SegmentOptions): PathMatcher | null {
  if (first !== "**" || name === undefined || name === "**" || rest.length > 0 || !options.dot) return null;
  if (name === "*") return () => true;
  const matches = compileSegment(name, options);
  return (path) => matches(path.slice(path.lastIndexOf("/") + 1));
}

function compilePath(segments: readonly string[], options: SegmentOptions): PathMatcher {
  const parts = segments.map((segment): Part => (segment === "**" ? STAR_STAR : compileSegment(segment, options)));
  const groups: NameMatcher[][] = [[]];
  for (const part of parts) {
    if (part === STAR_STAR) groups.push([]);
    else groups.at(-1)?.push(part);
  }
  const [start = [], ...middle] = groups;
  const end = middle.pop();
  const mayCover = (name: string | undefined) => options.dot || !name?.startsWith(".");
  return (path) => {
    const names = path.split("/");
    const matchesAt = (group: readonly NameMatcher[], at: number) =>
      group.every((matches, i) => matches(names[at + i] ?? ""));
    if (end === undefined) return names.length === start.length && matchesAt(start, 0);
    const endsAt = names.length - end.length;
    // `a/**` matches what is below a, not a itself.
    const until = end.length === 0 ? endsAt - 1 : endsAt;
    if (until < start.length || !matchesAt(start, 0) || !matchesAt(end, endsAt)) return false;
    let at = start.length;
    // As between stars in a name, the leftmost match is sufficient.
    for (const group of middle) {
      while (at + group.length <= until && !matchesAt(group, at)) if (!mayCover(names[at++])) return false;
      at += group.length;
      if (at > until) return false;
    }
    return names.slice(at, endsAt).every(mayCover);
  };
}

/** Matches a name against one segment of a glob, the text between two slashes. */
type NameMatcher = (name: string) => boolean;

interface SegmentOptions {
  ignoreCase: boolean;
  /** Whether a wildcard may match a leading dot. */
  dot: boolean;
}

/** The part between two stars: literal text, or a regular expression for `?` and sets. */
type Piece = string | { source: string; ignoreCase: boolean };

/** Between two stars the leftmost match suffices: n characters cost at most n times the length of the pattern. */
function compileSegment(segment: string, options: SegmentOptions): NameMatcher {
  const pieces = parsePieces(segment, options.ignoreCase);
  const fold = options.ignoreCase ? (name: string) => name.toLowerCase() : (name: string) => name;
  const explicitDot = segment.startsWith(".") || segment.startsWith("\\.");
  const mayStartWithDot = options.dot || explicitDot;
  const matches = matcherOf(pieces);
  return (name) => (mayStartWithDot || !name.startsWith(".")) && matches(fold(name));
}

function matcherOf(pieces: readonly Piece[]): NameMatcher {
  const [first = "", ...rest] = pieces;
  const last = rest.pop();
  if (last === undefined) {
    if (typeof first === "string") return (name) => name === first;
    const whole = regexOf(first, "^", "$");
    return (name) => whole.test(name);
  }
  const [startLength, endLength] = [lengthAtEnd(first, "^", ""), lengthAtEnd(last, "", "$")];
  const middle = rest.filter((piece) => piece !== "").map(finderOf);
  return (name) => {
    const start = startLength(name);
    const end = endLength(name);
    if (start === -1 || end === -1 || start + end > name.length) return false;
    const until = name.length - end;
    let at = start;
    for (const find of middle) {
      at = find(name, at);
      if (at === -1 || at > until) return false;
    }
    return true;
  };
}

/** How many characters the piece matches at the start or end of a name, or -1. */
function lengthAtEnd(piece: Piece, before: "^" | "", after: "$" | ""): (name: string) => number {
  if (typeof piece !== "string") {
    const regex = regexOf(piece, before, after);
    return (name) => regex.exec(name)?.[0].length ?? -1;
  }
  return before
    ? (name) => (name.startsWith(piece) ? piece.length : -1)
    : (name) => (name.endsWith(piece) ? piece.length : -1);
}

/** Where the leftmost match at or after a position ends, or -1. */
function finderOf(piece: Piece): (name: string, from: number) => number {
  if (typeof piece === "string") {
    return (name, from) => {
      const at = name.indexOf(piece, from);
      return at === -1 ? -1 : at + piece.length;
    };
  }
  const regex = new RegExp(piece.source, piece.ignoreCase ? "gisu" : "gsu");
  return (name, from) => {
    regex.lastIndex = from;
    return regex.exec(name) === null ? -1 : regex.lastIndex;
  };
}

/** A piece has no quantifier, so its matching time is bounded by its length times the length of the name. */
function regexOf(piece: { source: string; ignoreCase: boolean }, before: string, after: string): RegExp {
  return new RegExp(before + piece.source + after, piece.ignoreCase ? "isu" : "su");
}

function parsePieces(segment: string, ignoreCase: boolean): Piece[] {
  const pieces: Piece[] = [];
  let text = "";
  let source = "";
  let isPlain = true;
  const add = (character: string) => {
    text += character;
    source += character.replace(/[\\^$.*+?()[\]{}|/-]/u, "\\$&");
  };
  const close = () => {
    pieces.push(isPlain ? (ignoreCase ? text.toLowerCase() : text) : { source, ignoreCase });
    [text, source, isPlain] = ["", "", true];
  };
  const characters = Array.from(segment);
  for (let i = 0; i < characters.length; i++) {
    const character = characters[i] ?? "";
    const set = character === "[" ? parseSet(characters, i) : null;
    if (character === "\\" && i + 1 < characters.length) add(characters[++i] ?? "");
    else if (character === "*") close();
    else if (character === "?") [source, isPlain] = [`${source}.`, false];
    else if (set) [source, isPlain, i] = [source + set.source, false, set.end];
    else add(character);
  }
  close();
  return pieces;
}

/** Parses `[abc]`, `[a-z]`, `[!abc]`; null if it is not closed, and the bracket is literal then. */
function parseSet(characters: readonly string[], start: number): { source: string; end: number } | null {
  const isNegated = characters[start + 1] === "!" || characters[start + 1] === "^";
  const from = start + (isNegated ? 2 : 1);
  let source = "";
  for (let i = from; i < characters.length; i++) {
    const character = characters[i] ?? "";
    if (character === "]" && i > from) {
      // A reversed range matches nothing.
      return { source: isValid(`[${source}]`) ? `[${isNegated ? "^" : ""}${source}]` : "(?!)", end: i };
    }
    if (character === "\\" && i + 1 < characters.length) source += escapeInSet(characters[++i] ?? "");
    else if (character === "-" && i > from && characters[i + 1] !== "]") source += "-";
    else source += escapeInSet(character);
  }
  return null;
}

function escapeInSet(character: string): string {
  return /[\\\]^[-]/.test(character) ? `\\${character}` : character;
}

function isValid(source: string): boolean {
  return attempt(() => new RegExp(source, "u").source !== "", false);
}

/** Without a limit `{a,b}{a,b}…` would fill the memory. */
const MAX_ALTERNATIVES = 500;

/** Expands `a{b,c}` to `ab` and `ac`, `{1..3}` to `1`, `2`, `3`. An unclosed group or a single choice stays literal. */
export function expandBraces(pattern: string): string[] {
  return expand(pattern, 0);
}

function expand(pattern: string, from: number): string[] {
  const group = findGroup(pattern, from);
  if (group === null) return [pattern];
  const { start, end, parts } = group;
  const choices = parts.length > 1 ? parts : rangeOf(parts[0] ?? "");
  const before = pattern.slice(0, start);
  if (choices === null) return expand(pattern, start + 1);
  const rests = expand(pattern.slice(end + 1), 0);
  const expanded = choices.flatMap((choice) => {
    const heads = expand(choice, 0);
    if (heads.length * rests.length * choices.length > MAX_ALTERNATIVES) throw tooMany(pattern);
    return heads.flatMap((head) => rests.map((rest) => before + head + rest));
  });
  if (expanded.length > MAX_ALTERNATIVES) throw tooMany(pattern);
  return expanded;
}

/** The first closed group at or after `from`. */
function findGroup(pattern: string, from: number): { start: number; end: number; parts: string[] } | null {
  for (let start = pattern.indexOf("{", from); start !== -1; start = pattern.indexOf("{", start + 1)) {
    if (isEscaped(pattern, start)) continue;
    const parts: string[] = [];
    let depth = 0;
    let partFrom = start + 1;
    for (let i = start; i < pattern.length; i++) {
      const character = pattern[i];
      if (character === "\\") i++;
      else if (character === "{") depth++;
      else if (character === "," && depth === 1) {
        parts.push(pattern.slice(partFrom, i));
        partFrom = i + 1;
      } else if (character === "}" && --depth === 0) {
        return { start, end: i, parts: [...parts, pattern.slice(partFrom, i)] };
      }
    }
    // Not closed: continue after this brace.
  }
  return null;
}

function rangeOf(text: string): string[] | null {
  const numbers = /^(-?\d{1,6})\.\.(-?\d{1,6})$/.exec(text);
  const letters = /^([A-Za-z])\.\.([A-Za-z])$/.exec(text);
  const [, first, last] = numbers ?? letters ?? [];
  if (first === undefined || last === undefined) return null;
  const [from, to] = numbers ? [Number(first), Number(last)] : [first.charCodeAt(0), last.charCodeAt(0)];
  if (Math.abs(to - from) >= MAX_ALTERNATIVES) throw tooMany(text);
  const step = from <= to ? 1 : -1;
  return Array.from({ length: Math.abs(to - from) + 1 }, (_, i) =>
    numbers ? String(from + i * step) : String.fromCharCode(from + i * step),
  );
}

function isEscaped(pattern: string, at: number): boolean {
  let slashes = 0;
  while (pattern[at - 1 - slashes] === "\\") slashes++;
  return slashes % 2 === 1;
}

function tooMany(pattern: string) {
  return toolError(
    "bad_pattern",
    `The braces in ${JSON.stringify(pattern.slice(0, 200))} expand to more than ${MAX_ALTERNATIVES} patterns`,
    {
      next: "Use fewer alternatives.",
    },
  );
}
