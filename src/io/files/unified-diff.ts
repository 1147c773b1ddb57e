export interface UnifiedDiff {
  /** Empty if equal. A very long line has the length of unchanged parts instead; such a diff is no patch. */
  text: string;
  added: number;
  removed: number;
  /** Whether a part of the change is not in the text. */
  truncated: boolean;
  /** What is not in the text, for a person. */
  omitted?: string;
  /** The whole diff, if a part of the change is not in the text. */
  whole?: string;
  /** The same replacement on several lines, the most frequent first. */
  replacements?: Replacement[];
}

export interface Replacement {
  before: string;
  after: string;
  lines: number;
}

export interface UnifiedDiffOptions {
  path: string;
  /** Default: `path`. */
  newPath?: string;
  context?: number;
  maxBytes?: number;
}

/** The common beginning and end are removed first, so the cost depends on the change, not on the file. */
export async function unifiedDiff(
  { before, after }: { before: string; after: string },
  { path, newPath = path, context = 3, maxBytes = 100 * 1024 }: UnifiedDiffOptions,
): Promise<UnifiedDiff> {
  if (before === after) return { text: "", added: 0, removed: 0, truncated: false };
  const { FILE_HEADERS_ONLY, formatPatch } = await import("diff");
  const { diffLines } = await import("./line-diff.ts");
  const changed = changedPart(before, after, context);
  const oldFileName = before === "" ? "/dev/null" : `a/${inOneLine(path)}`;
  const newFileName = after === "" ? "/dev/null" : `b/${inOneLine(newPath)}`;
  const hunks = hunksOf(changed, context, diffLines);
  for (const hunk of hunks) {
    hunk.oldStart += changed.linesBefore;
    hunk.newStart += changed.linesBefore;
  }
  const lines = hunks.flatMap((hunk) => hunk.lines);
  const added = lines.filter((line) => line.startsWith("+")).length;
  const removed = lines.filter((line) => line.startsWith("-")).length;
  let cutCharacters = 0;
  const patch = { oldFileName, newFileName, oldHeader: undefined, newHeader: undefined, hunks };
  const full = lines.some(isLong) ? formatPatch(patch, FILE_HEADERS_ONLY) : undefined;
  if (full !== undefined) {
    const window = createLineWindow(await import("diff"));
    for (const hunk of hunks) {
      const windowed = windowLines(hunk.lines, window);
      hunk.lines = windowed.lines;
      cutCharacters += windowed.cut;
    }
  }
  const whole = formatPatch(patch, FILE_HEADERS_ONLY);
  const text = bound(whole, maxBytes);
  const cutLines = text === whole ? 0 : added + removed - countChanges(text);
  const omitted = [
    ...(cutLines > 0 ? [`${cutLines} of ${added + removed} changed lines`] : []),
    ...(cutCharacters > 0 ? [`${cutCharacters} characters of long changed lines`] : []),
  ].join(" and ");
  const truncated = text !== whole || cutCharacters > 0;
  return {
    text,
    added,
    removed,
    truncated,
    omitted: omitted || undefined,
    whole: truncated ? (full ?? whole) : undefined,
    replacements: replacementsIn(lines),
  };
}

/** A file name must not add lines to the diff. */
function inOneLine(path: string): string {
  return path.replace(
    /[\u0000-\u001f\u007f\u0085\u2028\u2029]/g,
    (found) => `\\u{${found.charCodeAt(0).toString(16)}}`,
  );
}

const MIN_REPLACED_LINES = 3;
const MAX_REPLACEMENTS = 10;
/** Longer replaced texts are no summary. */
const MAX_REPLACED_LENGTH = 200;

/** Pairs the n-th removed line with the n-th line that was added in its place, and counts equal differences. */
function replacementsIn(lines: readonly string[]): Replacement[] | undefined {
  const counted = new Map<string, Replacement>();
  let removed: string[] = [];
  let added: string[] = [];
  const count = (): void => {
    for (let at = 0; at < Math.min(removed.length, added.length); at++) {
      const [before, after] = differenceOf(removed[at] ?? "", added[at] ?? "");
      if (before === "" || before.length > MAX_REPLACED_LENGTH || after.length > MAX_REPLACED_LENGTH) continue;
      const key = JSON.stringify([before, after]);
      const known = counted.get(key) ?? { before, after, lines: 0 };
      known.lines++;
      counted.set(key, known);
    }
    [removed, added] = [[], []];
  };
  for (const line of lines) {
    if (line.startsWith("-")) {
      // A new run of changes begins.
      if (added.length > removed.length) count();
      removed.push(line.slice(1));
    } else if (line.startsWith("+")) added.push(line.slice(1));
    else if (line.startsWith(" ")) count();
  }
  count();
  const frequent = [...counted.values()].filter((each) => each.lines >= MIN_REPLACED_LINES);
  const sorted = frequent.sort((one, other) => other.lines - one.lines).slice(0, MAX_REPLACEMENTS);
  return sorted.length > 0 ? sorted : undefined;
}

/** The parts that differ, as whole words. */
function differenceOf(before: string, after: string): [string, string] {
  const [same, sameEnd] = commonEnds(before, after);
  const start = same - (/\w*$/.exec(before.slice(Math.max(0, same - 80), same))?.[0].length ?? 0);
  const rest = sameEnd === 0 ? "" : before.slice(-sameEnd).slice(0, 80);
  const end = sameEnd - (/^\w*/.exec(rest)?.[0].length ?? 0);
  return [before.slice(start, before.length - end), after.slice(start, after.length - end)];
}

/** Counts only lines after the first hunk head: the file headers begin with the same characters. */
function countChanges(text: string): number {
  const start = text.indexOf("\n@@");
  return start === -1 ? 0 : (text.slice(start).match(/\n[-+]/g) ?? []).length;
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

function hunksOf(
  { before, after }: { before: string; after: string },
  context: number,
  diffLines: typeof import("./line-diff.ts").diffLines,
) {
  const [old, fresh] = [splitWithEnds(before), splitWithEnds(after)];
  const hunks: Hunk[] = [];
  let hunk: Hunk | undefined;
  let shownTo = 0;
  const keep = (to: number): void => {
    for (; shownTo < Math.min(to, old.length); shownTo++) put(hunk!, " ", old[shownTo]);
  };
  for (const { oldStart, oldCount, newStart, newCount } of diffLines(old, fresh)) {
    const from = Math.max(0, oldStart - context);
    if (!hunk || from > shownTo + context) {
      if (hunk) keep(shownTo + context);
      shownTo = from;
      hunks.push(
        (hunk = {
          oldStart: from + 1,
          oldLines: 0,
          newStart: newStart - (oldStart - from) + 1,
          newLines: 0,
          lines: [],
        }),
      );
    }
    keep(oldStart);
    const removed = old.slice(oldStart, oldStart + oldCount);
    const added = fresh.slice(newStart, newStart + newCount);
    // Each line beside the one that replaces it: a person could not compare two long blocks, and a cut would hide one.
    const pairs = removed.length === added.length && removed.length >= MIN_PAIRED_LINES ? removed.length : 0;
    for (let at = 0; at < pairs; at++) {
      put(hunk, "-", removed[at]);
      put(hunk, "+", added[at]);
    }
    for (const line of removed.slice(pairs)) put(hunk, "-", line);
    for (const line of added.slice(pairs)) put(hunk, "+", line);
    shownTo = oldStart + oldCount;
  }
  if (hunk) keep(shownTo + context);
  return hunks;
}

const MIN_PAIRED_LINES = 10;

interface Hunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  lines: string[];
}

/** The line is given with its line end. */
function put(hunk: Hunk, sign: " " | "-" | "+", line = ""): void {
  if (sign !== "+") hunk.oldLines++;
  if (sign !== "-") hunk.newLines++;
  if (line.endsWith("\n")) hunk.lines.push(sign + line.slice(0, -1));
  else hunk.lines.push(sign + line, "\\ No newline at end of file");
}

/** Cuts at a line end. */
function bound(text: string, maxBytes: number): string {
  if (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes) return text;
  const cut = Buffer.from(text.slice(0, maxBytes)).subarray(0, maxBytes);
  return cut.subarray(0, cut.lastIndexOf(10) + 1).toString();
}

/** A longer line is shown only around its changes. */
const MAX_LINE_LENGTH = 2_000;
/** Unchanged characters that are shown on each side of a change in a long line. */
const WINDOW_LENGTH = 80;
/** Max characters of a long line in the diff. */
const MAX_SHOWN_LENGTH = 16 * 1024;
/** Max differences inside a line that are looked for. Beyond that everything from the first to the last is one change. */
const MAX_LINE_EDITS = 500;
/** Max cost of these searches in one diff: the sum of the squares of the differences. */
const MAX_LINE_STEPS = 1_000_000;

type DiffLibrary = typeof import("diff");

/** A part of a line: `same` in the other line, or not. */
interface LinePart {
  text: string;
  same: boolean;
}

interface WindowedLine {
  text: string;
  /** Changed characters that are not shown. */
  cut: number;
}

type LineWindow = (removed: string, added: string) => [WindowedLine, WindowedLine];

function isLong(line: string): boolean {
  return line.length > MAX_LINE_LENGTH;
}

/** Shortens long lines of a hunk. The n-th removed line is compared with the n-th line that was added in its place. */
function windowLines(lines: readonly string[], window: LineWindow): { lines: string[]; cut: number } {
  const shown = [...lines];
  let cut = 0;
  const put = (at: number | undefined, line: WindowedLine): void => {
    if (at === undefined || !isLong(lines[at] ?? "")) return;
    shown[at] = `${lines[at]?.charAt(0)}${line.text}`;
    cut += line.cut;
  };
  for (let at = 0; at < lines.length;) {
    const removed: number[] = [];
    const added: number[] = [];
    let end = at;
    for (; end < lines.length && !lines[end]?.startsWith(" "); end++) {
      if (lines[end]?.startsWith("-")) removed.push(end);
      else if (lines[end]?.startsWith("+")) added.push(end);
    }
    for (let pair = 0; pair < Math.max(removed.length, added.length); pair++) {
      const textAt = (index: number | undefined): string => (index === undefined ? "" : (lines[index]?.slice(1) ?? ""));
      if (!isLong(textAt(removed[pair])) && !isLong(textAt(added[pair]))) continue;
      const [before, after] = window(textAt(removed[pair]), textAt(added[pair]));
      put(removed[pair], before);
      put(added[pair], after);
    }
    if (end === at) {
      put(at, showParts([{ text: lines[at]?.slice(1) ?? "", same: true }]));
      end++;
    }
    at = end;
  }
  return { lines: shown, cut };
}

function createLineWindow({ diffArrays }: DiffLibrary): LineWindow {
  let steps = MAX_LINE_STEPS;
  return (removed, added) => {
    const [start, end] = commonEnds(removed, added);
    const before = removed.slice(start, removed.length - end);
    const after = added.slice(start, added.length - end);
    const head: LinePart = { text: removed.slice(0, start), same: true };
    const tail: LinePart = { text: end === 0 ? "" : removed.slice(-end), same: true };
    const inner = Math.max(before.length, after.length) <= MAX_LINE_LENGTH ? undefined : diffTokens(before, after);
    const partsOf = (own: "removed" | "added", whole: string): LinePart[] => {
      if (!inner) return [head, { text: whole, same: false }, tail];
      const parts = inner
        .filter((part) => part[own] || (!part.added && !part.removed))
        .map((part): LinePart => ({ text: part.value.join(""), same: !part[own] }));
      return [head, ...parts, tail];
    };
    return [showParts(partsOf("removed", before)), showParts(partsOf("added", after))];
  };

  function diffTokens(before: string, after: string) {
    const max = Math.min(MAX_LINE_EDITS, Math.floor(Math.sqrt(steps)));
    steps -= max * max;
    return max === 0 ? undefined : diffArrays(tokensOf(before), tokensOf(after), { maxEditLength: max });
  }
}

function tokensOf(text: string): string[] {
  return text.match(/\w{1,64}|\W/gs) ?? [];
}

/** The lengths of the common beginning and end, never inside a surrogate pair. */
function commonEnds(one: string, other: string): [number, number] {
  const shorter = Math.min(one.length, other.length);
  let start = 0;
  while (start < shorter && one.charCodeAt(start) === other.charCodeAt(start)) start += 1;
  if (isHighSurrogate(one.charCodeAt(start - 1))) start -= 1;
  let end = 0;
  while (end < shorter - start && one.charCodeAt(one.length - 1 - end) === other.charCodeAt(other.length - 1 - end))
    end += 1;
  if (end > 0 && !isHighSurrogate(one.charCodeAt(one.length - end)) && isLowSurrogate(one.charCodeAt(one.length - end)))
    end -= 1;
  return [start, end];
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}

/** Changed parts in full as far as there is room, unchanged ones with only their ends. */
function showParts(parts: readonly LinePart[]): WindowedLine {
  let text = "";
  let cut = 0;
  let room = MAX_SHOWN_LENGTH;
  parts.forEach((part, index) => {
    const isFirst = index === 0 && part.same;
    const isLast = index === parts.length - 1 && part.same;
    const max = part.same ? WINDOW_LENGTH * 2 : Math.max(WINDOW_LENGTH, room);
    const shown = shorten(part.text, {
      max: room > 0 || part.same ? max : 0,
      head: isFirst && !isLast ? 0 : undefined,
      tail: isLast && !isFirst ? 0 : undefined,
    });
    text += shown.text;
    room -= shown.text.length;
    if (!part.same) cut += shown.left;
  });
  return { text, cut };
}

/** The beginning and the end with the length of what is left out between. `head` or `tail` 0: without that end. */
function shorten(
  text: string,
  { max, head, tail }: { max: number; head?: 0; tail?: 0 },
): { text: string; left: number } {
  if (text.length <= max) return { text, left: 0 };
  const half = head === undefined && tail === undefined ? max >> 1 : max;
  let start = head ?? half;
  let end = text.length - (tail ?? half);
  if (isHighSurrogate(text.charCodeAt(start - 1))) start -= 1;
  if (isLowSurrogate(text.charCodeAt(end))) end += 1;
  const left = end - start;
  return { text: `${text.slice(0, start)}[… ${left} characters …]${text.slice(end)}`, left };
}

function lineStartBefore(text: string, index: number): number {
  return index <= 0 ? 0 : text.lastIndexOf("\n", index - 1) + 1;
}

function lineEndAfter(text: string, index: number): number {
  const feed = text.indexOf("\n", index);
  return feed === -1 ? text.length : feed + 1;
}

/** A last line without a line end differs from the same line with one. */
function splitWithEnds(text: string): string[] {
  const lines: string[] = [];
  // Not by a regular expression: in a line of megabytes it can exceed the stack.
  for (let from = 0, to = 0; from < text.length; from = to) {
    const end = text.indexOf("\n", from);
    to = end < 0 ? text.length : end + 1;
    lines.push(text.slice(from, to));
  }
  return lines;
}

function countFeeds(text: string, end: number): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1 && at < end; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}
