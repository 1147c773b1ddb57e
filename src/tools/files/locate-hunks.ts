import { foldLookAlikes } from "./fold-line.ts";
import { FOLDS, type LineFinder, createLineFinder } from "./match-lines.ts";
import type { MatchStep } from "./match-text.ts";
import type { Hunk, HunkLine } from "./parse-patch.ts";
import type { Line } from "./split-lines.ts";

export interface LocatedHunk {
  /** Index of the line at which the hunk's lines begin. */
  first: number;
  step: MatchStep;
  /** The hunk's lines as far as they were used. */
  lines: readonly HunkLine[];
}

export type LocatedHunks =
  | { found: LocatedHunk[] }
  | { missing: { hunk: number; context?: string; above?: number } }
  | { ambiguous: { hunk: number; firsts: number[]; step: MatchStep } };

/** The passes over the file, in order; blanks inside lines always count. */
const STEPS = ["exact", "trailing_blanks", "look_alikes", "indentation"] as const;

interface Candidates {
  firsts: number[];
  step: MatchStep;
  lines: readonly HunkLine[];
}

/**
 * Places hunks in file order, each after the one before it. They have their places only where no other choice would also
 * be in order: what the first places from the top and the last places from the bottom agree on.
 */
export function locateHunks(lines: readonly Line[], hunks: readonly Hunk[]): LocatedHunks {
  const found: LocatedHunk[] = [];
  const all: Candidates[] = [];
  const finder = createLineFinder(lines);
  let cursor = 0;
  for (const [index, hunk] of hunks.entries()) {
    const anchors = findAnchors(lines, hunk.context, cursor);
    if (typeof anchors === "string") return { missing: { hunk: index, context: anchors } };
    const candidates = findCandidates(lines, hunk, { finder, anchors, cursor });
    const first = candidates?.firsts[0];
    if (candidates === undefined || first === undefined) {
      const above = findCandidates(lines, hunk, { finder, anchors: [], cursor: 0 })?.firsts[0];
      return { missing: { hunk: index, ...(above !== undefined && above < cursor && { above }) } };
    }
    all.push(candidates);
    found.push({ first, step: candidates.step, lines: candidates.lines });
    // Lines to append say nothing about where the next hunk lies.
    if (!isAppended(lines, candidates)) cursor = first + oldLinesOf(candidates.lines).length;
  }
  let limit = lines.length;
  for (let index = hunks.length - 1; index >= 0; index--) {
    const candidates = all[index];
    const chosen = found[index]?.first;
    if (candidates === undefined || chosen === undefined || isAppended(lines, candidates)) continue;
    const length = oldLinesOf(candidates.lines).length;
    const last = candidates.firsts.findLast((first) => first + length <= limit);
    if (last !== chosen) return { ambiguous: { hunk: index, firsts: candidates.firsts, step: candidates.step } };
    limit = chosen;
  }
  return { found };
}

export function oldLinesOf(lines: readonly HunkLine[]): string[] {
  return lines.filter((line) => line.kind !== "add").map((line) => line.text);
}

function isAppended(lines: readonly Line[], { firsts, lines: used }: Candidates): boolean {
  return firsts[0] === lines.length && oldLinesOf(used).length === 0;
}

function findCandidates(
  lines: readonly Line[],
  hunk: Hunk,
  { finder, anchors, cursor }: { finder: LineFinder; anchors: readonly number[]; cursor: number },
): Candidates | undefined {
  for (const used of spellings(hunk.lines)) {
    const old = oldLinesOf(used);
    if (old.length === 0) {
      const firsts = anchors.length > 0 ? anchors.map((anchor) => anchor + 1) : [lines.length];
      return { firsts, step: "exact", lines: used };
    }
    const loose = finder.findLoosely(old).filter((first) => first >= cursor);
    const runs = STEPS.map((step) => ({ step, firsts: finder.narrow(loose, old, FOLDS[step]) }));
    const end = lines.length - old.length;
    const atEnd = hunk.endOfFile ? runs.find(({ firsts }) => firsts.includes(end)) : undefined;
    if (atEnd) return { firsts: [end], step: atEnd.step, lines: used };
    for (const { step, firsts } of runs) {
      const below = anchors.length > 0 ? firstBelowEach(firsts, anchors) : firsts;
      if (below.length > 0) return { firsts: below, step, lines: used };
    }
  }
  return undefined;
}

/** A hunk as it stands, then without the empty lines at its edges that may be mere spacing. */
function spellings(lines: readonly HunkLine[]): (readonly HunkLine[])[] {
  const from = lines.findIndex((line) => !line.bare);
  const to = lines.findLastIndex((line) => !line.bare) + 1;
  if (to === 0) return [lines];
  const tailCut = lines.slice(0, to);
  const cut = lines.slice(from, to);
  const onlyAdds = cut.every((line) => line.kind === "add");
  if (onlyAdds) return [cut];
  return [lines, ...(to < lines.length ? [tailCut] : []), ...(from > 0 ? [cut] : [])];
}

/** Indices of the innermost context line, one for each place the outermost stands at; a text is the context that is missing. */
function findAnchors(lines: readonly Line[], context: readonly string[], cursor: number): number[] | string {
  let anchors: number[] = [];
  for (const [depth, wanted] of context.entries()) {
    const positions = findContext(lines, wanted, cursor);
    anchors =
      depth === 0
        ? positions
        : firstBelowEach(
            positions,
            anchors.map((anchor) => anchor + 1),
          );
    if (anchors.length === 0) return wanted;
  }
  return anchors;
}

function findContext(lines: readonly Line[], wanted: string, cursor: number): number[] {
  const indices = (matches: (text: string) => boolean): number[] =>
    lines.flatMap((line, index) => (index >= cursor && matches(line.text) ? [index] : []));
  for (const step of STEPS) {
    const fold = FOLDS[step];
    const key = fold(wanted);
    const found = indices((text) => fold(text) === key);
    if (found.length > 0) return found;
  }
  // Context only points: `class Foo` may well stand for `class Foo(Base):`.
  const start = foldLookAlikes(wanted).trim();
  return start.length < 3 ? [] : indices((text) => foldLookAlikes(text).trim().startsWith(start));
}

/** For each anchor the first index at or below it; a hunk may repeat its context line as its own first line. */
function firstBelowEach(indices: readonly number[], anchors: readonly number[]): number[] {
  const below = anchors.map((anchor) => indices.find((index) => index >= anchor));
  return [...new Set(below.filter((index) => index !== undefined))];
}
