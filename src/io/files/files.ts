import { chmodSync, closeSync, constants, fchmodSync, mkdirSync, readlinkSync, symlinkSync, utimesSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { toolError } from "../../core/error.ts";
import {
  describeEntry,
  makeDirectories,
  syncDirectory,
  checkWrite,
  writeFileAtomic,
  type WriteOptions,
  type WriteOutcome,
} from "./atomic-write.ts";
import { checkDelete, deleteDirectory, deleteFile } from "./delete-entry.ts";
import { deniedPath, explainFailure, isErrno, isMissing } from "./file-errors.ts";
import { checkMove, moveEntry, type MoveOptions } from "./move-entry.ts";
import {
  type FileInfo,
  infoOf,
  type OpenFile,
  openForRead,
  readWhole,
  type ReadWholeOptions,
  stampOf,
} from "./open-file.ts";
import {
  type Anchor,
  type Anchoring,
  anchorPath,
  detectAnchoring,
  type FileAccess,
  locateEntry,
  lstatIfExists,
  notDirectory,
  requireAllowed,
  requireRegular,
} from "./path-anchor.ts";
import { parsePathName, type PathName, quotePath, resolveLinks } from "./path-name.ts";
import { checkPath, narrow, type PathOperation, type PathPolicy, showPath } from "./path-policy.ts";
import { createTempFileCleaner, isTemporaryName, removeTemporaryFiles } from "./temporary-file.ts";
import {
  type ChangeMaker,
  changeTogether,
  createMemoryUndo,
  type EntryKind,
  type EntryState,
  recordChange,
  type UndoJournal,
} from "./undo-store.ts";

/** All file system access of tools. Checks what was opened, not only the name, and fails with a `ToolError`. */
export interface Files {
  readonly policy: PathPolicy;
  /** The real path at this moment. Throws if the operation is not allowed. For locks and messages, not for opening. */
  realPath(path: string, operation?: PathOperation): string;
  /** A real path as shown to a model: relative if it is in the workspace. */
  show(realPath: string): string;
  info(path: string): Promise<FileInfo>;
  readWhole(path: string, options?: ReadWholeOptions): Promise<{ bytes: Buffer; info: FileInfo }>;
  openForRead(path: string): Promise<OpenFile>;
  openDirectory(path: string): Promise<OpenDirectory>;
  listDirectory(path: string, options?: { withInfo?: boolean }): Promise<DirectoryEntry[]>;
  /** Returns the real paths of the created directories. */
  makeDirectories(path: string): Promise<string[]>;
  writeFileAtomic(path: string, bytes: Uint8Array, options?: WriteOptions): Promise<WriteOutcome>;
  deleteFile(path: string): Promise<void>;
  deleteDirectory(path: string, options?: { recursive?: boolean }): Promise<void>;
  move(from: string, to: string, options?: MoveOptions): Promise<{ from: string; info: FileInfo }>;
  /** Throws what the change would throw now, and changes nothing. So nobody is asked about an impossible change. */
  checkWrite(path: string): Promise<void>;
  checkDelete(path: string, options?: { recursive?: boolean }): Promise<void>;
  checkMove(from: string, to: string, options?: MoveOptions): Promise<void>;
  /** The entry at the path itself, without following links, as undo compares it. */
  entry(path: string): Promise<FoundEntry>;
  /** For undo: restores a directory or a link at a free path. The target of a link is not checked; its use is. */
  makeEntry(path: string, what: Extract<EntryState, { kind: "directory" | "symlink" }>): Promise<void>;
  /** Changes the permissions and times of a file or folder, not of a link. Times are not journalled. */
  setAttributes(path: string, attributes: EntryAttributes): Promise<void>;
  /** Makes all changes of `work` or none: if this process is killed before it ends, the next host rolls them back. */
  together<T>(work: (files: Files) => Promise<T>): Promise<T>;
  /** Removes the temporary files of killed writers. True if there are files of writers that may still run. */
  removeTemporaryFiles(folders: readonly string[]): boolean;
  /** A narrower view for one call, which journals its changes under the call's id. It never allows more. */
  narrow(allowedPaths: readonly string[] | undefined, maker?: ChangeMaker): Files;
}

export interface EntryAttributes {
  mode?: number;
  /** Unix milliseconds of the last change of the content. */
  modified?: number;
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
  return new GuardedFiles({ policy, journal, clock, anchoring }, createTempFileCleaner());
}

type TempFileCleaner = ReturnType<typeof createTempFileCleaner>;

/** A class, because every call gets one of its own. */
class GuardedFiles implements Files {
  readonly #access: FileAccess;
  readonly #cleaner: TempFileCleaner;

  constructor(access: FileAccess, cleaner: TempFileCleaner) {
    this.#access = access;
    this.#cleaner = cleaner;
  }

  get policy(): PathPolicy {
    return this.#access.policy;
  }

  realPath(path: string, operation: PathOperation = "read"): string {
    return realPath(this.#name(path), this.#access, operation);
  }

  show(real: string): string {
    return showPath(this.policy, real);
  }

  info(path: string): Promise<FileInfo> {
    return this.#attempt(path, "read", (name) => infoAt(name, this.#access));
  }

  readWhole(path: string, options?: ReadWholeOptions): Promise<{ bytes: Buffer; info: FileInfo }> {
    return this.#attempt(path, "read", (name) => readWhole(name, this.#access, options));
  }

  openForRead(path: string): Promise<OpenFile> {
    return this.#attempt(path, "read", (name) => openForRead(name, this.#access));
  }

  openDirectory(path: string): Promise<OpenDirectory> {
    return this.#attempt(path, "read", (name) => openDirectory(name, this.#access));
  }

  listDirectory(path: string, options?: { withInfo?: boolean }): Promise<DirectoryEntry[]> {
    return this.#attempt(path, "read", (name) => listDirectory(name, this.#access, options));
  }

  makeDirectories(path: string): Promise<string[]> {
    return this.#attempt(path, "write", (name) => makeDirectories(name, this.#access));
  }

  writeFileAtomic(path: string, bytes: Uint8Array, options?: WriteOptions): Promise<WriteOutcome> {
    return this.#attempt(path, "write", async (name) => {
      const outcome = await writeFileAtomic(name, bytes, this.#access, options);
      this.#cleaner.visit(outcome.info.real, this.#access);
      return outcome;
    });
  }

  deleteFile(path: string): Promise<void> {
    return this.#attempt(path, "write", (name) => deleteFile(name, this.#access));
  }

  deleteDirectory(path: string, options?: { recursive?: boolean }): Promise<void> {
    const access = this.#access;
    return this.#attempt(path, "write", (name) => {
      if (!options?.recursive || access.group !== undefined) return deleteDirectory(name, access, options);
      return changeTogether(access, access.clock(), (group) => deleteDirectory(name, { ...access, group }, options));
    });
  }

  move(from: string, to: string, options?: MoveOptions): Promise<{ from: string; info: FileInfo }> {
    return this.#attempt(from, "write", (name) => moveEntry({ from: name, to: this.#name(to) }, this.#access, options));
  }

  checkWrite(path: string): Promise<void> {
    return this.#attempt(path, "write", (name) => checkWrite(name, this.#access));
  }

  checkDelete(path: string, options?: { recursive?: boolean }): Promise<void> {
    return this.#attempt(path, "write", (name) => checkDelete(name, this.#access, options));
  }

  checkMove(from: string, to: string, options?: MoveOptions): Promise<void> {
    return this.#attempt(from, "write", (name) => checkMove({ from: name, to: this.#name(to) }, this.#access, options));
  }

  entry(path: string): Promise<FoundEntry> {
    return this.#attempt(path, "read", (name) => entryAt(name, this.#access));
  }

  makeEntry(path: string, what: Extract<EntryState, { kind: "directory" | "symlink" }>): Promise<void> {
    return this.#attempt(path, "write", (name) => makeEntry(name, what, this.#access));
  }

  setAttributes(path: string, attributes: EntryAttributes): Promise<void> {
    return this.#attempt(path, "write", (name) => setAttributes(name, attributes, this.#access));
  }

  together<T>(work: (files: Files) => Promise<T>): Promise<T> {
    const access = this.#access;
    if (access.group !== undefined) return work(this);
    return changeTogether(access, access.clock(), (group) =>
      work(new GuardedFiles({ ...access, group }, this.#cleaner)),
    );
  }

  removeTemporaryFiles(folders: readonly string[]): boolean {
    return removeTemporaryFiles(folders, this.#access);
  }

  narrow(allowedPaths: readonly string[] | undefined, maker?: ChangeMaker): Files {
    const access = derived(this.#access, (policy) => narrow(policy, allowedPaths), maker);
    return new GuardedFiles(access, this.#cleaner);
  }

  withoutDenials(): Files {
    const access = derived(this.#access, (policy) => ({ ...policy, denials: () => null }));
    return new GuardedFiles(access, this.#cleaner);
  }

  replacePolicy(policy: PathPolicy): void {
    this.#access.policy = policy;
  }

  #name(path: string): PathName {
    return parsePathName(path, this.policy.workspace);
  }

  async #attempt<T>(given: string, operation: PathOperation, work: (name: PathName) => T | Promise<T>): Promise<T> {
    const name = this.#name(given);
    try {
      return await work(name);
    } catch (error) {
      throw explainFailure(error, name, { policy: this.policy, operation });
    }
  }
}

/** With a policy made from that of `base`, also after that one was replaced. */
function derived(base: FileAccess, change: (policy: PathPolicy) => PathPolicy, maker?: ChangeMaker): FileAccess {
  let from = base.policy;
  let policy = change(from);
  return {
    ...base,
    ...maker,
    get policy() {
      if (base.policy !== from) {
        from = base.policy;
        policy = change(from);
      }
      return policy;
    },
  };
}

/** For files that `createFiles` has made: their rules have changed. Views of single calls follow. */
export function replacePolicy(files: Files, policy: PathPolicy): void {
  if (files instanceof GuardedFiles) files.replacePolicy(policy);
}

/**
 * The same files without the names that deny rules protect: repositories and secrets of a project, which a confined
 * command may change. Only for effects of commands and their undo, never for a tool that is given a path.
 */
export function filesOfCommands(files: Files): Files {
  return files instanceof GuardedFiles ? files.withoutDenials() : files;
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

/** Describes the target of a link, or a dangling link itself if its target would be allowed. */
function infoAt(name: PathName, access: FileAccess): FileInfo {
  const linkTarget = linkTargetOf(name, access);
  try {
    const anchor = anchorPath(name, access, "read");
    anchor.close();
    return { ...infoOf(anchor.real, anchor.stat), linkTarget: linkTarget?.target };
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

export interface DirectoryEntry {
  name: string;
  type: EntryKind;
  /** Of the entry itself, links not followed. Only with `withInfo`; undefined if the entry was just removed. */
  info?: FileInfo;
}

/** An anchored directory. Until it is closed, `path` can be the working directory of a child process. */
export interface OpenDirectory {
  readonly real: string;
  readonly path: string;
  close(): void;
}

function openDirectory(name: PathName, access: FileAccess): OpenDirectory {
  const { real, path, close } = anchorDirectory(name, access);
  return { real, path, close };
}

/** Sorted by name. Links are not followed. An entry that cannot be read does not affect the others. */
async function listDirectory(name: PathName, access: FileAccess, { withInfo = false } = {}): Promise<DirectoryEntry[]> {
  const directory = anchorDirectory(name, access);
  try {
    const found = await readdir(directory.at("."), { withFileTypes: true });
    const entries = found
      .filter((entry) => !isTemporaryName(entry.name))
      .map((entry): DirectoryEntry => ({
        name: entry.name,
        type: entry.isFile()
          ? "file"
          : entry.isDirectory()
            ? "directory"
            : entry.isSymbolicLink()
              ? "symlink"
              : "other",
      }));
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    return withInfo ? entries.map((entry) => ({ ...entry, info: infoIn(directory, entry.name) })) : entries;
  } finally {
    directory.close();
  }
}

function infoIn(directory: Anchor, name: string): FileInfo | undefined {
  try {
    const stat = lstatIfExists(directory.at(name));
    return stat === null ? undefined : infoOf(join(directory.real, name), stat);
  } catch {
    return undefined;
  }
}

function anchorDirectory(name: PathName, access: FileAccess): Anchor {
  const directory = anchorPath(name, access, "read");
  if (directory.stat.isDirectory()) return directory;
  directory.close();
  throw notDirectory(name);
}

export interface FoundEntry {
  real: string;
  state: EntryState & { bytes?: Buffer };
  /** See `FileInfo`; empty if nothing exists there. */
  stamp: string;
}

async function entryAt(name: PathName, access: FileAccess): Promise<FoundEntry> {
  let entry: ReturnType<typeof locateEntry>;
  try {
    entry = locateEntry(name, access, { operation: "write", followLast: false });
  } catch (error) {
    if (isMissing(error) || (isErrno(error) && error.code === "ENOTDIR")) {
      return { real: name.absolute, state: { kind: "absent" }, stamp: "" };
    }
    throw error;
  }
  try {
    if (entry.stat === null) return { real: entry.real, state: { kind: "absent" }, stamp: "" };
    const held = access.anchoring(entry.parent.at(entry.base), { noFollow: true });
    try {
      const stamp = stampOf(held.stat);
      return { real: entry.real, state: await describeEntry(held, entry.parent.at(entry.base)), stamp };
    } finally {
      held.close();
    }
  } finally {
    entry.close();
  }
}

/** Creates one directory with exactly these permissions, or a link. Fails if the path exists. */
async function makeEntry(
  name: PathName,
  what: { kind: "directory"; mode?: number } | { kind: "symlink"; target: string },
  access: FileAccess,
): Promise<void> {
  const entry = locateEntry(name, access, { operation: "write", followLast: false });
  try {
    const recorded = await recordChange(access, {
      kind: what.kind === "symlink" ? "make_link" : "make_directory",
      path: entry.real,
      was: "absent",
      old: null,
      next: what,
    });
    try {
      if (what.kind === "symlink") symlinkSync(what.target, entry.parent.at(entry.base));
      else mkdirSync(entry.parent.at(entry.base));
    } catch (error) {
      await recorded.abandon();
      if (!isErrno(error) || error.code !== "EEXIST") throw error;
      throw toolError("path_exists", `${quotePath(name.given)} already exists`, {
        next: "Check it again, then repeat.",
      });
    }
    if (what.kind === "directory" && what.mode !== undefined) chmodDirectory(entry, what.mode, access);
    await syncDirectory(entry.parent);
  } finally {
    entry.close();
  }
}

async function setAttributes(name: PathName, { mode, modified }: EntryAttributes, access: FileAccess): Promise<void> {
  const entry = locateEntry(name, access, { operation: "write", followLast: false });
  try {
    const held = access.anchoring(entry.parent.at(entry.base), { noFollow: true });
    try {
      const kind = held.stat.isDirectory() ? "directory" : "file";
      if (kind === "file") requireRegular(name, held.stat);
      const old = Number(held.stat.mode & 0o7777n);
      if (mode !== undefined && mode !== old) {
        const next: EntryState =
          kind === "directory" ? { kind, mode } : { kind: "file", mode, size: Number(held.stat.size) };
        const change = { path: entry.real, was: kind, old: null, mode: old, next } as const;
        const recorded = await recordChange(access, { kind: "set_mode", ...change });
        try {
          chmodSync(held.path, mode);
        } catch (error) {
          await recorded.abandon();
          throw error;
        }
      }
      if (modified !== undefined) utimesSync(held.path, new Date(), modified / 1000);
    } finally {
      held.close();
    }
  } finally {
    entry.close();
  }
}

function chmodDirectory(entry: ReturnType<typeof locateEntry>, mode: number, access: FileAccess): void {
  const directory = access.anchoring(entry.parent.at(entry.base), { directory: true, noFollow: true });
  try {
    const fd = directory.reopen(constants.O_RDONLY);
    try {
      fchmodSync(fd, mode);
    } finally {
      closeSync(fd);
    }
  } finally {
    directory.close();
  }
}
