import { diffArrays } from "diff";
import type { Line } from "./text-match.ts";

/** Replaces `count` lines from index `first` by `added`. */
export interface LineChange {
  first: number;
  count: number;
  added: readonly string[];
}

/** Above this number of differing lines, common lines between them are not searched. */
const MAX_DIFFED_LINES = 2_000;

/**
 * The minimal changes between two versions of the lines from index `first`: common lines stay unchanged. `write` gives
 * added lines their final form; it gets their position in the file and in the new lines.
 */
export function changedLines(
  first: number,
  oldLines: readonly string[],
  newLines: readonly string[],
  write: (added: string[], at: { fileLine: number; newLine: number }) => readonly string[] = (added) => added,
): LineChange[] {
  let head = 0;
  while (head < oldLines.length && head < newLines.length && oldLines[head] === newLines[head]) head++;
  let tail = 0;
  const max = Math.min(oldLines.length, newLines.length) - head;
  while (tail < max && oldLines[oldLines.length - 1 - tail] === newLines[newLines.length - 1 - tail]) tail++;
  const oldMiddle = oldLines.slice(head, oldLines.length - tail);
  const newMiddle = newLines.slice(head, newLines.length - tail);
  let fileLine = first + head;
  let newLine = head;
  if (oldMiddle.length + newMiddle.length > MAX_DIFFED_LINES) {
    return [{ first: fileLine, count: oldMiddle.length, added: write(newMiddle, { fileLine, newLine }) }];
  }
  const changes: LineChange[] = [];
  let near = Math.max(first, fileLine - 1);
  for (const { added, removed, count, value } of diffArrays(oldMiddle, newMiddle)) {
    // Added lines replace the removed lines just before them, or follow the kept line.
    if (added) changes.push({ first: fileLine, count: 0, added: write(value, { fileLine: near, newLine }) });
    else if (removed) changes.push({ first: fileLine, count, added: [] });
    near = removed ? fileLine : fileLine + count - 1;
    if (!added) fileLine += count;
    if (!removed) newLine += count;
  }
  return joinAdjacent(changes);
}

/** Joins adjacent changes. Expects and returns ascending order. */
export function joinAdjacent(changes: readonly LineChange[]): LineChange[] {
  const joined: LineChange[] = [];
  for (const change of changes) {
    const last = joined.at(-1);
    if (last === undefined || last.first + last.count !== change.first) joined.push(change);
    else joined[joined.length - 1] = joinTwo(last, change);
  }
  return joined;
}

/**
 * Converts line changes to splices of the text. Unchanged lines keep their bytes, and the file keeps its final line end
 * or the lack of one. `lineEnd` returns the line end for the added line at `index` of a change.
 */
export function replaceLines(
  text: string,
  lines: readonly Line[],
  changes: readonly LineChange[],
  lineEnd: (change: LineChange, index: number) => string,
): Splice[] {
  const lacksFinalLineEnd = lines.at(-1)?.eol === "";
  return changes.flatMap((change) => {
    const { first, count, added } = change;
    const after = lines[first + count];
    let start = lines[first]?.start ?? text.length;
    const end = after?.start ?? text.length;
    const before = lines[first - 1];
    let newText = added.map((line, index) => line + lineEnd(change, index)).join("");
    if (after === undefined && lacksFinalLineEnd) {
      if (added.length > 0) newText = newText.slice(0, newText.length - lineEnd(change, added.length - 1).length);
      if (before !== undefined && count === 0) newText = (before.eol || lineEnd(change, 0)) + newText;
      if (before !== undefined && added.length === 0) start = before.start + before.text.length;
    }
    return text.slice(start, end) === newText ? [] : [{ start, end, newText }];
  });
}

function joinTwo(one: LineChange, two: LineChange): LineChange {
  return { first: one.first, count: one.count + two.count, added: [...one.added, ...two.added] };
}

/** One replaced range of a text. */
export interface Splice {
  start: number;
  end: number;
  newText: string;
}

/** Applies splices that are in ascending order and do not overlap. */
export function spliceText(text: string, splices: readonly Splice[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, newText } of splices) {
    parts.push(text.slice(at, start), newText);
    at = end;
  }
  parts.push(text.slice(at));
  return parts.join("");
}
