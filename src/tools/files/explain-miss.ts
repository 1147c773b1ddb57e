import { type NearMatch, findNearMatches, wordsOf } from "./find-near-places.ts";
import { foldInnerBlanks, foldLookAlikes } from "./fold-line.ts";
import { MAX_AMBIGUOUS_MATCHES, type MatchStep, wantedText } from "./match-text.ts";
import { type Line, indentOf, isBlank, splitLines } from "./split-lines.ts";

const MAX_CHARS = 800;
const MAX_NEAR_MATCHES = 3;
const MAX_LISTED = 20;
const SHOWN_WIDTH = 100;
/** What a minified file holds beyond this is not compared. */
const MAX_LINE_CHARS = 10_000;

const OVERLOOKED: Record<MatchStep, string> = {
  exact: "",
  line_ends: " when line ends are ignored",
  trailing_blanks: " when trailing blanks are ignored",
  look_alikes: " when look-alike characters are taken as equal",
  indentation: " when indentation is ignored",
  flattened_indentation: " when indentation is ignored",
  inner_blanks: " when blanks inside lines are ignored",
};

/** What a model needs to mend an edit that missed: the nearest places, by line number, and what differs there. */
export function explainMiss(text: string, oldString: string, name = "old_string"): string {
  const lines = splitLines(text);
  if (lines.length === 0) return "The file is empty.";
  const wanted = wantedText(oldString).lines.map((line) => line.slice(0, MAX_LINE_CHARS));
  const nearMatches = findNearMatches(text, lines, wanted, MAX_NEAR_MATCHES);
  if (nearMatches.length === 0)
    return bounded(["Nothing in the file is like it. The file begins:", ...preview(lines)], readAgain);
  const parts = nearMatches.flatMap((match, rank) =>
    explainNearMatch({ lines, wanted, name }, match, rank === 0 ? 2 : 1),
  );
  return bounded([nearMatches.length === 1 ? "The nearest place:" : "The nearest places:", ...parts], quoteExactly);
}

/** Both sides of the comparison, and what the model calls its own. */
interface Sides {
  lines: readonly Line[];
  wanted: readonly string[];
  name: string;
}

const readAgain = "Read the file again and quote it exactly.";
const quoteExactly = "Copy the text from the file exactly and try again.";

/** Where the several places are; the advice is the caller's. */
export function explainAmbiguity(lineNumbers: readonly number[], step: MatchStep): string {
  const listed = [...new Set(lineNumbers)];
  const more = listed.length > MAX_LISTED ? " and more" : "";
  const where = `${listed.length === 1 ? "line" : "lines"} ${listed.slice(0, MAX_LISTED).join(", ")}${more}`;
  const min = lineNumbers.length >= MAX_AMBIGUOUS_MATCHES ? "at least " : "";
  return `It is found ${min}${lineNumbers.length} times${OVERLOOKED[step]}: ${where}. Nothing was changed.`;
}

function explainNearMatch(sides: Sides, match: NearMatch, max: number): string[] {
  const number = match.line + 1;
  const found = differences(sides, match).slice(0, max);
  if (found.length === 0) return [`- line ${number}: ${clip(sides.lines[match.line]?.text ?? "", 0)}`];
  return found.map((difference, index) => {
    if (index > 0) return `  ${difference}`;
    return difference.includes(`line ${number}`) ? `- ${difference}` : `- from line ${number} on: ${difference}`;
  });
}

/** Walks both sides in step, over lines that one side lacks, and says what differs where. */
function differences({ lines, wanted, name }: Sides, match: NearMatch): string[] {
  const found: string[] = [];
  let at = match.line;
  let index = match.wantedLine;
  while (index < wanted.length && found.length < 2) {
    const want = wanted[index] ?? "";
    const have = shortened(lines[at]);
    if (have === undefined) {
      found.push(`the file ends before "${clip(wanted.slice(index).find((line) => !isBlank(line)) ?? want, 0)}"`);
      break;
    }
    if (foldInnerBlanks(want) === foldInnerBlanks(have)) {
      const difference = describeDifference({ want, have, name }, at);
      if (difference && !found.includes(difference)) found.push(difference);
    } else {
      const skippedHave = distanceTo(want, (step) => shortened(lines[at + step]));
      const skippedWant = distanceTo(have, (step) => wanted[index + step]);
      if (skippedHave > 0 && (skippedWant === 0 || skippedHave <= skippedWant)) {
        found.push(`${name} lacks line ${at + 1} of the file: "${clip(have, 0)}"`);
        at += skippedHave;
      } else if (skippedWant > 0) {
        found.push(`the file has no line "${clip(want, 0)}" before line ${at + 1}`);
        index += skippedWant;
        continue;
      } else {
        found.push(describeDifference({ want, have, name }, at) ?? "");
      }
    }
    at++;
    index++;
  }
  return found;
}

/** How many lines further on, at most three, the same line comes; 0 for never. */
function distanceTo(line: string, lineAt: (step: number) => string | undefined): number {
  if (isBlank(line)) return 0;
  const key = foldInnerBlanks(line);
  for (let step = 1; step <= 3; step++) {
    const other = lineAt(step);
    if (other !== undefined && foldInnerBlanks(other) === key) return step;
  }
  return 0;
}

function describeDifference(
  { want, have, name }: { want: string; have: string; name: string },
  at: number,
): string | undefined {
  if (want === have) return undefined;
  const line = `line ${at + 1}`;
  if (want.trimEnd() === have.trimEnd()) return `trailing blanks differ on ${line}`;
  if (foldLookAlikes(want).trimEnd() === foldLookAlikes(have).trimEnd()) {
    return `look-alike characters (quotes, dashes, spaces) differ on ${line}: "${clipAtDifference(have, want)}"`;
  }
  if (want.trim() === have.trim()) {
    return `indentation of ${line} is ${spell(indentOf(have))} in the file, ${spell(indentOf(want))} in ${name}`;
  }
  if (foldInnerBlanks(want) === foldInnerBlanks(have))
    return `blanks differ on ${line}: "${clipAtDifference(have, want)}"`;
  const [one, other] = [foldLookAlikes(want).trim(), foldLookAlikes(have).trim()];
  if (one.toLowerCase() === other.toLowerCase())
    return `upper and lower case differ on ${line}: "${clipAtDifference(have, want)}"`;
  if (unescaped(one) === other)
    return `${name} has backslashes that ${line} has not: "${clipAtDifference(have, want)}"`;
  return `${line} is "${clipAtDifference(have, want)}", ${name} has "${clipAtDifference(want, have)}"`;
}

function unescaped(line: string): string {
  return line.replace(/\\(["'`\\$])/g, "$1");
}

function shortened(line: Line | undefined): string | undefined {
  return line?.text.slice(0, MAX_LINE_CHARS);
}

function spell(indent: string): string {
  const tabs = indent.split("\t").length - 1;
  const blanks = indent.length - tabs;
  const parts = [
    tabs > 0 && `${tabs} tab${tabs > 1 ? "s" : ""}`,
    blanks > 0 && `${blanks} blank${blanks > 1 ? "s" : ""}`,
  ];
  return parts.filter(Boolean).join(" and ") || "none";
}

/** The part of a line around the first character in which it differs from another. */
function clipAtDifference(line: string, other: string): string {
  let at = 0;
  while (at < line.length && line[at] === other[at]) at++;
  return clip(line, at > 0 ? at : sharedWordAt(line, other));
}

/** Where, in a line that differs from its start on, the longest word of the other stands. */
function sharedWordAt(line: string, other: string): number {
  if (line.length <= SHOWN_WIDTH) return 0;
  const words = wordsOf(other.slice(0, 500)).sort((one, two) => two.length - one.length);
  const shared = words.find((word) => line.includes(word));
  return shared === undefined ? 0 : line.indexOf(shared);
}

function clip(line: string, around: number): string {
  if (line.length <= SHOWN_WIDTH) return line;
  const start = Math.max(0, Math.min(around - SHOWN_WIDTH / 2, line.length - SHOWN_WIDTH));
  const end = start + SHOWN_WIDTH;
  const shown = line.slice(start, end).replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, "");
  return `${start > 0 ? "…" : ""}${shown}${end < line.length ? "…" : ""}`;
}

function preview(lines: readonly Line[]): string[] {
  return lines.slice(0, 10).map((line, index) => `${index + 1}: ${clip(line.text, 0)}`);
}

/** Whole parts as long as they fit; the advice always does. */
function bounded(parts: readonly string[], advice: string): string {
  let shown = parts[0] ?? "";
  for (const part of parts.slice(1)) {
    if (shown.length + part.length + advice.length + 2 > MAX_CHARS) break;
    shown += `\n${part}`;
  }
  return `${shown}\n${advice}`;
}
