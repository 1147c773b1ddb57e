import { type CharSet, EVERYTHING, overlaps } from "./char-set.ts";
import { parsePattern, type PatternNode } from "./parse-pattern.ts";

/** A place of the pattern that takes one character. */
interface Position {
  chars: CharSet;
}

interface Shape {
  first: Position[];
  last: Position[];
  isNullable: boolean;
}

const MOST_PATTERN = 2000;
const MOST_POSITIONS = 500;
const MOST_COPIES = 64;

/**
 * Why a pattern may take exponential time on a text that somebody else chose, or undefined. Inside a repetition the next
 * character must say where to go on; where two places would take it, or one is reached on two ways, every repetition
 * doubles the ways to go. Sound for repetitions; refuses a few patterns that are harmless.
 */
export function findPatternRisk(pattern: string): string | undefined {
  if (pattern.length > MOST_PATTERN) return `is longer than ${MOST_PATTERN} characters`;
  const tree = parsePattern(pattern);
  if (!tree) return "cannot be read";
  let positions = 0;
  let risk: string | undefined;
  const follow = new Map<Position, Position[]>();

  function join(from: readonly Position[], to: readonly Position[]): void {
    for (const position of from) follow.set(position, [...(follow.get(position) ?? []), ...to]);
  }

  function shapeOf(node: PatternNode): Shape {
    switch (node.type) {
      case "empty":
        return { first: [], last: [], isNullable: true };
      case "back-reference":
        risk ??= "refers back to what it matched";
        return shapeOf({ type: "chars", chars: EVERYTHING });
      case "chars": {
        if (++positions > MOST_POSITIONS) risk ??= "has too many parts";
        const only: Position = { chars: node.chars };
        return { first: [only], last: [only], isNullable: false };
      }
      case "look-around":
        shapeOf(node.body);
        return { first: [], last: [], isNullable: true };
      case "sequence":
        return node.parts.reduce<Shape>(
          (done, part) => {
            if (risk) return done;
            const next = shapeOf(part);
            join(done.last, next.first);
            return {
              first: done.isNullable ? [...done.first, ...next.first] : done.first,
              last: next.isNullable ? [...done.last, ...next.last] : next.last,
              isNullable: done.isNullable && next.isNullable,
            };
          },
          { first: [], last: [], isNullable: true },
        );
      case "choice": {
        const shapes = node.parts.map(shapeOf);
        return {
          first: shapes.flatMap(({ first }) => first),
          last: shapes.flatMap(({ last }) => last),
          isNullable: shapes.some(({ isNullable }) => isNullable),
        };
      }
      case "repeat":
        return repeated(node);
    }
  }

  function repeated({ body, least, most }: Extract<PatternNode, { type: "repeat" }>): Shape {
    // `{8}` is eight copies and no loop.
    if (least === most && most <= MOST_COPIES) return shapeOf({ type: "sequence", parts: Array(most).fill(body) });
    const inside = new Set<Position>();
    const before = new Set(follow.keys());
    const shape = shapeOf(body);
    const isNullable = shape.isNullable || least === 0;
    if (most <= 1 || risk) return { ...shape, isNullable };
    join(shape.last, shape.first);
    for (const position of [...shape.first, ...shape.last]) inside.add(position);
    for (const [position, next] of follow) {
      if (before.has(position)) continue;
      inside.add(position);
      for (const each of next) inside.add(each);
    }
    risk ??= ambiguityIn(inside);
    return { ...shape, isNullable };
  }

  function ambiguityIn(inside: ReadonlySet<Position>): string | undefined {
    for (const position of inside) {
      const next = (follow.get(position) ?? []).filter((each) => inside.has(each));
      for (const [i, one] of next.entries()) {
        if (next.slice(i + 1).some((other) => one === other || overlaps(one.chars, other.chars))) {
          return "repeats a part in which the same text can be matched in several ways";
        }
      }
    }
    return undefined;
  }

  shapeOf(tree);
  return risk;
}
