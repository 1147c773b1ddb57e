/** Does a name match one part of a glob, the text between two slashes? */
export type NameMatcher = (name: string) => boolean;

export interface SegmentOptions {
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
export function compileSegment(segment: string, options: SegmentOptions): NameMatcher {
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
