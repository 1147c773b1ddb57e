import { readlinkSync } from "node:fs";
import { detectAnchoring, type Anchoring } from "./anchoring.ts";
import { deleteDirectory, deleteFile } from "./delete-entry.ts";
import type { PathOperation } from "./deny-rules.ts";
import { deniedPath, explainFailure, isMissing } from "./explain-failure.ts";
import { infoOf, type FileInfo } from "./file-info.ts";
import { listDirectory, openDirectory, type DirectoryEntry, type OpenDirectory } from "./list-directory.ts";
import { anchorPath, locateEntry, requireAllowed, type FileAccess } from "./locate-entry.ts";
import { makeDirectories } from "./make-directories.ts";
import { moveEntry, type MoveOptions } from "./move-entry.ts";
import { openForRead, readWhole, type OpenFile, type ReadWholeOptions } from "./open-file.ts";
import { parsePathName, resolveLinks, type PathName } from "./path-name.ts";
import { checkPath, narrow, showPath, type PathPolicy } from "./path-policy.ts";
import { createTempFileCleaner } from "./stray-cleaner.ts";
import type { ChangeMaker, EntryState, UndoJournal } from "./undo-journal.ts";
import { createMemoryUndo } from "./undo-memory.ts";
import { entryAt, type FoundEntry, makeEntry } from "./undo-primitives.ts";
import { writeFileAtomic, type WriteOptions, type WriteOutcome } from "./write-atomic.ts";

/**
 * The one way to the file system. Paths are as the model gave them, relative to the workspace or absolute; every
 * operation judges what it opened, never a name, and fails with a `ToolError`.
 */
export interface Files {
  readonly policy: PathPolicy;
  /** Where a path leads now, if it may be used so: for locks and messages, not for opening. */
  realPath(path: string, operation?: PathOperation): string;
  /** A real path as a model should see it. */
  show(realPath: string): string;
  info(path: string): Promise<FileInfo>;
  readWhole(path: string, options?: ReadWholeOptions): Promise<{ bytes: Buffer; info: FileInfo }>;
  openForRead(path: string): Promise<OpenFile>;
  openDirectory(path: string): Promise<OpenDirectory>;
  listDirectory(path: string, options?: { withInfo?: boolean }): Promise<DirectoryEntry[]>;
  /** Answers the real paths of the directories that were made. */
  makeDirectories(path: string): Promise<string[]>;
  writeFileAtomic(path: string, bytes: Uint8Array, options?: WriteOptions): Promise<WriteOutcome>;
  deleteFile(path: string): Promise<void>;
  deleteDirectory(path: string, options?: { recursive?: boolean }): Promise<void>;
  move(from: string, to: string, options?: MoveOptions): Promise<{ from: string; info: FileInfo }>;
  /** What stands at the path itself, links not followed, as undo compares it. */
  entry(path: string): Promise<FoundEntry>;
  /** For undo: puts back a directory or a link where nothing stands. A link's use is judged, not where it leads. */
  makeEntry(path: string, what: Extract<EntryState, { kind: "directory" | "symlink" }>): Promise<void>;
  /** The same for one call: never more than here, its changes journalled under its id. */
  narrow(allowedPaths: readonly string[] | undefined, maker?: ChangeMaker): Files;
}

export interface FilesOptions {
  journal?: UndoJournal;
  clock?: () => number;
  anchoring?: Anchoring;
}

export function createFiles(
  policy: PathPolicy,
  { journal = createMemoryUndo(), clock = Date.now, anchoring = detectAnchoring() }: FilesOptions = {},
): Files {
  return filesOver({ policy, journal, clock, anchoring }, createTempFileCleaner());
}

function filesOver(access: FileAccess, cleaner: ReturnType<typeof createTempFileCleaner>): Files {
  const { policy } = access;
  const attempt = async <T>(
    given: string,
    operation: PathOperation,
    work: (name: PathName) => T | Promise<T>,
  ): Promise<T> => {
    const name = parsePathName(given, policy.workspace);
    try {
      return await work(name);
    } catch (error) {
      throw explainFailure(error, name, { policy, operation });
    }
  };
  return {
    policy,
    realPath: (path, operation = "read") => realPath(parsePathName(path, policy.workspace), access, operation),
    show: (real) => showPath(policy, real),
    info: (path) => attempt(path, "read", (name) => infoAt(name, access)),
    readWhole: (path, options) => attempt(path, "read", (name) => readWhole(name, access, options)),
    openForRead: (path) => attempt(path, "read", (name) => openForRead(name, access)),
    openDirectory: (path) => attempt(path, "read", (name) => openDirectory(name, access)),
    listDirectory: (path, options) => attempt(path, "read", (name) => listDirectory(name, access, options)),
    makeDirectories: (path) => attempt(path, "write", (name) => makeDirectories(name, access)),
    writeFileAtomic: (path, bytes, options) =>
      attempt(path, "write", async (name) => {
        const outcome = await writeFileAtomic(name, bytes, access, options);
        cleaner.visit(outcome.info.real, access);
        return outcome;
      }),
    deleteFile: (path) => attempt(path, "write", (name) => deleteFile(name, access)),
    deleteDirectory: (path, options) => attempt(path, "write", (name) => deleteDirectory(name, access, options)),
    move: (from, to, options) =>
      attempt(from, "write", (name) =>
        moveEntry({ from: name, to: parsePathName(to, policy.workspace) }, access, options),
      ),
    entry: (path) => attempt(path, "read", (name) => entryAt(name, access)),
    makeEntry: (path, what) => attempt(path, "write", (name) => makeEntry(name, what, access)),
    narrow: (allowedPaths, maker) => filesOver({ ...access, policy: narrow(policy, allowedPaths), ...maker }, cleaner),
  };
}

function realPath(name: PathName, access: FileAccess, operation: PathOperation): string {
  const resolved = resolveLinks(name.absolute);
  if (resolved === null) {
    const loop = Object.assign(new Error("too many links"), { code: "ELOOP" });
    throw explainFailure(loop, name, { policy: access.policy, operation });
  }
  const refusal = checkPath(access.policy, resolved, operation);
  if (refusal !== null) throw deniedPath(name, refusal, access.policy);
  return resolved;
}

/** Of what a link leads to; of the link itself when that is nothing. The latter only where it would lead is allowed. */
function infoAt(name: PathName, access: FileAccess): FileInfo {
  const linkTarget = linkTargetOf(name, access);
  try {
    const anchor = anchorPath(name, access, "read");
    anchor.close();
    return { ...infoOf(anchor.real, anchor.stat), ...(linkTarget !== null && { linkTarget: linkTarget.target }) };
  } catch (error) {
    if (!isMissing(error) || linkTarget === null) throw error;
    requireAllowed(name, access, resolveLinks(name.absolute) ?? name.absolute, "read");
    return { ...linkTarget.info, linkTarget: linkTarget.target };
  }
}

function linkTargetOf(name: PathName, access: FileAccess): { target: string; info: FileInfo } | null {
  if (name.directoryOnly) return null;
  const entry = locateEntry(name, access, { operation: "read", followLast: false });
  try {
    if (!entry.stat?.isSymbolicLink()) return null;
    return { target: readlinkSync(entry.parent.at(entry.base)), info: infoOf(entry.real, entry.stat) };
  } finally {
    entry.close();
  }
}
