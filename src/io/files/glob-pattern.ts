import { toolError } from "../../core/error.ts";

export interface GlobOptions {
  caseSensitive?: boolean;
  /** Whether wildcards also stand for names that begin with a dot. */
  hidden?: boolean;
}

/** A pattern of `*`, `**`, `?`, `[abc]` and `{a,b}` over paths with forward slashes. Parentheses are text. */
export interface GlobPattern {
  matches(path: string): boolean;
  /** How many names a matching path can have, or Infinity. */
  readonly depth: number;
  /** Globs of file names, one of which every match has; null when nothing simple can be said. */
  readonly names: readonly string[] | null;
}

const MAX_CHARACTERS = 4_096;
const STAR_STAR = Symbol("**");
type Part = NameMatcher | typeof STAR_STAR;

export function matchGlob(pattern: string, path: string, options: GlobOptions = {}): boolean {
  return compileGlob(pattern, options).matches(path);
}

export function compileGlob(pattern: string, { caseSensitive = true, hidden = true }: GlobOptions = {}): GlobPattern {
  if (pattern.length > MAX_CHARACTERS) {
    throw toolError("bad_pattern", `The pattern has more than ${MAX_CHARACTERS} characters`, {
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

/** The folders at the beginning that hold no wildcard, where a walk can start, and the rest, which is never empty. */
export function splitBase(pattern: string): { base: string; rest: string } {
  const isAbsolute = pattern.startsWith("/");
  const segments = splitGlob(pattern);
  const first = segments.findIndex((segment) => /[*?[{\\]/.test(segment));
  const at = Math.min(first === -1 ? segments.length : first, segments.length - 1);
  const base = segments.slice(0, at).join("/");
  return { base: isAbsolute ? `/${base}` : base, rest: segments.slice(at).join("/") };
}

/** The pattern with brackets as text: `app/[id]/page.tsx` is also the name of a file. Null when it has none. */
export function withLiteralBrackets(pattern: string): string | null {
  return pattern.includes("[")
    ? pattern.replace(/\\.|[[\]]/gs, (found) => (found.length > 1 ? found : `\\${found}`))
    : null;
}

/** A closing slash means everything below. */
function splitGlob(pattern: string): string[] {
  const segments = (pattern.endsWith("/") ? `${pattern}**` : pattern)
    .split("/")
    .filter((part) => part !== "" && part !== ".");
  return segments.length === 0 ? ["**"] : segments.filter((part, i) => part !== "**" || segments[i - 1] !== "**");
}

type PathMatcher = (path: string) => boolean;

/** The shape of most patterns, `**` and a name: nothing but the last name needs a look. */
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
      group.every((matches, i) => matches(names[at + i] as string));
    if (end === undefined) return names.length === start.length && matchesAt(start, 0);
    const endsAt = names.length - end.length;
    // `a/**` is what lies below a, not a itself.
    const until = end.length === 0 ? endsAt - 1 : endsAt;
    if (until < start.length || !matchesAt(start, 0) || !matchesAt(end, endsAt)) return false;
    let at = start.length;
    // As between stars in a name, the leftmost place is good enough.
    for (const group of middle) {
      while (at + group.length <= until && !matchesAt(group, at)) if (!mayCover(names[at++])) return false;
      at += group.length;
      if (at > until) return false;
    }
    return names.slice(at, endsAt).every(mayCover);
  };
}

/** Does a name match one part of a glob, the text between two slashes? */
type NameMatcher = (name: string) => boolean;

interface SegmentOptions {
  ignoreCase: boolean;
  /** Whether a wildcard may stand for a dot at the beginning of a name. */
  dot: boolean;
}

/** What stands between two stars: a text, or a text with places for any or some characters. */
type Piece = string | { source: string; ignoreCase: boolean };

/**
 * Between two stars the leftmost place is always good enough, so nothing is ever tried twice: a name of n characters
 * costs n times the pattern's length at most. One regular expression for the whole would backtrack for minutes.
 */
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
  const [startLength, endLength] = [positionsFor(first, "^", ""), positionsFor(last, "", "$")];
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

/** How many characters the piece takes at one end of a name, or -1. */
function positionsFor(piece: Piece, before: "^" | "", after: "$" | ""): (name: string) => number {
  if (typeof piece !== "string") {
    const regex = regexOf(piece, before, after);
    return (name) => regex.exec(name)?.[0].length ?? -1;
  }
  return before
    ? (name) => (name.startsWith(piece) ? piece.length : -1)
    : (name) => (name.endsWith(piece) ? piece.length : -1);
}

/** Where the piece ends whose leftmost place is at or after a position, or -1. */
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

/** No quantifier is ever in a piece, so the time of such an expression is bounded by its length times the name's. */
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
    const character = characters[i] as string;
    const set = character === "[" ? parseSet(characters, i) : null;
    if (character === "\\" && i + 1 < characters.length) add(characters[++i] as string);
    else if (character === "*") close();
    else if (character === "?") [source, isPlain] = [`${source}.`, false];
    else if (set) [source, isPlain, i] = [source + set.source, false, set.end];
    else add(character);
  }
  close();
  return pieces;
}

/** `[abc]`, `[a-z]`, `[!abc]`; null when it is not closed, and then the bracket is text. */
function parseSet(characters: readonly string[], start: number): { source: string; end: number } | null {
  const isNegated = characters[start + 1] === "!" || characters[start + 1] === "^";
  const from = start + (isNegated ? 2 : 1);
  let source = "";
  for (let i = from; i < characters.length; i++) {
    const character = characters[i] as string;
    if (character === "]" && i > from) {
      // A range that runs backwards holds nothing.
      return { source: isValid(`[${source}]`) ? `[${isNegated ? "^" : ""}${source}]` : "(?!)", end: i };
    }
    if (character === "\\" && i + 1 < characters.length) source += escapeInSet(characters[++i] as string);
    else if (character === "-" && i > from && characters[i + 1] !== "]") source += "-";
    else source += escapeInSet(character);
  }
  return null;
}

function escapeInSet(character: string): string {
  return /[\\\]^[-]/.test(character) ? `\\${character}` : character;
}

function isValid(source: string): boolean {
  try {
    return new RegExp(source, "u").source !== "";
  } catch {
    return false;
  }
}

/** More alternatives than this no pattern needs; without a bound `{a,b}{a,b}…` would fill the memory. */
const MAX_ALTERNATIVES = 500;

/** `a{b,c}` to `ab` and `ac`, `{1..3}` to `1`, `2`, `3`. What is not closed, or has nothing to choose from, stays text. */
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

/** The first group that is closed, at or after `from`. */
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
    // Not closed, so none that begins further right and ends at the same depth is lost: go on behind it.
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
    `The braces in ${JSON.stringify(pattern.slice(0, 200))} give more than ${MAX_ALTERNATIVES} patterns`,
    {
      next: "Use fewer alternatives.",
    },
  );
}
