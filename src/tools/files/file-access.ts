import { createHash } from "node:crypto";
import { basename, dirname } from "node:path";
import { BoundedMap } from "../../core/bounded-map.ts";
import { attempt, ToolError, toolError } from "../../core/error.ts";
import { countOf } from "../../core/results/count-of.ts";
import { nearestNames } from "../../core/nearest-name.ts";
import type { Preview, ToolContext } from "../../core/tool.ts";
import type { Files } from "../../io/files/files.ts";
import type { LineIndexes } from "../../io/files/line-index.ts";
import type { SpillFolder } from "../../io/files/spill-folder.ts";
import { decodeText, encodeString, isBinary, type TextEncoding } from "../../io/files/text-encoding.ts";
import { unifiedDiff, type UnifiedDiff } from "../../io/files/unified-diff.ts";
import { showName } from "../../io/shell/terminal-text.ts";
import { nameHiddenDifference } from "./hidden-characters.ts";
import type { Diagnostics } from "../../io/language/diagnostics.ts";
import type { FolderInstructionOptions } from "./folder-instructions.ts";
import { DIAGNOSTIC_FIELDS } from "./report-diagnostics.ts";
import type { ReadLedger } from "./read-before-edit.ts";
import { foldLookAlikes } from "./text-match.ts";
import { field } from "../../schema/describe-output.ts";

/** The dependencies of the file tools. */
export interface FileToolDependencies {
  files: Files;
  reads: ReadLedger;
  lineIndexes: LineIndexes;
  /** Whether a file must be read before it is changed. Default: true. */
  requireRead?: boolean;
  /** Outputs that were too long to show. If omitted, `read` knows no `spill:` addresses. */
  spills?: Pick<SpillFolder, "locate">;
  /** Delivers the instructions of folders. If omitted, none are delivered. */
  instructions?: FolderInstructionOptions;
  /** Checks changed files. If omitted, none are checked. */
  diagnostics?: Pick<Diagnostics, "check">;
  /** A larger file must be read in line ranges, none larger than this. If omitted, results are cut instead. */
  maxReadBytes?: number;
}

/** File access of one call: limited to its allowed paths, with changes journalled under its id and tool name. */
export function filesOf({ files }: Pick<FileToolDependencies, "files">, context: ToolContext, tool?: string): Files {
  const { session, user, agent } = context.caller;
  return files.narrow(context.allowedPaths, { callId: context.callId, session, user, agent, tool });
}

/** The lock key of a path. It uses the real path, so two names of a file share a lock. */
export function pathLock(files: Files, path: string): string {
  return attempt(() => `file:${files.realPath(path, "write")}`, `file:${path}`);
}

/** Of a notebook with more, only the text is read and edited: work on each cell would keep the thread busy. */
export const MAX_CELLS = 10_000;

/** A quick look before the JSON is parsed. A notebook may have more cells although this says no. */
export function hasTooManyCells(text: string): boolean {
  let count = 0;
  for (let at = text.indexOf('"cell_type"'); at >= 0; at = text.indexOf('"cell_type"', at + 1))
    if (++count > MAX_CELLS) return true;
  return false;
}

/** The text of a cell or of an output: a text or a list of lines. A list in a list may be deeper than the stack. */
export function joinSource(source: unknown): string {
  if (Array.isArray(source)) return source.filter((line) => typeof line === "string").join("");
  return typeof source === "string" ? source : "";
}

/** Other names of the path parameter that models use. */
export const PATH_ALIASES = {
  file_path: "path",
  filePath: "path",
  filename: "path",
  file: "path",
  target_file: "path",
  absolute_path: "path",
  absolutePath: "path",
} as const;

/** Rethrows the error. If the path does not exist, it suggests similar names. */
export async function failWithSuggestion(error: unknown, files: Files, path: string): Promise<never> {
  if (!(error instanceof ToolError) || error.code !== "path_not_found") throw error;
  const near = await suggestPaths(files, path);
  if (near.length === 0) throw error;
  const [first = ""] = near;
  const hidden = nameHiddenDifference(basename(first), basename(path), { have: "its name", want: "the given one" });
  throw toolError("path_not_found", error.summary, {
    next: `Did you mean ${near.join(" or ")}?${hidden ? ` It looks the same, but ${hidden}.` : ""}`,
    data: { near },
    cause: error,
  });
}

/** For tools that only read, if a rule asks about them. Throws if the path cannot be read anyway. */
export async function previewRead(title: string, files: Files, path: string): Promise<Preview> {
  await files.info(path).catch((error: unknown) => failWithSuggestion(error, files, path));
  return {
    title: `${title} ${showName(path)}`,
    content: [{ type: "text", text: showName(files.show(files.realPath(path))) }],
  };
}

/** Larger files are named in a preview, not shown. */
export const MAX_PREVIEWED_BYTES = 1024 * 1024;

/** The text of a file for a preview, or what a person does not see of it. A policy may allow a change and forbid to read. */
export async function readForPreview(
  files: Files,
  path: string,
  { maxBytes = MAX_PREVIEWED_BYTES }: { maxBytes?: number } = {},
): Promise<{ text: string } | { omitted: string }> {
  const { size } = await files.info(path).catch(() => ({ size: undefined }));
  const content = `the content of ${showName(path)}`;
  const bytes = size === undefined ? "" : ` (${countOf(size, "byte")})`;
  if (size !== undefined && size > maxBytes) return { omitted: `${content}${bytes}` };
  const read = await files.readWhole(path, { maxBytes }).catch(() => undefined);
  if (!read) return { omitted: `${content}, which may not be read${bytes}` };
  if (isBinary(read.bytes)) return { omitted: `${content}, which is not text${bytes}` };
  return { text: decodeText(read.bytes).text };
}

/** Similar names in the folder of a missing path, the likeliest first; also names that differ only in whitespace. */
async function suggestPaths(files: Files, path: string): Promise<string[]> {
  const folder = dirname(path);
  try {
    const names = (await files.listDirectory(folder)).map(({ name }) => name);
    const folded = foldBlanks(basename(path));
    const alike = names.filter((name) => foldBlanks(name) === folded);
    const near = alike.length > 0 ? alike.slice(0, 3) : nearestNames(basename(path), names);
    return near.map((name) => (folder === "." ? name : `${folder}/${name}`));
  } catch {
    return [];
  }
}

/** macOS screenshots have a narrow no-break space in their names; models escape spaces. */
function foldBlanks(name: string): string {
  return foldLookAlikes(name.replaceAll("\\ ", " ")).toLowerCase();
}

/** Other spellings of encodings, and supersets that decode the same text. */
const ENCODING_ALIASES = new Map([
  ["utf8", "utf-8"],
  ["ascii", "utf-8"],
  ["us-ascii", "utf-8"],
  ["utf16le", "utf-16le"],
  ["utf-16", "utf-16le"],
  ["gbk", "gb18030"],
  ["gb2312", "gb18030"],
  ["sjis", "shift_jis"],
  ["shift-jis", "shift_jis"],
  ["iso-8859-1", "latin1"],
  ["binary", "latin1"],
]);

/** The internal name of an encoding that a caller gives. */
export function encodingNamed(name: string): TextEncoding {
  const lower = name.trim().toLowerCase();
  const encoding = ENCODING_ALIASES.get(lower) ?? lower;
  try {
    encodeString("", encoding);
    return encoding;
  } catch (cause) {
    throw toolError("bad_encoding", `The encoding ${JSON.stringify(name.slice(0, 40))} is unknown`, {
      next: "Leave it out, or use one such as utf-8, utf-16le, gb18030, big5, shift_jis or latin1.",
      cause,
    });
  }
}

export interface DescribedChange extends Omit<UnifiedDiff, "text" | "truncated"> {
  diff: string;
  /** For the model: the diff, cut if it is long. */
  shown: string;
}

/** The change of a file in the output of the tools that make it. */
export const CHANGE_FIELDS = {
  path: field.text(),
  created: field.flag("The file is new"),
  bytesWritten: field.integer(),
  diff: field.text("Unified diff"),
  "diffOmitted?": field.text("What the diff leaves out"),
  added: field.integer("Lines"),
  removed: field.integer("Lines"),
  ...DIAGNOSTIC_FIELDS,
};

interface ChangedText {
  before: string;
  after: string;
  /** If the file gets another name. */
  newPath?: string;
  linesBefore?: number;
}

const MAX_SHOWN_LENGTH = 4_000;
const HUNK_HEAD = /^@@ -(\d+)((?:,\d+)?) \+(\d+)/gm;

/** Below this length a diff is computed again: it costs less than the hash of the texts. */
const MIN_KEPT_LENGTH = 64 * 1024;
const MAX_KEPT_DIFFS = 8;
const keptDiffs = new BoundedMap<string, UnifiedDiff>(MAX_KEPT_DIFFS);

/** A preview and the change that follows it show the same diff. That of large texts is computed once. */
async function diffOnce(
  texts: { before: string; after: string },
  names: { path: string; newPath?: string },
): Promise<UnifiedDiff> {
  if (texts.before.length + texts.after.length < MIN_KEPT_LENGTH) return unifiedDiff(texts, names);
  const hash = (text: string): string => createHash("sha256").update(text).digest("base64");
  const key = JSON.stringify([names.path, names.newPath, hash(texts.before), hash(texts.after)]);
  const diff = keptDiffs.get(key) ?? (await unifiedDiff(texts, names));
  keptDiffs.set(key, diff);
  return diff;
}

/** Diffs two texts, or the parts of them after `linesBefore` lines. */
export async function describeChange(
  path: string,
  { before, after, newPath, linesBefore = 0 }: ChangedText,
): Promise<DescribedChange> {
  const { text, added, removed, omitted, whole, replacements } = await diffOnce({ before, after }, { path, newPath });
  const numbered = (lines: string): string =>
    linesBefore === 0
      ? lines
      : lines.replace(HUNK_HEAD, (_, old, count, fresh) => {
          return `@@ -${Number(old) + linesBefore}${count} +${Number(fresh) + linesBefore}`;
        });
  const diff = numbered(text);
  const note = omitted === undefined ? "" : `[… not shown: ${omitted}]\n`;
  const shown =
    diff.length <= MAX_SHOWN_LENGTH
      ? diff + note
      : `${diff.slice(0, MAX_SHOWN_LENGTH)}\n[… the rest of the diff is omitted]`;
  return {
    diff,
    omitted,
    whole: whole === undefined ? undefined : numbered(whole),
    replacements,
    added,
    removed,
    shown,
  };
}

/** The preview of changes to files. `binary`: files whose present content is not text. */
export function previewChanges(
  title: string,
  changes: readonly DescribedChange[],
  { summary = [], binary = [] }: { summary?: readonly string[]; binary?: readonly string[] } = {},
): Preview {
  const diffs = changes.map(({ diff }) => diff).filter((diff) => diff !== "");
  const omitted = changes.flatMap((change) => change.omitted ?? []);
  const replacements = changes.flatMap((change) => change.replacements ?? []);
  const whole = changes.map((change) => change.whole ?? change.diff).filter((diff) => diff !== "");
  return {
    title,
    content: [{ type: "text", text: [...summary, ...diffs].join("\n") || "No change." }],
    counts: {
      files: changes.length,
      added: changes.reduce((sum, { added }) => sum + added, 0),
      removed: changes.reduce((sum, { removed }) => sum + removed, 0),
    },
    replacements: replacements.length === 0 ? undefined : replacements,
    whole: omitted.length === 0 ? undefined : [title, "", ...summary, ...whole].join("\n"),
    omitted: omitted.length === 0 ? undefined : omitted.join("; "),
    unshown: binary.length === 0 ? undefined : `The present content of ${binary.map(showName).join(", ")} is not text.`,
  };
}
