import { basename, dirname } from "node:path";
import { toolError, ToolError } from "../../core/error.ts";
import { nearestNames } from "../../core/nearest-name.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { Files } from "../../io/files/files.ts";
import type { LineIndexes } from "../../io/files/line-index.ts";
import type { SpillFolder } from "../../io/files/spill-folder.ts";
import { encodeString, type TextEncoding } from "../../io/files/text-encoding.ts";
import { unifiedDiff } from "../../io/files/unified-diff.ts";
import type { ReadLedger } from "./read-before-edit.ts";

/** What the file tools are given. */
export interface FileToolDependencies {
  files: Files;
  reads: ReadLedger;
  lineIndexes: LineIndexes;
  /** Whether a file must have been read before it is changed; on unless said otherwise. */
  requireRead?: boolean;
  /** Outputs that were too long to show. If omitted, `read` knows no `spill:` addresses. */
  spills?: Pick<SpillFolder, "locate">;
  /** A larger file is given by ranges of lines only, and no range that is larger; absent, windows are cut instead. */
  maxReadBytes?: number;
}

/** The files of one call: never more than the runtime allows, its changes journalled under its id and its tool's name. */
export function filesOf({ files }: Pick<FileToolDependencies, "files">, context: ToolContext, tool?: string): Files {
  const { session, user, agent } = context.caller;
  return files.narrow(context.allowedPaths, { callId: context.callId, session, user, agent, tool });
}

/** The lock of a path: where it really leads, so that two names of one file are one. A path that may not be used has none. */
export function pathLock(files: Files, path: string): string {
  try {
    return `file:${files.realPath(path, "write")}`;
  } catch {
    return `file:${path}`;
  }
}

/** Names of the path parameter that models of other families use. */
export const PATH_ALIASES = { file_path: "path", filePath: "path", filename: "path", file: "path" } as const;

/** Fails as given; where nothing is at the path, with the names that may have been meant. */
export async function failWithSuggestion(error: unknown, files: Files, path: string): Promise<never> {
  if (!(error instanceof ToolError) || error.code !== "path_not_found") throw error;
  const near = await suggestPaths(files, path);
  if (near.length === 0) throw error;
  throw toolError("path_not_found", error.message, {
    next: `Did you mean ${near.join(" or ")}?`,
    data: { near },
    cause: error,
  });
}

/** Names beside a path that does not exist, the likeliest first; also one that differs in its kind of blanks only. */
async function suggestPaths(files: Files, path: string): Promise<string[]> {
  const folder = dirname(path);
  try {
    const names = (await files.listDirectory(folder)).map(({ name }) => name);
    const wanted = foldBlanks(basename(path));
    const alike = names.filter((name) => foldBlanks(name) === wanted);
    const near = alike.length > 0 ? alike.slice(0, 3) : nearestNames(basename(path), names);
    return near.map((name) => (folder === "." ? name : `${folder}/${name}`));
  } catch {
    return [];
  }
}

/** Screenshots of macOS have a narrow no-break space where everybody types a blank; models escape blanks. */
function foldBlanks(name: string): string {
  return name
    .replaceAll("\\ ", " ")
    .replace(/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, " ")
    .toLowerCase();
}

/** Other spellings; and supersets, which read every text of the smaller encoding alike. */
const SAME_AS = new Map([
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

/** The encoding that a caller names, as the files primitives call it. */
export function encodingNamed(name: string): TextEncoding {
  const lower = name.trim().toLowerCase();
  const encoding = SAME_AS.get(lower) ?? lower;
  try {
    encodeString("", encoding);
    return encoding;
  } catch (cause) {
    throw toolError("bad_encoding", `The encoding ${JSON.stringify(name.slice(0, 40))} is not known`, {
      next: "Leave it out, or name one such as utf-8, utf-16le, gb18030, big5, shift_jis or latin1.",
      cause,
    });
  }
}

/** What a change of a file looks like, for a result: short for the model, whole for a program. */
export interface DescribedChange {
  diff: string;
  added: number;
  removed: number;
  /** For the model: the diff, or where it is long, its beginning. */
  shown: string;
}

const MAX_SHOWN = 4_000;
const HUNK_HEAD = /^@@ -(\d+)((?:,\d+)?) \+(\d+)/gm;

/** Of two texts, or of a part of them that begins after `linesBefore` lines. */
export async function describeChange(
  path: string,
  { before, after, linesBefore = 0 }: { before: string; after: string; linesBefore?: number },
): Promise<DescribedChange> {
  const { text, added, removed } = await unifiedDiff({ before, after }, { path });
  const diff =
    linesBefore === 0
      ? text
      : text.replace(HUNK_HEAD, (_, old, count, fresh) => {
          return `@@ -${Number(old) + linesBefore}${count} +${Number(fresh) + linesBefore}`;
        });
  const shown = diff.length <= MAX_SHOWN ? diff : `${diff.slice(0, MAX_SHOWN)}\n[… the rest of the diff is left out]`;
  return { diff, added, removed, shown };
}
