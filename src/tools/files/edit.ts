import { showName } from "../../io/shell/terminal-text.ts";
import { isUtf8 } from "node:buffer";
import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import { toolError, ToolError } from "../../core/error.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { Files } from "../../io/files/files.ts";
import { createNewlineCounter } from "../../io/files/line-index.ts";
import type { FileInfo } from "../../io/files/open-file.ts";
import { decodeText, encodeText, looksLikeUtf16 } from "../../io/files/text-encoding.ts";
import { convertEdit, EDIT_ALIASES, BLOCK_NAMES, EDITOR_NAMES, redirectEditor } from "./edit-dialects.ts";
import { refuseElisions } from "./elided-text.ts";
import {
  CHANGE_FIELDS,
  describeChange,
  failWithSuggestion,
  filesOf,
  type FileToolDependencies,
  PATH_ALIASES,
  pathLock,
  previewChanges,
} from "./file-access.ts";
import { explainAmbiguity, explainMiss } from "./match-failure.ts";
import { reportDiagnostics } from "./report-diagnostics.ts";
import { changedLines, type LineChange, replaceLines, type Splice, spliceText } from "./replace-lines.ts";
import {
  findMatch,
  indentOf,
  isBlank,
  type Line,
  lineEndAt,
  lineNumbersOf,
  type MatchStep,
  splitLines,
  type Stripped,
  type TextMatch,
  type TextRange,
  toLf,
  wantedText,
  withoutBom,
} from "./text-match.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

/** Their meaning is that of the same parameters of the tool. */
const editParameters = z.object({
  old_string: z.string(),
  new_string: z.string(),
  replace_all: z.boolean().optional(),
  reason: z.string().optional(),
});

export function createEditTool(dependencies: FileToolDependencies) {
  const { files, reads, diagnostics } = dependencies;
  /** Of the last preview of a large file. Weak, because an approval may take hours. */
  let previewed: { call: string; prepared: WeakRef<PreparedEdit> } | undefined;
  return createTool({
    name: "edit",
    title: "Edit",
    description: {
      short: "Replaces text in a file: one unique occurrence, every occurrence, or several edits at once.",
      usageNotes: [
        "Quote the text exactly, with enough surrounding lines to be unique.",
        "Several edits all refer to the current content of the file. Either all are made or none.",
      ],
      important: ["The file must have been read in this session; reading the part to change is enough."],
      examples: [{ input: { path: "src/app.ts", old_string: "let count = 0;", new_string: "let count = 1;" } }],
    },
    kind: "write",
    category: "file",
    tags: ["file"],
    builtIn: {
      zh: { title: "编辑", short: "替换文件中的文本：唯一的一处、每一处，或一次多处修改。" },
      isCore: true,
      knownAs: ["edit_file", "multi_edit", "multiedit"],
      sameAs: { opencode: ["edit", "multiedit"], gemini: ["replace"] },
    },
    output: describeOutput({
      ...CHANGE_FIELDS,
      replacements: field.integer(),
      edits: field.list(
        field.object<AppliedEdit>({
          step: field.text("How the text was found"),
          "stripped?": field.any(),
          replacements: field.integer(),
          lines: field.list(field.integer(), "Where, in the original text"),
        }),
      ),
    }),
    permission: "confirm",
    dialects: {
      snake: { name: "edit_file" },
      claude: { name: "Edit", parameters: { path: "file_path" } },
      gemini: {
        name: "replace",
        parameters: { path: "file_path", reason: "instruction", replace_all: "allow_multiple" },
      },
      openclaw: { name: "edit" },
    },
    aliases: ["MultiEdit", "search_replace", ...BLOCK_NAMES, ...EDITOR_NAMES],
    convertInput: convertEdit,
    redirect: redirectEditor,
    parameters: z.object({
      path: z.string().min(1).describe("The file, relative to the workspace or absolute"),
      old_string: z.string().optional().describe("The text to replace, exactly as it is in the file"),
      new_string: z.string().optional().describe("The replacement; empty to delete, whole lines with their line ends"),
      replace_all: z.boolean().optional().describe("Replace every occurrence instead of requiring exactly one"),
      reason: z.string().optional().describe("The reason in a few words, for the user"),
      edits: z.array(editParameters).optional().describe("Several edits instead of one"),
    }),
    parameterAliases: {
      ...PATH_ALIASES,
      ...EDIT_ALIASES,
    },
    signature: ({ path }) => ({ text: path, changes: [path] }),
    locks: ({ path }) => [pathLock(files, path)],
    preview: async (input, context) => {
      const { allowed, edited, shown } = await prepare(input, context, "requireRead");
      await allowed.checkWrite(input.path);
      const why = input.reason ? ` (${input.reason})` : "";
      return previewChanges(`Edit ${showName(shown)}${why}`, [await describeChange(shown, edited)]);
    },
    run: async (input, context) => {
      const { allowed, before, edited, shown, stamp } = await prepare(input, context, "requireFresh");
      const condition = stamp === undefined ? { ifAbsent: true } : { ifStamp: stamp };
      const outcome = await allowed.writeFileAtomic(input.path, edited.bytes, condition);
      reads.saw(context, outcome.info, { bytes: edited.bytes, seen: outcome.created ? "whole" : "as before" });
      const change = await describeChange(shown, edited);
      const changed = { file: outcome.info.real, before, after: edited.bytes };
      const found = await reportDiagnostics(diagnostics, [changed], { context, show: allowed.show.bind(allowed) });
      const replacements = edited.edits.reduce((sum, edit) => sum + edit.replacements, 0);
      const count = `${replacements} ${replacements === 1 ? "replacement" : "replacements"}`;
      const what = outcome.created ? `Created ${shown}` : `Edited ${shown}: ${count}`;
      return {
        content: `${what}${describeSteps(edited.edits)}\n${change.shown}${found.text}`,
        display: `${what}, +${change.added} −${change.removed}`,
        details: {
          path: shown,
          created: outcome.created,
          replacements,
          edits: edited.edits,
          bytesWritten: edited.bytes.length,
          diff: change.diff,
          diffOmitted: change.omitted,
          added: change.added,
          removed: change.removed,
          diagnostics: found.problems,
        },
      };
    },
  });

  /** Used by the preview and the edit: neither may reveal the content of an unread file. */
  async function prepare(input: EditInput, context: ToolContext, check: "requireRead" | "requireFresh") {
    const allowed = filesOf({ files }, context, "edit");
    const edits = editsOf(input);
    const call = JSON.stringify([context.callId, input]);
    const kept = await unchangedSincePreview(allowed, input.path, call);
    const { bytes, info } = kept?.read ?? (await readOrCreate(allowed, input.path, { edits, signal: context.signal }));
    const shown = info ? allowed.show(info.real) : input.path;
    const checkRead = (name: typeof check) => {
      if (info && dependencies.requireRead !== false) reads[name](context, { info, bytes }, shown);
    };
    checkRead(check);
    try {
      const edited = kept?.edited ?? editBytes(bytes, edits, shown);
      if (info && bytes.length > LARGE_BYTES)
        previewed = { call, prepared: new WeakRef({ read: { bytes, info }, edited }) };
      return { allowed, before: info && bytes, edited, shown, stamp: info?.stamp };
    } catch (error) {
      // If the file has changed, that explains the failure better.
      checkRead("requireFresh");
      throw error;
    }
  }

  /** What the preview of this call prepared, if the file has the same stamp. The edit is written only if it still has it then. */
  async function unchangedSincePreview(allowed: Files, path: string, call: string): Promise<PreparedEdit | undefined> {
    const prepared = previewed?.call === call ? previewed.prepared.deref() : undefined;
    previewed = undefined;
    if (!prepared) return undefined;
    const info = await allowed.info(path);
    return info.stamp === prepared.read.info.stamp && info.real === prepared.read.info.real ? prepared : undefined;
  }
}

interface PreparedEdit {
  read: { bytes: Buffer; info: FileInfo };
  edited: EditedBytes;
}

interface EditInput {
  path: string;
  old_string?: string;
  new_string?: string;
  replace_all?: boolean;
  edits?: z.infer<typeof editParameters>[];
}

function editsOf({ old_string, new_string, replace_all, edits = [] }: EditInput): TextEdit[] {
  // Some models fill every parameter: two empty strings next to a list mean nothing.
  if (edits.length > 0 && (old_string || new_string)) {
    throw toolError("invalid_input", "Both edits and old_string/new_string were given", {
      next: "Send one of the two.",
    });
  }
  const all = edits.length > 0 ? edits : [{ old_string, new_string, replace_all }];
  return all.map((edit) => {
    if (edit.old_string === undefined || edit.new_string === undefined) {
      throw toolError("invalid_input", "An edit needs old_string and new_string", {
        next: "Send both, or a list of edits with both in each.",
      });
    }
    const { old_string: oldString, new_string: newString } = edit;
    return { oldString, newString, replaceAll: edit.replace_all ?? replace_all };
  });
}

/** A single edit with an empty old_string creates a missing file; every other edit needs an existing file. */
async function readOrCreate(
  files: Files,
  path: string,
  { edits, signal }: { edits: readonly TextEdit[]; signal: AbortSignal },
): Promise<{ bytes: Buffer; info?: FileInfo }> {
  try {
    return await files.readWhole(path, { signal });
  } catch (error) {
    if (signal.aborted) throw toolError("cancelled", "The file was not changed", { cause: error });
    const only = edits.length === 1 ? edits[0] : undefined;
    const isMissing = error instanceof ToolError && error.code === "path_not_found";
    if (only?.oldString !== "" || !isMissing) return failWithSuggestion(error, files, path);
    refuseElisions(only.newString, "", "new_string");
    return { bytes: Buffer.alloc(0) };
  }
}

/** Names the match step unless it was exact, so a wrong match is noticed. */
function describeSteps(edits: readonly AppliedEdit[]): string {
  const inexact = edits.filter(({ step }) => step !== "exact");
  if (inexact.length === 0) return ".";
  return ` (found by: ${[...new Set(inexact.map(({ step }) => step))].join(", ")}).`;
}

/** Above this size decoding the file costs more than the edit, so an exact match is searched in the bytes first. */
const LARGE_BYTES = 256 * 1024;
/** Context lines around a change in bytes: more than a diff shows. */
const LINES_AROUND = 4;
const LINE_FEED = 0x0a;
const COUNTED_BYTES = 256 * 1024;

export interface EditedBytes {
  /** Built when it is first used: a preview of a large file does not need it. */
  readonly bytes: Buffer;
  /** The texts before and after the change, or the parts of them that a diff shows. */
  before: string;
  after: string;
  /** The number of lines before these texts. */
  linesBefore: number;
  edits: AppliedEdit[];
}

/** Edits the bytes of a file in any encoding. Everything outside the replacements stays the same, byte for byte. */
export function editBytes(bytes: Buffer, edits: readonly TextEdit[], shown = "the file"): EditedBytes {
  const [first] = edits;
  const exact = first && edits.length === 1 && bytes.length > LARGE_BYTES ? replaceExactBytes(bytes, first) : undefined;
  if (exact) return exact;
  const decoded = decodeText(bytes);
  const replaced = replaceText(decoded.text, edits, shown);
  return {
    bytes: encodeText(replaced.text, decoded),
    before: decoded.text,
    after: replaced.text,
    linesBefore: 0,
    edits: replaced.edits,
  };
}

/** For a large file: replaces exact, unique text inside a line as bytes. Undefined for all other cases. */
function replaceExactBytes(bytes: Buffer, { oldString, newString, replaceAll }: TextEdit): EditedBytes | undefined {
  const both = oldString + newString;
  if (replaceAll || oldString === "" || oldString === newString || /[\r\n\ufeff]/.test(both) || !both.isWellFormed()) {
    return undefined;
  }
  const old = Buffer.from(oldString);
  const at = bytes.indexOf(old);
  if (at < 0 || bytes.indexOf(old, at + 1) >= 0 || looksLikeUtf16(bytes) !== null || !isUtf8(bytes)) return undefined;
  refuseElisions(newString, oldString, "new_string");
  const end = at + old.length;
  // A deleted line goes with its line end.
  if (newString === "" && (at === 0 || bytes[at - 1] === LINE_FEED)) return undefined;
  const from = lineStart(bytes, at, LINES_AROUND);
  const linesBefore = countFeeds(bytes, from);
  const head = bytes.subarray(from, at).toString();
  const tail = bytes.subarray(end, lineEnd(bytes, end, LINES_AROUND)).toString();
  let edited: Buffer | undefined;
  return {
    get bytes() {
      return (edited ??= Buffer.concat([bytes.subarray(0, at), Buffer.from(newString), bytes.subarray(end)]));
    },
    before: head + oldString + tail,
    after: head + newString + tail,
    linesBefore,
    edits: [{ step: "exact", replacements: 1, lines: [linesBefore + head.split("\n").length] }],
  };
}

function lineStart(bytes: Buffer, at: number, linesBefore: number): number {
  let start = at;
  for (let line = 0; line <= linesBefore && start > 0; line++) {
    // The first round finds the start of the current line, each further round the start of the previous line.
    const from = line === 0 ? start - 1 : start - 2;
    start = from < 0 ? 0 : bytes.lastIndexOf(LINE_FEED, from) + 1;
  }
  return start;
}

function lineEnd(bytes: Buffer, at: number, linesAfter: number): number {
  let end = at;
  for (let line = 0; line <= linesAfter && end < bytes.length; line++) {
    const feed = bytes.indexOf(LINE_FEED, end);
    end = feed < 0 ? bytes.length : feed + 1;
  }
  return end;
}

function countFeeds(bytes: Buffer, until: number): number {
  const { block, count } = createNewlineCounter(COUNTED_BYTES);
  let feeds = 0;
  for (let at = 0; at < until; at += COUNTED_BYTES) {
    feeds += count(bytes.copy(block, 0, at, Math.min(until, at + COUNTED_BYTES)));
  }
  return feeds;
}

export interface TextEdit {
  oldString: string;
  newString: string;
  /** Replace every occurrence instead of requiring exactly one. */
  replaceAll?: boolean;
}

/** How one edit was applied. */
interface AppliedEdit {
  step: MatchStep;
  stripped?: Stripped;
  replacements: number;
  /** Line numbers of the replacements in the original text, from 1. */
  lines: number[];
}

export interface Replaced {
  text: string;
  /** In ascending order. */
  splices: Splice[];
  /** In the order of the edits given. */
  edits: AppliedEdit[];
}

/** These steps are too loose for "replace all": it would multiply a wrong guess. */
const SINGLE_MATCH_STEPS: ReadonlySet<MatchStep> = new Set(["flattened_indentation", "inner_blanks"]);

const DISAMBIGUATION_HINT = "Quote more of the surrounding lines, or set replace_all to change every occurrence.";

interface Located {
  index: number;
  range: TextRange;
}

/** Applies edits that all refer to the given text, or throws. New text gets the line ends of what it replaces. */
export function replaceText(text: string, edits: readonly TextEdit[], shown = "the file"): Replaced {
  if (edits.length === 0) {
    throw toolError("invalid_input", "edits is empty", {
      next: "Give at least one edit with old_string and new_string.",
    });
  }
  const created = createText(text, edits);
  if (created) return created;

  const matches = edits.map((edit, index) => matchEdit(text, edit, { name: nameOf(edits, index), shown }));
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
    throw toolError(
      "invalid_input",
      `${name}old_string is empty, which creates the file, so there is nothing else to edit`,
      {
        next: "Give a single edit with an empty old_string, or use write.",
      },
    );
  }
  if (edit.newString === "") throw noChange(name);
  const splice = { start: text.length, end: text.length, newText: edit.newString };
  return {
    text: spliceText(text, [splice]),
    splices: [splice],
    edits: [{ step: "exact", replacements: 1, lines: [1] }],
  };
}

function matchEdit(text: string, edit: TextEdit, { name, shown }: { name: string; shown: string }): TextMatch {
  if (edit.oldString === edit.newString) throw noChange(name);
  const all = edit.replaceAll ?? false;
  const match = findMatch(text, edit.oldString, { all });
  if (match === undefined) {
    throw toolError("no_match", `${name}old_string was not found in ${shown}`, {
      next: explainMiss(text, edit.oldString),
    });
  }
  if (match.ranges.length > 1 && (!all || SINGLE_MATCH_STEPS.has(match.step))) {
    const numbers = lineNumbersOf(
      text,
      match.ranges.map((range) => range.start),
    );
    throw toolError("ambiguous", `${name}old_string is not unique in ${shown}`, {
      next: `${explainAmbiguity(numbers, match.step)} ${all ? "Quote each occurrence exactly." : DISAMBIGUATION_HINT}`,
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

/** Removing the last line of a file without a final line end also removes the previous line end, which another edit may use. */
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
    if (newString === "") return [{ ...withLineEnd(text, range), newText: "" }];
    const { start, end } = range;
    const newText = withLineEndsOf(text, range, newString);
    return text.slice(start, end) === newText ? [] : [{ start, end, newText }];
  });
}

/**
 * What to delete: whole lines go with the line end after them, the last line of a file without a final line end with the
 * one before it. Text that was quoted with a line end, or with a part of a line only, stays as it is.
 */
function withLineEnd(text: string, { start, end }: TextRange): { start: number; end: number } {
  const isStart = start === 0 || isLineEnd(text, start - 1) || (start === 1 && text.startsWith("\uFEFF"));
  if (!isStart || isLineEnd(text, start) || isLineEnd(text, end - 1)) return { start, end };
  if (end < text.length) return { start, end: end + lineEndAt(text, end).length };
  const before = text.startsWith("\r\n", start - 2) ? 2 : isLineEnd(text, start - 1) ? 1 : 0;
  return { start: start - before, end };
}

function isLineEnd(text: string, offset: number): boolean {
  return offset >= 0 && lineEndAt(text, offset) !== "";
}

/** A byte order mark that was quoted with the text is not part of the change. */
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
  const given = old.ended || newString === "" ? endedLines(newString) : toLf(newString).split("\n");
  const newLines = match.prepareNew(given);
  const changes = changedLines(range.firstLine, old.lines, newLines, (added, { fileLine, newLine }) => {
    const near = lines.slice(range.firstLine, fileLine + 1).findLast((line) => !isBlank(line.text));
    return range.reindent?.(added, { index: newLine, indent: indentOf(near?.text ?? "") }) ?? added;
  });
  return replaceLines(text, lines, changes, (change, index) => ownLineEnd(lines, change, index));
}

/** If the old text ends with a line end, so does the new one, even if it was given without. */
function endedLines(newString: string): string[] {
  return newString === "" ? [] : wantedText(newString).lines;
}

/** An added line gets the line end of the line it replaces, else of the nearest line. */
function ownLineEnd(lines: readonly Line[], change: LineChange, index: number): string {
  const replaced = Math.min(index, change.count - 1);
  for (const near of [change.first + Math.max(replaced, 0), change.first + change.count - 1, change.first - 1, 0]) {
    const eol = lines[near]?.eol;
    if (eol) return eol;
  }
  return "\n";
}

/** Converts the line ends of the new text to those of the replaced text, in order; further ones to the nearest. */
function withLineEndsOf(text: string, { start, end }: TextRange, newText: string): string {
  if (!/[\r\n]/.test(newText) || !/[\r\n]/.test(text)) return newText;
  const own = text.slice(start, end).match(/\r\n|\n|\r/g) ?? [];
  const fallback = own.at(-1) ?? nearestLineEnd(text, end);
  let index = 0;
  return newText.replace(/\r\n|\n/g, () => own[index++] ?? fallback);
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
    stripped,
    replacements: ranges.length,
    lines: ranges.map((range) => numberAt.get(range.start) ?? 1),
  }));
}

function isWholeLines(range: TextRange): range is TextRange & { firstLine: number } {
  return range.firstLine !== undefined;
}

function noChange(name: string): Error {
  return toolError("no_change", `${name}old_string and new_string give the same text`, {
    next: "Nothing was changed. If the file already has the desired content, continue; otherwise correct new_string.",
  });
}

function nameOf(edits: readonly TextEdit[], index: number): string {
  return edits.length > 1 ? `edits[${index}]: ` : "";
}
