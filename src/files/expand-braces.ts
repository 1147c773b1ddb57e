import { toolError } from "../core/error.ts";

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
