import { toolError, type ToolError } from "../../core/error.ts";
import { withoutBom } from "./text-match.ts";

export interface HunkLine {
  kind: "keep" | "remove" | "add";
  text: string;
  /** A completely empty line: probably an empty kept line, perhaps mere spacing. */
  bare?: boolean;
}

export interface Hunk {
  /** The lines after `@@`, outermost first; the hunk is below them. */
  context: string[];
  lines: HunkLine[];
  /** Whether the hunk is marked to reach the end of the file. */
  endOfFile: boolean;
  /** The line of the patch, from 1, where the hunk begins. */
  patchLine: number;
  /** In a unified diff: the line of the file, from 1, where the old lines begin; if there are none, the line before. */
  oldLine?: number;
}

export type FileChange =
  | { type: "add"; path: string; text: string; patchLine: number; isExecutable?: boolean }
  /** `removed`: what the file must have, if the patch says so. */
  | { type: "delete"; path: string; patchLine: number; removed?: readonly string[] }
  | {
      type: "update";
      path: string;
      moveTo?: string;
      hunks: Hunk[];
      patchLine: number;
      /** Whether the new text ends with a line end. Default: as the old one. */
      finalLineEnd?: boolean;
    };

const HEADER = /^\*\*\* (Add|Delete|Update) File:(.*)$/;
const MOVE = /^\*\*\* Move to:(.*)$/;
const END_OF_FILE = "*** End of File";
const RANGE = /^-\d+(?:,\d+)? \+\d+(?:,\d+)? @@/;

/** Parses a patch into the changes of each file. Throws `bad_patch` with the line for anything ambiguous. */
export function parsePatch(patch: string): FileChange[] {
  const lines = unwrapPatch(linesOf(patch));
  const changes: FileChange[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? { text: "", number: 0 };
    if (line.text.trim() === "") {
      at++;
      continue;
    }
    const { change, next } = parseChange(lines, at, line);
    changes.push(change);
    at = next;
  }
  if (changes.length === 0) {
    throw badPatch("empty", "The patch changes no file", "Add at least one Add, Delete or Update File section.");
  }
  refuseDuplicates(changes);
  return changes;
}

function linesOf(patch: string): PatchLine[] {
  return withoutBom(patch)
    .split("\n")
    .map((text, index) => ({ text: text.endsWith("\r") ? text.slice(0, -1) : text, number: index + 1 }));
}

function parseChange(lines: readonly PatchLine[], at: number, line: PatchLine): { change: FileChange; next: number } {
  const header = HEADER.exec(line.text.trim());
  if (header === null) {
    throw badPatch(
      "syntax",
      `"${line.text.trim().slice(0, 80)}" is not a section of a patch`,
      'Sections begin with "*** Add File: PATH", "*** Delete File: PATH" or "*** Update File: PATH".',
      line.number,
    );
  }
  const path = pathOf(header[2], line);
  const base = { path, patchLine: line.number };
  if (header[1] === "Delete") return { change: { type: "delete", ...base }, next: at + 1 };
  if (header[1] === "Add") {
    const { text, next } = parseAdded(lines, at + 1);
    return { change: { type: "add", ...base, text }, next };
  }
  const move = MOVE.exec(lines[at + 1]?.text.trim() ?? "");
  const moveTo = move ? pathOf(move[1], lines[at + 1] ?? line) : undefined;
  const { hunks, next } = parseHunks(lines, at + (move ? 2 : 1));
  if (hunks.length === 0 && moveTo === undefined) {
    throw badPatch(
      "syntax",
      `The update of ${path} is empty`,
      "Give at least one hunk, or leave the section out.",
      line.number,
    );
  }
  const isMoved = moveTo !== undefined && samePath(moveTo) !== samePath(path);
  return { change: { type: "update", ...base, moveTo: isMoved ? moveTo : undefined, hunks }, next };
}

function pathOf(raw: string | undefined, line: PatchLine): string {
  const path = raw?.trim() ?? "";
  if (path === "") throw badPatch("syntax", "The path is missing", "Write it after the colon.", line.number);
  return path;
}

function parseAdded(lines: readonly PatchLine[], from: number): { text: string; next: number } {
  const added: string[] = [];
  let at = from;
  let spacing = 0;
  for (; at < lines.length; at++) {
    const line = lines[at] ?? { text: "", number: 0 };
    if (line.text.startsWith("+")) {
      // Empty lines belong to the file only if more lines follow; before the next section they are spacing.
      added.push(...Array<string>(spacing).fill(""), line.text.slice(1));
      spacing = 0;
    } else if (line.text.trim() === "") spacing++;
    else if (isMarker(line.text.trim())) break;
    else {
      throw badPatch(
        "syntax",
        `"${line.text.slice(0, 80)}" lacks its "+"`,
        'Every line of an added file begins with "+".',
        line.number,
      );
    }
  }
  return { text: added.map((line) => `${line}\n`).join(""), next: at };
}

/** Each line after `@@` is searched below the previous one. */
const MAX_CONTEXT = 20;

function parseHunks(lines: readonly PatchLine[], from: number): { hunks: Hunk[]; next: number } {
  const hunks: Hunk[] = [];
  let hunk: Hunk | undefined;
  let at = from;
  for (; at < lines.length; at++) {
    const { text, number } = lines[at] ?? { text: "", number: 0 };
    if (text.trimEnd() === END_OF_FILE) {
      if (hunk === undefined) throw misplacedEnd(number);
      hunk.endOfFile = true;
    } else if (isMarker(text)) break;
    else if (text.startsWith("@@")) {
      if (hunk === undefined || hunk.lines.length > 0) hunks.push((hunk = newHunk(number)));
      const context = contextOf(text);
      if (context !== "" && hunk.context.push(context) > MAX_CONTEXT) {
        throw badPatch(
          "syntax",
          `More than ${MAX_CONTEXT} lines with "@@" follow each other`,
          "Keep the innermost.",
          number,
        );
      }
    } else if (hunk?.endOfFile || (hunk === undefined && text.trim() === "")) {
      // Only spacing may follow the end of a file before the next hunk or section.
      if (text.trim() !== "" && isMarker(text.trim())) break;
      if (text.trim() !== "") throw misplacedEnd(number);
    } else {
      if (hunk === undefined) hunks.push((hunk = newHunk(number)));
      hunk.lines.push(hunkLine(text, number));
    }
  }
  const empty = hunks.find((each) => each.lines.length === 0);
  if (empty) {
    throw badPatch(
      "syntax",
      "A hunk has no lines",
      'Below "@@" write lines that begin with " ", "-" or "+".',
      empty.patchLine,
    );
  }
  return { hunks, next: at };
}

function newHunk(patchLine: number): Hunk {
  return { context: [], lines: [], endOfFile: false, patchLine };
}

function hunkLine(text: string, number: number): HunkLine {
  if (text === "") return { kind: "keep", text: "", bare: true };
  const rest = text.slice(1);
  if (text.startsWith(" ")) return { kind: "keep", text: rest };
  if (text.startsWith("-")) return { kind: "remove", text: rest };
  if (text.startsWith("+")) return { kind: "add", text: rest };
  throw badPatch(
    "syntax",
    `"${text.slice(0, 80)}" has no valid first character`,
    'Begin each line of a hunk with " " (kept), "-" (removed) or "+" (added).',
    number,
  );
}

/** The ranges of a unified diff and the heading after them are not reliable context. */
function contextOf(text: string): string {
  const rest = text.slice(2).trim();
  return RANGE.test(rest) ? "" : text.slice(2).replace(/^ /, "").trimEnd();
}

function isMarker(text: string): boolean {
  return text.startsWith("*** ");
}

function misplacedEnd(line: number): Error {
  return badPatch(
    "syntax",
    `"${END_OF_FILE}" is not at the end of a hunk`,
    'Begin the next lines with "@@" or a new section.',
    line,
  );
}

export function refuseDuplicates(changes: readonly FileChange[]): void {
  const seen = new Map<string, number>();
  for (const change of changes) {
    const paths = [change.path, ...(change.type === "update" && change.moveTo !== undefined ? [change.moveTo] : [])];
    for (const path of paths) {
      const first = seen.get(samePath(path));
      if (first !== undefined) {
        throw badPatch(
          "duplicate_path",
          `${path} is already changed at patch line ${first}`,
          "Put all changes of one file into one section.",
          change.patchLine,
        );
      }
      seen.set(samePath(path), change.patchLine);
    }
  }
}

/** One spelling for `a`, `./a` and `b/../a`. Links and case are compared later, by real path. */
function samePath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else parts.push(part);
  }
  return (path.startsWith("/") ? "/" : "") + parts.join("/");
}

/** A line of the patch with its number, from 1. */
export interface PatchLine {
  text: string;
  number: number;
}

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";
const FENCE = /^(?:```|~~~)[\w-]*$/;
const CELL = /^%%(?:bash|sh)$/;
const HEREDOC = /^(?:(?:cat|apply_?patch)\s+)?<<-?\s*(["']?)(\w+)\1$/;

/**
 * Removes what models put around a patch: the begin and end lines, a heredoc, a code fence. Anything else around it is
 * refused, because it may change the meaning (a `cd`, a second command). A patch without an end is refused, too.
 */
function unwrapPatch(lines: readonly PatchLine[]): PatchLine[] {
  const filled = lines.filter((line) => line.text.trim() !== "");
  if (filled.length === 0) throw badPatch("syntax", "The patch is empty", `Give a patch from "${BEGIN}" to "${END}".`);
  const { rest, closers } = takeOpeners(filled);
  const first = rest[0];
  const hasBegin = first?.text.trim() === BEGIN;
  if (first === undefined || (!hasBegin && !first.text.trim().startsWith("*** "))) {
    throw badPatch("syntax", "This is not a patch", `Begin it with "${BEGIN}".`, (first ?? filled[0])?.number);
  }
  const { last, ended, closed } = takeClosers(rest, closers);
  const from = hasBegin ? first.number + 1 : first.number;
  const to = last?.number ?? 0;
  const body = lines.filter((line) => line.number >= from && (ended ? line.number < to : line.number <= to));
  const early = body.find((line) => line.text.trimEnd() === END);
  if (early)
    throw badPatch("syntax", "Text follows the end of the patch", "Send one patch and nothing else.", early.number);
  if (hasBegin && !ended && !closed) {
    throw badPatch("syntax", "The patch is cut off", `Nothing was changed. Send the whole patch up to "${END}".`, to);
  }
  return body;
}

/** The lines of a diff without a here-document, a code fence or the begin and end lines around it. */
export function takeWrapping(patch: string): PatchLine[] {
  const lines = linesOf(patch);
  const { rest, closers } = takeOpeners(lines.filter((line) => line.text.trim() !== ""));
  const hasBegin = rest[0]?.text.trim() === BEGIN;
  const first = (hasBegin ? rest[1] : rest[0])?.number ?? 1;
  const { last, ended } = takeClosers(rest, closers);
  const end = last?.number ?? lines.length;
  return lines.filter(({ number }) => number >= first && (ended ? number < end : number <= end));
}

/** Removes the wrapping lines before the patch and returns the lines that must close them. */
function takeOpeners(filled: readonly PatchLine[]): { rest: PatchLine[]; closers: string[] } {
  const closers: string[] = [];
  let at = 0;
  for (; at < filled.length; at++) {
    const text = filled[at]?.text.trim() ?? "";
    const heredoc = HEREDOC.exec(text)?.[2];
    if (heredoc !== undefined) closers.push(heredoc);
    else if (FENCE.test(text)) closers.push(text.slice(0, 3));
    else if (!CELL.test(text)) break;
  }
  return { rest: filled.slice(at), closers };
}

function takeClosers(
  filled: readonly PatchLine[],
  closers: string[],
): { last: PatchLine | undefined; ended: boolean; closed: boolean } {
  const rest = [...filled];
  let closed = false;
  for (const closer of closers) {
    if (rest.at(-1)?.text.trim() !== closer) continue;
    rest.pop();
    closed = true;
  }
  const last = rest.at(-1);
  // Also with leading spaces: it cannot be a kept line at the end of a complete patch.
  return { last, ended: last?.text.trim() === END, closed };
}

type BadPatchReason = "syntax" | "empty" | "duplicate_path";

/** A patch that cannot be parsed. Reason and line, from 1, are data for programs. */
export function badPatch(reason: BadPatchReason, message: string, next: string, line?: number): ToolError {
  const where = line === undefined ? "" : ` (patch line ${line})`;
  return toolError("bad_patch", `${message}${where}`, { next, data: { reason, line } });
}
