import { toolError } from "../../core/error.ts";
import { explainAmbiguity, explainMiss } from "./explain-miss.ts";
import { refuseElisions } from "./find-elision.ts";
import { type MatchStep, type TextRange, type Stripped, type TextMatch, findMatch, wantedText } from "./match-text.ts";
import { type LineChange, changedLines, replaceLines } from "./replace-lines.ts";
import { type Splice, spliceText } from "./splice-text.ts";
import { type Line, indentOf, isBlank, lineEndAt, lineNumbersOf, splitLines, toLf, withoutBom } from "./split-lines.ts";

export interface TextEdit {
  oldString: string;
  newString: string;
  /** Replace every place instead of requiring exactly one. */
  replaceAll?: boolean;
}

/** How one edit was carried out. */
export interface AppliedEdit {
  step: MatchStep;
  stripped?: Stripped;
  replacements: number;
  /** Line numbers, from 1 and in the original text, at which the replaced places begin. */
  lines: number[];
}

export interface Replaced {
  text: string;
  /** In ascending order; a writer of bytes needs to touch nothing else. */
  splices: Splice[];
  /** In the order of the edits given. */
  edits: AppliedEdit[];
}

/** These rungs recognise a place by less than its lines, so that "replace all" may not multiply the guess. */
const SINGLE_ONLY: ReadonlySet<MatchStep> = new Set(["flattened_indentation", "inner_blanks"]);

const disambiguationHint = "Quote more of the lines around the one you mean, or set replace_all to change every place.";

interface Located {
  index: number;
  range: TextRange;
}

/**
 * Carries out edits that all speak of the text as it is given, none of the result of another: all of them or, with a
 * ToolError, none. New text takes the line ends of the place it goes to; everything outside the splices stays.
 */
export function replaceText(text: string, edits: readonly TextEdit[]): Replaced {
  if (edits.length === 0) {
    throw toolError("invalid_input", "edits is empty", {
      next: "Give at least one edit with old_string and new_string.",
    });
  }
  const created = createText(text, edits);
  if (created) return created;

  const matches = edits.map((edit, index) => matchEdit(text, edit, nameOf(edits, index)));
  refuseOverlap(text, matches);
  const lines = matches.some((match) => match.ranges.some(isWholeLines)) ? splitLines(text) : [];
  const splices = matches
    .flatMap((match, index) => {
      const found = spliceMatch(text, lines, match, newStringOf(text, edits[index]));
      if (found.length === 0) throw noChange(nameOf(edits, index));
      return found;
    })
    .sort((one, other) => one.start - other.start);
  refuseTouching(splices);
  return { text: spliceText(text, splices), splices, edits: describeEdits(text, matches) };
}

function createText(text: string, edits: readonly TextEdit[]): Replaced | undefined {
  const index = edits.findIndex((edit) => edit.oldString === "");
  const edit = edits[index];
  if (edit === undefined) return undefined;
  const name = nameOf(edits, index);
  if (withoutBom(text) !== "") {
    throw toolError("invalid_input", `${name}old_string is empty, but the file has content`, {
      next: "Quote the text to replace in old_string, or use write to replace the whole file.",
    });
  }
  if (edits.length > 1) {
    throw toolError("invalid_input", `${name}old_string is empty, which creates the text and leaves nothing to edit`, {
      next: "Give a single edit with an empty old_string, or use write.",
    });
  }
  if (edit.newString === "") throw noChange(name);
  const splice = { start: text.length, end: text.length, newText: edit.newString };
  return {
    text: spliceText(text, [splice]),
    splices: [splice],
    edits: [{ step: "exact", replacements: 1, lines: [1] }],
  };
}

function matchEdit(text: string, edit: TextEdit, name: string): TextMatch {
  if (edit.oldString === edit.newString) throw noChange(name);
  const all = edit.replaceAll ?? false;
  const match = findMatch(text, edit.oldString, { all });
  if (match === undefined) {
    throw toolError("no_match", `${name}old_string was not found`, { next: explainMiss(text, edit.oldString) });
  }
  if (match.ranges.length > 1 && (!all || SINGLE_ONLY.has(match.step))) {
    const numbers = lineNumbersOf(
      text,
      match.ranges.map((range) => range.start),
    );
    throw toolError("ambiguous", `${name}old_string is not unique`, {
      next: `${explainAmbiguity(numbers, match.step)} ${all ? "Quote each place exactly." : disambiguationHint}`,
      data: { lines: numbers },
    });
  }
  refuseElisions(
    match.prepareNew(toLf(edit.newString).split("\n")).join("\n"),
    match.old.lines.join("\n"),
    `${name}new_string`,
  );
  return match;
}

function refuseOverlap(text: string, matches: readonly TextMatch[]): void {
  const located: Located[] = matches.flatMap((match, index) => match.ranges.map((range) => ({ index, range })));
  located.sort((one, other) => one.range.start - other.range.start);
  located.forEach((here, at) => {
    const before = located[at - 1];
    if (before === undefined || here.range.start >= before.range.end) return;
    const [line] = lineNumbersOf(text, [here.range.start]);
    const [one, other] = [before.index, here.index].sort((a, b) => a - b);
    throw toolError("overlap", `edits[${one}] and edits[${other}] overlap at line ${line}`, {
      next: "Nothing was changed. All edits match the original text: merge these two into one edit.",
      data: { edits: [one, other], line },
    });
  });
}

/** Taking the last line of a file without final line end takes the end before it too, which another edit may hold. */
function refuseTouching(splices: readonly Splice[]): void {
  splices.forEach((splice, at) => {
    if (splice.start >= (splices[at - 1]?.end ?? 0)) return;
    throw toolError("overlap", "Two edits change the same line end", {
      next: "Nothing was changed. Merge the edits of the last two lines into one.",
    });
  });
}

function spliceMatch(text: string, lines: readonly Line[], match: TextMatch, newString: string): Splice[] {
  return match.ranges.flatMap((range) => {
    if (isWholeLines(range)) return spliceLines(text, lines, { match, range, newString });
    const { start, end } = range;
    const newText = withLineEndsOf(text, range, newString);
    return text.slice(start, end) === newText ? [] : [{ start, end, newText }];
  });
}

/** A byte order mark quoted along with the text is not part of the change. */
function newStringOf(text: string, edit: TextEdit | undefined): string {
  if (edit === undefined) return "";
  return withoutBom(text) !== text || withoutBom(edit.oldString) !== edit.oldString
    ? withoutBom(edit.newString)
    : edit.newString;
}

function spliceLines(
  text: string,
  lines: readonly Line[],
  { match, range, newString }: { match: TextMatch; range: TextRange & { firstLine: number }; newString: string },
): Splice[] {
  const { old } = match;
  const given = old.ended ? endedLines(newString) : toLf(newString).split("\n");
  const newLines = match.prepareNew(given);
  const changes = changedLines(range.firstLine, old.lines, newLines, (added, { fileLine, newLine }) => {
    const near = lines.slice(range.firstLine, fileLine + 1).findLast((line) => !isBlank(line.text));
    return range.reindent?.(added, { index: newLine, indent: indentOf(near?.text ?? "") }) ?? added;
  });
  return replaceLines(text, lines, changes, (change, index) => ownLineEnd(lines, change, index));
}

/** Where the old text ends with a line end, so does the new one, whether it says so or not. */
function endedLines(newString: string): string[] {
  return newString === "" ? [] : wantedText(newString).lines;
}

/** An added line takes the end of the line it stands for, else of the nearest line. */
function ownLineEnd(lines: readonly Line[], change: LineChange, index: number): string {
  const replaced = Math.min(index, change.count - 1);
  for (const near of [change.first + Math.max(replaced, 0), change.first + change.count - 1, change.first - 1, 0]) {
    const eol = lines[near]?.eol;
    if (eol) return eol;
  }
  return "\n";
}

/** Gives the line ends of a new text, one after the other, those of the place it replaces, and further ones its neighbour's. */
function withLineEndsOf(text: string, { start, end }: TextRange, newText: string): string {
  if (!/[\r\n]/.test(newText) || !/[\r\n]/.test(text)) return newText;
  const own = text.slice(start, end).match(/\r\n|\n|\r/g) ?? [];
  const further = own.at(-1) ?? nearestLineEnd(text, end);
  let index = 0;
  return newText.replace(/\r\n|\n/g, () => own[index++] ?? further);
}

function nearestLineEnd(text: string, from: number): string {
  const after = text.indexOf("\n", from);
  const at = after >= 0 ? after : text.lastIndexOf("\n", from);
  if (at >= 0) return text[at - 1] === "\r" ? "\r\n" : "\n";
  return lineEndAt(text, text.indexOf("\r")) || "\n";
}

function describeEdits(text: string, matches: readonly TextMatch[]): AppliedEdit[] {
  const starts = matches.flatMap((match) => match.ranges.map((range) => range.start)).sort((a, b) => a - b);
  const numbers = lineNumbersOf(text, starts);
  const numberAt = new Map(starts.map((start, index) => [start, numbers[index] ?? 1]));
  return matches.map(({ step, stripped, ranges }) => ({
    step,
    ...(stripped && { stripped }),
    replacements: ranges.length,
    lines: ranges.map((range) => numberAt.get(range.start) ?? 1),
  }));
}

function isWholeLines(range: TextRange): range is TextRange & { firstLine: number } {
  return range.firstLine !== undefined;
}

function noChange(name: string): Error {
  return toolError("no_change", `${name}old_string and new_string give the same text`, {
    next: "Nothing was changed. If the file already says what you want, go on; otherwise correct new_string.",
  });
}

function nameOf(edits: readonly TextEdit[], index: number): string {
  return edits.length > 1 ? `edits[${index}]: ` : "";
}
