/** Unified diffs for people: labelled files, counts, colours, and marks on the words that changed. */
import { diffWordsWithSpace } from "diff";
import { showInline, visibleLines } from "../gate/permit/approval-parts.ts";
import { lengthWithin, widthOf } from "./layout.ts";
import { type Output, type Paint, safe, type Style } from "./output.ts";

export interface TextLayout {
  paint: Paint;
  columns: number;
}

/** Prefix of text of others, which could imitate our own lines otherwise; and of the rest of a line that is too long. */
const GUTTER = "  | ";
const GUTTER_REST = "  ┊ ";

/** For a terminal: laid out. For a pipe or a file: as it is, so that other programs can use it. */
export function showDiff(text: string, output: Output): string[] {
  return output.columns === Infinity ? safe(text).replace(/\n$/, "").split("\n") : showForeignText(text, output);
}

/** Text that may contain diffs. Every line of others has the gutter. */
export function showForeignText(text: string, layout: TextLayout, style?: Style): string[] {
  return splitDiffs(text).flatMap((section) => {
    if (section.type === "file") return showForeign([labelOf(section), ...styleHunks(section.lines)], layout);
    const lines = visibleLines(section.lines.join("\n")).map((line): StyledLine => [{ text: line, style }]);
    return showForeign(lines, layout);
  });
}

/** Whether the text is the diff of one file, which the title names too. */
export function isDiffOf(text: string, title: string): boolean {
  const [only, ...others] = splitDiffs(text);
  if (only?.type !== "file" || others.length > 0) return false;
  return title.endsWith(` ${nameOf(only.to === "/dev/null" ? only.from : only.to)}`);
}

/** Long lines go on in the next row, behind another gutter. */
function showForeign(lines: readonly StyledLine[], { paint, columns }: TextLayout): string[] {
  const width = Math.max(10, columns - GUTTER.length);
  return lines.flatMap((line) => {
    const rows: string[] = [];
    let row = "";
    let used = 0;
    const nextRow = (): void => {
      rows.push(row);
      row = "";
      used = 0;
    };
    for (const { text, style } of line) {
      for (let rest = text; rest !== "";) {
        const length = breakAt(rest, lengthWithin(rest, width - used));
        const piece = rest.slice(0, length);
        if (used > 0 && used + widthOf(piece) > width) {
          nextRow();
          continue;
        }
        row += style ? paint(style, piece) : piece;
        used += widthOf(piece);
        rest = rest.slice(length);
        if (rest !== "") nextRow();
      }
    }
    return [...rows, row].map((each, at) => ((at === 0 ? GUTTER : GUTTER_REST) + each).trimEnd());
  });
}

/** Before a blank if one is near: it is then visible at the start of the next row. */
function breakAt(text: string, length: number): number {
  if (length >= text.length) return length;
  const blank = text.lastIndexOf(" ", length);
  return blank > length * 0.6 ? blank : length;
}

/** A line with styled pieces; the text of the pieces together is the line. */
type StyledLine = readonly { text: string; style?: Style }[];

interface FileDiff {
  type: "file";
  from: string;
  to: string;
  lines: string[];
}

/** Text that is not part of a diff. */
interface PlainText {
  type: "text";
  lines: string[];
}

const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/**
 * The files of a text that contains diffs, and the text between them. The numbers of a hunk head decide where it ends: a
 * removed line that begins with two dashes is not the head of a file.
 */
function splitDiffs(text: string): (FileDiff | PlainText)[] {
  const found: (FileDiff | PlainText)[] = [];
  const lines = text.split("\n");
  const plain = (line: string): void => {
    const last = found.at(-1);
    if (last?.type === "text") last.lines.push(line);
    else found.push({ type: "text", lines: [line] });
  };
  for (let at = 0; at < lines.length; at++) {
    const [from, to] = [/^--- (.+)$/.exec(lines[at] ?? "")?.[1], /^\+\+\+ (.+)$/.exec(lines[at + 1] ?? "")?.[1]];
    if (from === undefined || to === undefined || !HUNK.test(lines[at + 2] ?? "")) {
      plain(lines[at] ?? "");
      continue;
    }
    const file: FileDiff = { type: "file", from, to, lines: [] };
    at += 2;
    for (let end = hunkEnd(lines, at); end !== undefined; end = hunkEnd(lines, at)) {
      for (; at < end; at++) file.lines.push(lines[at] ?? "");
    }
    at--;
    found.push(file);
  }
  return found;
}

/** The index after the hunk that begins here; undefined if none does. A diff that was cut ends earlier. */
function hunkEnd(lines: readonly string[], start: number): number | undefined {
  const head = HUNK.exec(lines[start] ?? "");
  if (!head) return undefined;
  let [old, added] = [Number(head[1] ?? 1), Number(head[2] ?? 1)];
  let at = start + 1;
  for (; at < lines.length; at++) {
    const sign = lines[at]?.charAt(0) ?? "";
    if (sign === "\\") continue;
    if ((old <= 0 && added <= 0) || !"+- ".includes(sign) || sign === "") break;
    if (sign !== "+") old--;
    if (sign !== "-") added--;
  }
  return at;
}

/** What happens to the file, and how many lines: `changed src/a.ts  +3 -1`. */
function labelOf({ from, to, lines }: FileDiff): StyledLine {
  const [before, after] = [nameOf(from), nameOf(to)];
  const count = (sign: string): string => {
    const changed = lines.filter((line) => line.startsWith(sign)).length;
    return changed === 0 ? "" : ` ${sign}${changed}`;
  };
  const label =
    from === "/dev/null"
      ? `new file ${after}`
      : to === "/dev/null"
        ? `deleted ${before}`
        : before === after
          ? `changed ${after}`
          : `renamed ${before} → ${after}`;
  return [
    { text: label, style: "bold" },
    { text: count("+"), style: "green" },
    { text: count("-"), style: "red" },
  ];
}

function nameOf(name: string): string {
  return showInline(name.replace(/^[ab]\//, ""));
}

/** Word marks cost time: beyond these limits lines are only coloured. */
const MAX_MARKED_LENGTH = 1000;
const MAX_MARKED_PAIRS = 500;

/** The lines of the hunks of a file, with the words marked that differ between a removed line and the one in its place. */
function styleHunks(lines: readonly string[]): StyledLine[] {
  const styled: StyledLine[] = [];
  let pairs = 0;
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? "";
    if (!line.startsWith("-")) {
      styled.push(styleLine(line));
      at++;
      continue;
    }
    const removed = takeWhile(lines, at, "-");
    const added = takeWhile(lines, at + removed.length, "+");
    const marked = removed.length === added.length && (pairs += removed.length) <= MAX_MARKED_PAIRS;
    const both = marked ? removed.map((old, index) => markWords(old, added[index] ?? "")) : undefined;
    styled.push(...removed.map((old, index) => both?.[index]?.[0] ?? styleLine(old)));
    styled.push(...added.map((fresh, index) => both?.[index]?.[1] ?? styleLine(fresh)));
    at += removed.length + added.length;
  }
  return styled;
}

function takeWhile(lines: readonly string[], from: number, sign: string): string[] {
  let end = from;
  while (lines[end]?.startsWith(sign)) end++;
  return lines.slice(from, end);
}

const STYLES: Readonly<Record<string, Style>> = { "+": "green", "-": "red", "@": "cyan", "\\": "dim" };

function styleLine(line: string): StyledLine {
  return [{ text: visible(line), style: STYLES[line.charAt(0)] }];
}

function markWords(removed: string, added: string): [StyledLine, StyledLine] | undefined {
  if (removed.length > MAX_MARKED_LENGTH || added.length > MAX_MARKED_LENGTH) return undefined;
  const [before, after] = [visible(removed).slice(1), visible(added).slice(1)];
  const parts = diffWordsWithSpace(before, after);
  // If nearly everything differs, marks say nothing.
  const same = parts.reduce((sum, part) => sum + (part.added || part.removed ? 0 : part.value.trim().length), 0);
  if (same * 4 < Math.min(before.length, after.length)) return undefined;
  const side = (sign: "-" | "+", style: "red" | "green"): StyledLine => [
    { text: sign, style },
    ...parts
      .filter((part) => (sign === "+" ? !part.removed : !part.added))
      .map(({ value, ...part }) => {
        const marked: Style = [style, "inverse"];
        return { text: value, style: part.added || part.removed ? marked : style };
      }),
  ];
  return [side("-", "red"), side("+", "green")];
}

function visible(line: string): string {
  return visibleLines(line)[0] ?? "";
}
