import { join } from "node:path";
import { estimatedTokens } from "../../core/results/estimated-tokens.ts";
import { continueBy, parameterName, possibleCall } from "../../core/results/next-call.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { Files, OpenDirectory } from "../../io/files/files.ts";
import type { FileInfo, OpenFile } from "../../io/files/open-file.ts";
import { decodeText, detectBom, visibleNul } from "../../io/files/text-encoding.ts";
import type { FileFilter } from "./file-filter.ts";
import type { Ripgrep, RipgrepResult } from "./ripgrep.ts";
import { type SearchScope, walkOptions } from "./search-scope.ts";

export interface MatchRequest {
  directory: OpenDirectory;
  /** Files with matches, in the order in which they are shown. */
  paths: readonly string[];
  /** The pattern options for ripgrep. */
  pattern: readonly string[];
  before: number;
  after: number;
  /** Matching lines to skip. */
  offset: number;
  limit: number;
  maxPerFile: number | undefined;
  maxTokens: number;
}

export interface ReadMatches {
  files: MatchedFile[];
  /** Lines were omitted because of `limit` or the size of the result. */
  hasMore: boolean;
}

/** Some systems do not allow longer command lines. */
const MAX_PATH_CHARACTERS = 24_000;
/** Of the line number and the line end. */
const LINE_TOKENS = 4;

/** The matching lines with their context, from as many files as needed. */
export async function readMatches(scope: SearchScope, request: MatchRequest): Promise<ReadMatches> {
  const { paths, offset, limit, maxPerFile, before, after } = request;
  const files: MatchedFile[] = [];
  let [skip, room, tokens] = [offset, limit, request.maxTokens];
  for (const batch of batchesOf(paths)) {
    const { byFile, end } = await locateLines({
      ...request,
      ripgrep: scope.ripgrep,
      files: batch,
      maxPerFile: Math.min(maxPerFile ?? Infinity, skip + room + 1),
      signal: scope.signal,
      timeoutMs: scope.timeLeft(),
    });
    for (const path of batch) {
      const located = byFile.get(path) ?? [];
      const matching = located.filter(({ column }) => column !== undefined).map(({ line }) => line);
      const skipped = matching.splice(0, skip).length;
      skip -= skipped;
      if (matching.length === 0) continue;
      if (room === 0) return { files, hasMore: true };
      const chosen = matching.slice(0, room);
      const isNear = (line: number) => chosen.some((match) => line >= match - before && line <= match + after);
      const shown = located.filter(({ line, column }) => (column === undefined ? isNear(line) : chosen.includes(line)));
      const { lines, info } = await readLocated(scope.files, join(request.directory.real, path), shown);
      const { fitting, left } = fit(lines, path, tokens);
      tokens = left;
      room -= chosen.length;
      if (fitting.length > 0) files.push({ path, lines: fitting, info });
      if (fitting.length < lines.length || chosen.length < matching.length) return { files, hasMore: true };
    }
    if (end !== "complete") return { files, hasMore: true };
  }
  return { files, hasMore: false };
}

/** The lines that still fit into the result. */
function fit(lines: readonly ReadLine[], path: string, tokens: number): { fitting: ReadLine[]; left: number } {
  const fitting: ReadLine[] = [];
  const pathTokens = estimatedTokens.count(path) + LINE_TOKENS;
  let left = tokens;
  for (const line of lines) {
    left -= pathTokens + estimatedTokens.count(line.text);
    if (left < 0) return { fitting, left: 0 };
    fitting.push(line);
  }
  return { fitting, left };
}

function batchesOf(paths: readonly string[]): string[][] {
  const batches: string[][] = [];
  let length = Infinity;
  for (const path of paths) {
    length += path.length + 1;
    if (length > MAX_PATH_CHARACTERS) {
      batches.push([]);
      length = path.length + 1;
    }
    batches.at(-1)?.push(path);
  }
  return batches;
}

interface LocatedLine {
  /** From 1. */
  line: number;
  /** Byte offset of the line in the text, without the byte order mark. */
  offset: number;
  /** Byte position of the first match in the line, from 0; undefined for context lines. */
  column?: number;
}

interface LocateRequest {
  ripgrep: Ripgrep;
  /** The pattern options for ripgrep. */
  pattern: readonly string[];
  directory: OpenDirectory;
  files: readonly string[];
  before: number;
  after: number;
  maxPerFile: number;
  signal: AbortSignal;
  timeoutMs: number;
}

interface LocatedLines {
  byFile: Map<string, LocatedLine[]>;
  end: RipgrepResult["end"];
}

/** Only the positions of matches. The text is read through `files`, which checks what it opens. */
async function locateLines(request: LocateRequest): Promise<LocatedLines> {
  const { ripgrep, pattern, before, after, maxPerFile, ...run } = request;
  const result = await ripgrep.run({
    ...run,
    options: [
      ...pattern,
      "--path-separator=/",
      "--null",
      "--with-filename",
      "--no-heading",
      "--line-number",
      "--column",
      "--byte-offset",
      "--no-context-separator",
      // Binary files were excluded when the files were found.
      "--text",
      // Prints the position of a line but not its text.
      "--max-columns=1",
      `--before-context=${before}`,
      `--after-context=${after}`,
      `--max-count=${maxPerFile}`,
    ],
  });
  return { byFile: parseLocations(result), end: result.end };
}

/** `path NUL line:column:offset:… LF`, for context `path NUL line-offset-… LF`. A path may contain a line end. */
function parseLocations({ output, prefix }: RipgrepResult): Map<string, LocatedLine[]> {
  const byFile = new Map<string, LocatedLine[]>();
  for (let at = 0; at < output.length;) {
    const nul = output.indexOf("\0", at);
    const end = nul === -1 ? -1 : output.indexOf("\n", nul);
    // The output was cut off.
    if (end === -1) break;
    const path = output.slice(at + prefix.length, nul);
    const located = parseFields(output.slice(nul + 1, end));
    if (located !== null) {
      const lines = byFile.get(path);
      if (lines) lines.push(located);
      else byFile.set(path, [located]);
    }
    at = end + 1;
  }
  return byFile;
}

function parseFields(fields: string): LocatedLine | null {
  const match = /^(\d+):(\d+):(\d+):/.exec(fields);
  if (match) return { line: Number(match[1]), column: Number(match[2]) - 1, offset: Number(match[3]) };
  const context = /^(\d+)-(\d+)-/.exec(fields);
  return context && { line: Number(context[1]), offset: Number(context[2]) };
}

const MAX_LINE_CHARACTERS = 500;
/** Enough for the longest line shown, with any characters. */
const WINDOW_BYTES = 4 * MAX_LINE_CHARACTERS;
const NEWLINE = 10;

interface ReadLine {
  line: number;
  text: string;
  isMatch: boolean;
  /** Only a part of the line is in `text`. */
  isCut: boolean;
  /** Where the match begins in the file, if the line is cut. */
  matchByte?: number;
}

interface LocatedText {
  lines: ReadLine[];
  info?: FileInfo;
}

/** The text of located lines; those that have moved since are omitted. A missing file gives none. */
async function readLocated(files: Files, path: string, located: readonly LocatedLine[]): Promise<LocatedText> {
  const file = await files.openForRead(path).catch(() => null);
  if (file === null) return { lines: [] };
  try {
    const head = Buffer.alloc(4);
    const bom = detectBom(head.subarray(0, file.readNow(head, 0)));
    if (bom && bom.encoding !== "utf-8") return { lines: await readTranscoded(files, path, located) };
    const start = bom?.length ?? 0;
    const lines = located.flatMap((each) => readAt(file, { ...each, offset: each.offset + start }, start) ?? []);
    return { lines, info: file.info };
  } finally {
    file.close();
  }
}

function readAt(file: OpenFile, { line, offset, column }: LocatedLine, start: number): ReadLine | null {
  // Read one byte before the line: it must be a line end.
  const lead = offset > start ? 1 : 0;
  const bytes = read(file, offset - lead, WINDOW_BYTES + lead);
  if (lead === 1 && bytes[0] !== NEWLINE) return null;
  const end = bytes.indexOf(NEWLINE, lead);
  const isMatch = column !== undefined;
  const matchByte = column === undefined ? undefined : offset + column;
  if (end !== -1 || bytes.length < WINDOW_BYTES + lead) {
    const text = bytes.subarray(lead, end === -1 ? undefined : end);
    const at = text.subarray(0, column ?? 0).toString().length;
    return { line, isMatch, matchByte, ...cutAround(withoutCarriageReturn(text.toString()), at) };
  }
  const from = Math.max(0, (column ?? 0) - WINDOW_BYTES / 2);
  const window = read(file, offset + from, WINDOW_BYTES);
  const lineEnd = window.indexOf(NEWLINE);
  const part = window.subarray(from > 0 ? firstCharacter(window) : 0, lineEnd === -1 ? undefined : lineEnd);
  const at = window.subarray(0, (column ?? 0) - from).toString().length;
  const { text } = cutAround(withoutCarriageReturn(part.toString().replace(/\uFFFD$/, "")), at);
  return { line, isMatch, matchByte, isCut: true, text: from > 0 && !text.startsWith("…") ? `…${text}` : text };
}

/** For UTF-16 and similar files: ripgrep searches a converted text, and its offsets refer to that. */
async function readTranscoded(files: Files, path: string, located: readonly LocatedLine[]): Promise<ReadLine[]> {
  const whole = await files.readWhole(path).catch(() => null);
  const lines = whole === null ? [] : decodeText(whole.bytes).text.split("\n");
  return located.flatMap(({ line, column }) => {
    const text = lines[line - 1];
    if (text === undefined) return [];
    const at = Buffer.from(text)
      .subarray(0, column ?? 0)
      .toString().length;
    return { line, isMatch: column !== undefined, ...cutAround(withoutCarriageReturn(text), at) };
  });
}

/** Cuts a long line around `at` and marks the cuts. */
function cutAround(text: string, at: number): { text: string; isCut: boolean } {
  if (text.length <= MAX_LINE_CHARACTERS) return { text, isCut: false };
  const latest = text.length - MAX_LINE_CHARACTERS;
  const from = Math.max(0, Math.min(latest, at - MAX_LINE_CHARACTERS / 4));
  const part = text.slice(from, from + MAX_LINE_CHARACTERS);
  return { text: `${from > 0 ? "…" : ""}${part.toWellFormed()}${from < latest ? "…" : ""}`, isCut: true };
}

function read(file: OpenFile, position: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  for (let got = -1; got !== 0 && filled < length; filled += got)
    got = file.readNow(buffer.subarray(filled), position + filled);
  return buffer.subarray(0, filled);
}

/** Where the first complete character begins. */
function firstCharacter(bytes: Buffer): number {
  const at = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80);
  return at === -1 ? 0 : at;
}

function withoutCarriageReturn(text: string): string {
  return text.endsWith("\r") ? text.slice(0, -1) : text;
}

export interface FileSearch {
  directory: OpenDirectory;
  /** Search only this file in the directory. */
  file?: string;
  /** The pattern options for ripgrep. */
  pattern: readonly string[];
  filter: FileFilter;
  hidden: boolean;
  respectGitignore: boolean;
  type?: string;
  /** Count the matching lines of each file, up to `maxPerFile`. */
  counting?: { maxPerFile: number | undefined };
}

export interface MatchingFiles {
  /** Paths below the directory with the number of matching lines (1 if not counting), in no order. */
  found: Map<string, number>;
  /** Number of searched files; undefined if the search was stopped. */
  searched: number | undefined;
  end: RipgrepResult["end"];
}

/** Files with matches, including files that may not be read: the caller must filter them. */
export async function findMatchingFiles(scope: SearchScope, search: FileSearch): Promise<MatchingFiles> {
  const { directory, file, pattern, filter, hidden, respectGitignore, type, counting } = search;
  const { maxPerFile } = counting ?? {};
  const result = await scope.ripgrep.run({
    options: [
      ...pattern,
      ...walkOptions({ hidden, respectGitignore, type, only: { names: filter.names, depth: Infinity } }),
      ...filter.prune.map((name) => `--glob=!${name}`),
      "--null",
      "--with-filename",
      "--stats",
      counting ? "--count" : "--files-with-matches",
      ...(maxPerFile === undefined ? [] : [`--max-count=${maxPerFile}`]),
      // A single file is always searched as text.
      ...(file === undefined ? [] : ["--text"]),
    ],
    directory,
    files: file === undefined ? undefined : [file],
    signal: scope.signal,
    timeoutMs: scope.timeLeft(),
  });
  const { found, rest } = counting ? readCounts(result) : readPaths(result);
  if (file === undefined) for (const path of found.keys()) if (!filter.accepts(path)) found.delete(path);
  const searched = /^(\d+) files searched$/m.exec(rest)?.[1];
  return { found, searched: searched === undefined ? undefined : Number(searched), end: result.end };
}

/** `path NUL path NUL … statistics` */
function readPaths({ output, prefix }: RipgrepResult) {
  const paths = output.split("\0");
  const rest = paths.pop() ?? "";
  return { found: new Map(paths.map((path) => [path.slice(prefix.length), 1])), rest };
}

/** `path NUL count LF … statistics` */
function readCounts({ output, prefix }: RipgrepResult) {
  const found = new Map<string, number>();
  let at = 0;
  for (let nul = output.indexOf("\0"); nul !== -1; nul = output.indexOf("\0", at)) {
    const end = output.indexOf("\n", nul);
    if (end === -1) break;
    found.set(output.slice(at + prefix.length, nul), Number.parseInt(output.slice(nul + 1, end), 10));
    at = end + 1;
  }
  return { found, rest: output.slice(at) };
}

interface MatchedFile {
  path: string;
  lines: readonly ReadLine[];
  /** The file that the lines are of. */
  info?: FileInfo;
}

/** `path:12: text` for a match, `path-13- text` for a context line, `--` between separate groups. */
export function showLines(
  files: readonly MatchedFile[],
  { lineNumbers, context }: { lineNumbers: boolean; context: boolean },
): string {
  const shown: string[] = [];
  for (const { path, lines } of files) {
    if (context && shown.length > 0) shown.push("--");
    let last: number | undefined;
    for (const { line, text: found, isMatch } of lines) {
      const text = visibleNul(found);
      if (context && last !== undefined && line > last + 1) shown.push("--");
      last = line;
      const mark = isMatch ? ":" : "-";
      shown.push(lineNumbers ? `${path}${mark}${line}${mark} ${text}` : `${path}${mark} ${text}`);
    }
  }
  return shown.join("\n");
}

export function stoppedNote(end: Exclude<RipgrepResult["end"], "complete">): string {
  return end === "time"
    ? "[Partial: the time limit was reached before everything was searched. Narrow by path, include or a more specific pattern.]"
    : "[Partial: the size limit of one search was reached. Narrow by path, include or a more specific pattern.]";
}

/** Says how to read around the first match in a cut line. */
export function cutNote(files: readonly MatchedFile[], context: ToolContext): string[] {
  const cut = files.flatMap(({ path, lines }) => lines.filter(({ isCut }) => isCut).map((line) => ({ path, ...line })));
  if (cut.length === 0) return [];
  const first = cut.find(({ matchByte }) => matchByte !== undefined);
  const from = Math.max(0, (first?.matchByte ?? 0) - MAX_LINE_CHARACTERS);
  const bytes = `${from}-${from + WINDOW_BYTES - 1}`;
  const next = first && possibleCall(context, "read", { path: first.path, bytes });
  const more = next ? `. Around the first match in one of them: ${next}` : "";
  return [`[Lines of more than ${MAX_LINE_CHARACTERS} characters are cut, marked by …${more}]`];
}

/** How to continue a truncated search. */
export function moreNote(
  what: string,
  { offset, shown, order, context }: { offset: number; shown: number; order: "newest" | "path"; context: ToolContext },
): string {
  const sorted = order === "newest" ? "" : " Too many files match to sort them by time: they are in path order.";
  const [path, include, limit] = ["path", "include", "limit"].map((name) => parameterName(context, name));
  return (
    `[Truncated: ${shown} ${what} shown, there are more.${sorted} Narrow by ${path}, ${include} or a more specific ` +
    `pattern, or raise ${limit}. ${continueBy(context, { offset: offset + shown })}]`
  );
}

interface EmptySearch {
  pattern: string;
  path: string;
  searched: number | undefined;
  respectGitignore: boolean;
  isFile: boolean;
  offset: number;
}

export function emptyNote({ pattern, path, searched, respectGitignore, isFile, offset }: EmptySearch): string {
  const shown = JSON.stringify(pattern.length > 200 ? `${pattern.slice(0, 200)}…` : pattern);
  if (offset > 0) return `No more matches for ${shown} after the first ${offset}.`;
  if (isFile) return `No matches for ${shown} in ${path}.`;
  const where = searched === undefined ? "" : ` (${searched} ${searched === 1 ? "file" : "files"} searched)`;
  const ignored = respectGitignore
    ? " Files ignored by .gitignore were not searched (set respect_gitignore: false to include them)."
    : "";
  return `No matches for ${shown} in ${JSON.stringify(path)}${where}.${ignored}`;
}
