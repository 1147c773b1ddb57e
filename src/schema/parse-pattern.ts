/** A regular expression, as far as its repetitions are concerned. */
export type PatternNode =
  /** One character of some kind, in its own words. */
  | { type: "one"; source: string }
  /** A group again: it may match anything. */
  | { type: "any" }
  /** `^`, `$`, `\b`: matches nothing. */
  | { type: "empty" }
  | { type: "sequence"; parts: PatternNode[] }
  | { type: "choice"; parts: PatternNode[] }
  /** A look-around: matched by itself, beside the rest. */
  | { type: "aside"; body: PatternNode }
  | { type: "repeat"; body: PatternNode; min: number; max: number };

const GROUP = /\((?:\?(?:(?<aside><?[=!])|<[^>]*>|[\w-]*:))?/y;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y;
const CLASS = /\[(?:[^\]\\]|\\[\s\S])*\]/y;
const CHARACTER = /[\s\S]/uy;
const ESCAPE = /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|k<[^>]*>|[1-9]\d*|[\s\S])/y;

/** For expressions that the engine has accepted in Unicode mode; of others the answer means nothing. */
export function parsePattern(source: string): PatternNode {
  let at = 0;

  function choice(): PatternNode {
    const parts = [sequence()];
    while (source[at] === "|") {
      at++;
      parts.push(sequence());
    }
    return parts.length === 1 ? parts[0]! : { type: "choice", parts };
  }

  function sequence(): PatternNode {
    const parts: PatternNode[] = [];
    while (at < source.length && source[at] !== "|" && source[at] !== ")") parts.push(quantified(atom()));
    return { type: "sequence", parts };
  }

  function quantified(body: PatternNode): PatternNode {
    const found = take(QUANTIFIER);
    if (!found) return body;
    const [, sign, min = "0", comma, max = ""] = found;
    if (sign) return { type: "repeat", body, min: sign === "+" ? 1 : 0, max: sign === "?" ? 1 : Infinity };
    const upTo = comma === undefined ? Number(min) : max === "" ? Infinity : Number(max);
    return { type: "repeat", body, min: Number(min), max: upTo };
  }

  function atom(): PatternNode {
    const group = take(GROUP);
    if (group) {
      const body = choice();
      at++;
      return group.groups?.["aside"] === undefined ? body : { type: "aside", body };
    }
    const escape = take(ESCAPE)?.[0];
    if (escape !== undefined) {
      if (/^\\[bB]$/.test(escape)) return { type: "empty" };
      return /^\\(?:k<|[1-9])/.test(escape) ? { type: "any" } : { type: "one", source: escape };
    }
    const found = (take(CLASS) ?? take(CHARACTER))![0];
    return found === "^" || found === "$" ? { type: "empty" } : { type: "one", source: found };
  }

  function take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found) at = pattern.lastIndex;
    return found ?? undefined;
  }

  return choice();
}
