import { diffLines } from "../../io/files/line-diff.ts";
import type { Line } from "./text-match.ts";

/** Replaces `count` lines from index `first` by `added`. */
export interface LineChange {
  first: number;
  count: number;
  added: readonly string[];
}

/** The changes between two versions of lines from index `first`. `write` gives added lines their final form. */
export function changedLines(
  first: number,
  oldLines: readonly string[],
  newLines: readonly string[],
  write: (added: string[], at: { fileLine: number; newLine: number }) => readonly string[] = (added) => added,
): LineChange[] {
  return diffLines(oldLines, newLines).map(({ oldStart, oldCount, newStart, newCount }) => {
    const change = { first: first + oldStart, count: oldCount };
    if (newCount === 0) return { ...change, added: [] };
    // Added lines replace the removed lines, or follow the kept line.
    const fileLine = oldCount > 0 ? change.first : Math.max(first, change.first - 1);
    return { ...change, added: write(newLines.slice(newStart, newStart + newCount), { fileLine, newLine: newStart }) };
  });
}

/** Joins adjacent changes. Expects and returns ascending order. */
export function joinAdjacent(changes: readonly LineChange[]): LineChange[] {
  const joined: (LineChange & { added: string[] })[] = [];
  for (const change of changes) {
    const last = joined.at(-1);
    if (last === undefined || last.first + last.count !== change.first) {
      joined.push({ ...change, added: [...change.added] });
    } else {
      last.count += change.count;
      for (const line of change.added) last.added.push(line);
    }
  }
  return joined;
}

/** Line changes as splices: unchanged lines keep their bytes. `lineEnd` is that of the added line at `index`. */
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
