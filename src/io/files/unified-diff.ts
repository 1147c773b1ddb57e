export interface UnifiedDiff {
  /** Empty if the texts are equal. */
  text: string;
  added: number;
  removed: number;
  /** Whether the text was cut at `maxBytes`. */
  truncated: boolean;
}

export interface UnifiedDiffOptions {
  path: string;
  context?: number;
  maxBytes?: number;
}

/** Above this number of changed lines the change is shown as one block: correct but not minimal. */
const MAX_EDIT_LENGTH = 2_000;

/** The common beginning and end are removed first, so the cost depends on the change, not on the file. */
export async function unifiedDiff(
  { before, after }: { before: string; after: string },
  { path, context = 3, maxBytes = 100 * 1024 }: UnifiedDiffOptions,
): Promise<UnifiedDiff> {
  if (before === after) return { text: "", added: 0, removed: 0, truncated: false };
  const { FILE_HEADERS_ONLY, formatPatch, structuredPatch } = await import("diff");
  const changed = changedPart(before, after, context);
  const oldFileName = before === "" ? "/dev/null" : `a/${path}`;
  const newFileName = after === "" ? "/dev/null" : `b/${path}`;
  const shortest = structuredPatch(oldFileName, newFileName, changed.before, changed.after, undefined, undefined, {
    context,
    maxEditLength: MAX_EDIT_LENGTH,
  });
  const hunks = shortest?.hunks ?? [wholeHunk(changed.before, changed.after)];
  for (const hunk of hunks) {
    hunk.oldStart += changed.linesBefore;
    hunk.newStart += changed.linesBefore;
  }
  const lines = hunks.flatMap((hunk) => hunk.lines);
  const added = lines.filter((line) => line.startsWith("+")).length;
  const removed = lines.filter((line) => line.startsWith("-")).length;
  const patch = { oldFileName, newFileName, oldHeader: undefined, newHeader: undefined, hunks };
  return { ...bound(formatPatch(patch, FILE_HEADERS_ONLY), maxBytes), added, removed };
}

/** Whole lines around the first and the last difference. */
function changedPart(before: string, after: string, context: number) {
  const shorter = Math.min(before.length, after.length);
  let same = 0;
  while (same < shorter && before.charCodeAt(same) === after.charCodeAt(same)) same += 1;
  let start = lineStartBefore(before, same);
  for (let line = 0; line < context && start > 0; line += 1) start = lineStartBefore(before, start - 1);
  let sameEnd = 0;
  while (
    sameEnd < shorter - same &&
    before.charCodeAt(before.length - 1 - sameEnd) === after.charCodeAt(after.length - 1 - sameEnd)
  )
    sameEnd += 1;
  let end = before.length - sameEnd;
  for (let line = 0; line <= context && end < before.length; line += 1) end = lineEndAfter(before, end);
  return {
    before: before.slice(start, end),
    after: after.slice(start, end + after.length - before.length),
    linesBefore: countFeeds(before, start),
  };
}

function wholeHunk(before: string, after: string) {
  const old = splitLines(before);
  const fresh = splitLines(after);
  const lines = [
    ...[...old.map((line) => `-${line}`), ...endMark(before)],
    ...[...fresh.map((line) => `+${line}`), ...endMark(after)],
  ];
  return { oldStart: 1, oldLines: old.length, newStart: 1, newLines: fresh.length, lines };
}

function endMark(text: string): string[] {
  return text === "" || text.endsWith("\n") ? [] : ["\\ No newline at end of file"];
}

function bound(text: string, maxBytes: number): { text: string; truncated: boolean } {
  if (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes) return { text, truncated: false };
  const cut = Buffer.from(text.slice(0, maxBytes)).subarray(0, maxBytes);
  const lastLine = cut.lastIndexOf(10);
  return { text: cut.subarray(0, lastLine === -1 ? 0 : lastLine + 1).toString(), truncated: true };
}

function lineStartBefore(text: string, index: number): number {
  return index <= 0 ? 0 : text.lastIndexOf("\n", index - 1) + 1;
}

function lineEndAfter(text: string, index: number): number {
  const feed = text.indexOf("\n", index);
  return feed === -1 ? text.length : feed + 1;
}

function splitLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

function countFeeds(text: string, end: number): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1 && at < end; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}
