import { diffArrays } from "diff";

/** Lines that differ: `oldCount` lines from `oldStart` became `newCount` lines from `newStart`, all from 0. */
export interface ChangedRun {
  oldStart: number;
  oldCount: number;
  newStart: number;
  newCount: number;
}

/** Up to this number of changed lines the shortest diff is computed: its cost is the square of the changes. */
const MAX_SHORTEST_EDITS = 200;
/** Max sum of these squares in one diff; beyond it, differing lines between two anchors are one change. */
const MAX_STEPS = 400_000;

/**
 * The differences of two lists of lines, in ascending order. The time is bounded: the shortest diff of a small change,
 * else lines that are unique on both sides divide the lists into parts that are compared on their own.
 */
export function diffLines(oldLines: readonly string[], newLines: readonly string[]): ChangedRun[] {
  const runs: ChangedRun[] = [];
  const budget = { steps: MAX_STEPS };
  const whole = { oldStart: 0, oldEnd: oldLines.length, newStart: 0, newEnd: newLines.length };
  // A list instead of recursion: the depth may be as large as the number of lines.
  const open: Part[] = [whole];
  for (let part = open.pop(); part; part = open.pop()) {
    const trimmed = trim(part, oldLines, newLines);
    const { oldStart, oldEnd, newStart, newEnd } = trimmed;
    const [oldCount, newCount] = [oldEnd - oldStart, newEnd - newStart];
    if (oldCount === 0 && newCount === 0) continue;
    if (oldCount === 0 || newCount === 0 || (oldCount === 1 && newCount === 1)) {
      runs.push({ oldStart, oldCount, newStart, newCount });
      continue;
    }
    const shortest = shortestRuns(trimmed, oldLines, newLines, budget);
    const parts = shortest ? undefined : divide(trimmed, oldLines, newLines);
    if (shortest) runs.push(...shortest);
    else if (parts) open.push(...parts.toReversed());
    else runs.push({ oldStart, oldCount, newStart, newCount });
  }
  return runs;
}

interface Part {
  oldStart: number;
  oldEnd: number;
  newStart: number;
  newEnd: number;
}

function trim(part: Part, oldLines: readonly string[], newLines: readonly string[]): Part {
  let { oldStart, oldEnd, newStart, newEnd } = part;
  while (oldStart < oldEnd && newStart < newEnd && oldLines[oldStart] === newLines[newStart]) {
    oldStart++;
    newStart++;
  }
  while (oldEnd > oldStart && newEnd > newStart && oldLines[oldEnd - 1] === newLines[newEnd - 1]) {
    oldEnd--;
    newEnd--;
  }
  return { oldStart, oldEnd, newStart, newEnd };
}

function shortestRuns(
  { oldStart, oldEnd, newStart, newEnd }: Part,
  oldLines: readonly string[],
  newLines: readonly string[],
  budget: { steps: number },
): ChangedRun[] | undefined {
  const max = Math.min(MAX_SHORTEST_EDITS, oldEnd - oldStart + newEnd - newStart, Math.floor(Math.sqrt(budget.steps)));
  const changes = diffArrays(oldLines.slice(oldStart, oldEnd), newLines.slice(newStart, newEnd), {
    maxEditLength: max,
  });
  budget.steps -= max * max;
  if (!changes) return undefined;
  const runs: ChangedRun[] = [];
  let [oldAt, newAt] = [oldStart, newStart];
  let run: ChangedRun | undefined;
  for (const { added, removed, count } of changes) {
    if (!added && !removed) {
      run = undefined;
      oldAt += count;
      newAt += count;
      continue;
    }
    if (!run) runs.push((run = { oldStart: oldAt, oldCount: 0, newStart: newAt, newCount: 0 }));
    if (removed) oldAt += count;
    else newAt += count;
    run.oldCount = oldAt - run.oldStart;
    run.newCount = newAt - run.newStart;
  }
  return runs;
}

/** The parts between lines that occur once on each side and in the same order; undefined if there are none. */
function divide(part: Part, oldLines: readonly string[], newLines: readonly string[]): Part[] | undefined {
  const newAt = uniqueLines(newLines, part.newStart, part.newEnd);
  const pairs: { old: number; fresh: number }[] = [];
  for (const [line, old] of uniqueLines(oldLines, part.oldStart, part.oldEnd)) {
    const fresh = newAt.get(line);
    if (old >= 0 && fresh !== undefined && fresh >= 0) pairs.push({ old, fresh });
  }
  const anchors = longestIncreasing(pairs);
  if (anchors.length === 0) return undefined;
  const parts: Part[] = [];
  let [oldStart, newStart] = [part.oldStart, part.newStart];
  for (const { old, fresh } of anchors) {
    parts.push({ oldStart, oldEnd: old, newStart, newEnd: fresh });
    [oldStart, newStart] = [old + 1, fresh + 1];
  }
  parts.push({ oldStart, oldEnd: part.oldEnd, newStart, newEnd: part.newEnd });
  return parts;
}

/** The index of each line, -1 if it occurs several times; in ascending order. */
function uniqueLines(lines: readonly string[], start: number, end: number): Map<string, number> {
  const found = new Map<string, number>();
  for (let at = start; at < end; at++) {
    const line = lines[at] ?? "";
    found.set(line, found.has(line) ? -1 : at);
  }
  return found;
}

/** Patience sorting. The pairs ascend by `old`; the result also ascends by `fresh`. */
function longestIncreasing(pairs: readonly { old: number; fresh: number }[]) {
  const tops: number[] = [];
  const before: (number | undefined)[] = [];
  const freshAt = (at: number | undefined): number => (at === undefined ? 0 : (pairs[at]?.fresh ?? 0));
  for (let at = 0; at < pairs.length; at++) {
    let [low, high] = [0, tops.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (freshAt(tops[middle]) < freshAt(at)) low = middle + 1;
      else high = middle;
    }
    before[at] = low > 0 ? tops[low - 1] : undefined;
    tops[low] = at;
  }
  const chosen: { old: number; fresh: number }[] = [];
  for (let at = tops.at(-1); at !== undefined; at = before[at]) {
    const pair = pairs[at];
    if (pair) chosen.push(pair);
  }
  return chosen.reverse();
}
