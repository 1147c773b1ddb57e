import { join as joinPath, resolve } from "node:path";
import { z } from "zod";
import { countOf } from "../../core/results/count-of.ts";
import { createTool } from "../../core/create-tool.ts";
import { errorMessage, toolError, type ToolError } from "../../core/error.ts";
import { callOf } from "../../core/gate.ts";
import type { ToolOutput } from "../../core/result.ts";
import { estimatedTokens } from "../../core/results/estimated-tokens.ts";
import { continueBy, nextCall, possibleCall, resultTokensOf } from "../../core/results/next-call.ts";
import { startWithin } from "../../core/results/text-window.ts";
import type { ToolContext } from "../../core/tool.ts";
import { ContentCache } from "../../io/files/content-cache.ts";
import type { Files } from "../../io/files/files.ts";
import type { LineIndexes } from "../../io/files/line-index.ts";
import { detectMediaType, openPdf } from "../../io/files/media.ts";
import { openBytes, type OpenFile, readAll } from "../../io/files/open-file.ts";
import { isSensitivePath } from "../../io/files/path-policy.ts";
import { type CutLine, type LineWindow, readLines } from "../../io/files/read-lines.ts";
import { isSpillAddress } from "../../io/files/spill-folder.ts";
import { decodeBytes, decodeText, isBinary } from "../../io/files/text-encoding.ts";
import {
  encodingNamed,
  failWithSuggestion,
  filesOf,
  type FileToolDependencies,
  hasTooManyCells,
  joinSource,
  MAX_CELLS,
  PATH_ALIASES,
  previewRead,
} from "./file-access.ts";
import { readFolder } from "./list-files.ts";
import { readBytes, readImage } from "./read-binary.ts";
import { convertRange, GEMINI_READ } from "./read-dialects.ts";
import { FINGERPRINTED_BYTES, type SeenLines } from "./read-before-edit.ts";
import { ShownReads } from "./unchanged-read.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

/** The requested part of a file: lines, entries or pages. */
export interface ReadRange {
  offset?: number;
  limit?: number;
  column?: number;
  bytes?: string;
  pages?: string;
  encoding?: string;
}

/** Bounds of one of several files in a result. Default: those of `read`. */
export interface ReadBounds {
  /** Max size of the lines that a model is given. */
  shownBytes: number;
  shownTokens: number;
  /** Max size of `details.content`. */
  detailBytes: number;
  /** Whether images, PDF files and folders are refused. */
  textOnly: boolean;
}

/** Reads a path of any kind for one call, and records what the session saw. */
export type ReadPath = (
  path: string,
  options: { range?: ReadRange; bounds?: ReadBounds; context: ToolContext },
) => Promise<ToolOutput>;

const MAX_LINES = 10_000;
/** `convertRange` reads the other one. */
const { absolute_path: _converted, ...READ_ALIASES } = PATH_ALIASES;
/** Enough to detect the type of a file. */
const HEAD_BYTES = 4096;

export function createReadTool(dependencies: FileToolDependencies, readPath = createPathReader(dependencies)) {
  const { files, spills } = dependencies;
  return createTool({
    name: "read",
    title: "Read",
    description: {
      short: "Reads a file: text by lines, images as images, PDF by pages, notebooks by cells; lists a folder.",
      usageNotes: [
        "Returns lines from offset (line numbers from 1): 2,000 by default, at most 10,000, about 12,000 tokens in total.",
        "Each line is cut at 2,000 characters. If there is more, the result says how to continue.",
        "A path such as spill:ID, which a long output names, reads that whole output.",
      ],
      examples: [{ input: { path: "README.md" } }, { input: { path: "server.log", offset: 4000, limit: 100 } }],
    },
    kind: "readonly",
    category: "file",
    tags: ["file"],
    builtIn: {
      zh: { title: "读取", short: "读取文件：文本按行，图片为图像，PDF 按页，笔记本按单元；也可列出文件夹。" },
      isCore: true,
      knownAs: ["read_file"],
      sameAs: { opencode: ["read"], gemini: ["read_file"] },
      partlyKnownAs: ["read_files"],
    },
    output: READ_OUTPUT,
    labels: ["sensitive_data"],
    labelsOf: ({ path }) => (isSensitivePath(files, path) ? ["sensitive_data"] : []),
    // The result is already bounded here; the gate must not cut it again.
    limits: { maxResultBytes: 192 * 1024, maxResultTokens: 64_000 },
    dialects: {
      snake: { name: "read_file" },
      claude: { name: "Read", parameters: { path: "file_path" } },
      codex: { name: "read_file", parameters: { path: "file_path" } },
      gemini: GEMINI_READ,
      openclaw: { name: "read" },
    },
    aliases: ["view_image", "read_text_file", "read_media_file"],
    convertInput: convertRange,
    parameters: z.object({
      path: z.string().min(1).describe("The file, relative to the workspace or absolute"),
      offset: z.number().int().min(0).optional().describe("First line, from 1 (0 also means the start)"),
      limit: z
        .number()
        .int()
        .min(1)
        .max(MAX_LINES, "at most 10,000 lines are read at once; continue with offset")
        .optional()
        .describe("Number of lines, at most 10,000. Default: 2,000"),
      column: z.number().int().min(1).optional().describe("First character of the first line, from 1, for long lines"),
      bytes: z.string().optional().describe("Range of bytes instead of lines, from 0, such as 0-4095 or 4096-"),
      pages: z.string().optional().describe("Pages of a PDF, at most 20, or cells of a notebook, such as 1-5"),
      encoding: z.string().optional().describe("Encoding of the text. Default: detected"),
    }),
    parameterAliases: READ_ALIASES,
    signature: ({ path }) => ({ text: path, reads: [path] }),
    preview: async ({ path }, context) => {
      if (spills && isSpillAddress(path)) return { title: `Read ${path}`, content: [] };
      return previewRead("Read", filesOf({ files }, context), path);
    },
    run: ({ path, ...range }, context) => readPath(path, { range, context }),
  });
}

export function createPathReader(dependencies: FileToolDependencies): ReadPath {
  const { files, reads, lineIndexes, spills } = dependencies;
  const contents = new ContentCache();
  const shownReads = new ShownReads();
  return async (path, { range = {}, bounds, context }) => {
    if (spills && isSpillAddress(path)) return readSpill(spills, path, { range, bounds, context });
    const allowed = filesOf({ files }, context);
    const file = await openFile(allowed, path);
    if (file === "folder") {
      if (bounds?.textOnly) throw isFolder(path);
      return readFolder(allowed, path, { range, context });
    }
    try {
      const { info } = file;
      const bytes = await contents.read(file, FINGERPRINTED_BYTES);
      const content = bytes === undefined ? file : openBytes(info, bytes);
      const shown = allowed.show(info.real);
      const { output, seen } = await readAs(content, { shown, range: knownEncoding(range), bounds, context });
      reads.saw(context, info, { bytes, seen });
      // A part of a larger result is not the result of `read`.
      return bounds ? output : shownReads.shorten(output, { info, range, shown, context });
    } finally {
      file.close();
    }
  };

  async function readSpill(
    { locate }: NonNullable<typeof spills>,
    address: string,
    { range, bounds, context }: Omit<FileReading, "shown">,
  ): Promise<ToolOutput> {
    const spilled = await locate(address, context.caller);
    const file = await spilled.files.openForRead(spilled.name);
    try {
      if (range.bytes !== undefined) return readBytes(file, address, range.bytes, context);
      // Always text, whatever a program printed: the result that named the address counted lines.
      return (await readAsText(file, { shown: address, range: knownEncoding(range), bounds, context }, true)).output;
    } finally {
      file.close();
    }
  }

  async function readAs(file: OpenFile, { shown, range, bounds, context }: FileReading): Promise<Reading> {
    if (range.bytes !== undefined) return { output: readBytes(file, shown, range.bytes, context) };
    const head = Buffer.alloc(Math.min(HEAD_BYTES, file.info.size));
    const sample = head.subarray(0, file.readNow(head, 0));
    const mediaType = detectMediaType(sample);
    if (bounds?.textOnly && (mediaType?.startsWith("image/") || mediaType === "application/pdf")) {
      throw notText(shown, mediaType);
    }
    if (mediaType?.startsWith("image/")) return { output: await readImage(file, shown, mediaType, context.signal) };
    if (mediaType === "application/pdf") return { output: await readPdf(file, shown, range, context) };
    if (range.encoding === undefined && isBinary(sample)) throw binary(file, { shown, mediaType, context });
    const asCells = shown.endsWith(".ipynb") && range.offset === undefined && range.limit === undefined;
    const cells = asCells ? await readNotebook(file, { shown, range, bounds, context }) : undefined;
    if (cells) return { output: cells };
    return readAsText(file, { shown, range, bounds, context });
  }

  function readAsText(file: OpenFile, { range, ...reading }: FileReading, showNul = false): Promise<Reading> {
    const signal = isSmall(file) ? undefined : reading.context.signal;
    return readText(file, lineIndexes, { ...range, ...reading, maxBytes: dependencies.maxReadBytes, signal, showNul });
  }
}

interface FileReading {
  shown: string;
  range: ReadRange;
  bounds?: ReadBounds;
  context: ToolContext;
}

/** `seen`: which part of the text a model was given. If omitted, none that it could write back. */
interface Reading {
  output: ToolOutput;
  seen?: SeenLines;
}

/** Many callers pass utf-8 without knowing the encoding, so it means "detect". */
function knownEncoding({ encoding, ...range }: ReadRange): ReadRange {
  const named = encoding === undefined ? "utf-8" : encodingNamed(encoding);
  return named === "utf-8" ? range : { ...range, encoding: named };
}

/** A path without links is checked by opening it. The names of links are checked too, and their targets are shown. */
async function openFile(files: Files, path: string): Promise<OpenFile | "folder"> {
  const opened = await files.openForRead(path).catch(() => undefined);
  if (opened?.info.real === resolve(files.policy.workspace, path)) return opened;
  opened?.close();
  const info = await files.info(path).catch((error: unknown) => failWithSuggestion(error, files, path));
  return info.type === "directory" ? "folder" : files.openForRead(path);
}

/** Such a file is read in less time than creating an abort signal takes. */
function isSmall({ info: { size } }: OpenFile): boolean {
  return size <= FINGERPRINTED_BYTES;
}

function isFolder(path: string): ToolError {
  return toolError("is_directory", `${path} is a folder`, {
    next: `Use ${joinPath(path, "**")} for the files below it, or list_files.`,
  });
}

function notText(shown: string, mediaType: string): ToolError {
  return toolError("not_regular_file", `${shown} is not text: ${mediaType}`, { next: "Use read for it alone." });
}

function binary(
  { info: { size } }: OpenFile,
  { shown, mediaType, context }: { shown: string; mediaType: string | null; context: ToolContext },
): ToolError {
  const bytes = nextCall(context, "read", { path: shown, bytes: "0-" });
  return toolError(
    "not_regular_file",
    `${shown} is not text: ${mediaType ?? "binary data"}, ${countOf(size, "byte")}`,
    {
      next: `Use exec with a program that understands it, or ${bytes} for its bytes.`,
      data: { mediaType, size },
    },
  );
}

/** Max size of `details.content`, which does not cut long lines. */
const MAX_DETAIL_BYTES = 1024 * 1024;
/** The same for a program. The gate cuts details of more than 4 MiB of text. */
const MAX_PROGRAM_BYTES = 4_000_000;
const MAX_LINE_CHARS = 2_000;
/** With a small share of the result, a long line is cut earlier, but not to nothing. */
const MIN_LINE_CHARS = 80;
const MAX_TRANSCODED_BYTES = 16 * 1024 * 1024;

interface TextReading extends ReadRange {
  context: ToolContext;
  shown: string;
  bounds?: ReadBounds;
  maxBytes?: number;
  signal?: AbortSignal;
  showNul: boolean;
}

/** Which fields there are depends on what was read: text, a PDF, a notebook, an image or a folder. */
const READ_OUTPUT = describeOutput({
  path: field.text(),
  "content?": field.text("The text without line numbers, with whole lines"),
  "size?": field.integer("Bytes of the file"),
  "truncated?": field.flag("There is more text"),
  "nextOffset?": field.orNull(field.integer("Where to continue; null at the end")),
  "nextColumn?": field.integer("Where to continue in a long line"),
  "nextByte?": field.integer("Where to continue in a range of bytes"),
  "lines?": field.integer(),
  "firstLine?": field.integer(),
  "lastLine?": field.integer(),
  "totalLines?": field.orNull(field.integer("Null if unknown")),
  "cutLines?": field.list(
    field.object<CutLine>({ line: field.integer(), bytes: field.integer(), nextColumn: field.integer() }),
    "Lines of which only a part was read",
  ),
  "encoding?": field.text(),
  "totalPages?": field.integer("Of a PDF"),
  "firstPage?": field.integer(),
  "lastPage?": field.integer(),
  "cells?": field.list(field.object({ index: field.integer(), source: field.text() }), "Of a notebook"),
  "mimeType?": field.text("Of an image"),
  "width?": field.number("In pixels"),
  "height?": field.number("In pixels"),
  "shownWidth?": field.number("If it was scaled"),
  "shownHeight?": field.number("If it was scaled"),
  "entries?": field.list(field.object({ name: field.text(), type: field.text() }), "Of a folder"),
  "total?": field.integer("Number of entries of a folder"),
  "instructions?": field.list(field.text(), "Files of the project whose instructions were added to the text"),
});

/** Numbered lines, with a note about the next offset. */
async function readText(given: OpenFile, indexes: LineIndexes, reading: TextReading): Promise<Reading> {
  const { shown, bounds, maxBytes, offset, limit, column, encoding, signal, context, showNul } = reading;
  const { size } = given.info;
  if (maxBytes !== undefined && limit === undefined) refuseLarge(shown, size, maxBytes);
  const maxWholeBytes = bounds?.detailBytes ?? MAX_DETAIL_BYTES;
  const maxLineChars = bounds && Math.min(MAX_LINE_CHARS, Math.max(MIN_LINE_CHARS, bounds.shownBytes));
  const maxTokens = bounds?.shownTokens ?? resultTokensOf(context);
  const budget = { maxLineChars, maxWholeBytes, maxBytes: bounds?.shownBytes, maxTokens };
  const range = { offset, limit, column, ...budget, signal, showNul };
  const file = encoding === undefined ? given : await transcode(given, encoding, signal);
  const window = await readLines(file, indexes, range);
  const { lines, firstLine, lastLine, totalLines, cut } = window;
  if (lines.length === 0 && firstLine > 1) throw pastTheEnd(shown, window);
  const isLimited = window.stoppedBy === "bytes" || (window.stoppedBy === "lines" && limit === undefined);
  const isForProgram = bounds === undefined && isProgram(context);
  const part =
    isForProgram && (isLimited || window.wholeCut.length > 0)
      ? await readForProgram(file, indexes, { offset, limit, column, signal, showNul, shown })
      : window;
  const { whole, nextOffset, wholeCut } = part;
  const content = whole.join("\n") + (nextOffset === null && endsWithLineFeed(file, part.encoding) ? "\n" : "");
  if (maxBytes !== undefined) refuseLarge(shown, Buffer.byteLength(content), maxBytes);
  const numbered = lines.map((line, i) => `${firstLine + i}\t${line}`);
  const output = {
    content: [
      numbered.length > 0 ? numbered.join("\n") : "(empty file)",
      ...notices({ ...window, encoding: encoding ?? window.encoding }, context, shown),
    ].join("\n"),
    display: describe(shown, part),
    details: {
      content,
      size,
      path: shown,
      lines: whole.length,
      firstLine,
      lastLine: part.lastLine,
      totalLines: part.totalLines,
      nextOffset,
      nextColumn: wholeCut[0]?.nextColumn,
      truncated: nextOffset !== null || wholeCut.length > 0,
      cutLines: wholeCut.length > 0 ? wholeCut : undefined,
      encoding: encoding ?? part.encoding,
    },
  };
  // Text in another encoding cannot be written back as it was read.
  if (encoding !== undefined) return { output };
  // The code of a tool has the details. Without a session a model may be behind the call, and sees only what is shown.
  if (isForProgram && callOf(context).parent) {
    const { lastLine: last, totalLines: total } = part;
    return { output, seen: { first: firstLine, last, total, column: column ?? 1, cut: wholeCut } };
  }
  return { output, seen: { first: firstLine, last: lastLine, total: totalLines, column: column ?? 1, cut } };
}

/** A call outside a conversation, or one that the code of a tool makes. A subagent is a model again. */
function isProgram(context: ToolContext): boolean {
  const { parent, caller } = callOf(context);
  if (parent) return parent.caller.depth === caller.depth;
  return caller.session === undefined && caller.agent === undefined;
}

/** All of the requested lines: what a model may be shown is no limit for a program. */
async function readForProgram(
  file: OpenFile,
  indexes: LineIndexes,
  {
    shown,
    limit = Infinity,
    ...range
  }: Pick<TextReading, "offset" | "limit" | "column" | "signal" | "showNul" | "shown">,
): Promise<LineWindow> {
  const max = MAX_PROGRAM_BYTES;
  const window = await readLines(file, indexes, { ...range, limit, maxLineChars: max, maxBytes: max });
  if (window.stoppedBy === "bytes" || window.cut.length > 0) {
    throw toolError("too_large", `The requested part of ${shown} has more than ${max} bytes`, {
      next: `Read fewer lines with offset and limit, or a range of bytes. The file has ${countOf(file.info.size, "byte")}.`,
      data: { size: file.info.size, maxBytes: max },
    });
  }
  return { ...window, whole: window.lines, wholeCut: [] };
}

function notices(window: LineWindow, context: ToolContext, path: string): string[] {
  const { firstLine, lastLine, totalLines, nextOffset, cut, stoppedBy, encoding } = window;
  const notes: string[] = [];
  if (nextOffset !== null) {
    const of = totalLines === null ? "" : ` of ${totalLines}`;
    const why = stoppedBy === "bytes" ? " (the size limit is reached)" : "";
    notes.push(`[Showing lines ${firstLine}-${lastLine}${of}${why}. ${continueBy(context, { offset: nextOffset })}]`);
  }
  if (cut.length > 0) {
    const first = cut.slice(0, 5).map(({ line, bytes }) => `${line} (${bytes} bytes)`);
    const which = `${cut.length === 1 ? "line" : "lines"} ${first.join(", ")}${cut.length > 5 ? ", …" : ""}`;
    const [{ line, nextColumn }] = cut as [CutLine];
    const next = continueBy(context, { offset: line, column: nextColumn });
    const parse = /\.json$/i.test(path) ? possibleCall(context, "json_parse", { path, query: "$" }) : undefined;
    const parts = parse ? ` For parts of the data: ${parse}, with another query, such as items[0].name.` : "";
    notes.push(`[Only a part is shown of long ${which}. ${next}${parts}]`);
  }
  if (encoding !== "utf-8") notes.push(`[Encoding: ${encoding}.]`);
  return notes;
}

function describe(shown: string, { lines, totalLines, firstLine, lastLine }: LineWindow): string {
  if (lines.length === 0) return `Read ${shown}: empty`;
  if (firstLine !== 1 || lastLine !== totalLines) return `Read ${shown}: lines ${firstLine}-${lastLine}`;
  return `Read ${shown}: ${totalLines} ${totalLines === 1 ? "line" : "lines"}`;
}

function pastTheEnd(shown: string, { firstLine, totalLines }: LineWindow) {
  const count = totalLines === null ? "fewer lines" : `${totalLines} ${totalLines === 1 ? "line" : "lines"}`;
  return toolError("bad_range", `${shown} has ${count}; there is no line ${firstLine}`, {
    next: "Read with a smaller offset.",
    data: { totalLines },
  });
}

function refuseLarge(shown: string, bytes: number, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  throw toolError("too_large", `That is ${bytes} bytes of ${shown}. At most ${maxBytes} can be read at once`, {
    next: "Read fewer lines with offset and limit, or search in the file.",
    data: { bytes, maxBytes },
  });
}

/** Needed by programs that write the content back. */
function endsWithLineFeed(file: OpenFile, encoding: string): boolean {
  const tail = Buffer.alloc(Math.min(4, file.info.size));
  const bytes = tail.subarray(0, file.readNow(tail, file.info.size - tail.length));
  return decodeBytes(bytes, encoding).endsWith("\n");
}

/** The file converted to UTF-8 from the encoding that the caller gave. It is in memory, so its size is limited. */
async function transcode(file: OpenFile, encoding: string, signal?: AbortSignal): Promise<OpenFile> {
  const original = await readAll(file, { maxBytes: MAX_TRANSCODED_BYTES, signal });
  if (original === null) {
    throw toolError("too_large", `The encoding cannot be chosen for a file above ${MAX_TRANSCODED_BYTES} bytes`, {
      next: "Leave out encoding.",
    });
  }
  const bytes = Buffer.from(decodeBytes(original, encoding));
  // Line indexes are cached by path: this is another content.
  return openBytes({ ...file.info, real: `${file.info.real}\0${encoding}`, size: bytes.length }, bytes);
}

const MAX_PDF_BYTES = 50 * 1024 * 1024;
const MAX_PAGES = 20;

/** The text of some pages of a PDF. */
async function readPdf(file: OpenFile, shown: string, { pages }: ReadRange, context: ToolContext): Promise<ToolOutput> {
  const { signal } = context;
  const bytes = await readAll(file, { maxBytes: MAX_PDF_BYTES, signal });
  if (bytes === null) {
    throw toolError("too_large", `${shown} is a PDF of ${file.info.size} bytes; the limit is ${MAX_PDF_BYTES}`, {
      next: "Split it first, for example with exec.",
    });
  }
  const document = await openPdf(bytes).catch((cause: unknown) => unreadable(shown, cause));
  try {
    const forProgram = isProgram(context);
    const max = forProgram ? document.pages : MAX_PAGES;
    const { first, last: requested } = parsePages(pages, { total: document.pages, what: "page", max });
    const parts: string[] = [];
    const maxTokens = resultTokensOf(context);
    let tokens = 0;
    let lastShown = first;
    for (let page = first; page <= requested; page++) {
      signal.throwIfAborted();
      const text = await document.textOf(page).catch((cause: unknown) => unreadable(shown, cause));
      tokens += estimatedTokens.count(text) + 10;
      if (tokens <= maxTokens) lastShown = page;
      else if (page > first && !forProgram) break;
      parts.push(`--- page ${page} of ${document.pages} ---\n${text || "(no text on this page)"}`);
    }
    const content = parts.slice(0, lastShown - first + 1).join("\n\n");
    const next = `${lastShown + 1}-${Math.min(document.pages, lastShown + MAX_PAGES)}`;
    const last = first + parts.length - 1;
    return {
      content: lastShown < document.pages ? `${content}\n\n[${continueBy(context, { pages: next })}]` : content,
      display: `Read ${shown}: pages ${first}-${last} of ${document.pages}`,
      details: {
        content: parts.join("\n\n"),
        size: bytes.length,
        path: shown,
        totalPages: document.pages,
        firstPage: first,
        lastPage: last,
      },
    };
  } finally {
    await document.close();
  }
}

function unreadable(shown: string, cause: unknown): never {
  const why = errorMessage(cause);
  throw toolError("bad_encoding", `${shown} cannot be read as a PDF: ${why}`, {
    next: "It may be damaged or locked. Ask the user for another copy.",
    cause,
  });
}

/** Reads `3`, `3-` or `3-7`. Default: from the first. */
function parsePages(
  pages: string | undefined,
  { total, what, max }: { total: number; what: "page" | "cell"; max: number },
): { first: number; last: number } {
  const match = /^\s*(\d+)\s*(-)?\s*(\d+)?\s*$/.exec(pages ?? "1-");
  const first = Number(match?.[1]);
  const end = match?.[3] === undefined ? (match?.[2] ? first + max - 1 : first) : Number(match[3]);
  const last = Math.min(end, total);
  if (!match || (match[3] !== undefined && !match[2]) || first < 1 || last < first || last - first >= max) {
    const where = what === "page" ? "of pages in a PDF" : "of cells in a notebook";
    const count = `${total} ${what}${total === 1 ? "" : "s"}`;
    throw toolError("bad_range", `pages ${JSON.stringify(pages)} is not a range ${where} with ${count}`, {
      next: `Give a range such as 1-5${what === "page" ? `, at most ${max} pages at once` : ""}.`,
    });
  }
  return { first, last };
}

const MAX_NOTEBOOK_BYTES = 20 * 1024 * 1024;
const MAX_CELL_OUTPUT_LENGTH = 2_000;

type Text = string | string[];

interface Cell {
  id?: string;
  cell_type?: string;
  source?: Text;
  outputs?: CellOutput[];
}

interface CellOutput {
  text?: Text;
  data?: Record<string, unknown>;
  ename?: string;
  evalue?: string;
}

/** The cells of a Jupyter notebook with their outputs, without the JSON; undefined if it is not a notebook. */
async function readNotebook(
  file: OpenFile,
  { shown, range, bounds, context }: FileReading,
): Promise<ToolOutput | undefined> {
  const bytes = await readAll(file, { maxBytes: MAX_NOTEBOOK_BYTES, signal: context.signal });
  const cells = bytes === null ? undefined : cellsOf(decodeText(bytes).text);
  if (bytes === null || cells === undefined) return undefined;
  const content = cells.map((cell, i) => showCell(cell, i + 1)).join("\n\n") || "(a notebook without cells)";
  const { lines, truncated } = showCells(cells, { shown, range, bounds, context });
  return {
    content: [...lines, "[Cells of a notebook. Change them with edit_notebook, by number or id.]"].join("\n"),
    display: `Read notebook ${shown}: ${cells.length} ${cells.length === 1 ? "cell" : "cells"}`,
    details: {
      content,
      size: bytes.length,
      path: shown,
      truncated,
      cells: cells.map((cell, i) => ({
        index: i + 1,
        id: cell.id,
        type: cell.cell_type,
        source: joinSource(cell.source),
      })),
    },
  };
}

/** As many cells as fit, and the call that shows the next ones. */
function showCells(cells: readonly Cell[], { shown, range, bounds, context }: FileReading) {
  if (cells.length === 0) return { lines: ["(a notebook without cells)"], truncated: false };
  const { first, last } = parsePages(range.pages, { total: cells.length, what: "cell", max: cells.length });
  const maxTokens = bounds?.shownTokens ?? resultTokensOf(context);
  const parts: string[] = [];
  const notes: string[] = [];
  let tokens = 0;
  let next = first;
  for (; next <= last; next++) {
    let part = showCell(cells[next - 1] ?? {}, next);
    tokens += estimatedTokens.count(part) + 1;
    if (tokens > maxTokens && parts.length > 0) break;
    if (tokens > maxTokens) {
      part = startWithin(part, maxTokens);
      const lines = nextCall(context, "read", { path: shown, offset: 1 });
      notes.push(`[Only the beginning of cell ${next} is shown. ${lines} reads the JSON of the notebook by lines.]`);
    }
    parts.push(part);
  }
  if (next <= cells.length) {
    const call = nextCall(context, "read", { path: shown, pages: `${next}-` });
    notes.push(`[Showing cells ${first}-${next - 1} of ${cells.length}. Continue with ${call}.]`);
  }
  return { lines: [parts.join("\n\n"), ...notes], truncated: notes.length > 0 };
}

/** Undefined: it is read as text. */
function cellsOf(text: string): Cell[] | undefined {
  if (hasTooManyCells(text)) return undefined;
  try {
    const { cells }: { cells?: unknown } = JSON.parse(text);
    if (!Array.isArray(cells) || cells.length > MAX_CELLS) return undefined;
    return cells.every((cell) => typeof cell === "object" && cell !== null) ? cells : undefined;
  } catch {
    return undefined;
  }
}

function showCell({ cell_type, id, source, outputs }: Cell, number: number): string {
  const head = `[${number}] ${cell_type ?? "cell"}${id ? ` ${id}` : ""}`;
  const shown = (Array.isArray(outputs) ? outputs : []).map(showOutput).filter((output) => output !== "");
  return [head, joinSource(source), ...shown.map((output) => `→ ${output}`)].join("\n");
}

function showOutput({ text, data, ename, evalue }: CellOutput): string {
  if (ename !== undefined) return `${ename}: ${evalue ?? ""}`;
  const shown = joinSource(text ?? data?.["text/plain"]);
  if (shown === "" && data) return `(${Object.keys(data).join(", ")})`;
  return shown.length > MAX_CELL_OUTPUT_LENGTH ? `${shown.slice(0, MAX_CELL_OUTPUT_LENGTH)}…` : shown;
}
