import { toolError } from "../core/error.ts";
import { expandBraces } from "./expand-braces.ts";
import { compileSegment, type NameMatcher, type SegmentOptions } from "./glob-segment.ts";

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
