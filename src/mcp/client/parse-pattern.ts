import { BLANKS, type CharSet, complement, DIGITS, EVERYTHING, single, union, WORD } from "./char-set.ts";

export type PatternNode =
  | { type: "empty" }
  | { type: "back-reference" }
  | { type: "chars"; chars: CharSet }
  | { type: "look-around"; body: PatternNode }
  | { type: "sequence"; parts: PatternNode[] }
  | { type: "choice"; parts: PatternNode[] }
  | { type: "repeat"; body: PatternNode; least: number; most: number };

const MOST_DEPTH = 50;

/** A regular expression that compiles, as a tree; undefined for what this reader does not know. */
export function parsePattern(pattern: string): PatternNode | undefined {
  const source = Array.from(pattern);
  let at = 0;
  let depth = 0;

  const takes = (text: string): boolean => {
    if (source.slice(at, at + text.length).join("") !== text) return false;
    at += text.length;
    return true;
  };

  function choice(): PatternNode {
    if (++depth > MOST_DEPTH) throw new SyntaxError("too deep");
    const parts = [sequence()];
    while (takes("|")) parts.push(sequence());
    depth--;
    return parts.length === 1 ? parts[0]! : { type: "choice", parts };
  }

  function sequence(): PatternNode {
    const parts: PatternNode[] = [];
    while (at < source.length && source[at] !== "|" && source[at] !== ")") parts.push(quantified(atom()));
    return { type: "sequence", parts };
  }

  function quantified(body: PatternNode): PatternNode {
    const range = quantifier();
    if (!range) return body;
    takes("?");
    return { type: "repeat", body, least: range[0], most: range[1] };
  }

  function quantifier(): [number, number] | undefined {
    if (takes("*")) return [0, Infinity];
    if (takes("+")) return [1, Infinity];
    if (takes("?")) return [0, 1];
    const counted = /^\{(\d+)(,?)(\d*)\}/.exec(source.slice(at, at + 30).join(""));
    if (!counted) return undefined;
    at += counted[0].length;
    const least = Number(counted[1]);
    return [least, counted[2] === "" ? least : counted[3] === "" ? Infinity : Number(counted[3])];
  }

  function atom(): PatternNode {
    const next = source[at++]!;
    if (next === "(") return group();
    if (next === "[") return { type: "chars", chars: characterClass() };
    if (next === ".")
      return {
        type: "chars",
        chars: complement([
          [10, 10],
          [13, 13],
          [0x2028, 0x2029],
        ]),
      };
    if (next === "^" || next === "$") return { type: "empty" };
    if (next !== "\\") return { type: "chars", chars: single(next.codePointAt(0)!) };
    const escaped = source[at];
    if (escaped === "b" || escaped === "B") {
      at++;
      return { type: "empty" };
    }
    if (escaped === "k" || (escaped !== undefined && escaped >= "1" && escaped <= "9"))
      return { type: "back-reference" };
    return { type: "chars", chars: escape() };
  }

  function group(): PatternNode {
    const isLookAround = takes("?=") || takes("?!") || takes("?<=") || takes("?<!");
    if (!isLookAround && !takes("?:") && takes("?<")) at = source.indexOf(">", at) + 1;
    const body = choice();
    if (!takes(")")) throw new SyntaxError("unclosed group");
    return isLookAround ? { type: "look-around", body } : body;
  }

  function characterClass(): CharSet {
    const isNegated = takes("^");
    const sets: CharSet[] = [];
    while (source[at] !== "]") {
      if (at >= source.length) throw new SyntaxError("unclosed class");
      const from = classMember();
      if (source[at] !== "-" || source[at + 1] === "]" || !isSingle(from)) {
        sets.push(from);
        continue;
      }
      at++;
      const to = classMember();
      sets.push(isSingle(to) ? [[from[0]![0], to[0]![0]]] : union([from, to, single(0x2d)]));
    }
    at++;
    const all = union(sets);
    return isNegated ? complement(all) : all;
  }

  function classMember(): CharSet {
    const next = source[at++]!;
    if (next !== "\\") return single(next.codePointAt(0)!);
    if (takes("b")) return single(8);
    return escape();
  }

  function escape(): CharSet {
    const next = source[at++];
    if (next === undefined) throw new SyntaxError("ends in an escape");
    if (Object.hasOwn(CLASSES, next)) return CLASSES[next]!;
    if (next === "p" || next === "P") {
      at = source.indexOf("}", at) + 1;
      return EVERYTHING;
    }
    const hex = /^(?:x([\da-f]{2})|u([\da-f]{4})|u\{([\da-f]+)\})/i.exec(source.slice(at - 1, at + 11).join(""));
    if (hex) {
      at += hex[0].length - 1;
      return single(Number.parseInt(hex[1] ?? hex[2] ?? hex[3]!, 16));
    }
    if (next === "c") at++;
    return single(Object.hasOwn(CONTROLS, next) ? CONTROLS[next]! : next.codePointAt(0)!);
  }

  try {
    const tree = choice();
    return at === source.length ? tree : undefined;
  } catch {
    return undefined;
  }
}

function isSingle(set: CharSet): boolean {
  return set.length === 1 && set[0]![0] === set[0]![1];
}

const CLASSES: Readonly<Record<string, CharSet>> = {
  d: DIGITS,
  D: complement(DIGITS),
  w: WORD,
  W: complement(WORD),
  s: BLANKS,
  S: complement(BLANKS),
};

const CONTROLS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11, 0: 0 };
