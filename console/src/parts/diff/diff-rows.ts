import { diffArrays, diffWordsWithSpace } from "diff";
import type { DiffLine } from "./parse-diff.ts";

/** A range of characters that differ from the other side. */
export interface Mark {
  from: number;
  to: number;
}

export interface MarkedLine extends DiffLine {
  marks: readonly Mark[];
}

/** Longer lines get no marks of words: comparing them takes too long. */
const MAX_MARKED_LENGTH = 2_500;
const MAX_MARKED_PAIRS = 300;
const MAX_COMPARED_LINES = 2_000;
/** Below this share of equal characters the marks would cover nearly everything. */
const MIN_EQUAL_SHARE = 0.35;

/** Runs of removed lines with the added lines in their place. */
interface Block {
  removed: DiffLine[];
  added: DiffLine[];
}

function* blocksOf(lines: readonly DiffLine[]): Generator<DiffLine | Block> {
  let block: Block | undefined;
  for (const line of lines) {
    if (line.type === "same" || (line.type === "delete" && block && block.added.length > 0)) {
      if (block) yield block;
      block = undefined;
    }
    if (line.type === "same") yield line;
    else {
      block ??= { removed: [], added: [] };
      (line.type === "delete" ? block.removed : block.added).push(line);
    }
  }
  if (block) yield block;
}

/** Lines that differ only in their indentation, their end and the amount of blanks become unchanged lines. */
export function withoutWhitespaceChanges(lines: readonly DiffLine[]): DiffLine[] {
  const kept: DiffLine[] = [];
  for (const part of blocksOf(lines)) {
    if (!("removed" in part)) kept.push(part);
    else if (part.removed.length + part.added.length > MAX_COMPARED_LINES) kept.push(...part.removed, ...part.added);
    else kept.push(...ignoreWhitespace(part));
  }
  return kept;
}

function* ignoreWhitespace({ removed, added }: Block): Generator<DiffLine> {
  // A blank that comes or goes between words is a change: `rm -rf /tmp` is not `rm -rf / tmp`.
  const squeeze = ({ text }: DiffLine): string => text.replace(/^[ \t]+|[ \t\r]+$/g, "").replace(/[ \t]+/g, " ");
  let old = 0;
  let fresh = 0;
  for (const part of diffArrays(removed.map(squeeze), added.map(squeeze))) {
    const { length } = part.value;
    if (part.removed) yield* removed.slice(old, (old += length));
    else if (part.added) yield* added.slice(fresh, (fresh += length));
    else {
      for (let at = 0; at < length; at++, old++, fresh++) {
        const { text = "", newLine } = added[fresh] ?? {};
        yield { type: "same", text, newLine, oldLine: removed[old]?.oldLine };
      }
    }
  }
}

/** The n-th removed line is compared with the n-th line that was added in its place. */
export function markWords(lines: readonly DiffLine[]): MarkedLine[] {
  const marked: MarkedLine[] = [];
  let pairs = 0;
  for (const part of blocksOf(lines)) {
    if (!("removed" in part)) {
      marked.push({ ...part, marks: [] });
      continue;
    }
    const { removed, added } = part;
    const marks = removed.map((line, at) => {
      const other = added[at];
      return other && pairs++ < MAX_MARKED_PAIRS ? compareWords(line.text, other.text) : undefined;
    });
    marked.push(...removed.map((line, at) => ({ ...line, marks: marks[at]?.before ?? [] })));
    marked.push(...added.map((line, at) => ({ ...line, marks: marks[at]?.after ?? [] })));
  }
  return marked;
}

function compareWords(before: string, after: string): { before: Mark[]; after: Mark[] } | undefined {
  if (Math.max(before.length, after.length) > MAX_MARKED_LENGTH) return undefined;
  const marks = { before: [] as Mark[], after: [] as Mark[] };
  let old = 0;
  let fresh = 0;
  let equal = 0;
  for (const { value, added, removed } of diffWordsWithSpace(before, after)) {
    const { length } = value;
    if (removed) marks.before.push({ from: old, to: (old += length) });
    else if (added) marks.after.push({ from: fresh, to: (fresh += length) });
    else {
      equal += value.replace(/\s/g, "").length;
      old += length;
      fresh += length;
    }
  }
  const longer = Math.max(before.replace(/\s/g, "").length, after.replace(/\s/g, "").length);
  return equal < longer * MIN_EQUAL_SHARE ? undefined : marks;
}

/** One row of two columns. */
export interface SplitRow {
  left?: MarkedLine;
  right?: MarkedLine;
}

export function splitRows(lines: readonly MarkedLine[]): SplitRow[] {
  const rows: SplitRow[] = [];
  let removed: MarkedLine[] = [];
  let added: MarkedLine[] = [];
  const flush = (): void => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++)
      rows.push({ left: removed[at], right: added[at] });
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.type === "same" || (line.type === "delete" && added.length > 0)) flush();
    if (line.type === "same") rows.push({ left: line, right: line });
    else (line.type === "delete" ? removed : added).push(line);
  }
  flush();
  return rows;
}

const CONTEXT = 3;
/** Hiding fewer lines than this saves nothing. */
const MIN_HIDDEN = 4;

/** Lines to show, and runs of unchanged lines that are hidden until the user opens them. */
export function foldContext<Line extends { type: DiffLine["type"] }>(
  lines: readonly Line[],
): ({ shown: Line[] } | { hidden: Line[] })[] {
  const near = lines.map(() => false);
  lines.forEach(({ type }, at) => {
    if (type === "same") return;
    for (let by = -CONTEXT; by <= CONTEXT; by++) if (at + by >= 0 && at + by < lines.length) near[at + by] = true;
  });
  const runs: ({ shown: Line[] } | { hidden: Line[] })[] = [];
  for (let at = 0; at < lines.length;) {
    let end = at + 1;
    while (end < lines.length && near[end] === near[at]) end++;
    const run = lines.slice(at, end);
    const last = runs.at(-1);
    if (!near[at] && run.length >= MIN_HIDDEN) runs.push({ hidden: run });
    else if (last && "shown" in last) last.shown.push(...run);
    else runs.push({ shown: run });
    at = end;
  }
  return runs;
}
