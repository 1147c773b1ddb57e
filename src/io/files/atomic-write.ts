import {
  type BigIntStats,
  closeSync,
  accessSync,
  constants,
  fchmodSync,
  fchownSync,
  fsync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  unlinkSync,
  write,
} from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { toolError, type ToolError } from "../../core/error.ts";
import { alreadyExists, isErrno, isMissing } from "./file-errors.ts";
import { type FileInfo, infoOf, kindOf, openFileOf, readAll, stampOf } from "./open-file.ts";
import {
  type Anchor,
  type Entry,
  type FileAccess,
  isSameFile,
  locateEntry,
  lstatIfExists,
  missingParentOf,
  requireAllowed,
  requireRegular,
} from "./path-anchor.ts";
import { MAX_LINKS, type PathName, quotePath, resolveLinks } from "./path-name.ts";
import { checkPath } from "./path-policy.ts";
import { createTemporaryFile, removeTwin } from "./temporary-file.ts";
import { type EntryState, fileOf, MAX_UNDO_BYTES, type OldEntry, recordChange, stateBefore } from "./undo-store.ts";

const writeAt = promisify(write);
const sync = promisify(fsync);

export interface WriteOptions {
  /** Refuse if the path exists. */
  ifAbsent?: boolean;
  /** Refuse if the file no longer has this stamp. */
  ifStamp?: string;
  /** Create missing parent directories. Default: true. */
  createParents?: boolean;
  /** Permission bits of a new file. Default: as the umask says. */
  mode?: number;
}

export interface WriteOutcome {
  info: FileInfo;
  created: boolean;
  /** The replaced content; null for a new file or if it was too large. */
  old: Buffer | null;
}

/**
 * After a crash the file has either its old or its new content: a temporary file in the same folder is written, synced
 * and renamed over it. Exception: a file with several hard links in the workspace, or in a folder where no file can be
 * created, is written in place and restored if that fails; a crash in that moment can damage it. If a hard link is
 * outside the workspace, the file is replaced instead, so nothing outside changes. Extended attributes and ACLs are
 * lost.
 */
export async function writeFileAtomic(
  name: PathName,
  bytes: Uint8Array,
  access: FileAccess,
  options: WriteOptions = {},
): Promise<WriteOutcome> {
  if (name.directoryOnly) throw namesDirectory(name);
  for (let attempt = 1; ; attempt += 1) {
    const entry = await locateForWrite(name, access, options);
    try {
      const written = await replaceEntry(entry, { name, bytes, access, options });
      if (written !== "changed") return written;
      // Someone else wrote after the journal recorded the old content: record again.
      if (attempt === 3) throw stale(name);
    } finally {
      entry.close();
    }
  }
}

/** Throws what writing the file would throw. Missing parents would be created. */
export async function checkWrite(name: PathName, access: FileAccess): Promise<void> {
  if (name.directoryOnly) throw namesDirectory(name);
  try {
    const entry = locateEntry(name, access, { operation: "write", followLast: true });
    try {
      if (entry.stat) requireRegular(name, entry.stat);
      // A file in a folder that is not writable is written in place.
      accessSync(entry.stat ? entry.parent.at(entry.base) : entry.parent.at("."), constants.W_OK);
    } finally {
      entry.close();
    }
  } catch (error) {
    const missing = missingParentOf(error);
    if (missing === null) throw error;
    requireAllowed(name, access, resolveLinks(name.absolute) ?? name.absolute, "write");
  }
}

function namesDirectory(name: PathName): ToolError {
  return toolError("is_directory", `${quotePath(name.given)} names a directory`, { next: "Give the path of a file." });
}

/** The entry to write, with the folders around it. */
export async function locateForWrite(
  name: PathName,
  access: FileAccess,
  { createParents = true, followLast = true }: Pick<WriteOptions, "createParents"> & { followLast?: boolean },
): Promise<Entry> {
  const locate = () => locateEntry(name, access, { operation: "write", followLast });
  try {
    return locate();
  } catch (error) {
    const missing = missingParentOf(error);
    if (missing === null || !createParents) throw error;
    // Checked by name first, so no directory is created before a refusal.
    requireAllowed(name, access, resolveLinks(name.absolute) ?? name.absolute, "write");
    await makeDirectories(name, access, missing);
    return locate();
  }
}

interface WriteJob {
  name: PathName;
  bytes: Uint8Array;
  access: FileAccess;
  options: WriteOptions;
}

async function replaceEntry(entry: Entry, job: WriteJob): Promise<WriteOutcome | "changed"> {
  const { name, access, options } = job;
  if (entry.stat === null) {
    if (options.ifStamp !== undefined) throw stale(name);
    const next = fileOf(job.bytes);
    const recorded = await recordChange(access, { kind: "write", path: entry.real, was: "absent", old: null, next });
    if (!(await publish(entry, job, null))) {
      await recorded.abandon();
      if (options.ifAbsent) throw alreadyExists(name);
      return "changed";
    }
    return outcomeOf(entry, true, null);
  }
  requireRegular(name, entry.stat);
  if (options.ifAbsent) throw alreadyExists(name);
  const file = access.anchoring(entry.parent.at(entry.base), { noFollow: true });
  try {
    if (!file.stat.isFile()) return "changed";
    if (options.ifStamp !== undefined && options.ifStamp !== stampOf(file.stat)) throw stale(name);
    const content = await contentOf(file, entry.parent.at(entry.base));
    const { old } = content;
    const next = fileOf(job.bytes);
    const recorded = await recordChange(access, { kind: "write", path: entry.real, ...content, next });
    const isShared =
      file.stat.nlink > 1n && !removeTwin(entry.parent, entry.base) && (await allNamesAreWritable(file, access));
    const done = isShared ? await writeInPlace(file, job.bytes, old) : await publish(entry, job, { file, old });
    if (!done) {
      await recorded.abandon();
      if (options.ifStamp !== undefined) throw stale(name);
      return "changed";
    }
    return outcomeOf(entry, false, old);
  } finally {
    file.close();
  }
}

/** Returns false, without a change, if the entry is no longer what it was. */
async function publish(
  entry: Entry,
  job: WriteJob,
  replaced: { file: Anchor; old: Buffer | null } | null,
): Promise<boolean> {
  let temporary: ReturnType<typeof createTemporaryFile>;
  try {
    temporary = createTemporaryFile(entry.parent, replaced ? 0o600 : (job.options.mode ?? 0o666));
  } catch (error) {
    if (replaced && isErrno(error) && ["EACCES", "EPERM"].includes(error.code)) {
      return writeInPlace(replaced.file, job.bytes, replaced.old);
    }
    throw error;
  }
  try {
    await writeAll(temporary.fd, job.bytes);
    if (replaced) keepOwnerAndMode(temporary.fd, replaced.file.stat);
    else if (job.options.mode !== undefined) fchmodSync(temporary.fd, job.options.mode);
    await sync(temporary.fd);
    temporary.close();
    const from = entry.parent.at(temporary.name);
    const to = entry.parent.at(entry.base);
    if (!isUnchanged(lstatIfExists(to), replaced?.file.stat ?? null)) return false;
    if (replaced) {
      try {
        renameSync(from, to);
      } catch (error) {
        // A file that is a mount point (as in containers) cannot be renamed over.
        if (!isErrno(error) || error.code !== "EBUSY") throw error;
        return await writeInPlace(replaced.file, job.bytes, replaced.old);
      }
    } else if (!linkOrRename(from, to)) return false;
    await syncDirectory(entry.parent);
    return true;
  } finally {
    temporary.discard();
  }
}

/** Renames without ever replacing; returns false if the target exists. */
export function linkOrRename(from: string, to: string): boolean {
  try {
    linkSync(from, to);
  } catch (error) {
    if (isErrno(error) && error.code === "EEXIST") return false;
    // A file system without hard links (FAT, some network and FUSE file systems): check, then rename.
    if (!isErrno(error) || !["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"].includes(error.code)) throw error;
    if (lstatIfExists(to) !== null) return false;
    renameSync(from, to);
    return true;
  }
  unlinkSync(from);
  return true;
}

async function writeInPlace(file: Anchor, bytes: Uint8Array, old: Buffer | null): Promise<boolean> {
  const fd = file.reopen(constants.O_WRONLY);
  const overwrite = async (content: Uint8Array) => {
    await writeAll(fd, content);
    ftruncateSync(fd, content.byteLength);
    await sync(fd);
  };
  try {
    await overwrite(bytes);
    return true;
  } catch (error) {
    if (old !== null) await overwrite(old).catch(() => {});
    throw error;
  } finally {
    closeSync(fd);
  }
}

async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.byteLength;) {
    written += (await writeAt(fd, bytes, written, bytes.byteLength - written, written)).bytesWritten;
  }
}

export async function syncDirectory(directory: Anchor): Promise<void> {
  const fd = directory.reopen(constants.O_RDONLY);
  try {
    await sync(fd);
  } catch (error) {
    // Some file systems cannot sync a directory. The rename is done anyway.
    if (!isErrno(error) || !["EINVAL", "ENOTSUP", "EPERM"].includes(error.code)) throw error;
  } finally {
    closeSync(fd);
  }
}

export function keepOwnerAndMode(fd: number, stat: BigIntStats): void {
  for (const [uid, gid] of [
    [Number(stat.uid), Number(stat.gid)],
    [-1, Number(stat.gid)],
  ] as const) {
    try {
      fchownSync(fd, uid, gid);
      break;
    } catch {
      // Only root may change the owner; then try to keep the group.
    }
  }
  // After the owner: changing it clears the set-id bits.
  fchmodSync(fd, Number(stat.mode & 0o7777n));
}

function outcomeOf(entry: Entry, created: boolean, old: Buffer | null): WriteOutcome {
  const stat = lstatIfExists(entry.parent.at(entry.base));
  if (stat === null) throw Object.assign(new Error("the file was removed after it was written"), { code: "ENOENT" });
  return { info: infoOf(entry.real, stat), created, old };
}

function isUnchanged(now: BigIntStats | null, before: BigIntStats | null): boolean {
  if (now === null || before === null) return now === before;
  return isSameFile(now, before) && stampOf(now) === stampOf(before);
}

function stale(name: PathName) {
  return toolError(
    "stale",
    `${quotePath(name.given)} was changed by someone else in the meantime; nothing was written`,
    {
      next: "Read it again, then repeat the change.",
    },
  );
}

/** Creates `absolute` and its missing parents, one step at a time from an anchored directory. Returns what it created. */
export async function makeDirectories(name: PathName, access: FileAccess, absolute = name.absolute): Promise<string[]> {
  const created: string[] = [];
  let target = absolute;
  for (let links = 0; links <= MAX_LINKS; links += 1) {
    const { anchor, missing } = anchorDeepest(access, target);
    const moved = await makeBelow(anchor, missing, { name, access, created });
    if (moved === null) return created;
    target = moved;
  }
  throw Object.assign(new Error("too many links"), { code: "ELOOP" });
}

function anchorDeepest(access: FileAccess, absolute: string): { anchor: Anchor; missing: string[] } {
  const missing: string[] = [];
  for (let path = absolute; ; path = dirname(path)) {
    try {
      return { anchor: access.anchoring(path, { directory: true }), missing };
    } catch (error) {
      if (!isMissing(error) || path === "/") throw error;
      missing.unshift(basename(path));
    }
  }
}

/** Returns null when done, or the path to continue with if a dangling link led elsewhere. */
async function makeBelow(
  start: Anchor,
  missing: readonly string[],
  { name, access, created }: { name: PathName; access: FileAccess; created: string[] },
): Promise<string | null> {
  let anchor = start;
  try {
    // The whole path is checked first, so nothing is created before a refusal.
    requireAllowed(name, access, join(anchor.real, ...missing), "write");
    for (const [index, base] of missing.entries()) {
      const path = join(anchor.real, base);
      const stat = lstatIfExists(anchor.at(base));
      if (stat?.isSymbolicLink()) {
        return resolve(anchor.real, readlinkSync(anchor.at(base)), ...missing.slice(index + 1));
      }
      if (stat === null) {
        requireAllowed(name, access, path, "write");
        const recorded = await recordChange(access, {
          kind: "make_directory",
          path,
          was: "absent",
          old: null,
          next: { kind: "directory" },
        });
        if (makeOne(anchor.at(base))) created.push(path);
        else await recorded.abandon();
      }
      const next = access.anchoring(anchor.at(base), { directory: true, noFollow: true });
      anchor.close();
      anchor = next;
    }
    return null;
  } finally {
    anchor.close();
  }
}

/** Returns false if it exists by now. */
function makeOne(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if (isErrno(error) && error.code === "EEXIST") return false;
    throw error;
  }
}

const MAX_SEARCHED_ENTRIES = 50_000;

/** Whether all hard links lie in the workspace and may be written; else a write in place changes something else. */
async function allNamesAreWritable(file: Anchor, access: FileAccess): Promise<boolean> {
  let missing = Number(file.stat.nlink);
  let left = MAX_SEARCHED_ENTRIES;
  const pending = [access.policy.workspace, dirname(file.real)];
  const visited = new Set<string>();
  // The file's own folder comes first: it usually has the other links.
  for (let path = pending.pop(); path !== undefined && missing > 0 && left > 0; path = pending.pop()) {
    if (visited.has(path)) continue;
    visited.add(path);
    const directory = anchorIfExists(path, access);
    if (directory === null) continue;
    try {
      for (const entry of await readdir(directory.at("."), { withFileTypes: true })) {
        left -= 1;
        if (entry.isDirectory()) pending.push(join(path, entry.name));
        const stat = entry.isFile() ? lstatIfExists(directory.at(entry.name)) : null;
        if (stat === null || !isSameFile(stat, file.stat)) continue;
        if (checkPath(access.policy, join(path, entry.name), "write") === null) missing -= 1;
      }
    } finally {
      directory.close();
    }
  }
  return missing <= 0;
}

function anchorIfExists(path: string, { anchoring }: FileAccess): Anchor | null {
  try {
    const anchor = anchoring(path, { directory: true, noFollow: true });
    if (anchor.real === path) return anchor;
    anchor.close();
  } catch {
    // Treat a folder that cannot be read as empty.
  }
  return null;
}

/** What the journal needs to restore an entry; `path` names the entry itself. */
export async function contentOf(held: Anchor, path: string): Promise<OldEntry> {
  const was = kindOf(held.stat);
  const mode = Number(held.stat.mode & 0o7777n);
  if (was === "symlink") return { was, old: null, linkTarget: readlinkSync(path) };
  if (was !== "file") return { was, old: null, mode };
  if (held.stat.size > BigInt(MAX_UNDO_BYTES)) return { was, old: null, omitted: "too_large", mode };
  const file = openFileOf(held.reopen(constants.O_RDONLY), held.real);
  try {
    const old = await readAll(file, { maxBytes: MAX_UNDO_BYTES });
    return { was, old, mode, omitted: old === null ? "too_large" : undefined };
  } finally {
    file.close();
  }
}

/** The same as a state; also works for a file that is too large or not readable. */
export async function describeEntry(held: Anchor, path: string): Promise<EntryState & { bytes?: Buffer }> {
  const { size, mtimeNs } = held.stat;
  let content: OldEntry;
  try {
    content = await contentOf(held, path);
  } catch (error) {
    if (!isErrno(error) || !["EACCES", "EPERM"].includes(error.code)) throw error;
    content = { was: "file", old: null, mode: Number(held.stat.mode & 0o7777n) };
  }
  const state = stateBefore(content);
  if (state.kind !== "file") return state;
  return content.old ? { ...state, bytes: content.old } : { ...state, size: Number(size), modified: String(mtimeNs) };
}
