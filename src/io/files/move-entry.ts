import {
  closeSync,
  constants,
  fchmodSync,
  fsync,
  futimesSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  write,
} from "node:fs";
import { readdir } from "node:fs/promises";
import { promisify } from "node:util";
import { toolError } from "../../core/error.ts";
import {
  contentOf,
  describeEntry,
  keepOwnerAndMode,
  linkOrRename,
  locateForWrite,
  syncDirectory,
} from "./atomic-write.ts";
import { checkTree, locateExisting, refuseRoot, removeTree } from "./delete-entry.ts";
import { alreadyExists, explainFailure, isErrno } from "./file-errors.ts";
import { type FileInfo, infoOf, kindOf, openFileOf } from "./open-file.ts";
import {
  type Anchor,
  type Entry,
  type FileAccess,
  isSameFile,
  locateEntry,
  lstatIfExists,
  missingParentOf,
  notDirectory,
  requireAllowed,
} from "./path-anchor.ts";
import { foldName, type PathName, quotePath, resolveLinks } from "./path-name.ts";
import { isInside } from "./path-policy.ts";
import { createTemporaryFile, temporaryName } from "./temporary-file.ts";
import { type EntryState, recordChange } from "./undo-store.ts";

export interface MoveOptions {
  /** Replace an existing file. A directory is never replaced. */
  overwrite?: boolean;
  /** Create missing parent directories of the target. Default: true. */
  createParents?: boolean;
}

type ExistingEntry = Entry & { stat: NonNullable<Entry["stat"]> };

/** Source and target are anchored before they are checked. Links are moved as links. */
export async function moveEntry(
  { from, to }: { from: PathName; to: PathName },
  access: FileAccess,
  options: MoveOptions = {},
): Promise<{ from: string; info: FileInfo }> {
  const source = locateExisting(from, access);
  try {
    refuseRoot(from, source.real, access);
    const target = await locateTarget(to, access, options);
    try {
      const { sameFile, byRename } = checkEntries({ source, target, from, to }, options);
      if (source.stat.isDirectory()) await checkTree(source, { name: from, access, to: target.real });
      const replaced =
        target.stat && !sameFile ? await contentAt(target, access) : ({ was: "absent", old: null } as const);
      const next = await stateAt(source, access);
      const recorded = await recordChange(access, {
        kind: "move",
        path: source.real,
        to: target.real,
        ...replaced,
        next,
      });
      const now = lstatIfExists(source.parent.at(source.base));
      if (now === null || !isSameFile(now, source.stat)) {
        await recorded.abandon();
        throw toolError("stale", `${quotePath(from.given)} was replaced by someone else in the meantime`, {
          next: "Check it again, then repeat.",
        });
      }
      try {
        await relocate({ source, target, to }, access, byRename);
      } catch (error) {
        const there = lstatIfExists(source.parent.at(source.base));
        if (there !== null && isSameFile(there, now)) await recorded.abandon();
        throw error;
      }
      await Promise.all([syncDirectory(source.parent), syncDirectory(target.parent)]);
      return { from: source.real, info: infoOf(target.real, lstatIfExists(target.parent.at(target.base)) ?? now) };
    } finally {
      target.close();
    }
  } finally {
    source.close();
  }
}

async function locateTarget(to: PathName, access: FileAccess, { createParents }: MoveOptions): Promise<Entry> {
  try {
    return await locateForWrite(to, access, { createParents, followLast: false });
  } catch (error) {
    throw explainFailure(error, to, { policy: access.policy, operation: "write" });
  }
}

interface Move {
  source: ExistingEntry;
  target: Entry;
  from: PathName;
  to: PathName;
}

/** Throws what the move would throw. Missing parents of the target would be created. */
export async function checkMove(
  { from, to }: { from: PathName; to: PathName },
  access: FileAccess,
  options: MoveOptions = {},
): Promise<void> {
  const source = locateExisting(from, access);
  try {
    refuseRoot(from, source.real, access);
    const target = locateOrMissing(to, access, options);
    try {
      if (target) checkEntries({ source, target, from, to }, options);
      const real = target?.real ?? resolveLinks(to.absolute) ?? to.absolute;
      if (source.stat.isDirectory()) await checkTree(source, { name: from, access, to: real });
    } finally {
      target?.close();
    }
  } finally {
    source.close();
  }
}

/** Undefined if the parent of the target is missing and would be created. */
function locateOrMissing(to: PathName, access: FileAccess, { createParents = true }: MoveOptions): Entry | undefined {
  try {
    return locateEntry(to, access, { operation: "write", followLast: false });
  } catch (error) {
    if (missingParentOf(error) === null || !createParents) {
      throw explainFailure(error, to, { policy: access.policy, operation: "write" });
    }
    requireAllowed(to, access, resolveLinks(to.absolute) ?? to.absolute, "write");
    return undefined;
  }
}

function checkEntries({ source, target, from, to }: Move, { overwrite = false }: MoveOptions) {
  const isDirectory = source.stat.isDirectory();
  if (target.real === source.real) {
    throw toolError("no_change", `${quotePath(from.given)} and ${quotePath(to.given)} are the same file`, {
      next: "Give another target.",
    });
  }
  if (isDirectory && isInside(target.real, source.real)) {
    throw toolError("invalid_input", `${quotePath(from.given)} cannot be moved into itself`, {
      next: "Give a target outside it.",
    });
  }
  if (to.directoryOnly && target.stat === null && !isDirectory) throw notDirectory(to);
  // On a case-insensitive file system, another spelling of the name finds the file itself.
  const sameFile =
    target.stat !== null &&
    isSameFile(target.stat, source.stat) &&
    source.stat.nlink === 1n &&
    isSameFile(target.parent.stat, source.parent.stat) &&
    foldName(target.base) === foldName(source.base);
  if (target.stat !== null && !sameFile) {
    if (!overwrite) throw alreadyExists(to);
    if (target.stat.isDirectory() || isDirectory) {
      throw toolError(
        "path_exists",
        `${quotePath(to.given)} exists. A directory cannot be replaced and cannot replace a file`,
        {
          next: "Delete it first, or choose another target.",
        },
      );
    }
  }
  return { sameFile, byRename: overwrite || sameFile || !source.stat.isFile() };
}

async function relocate(
  { source, target, to }: Omit<Move, "from">,
  access: FileAccess,
  byRename: boolean,
): Promise<void> {
  const putAtTarget = (from: string) => {
    if (byRename) renameSync(from, target.parent.at(target.base));
    else if (!linkOrRename(from, target.parent.at(target.base))) throw alreadyExists(to);
  };
  try {
    return putAtTarget(source.parent.at(source.base));
  } catch (error) {
    if (!isErrno(error) || error.code !== "EXDEV") throw error;
  }
  // Another file system: make a synced copy, then remove the original.
  const name = temporaryName();
  try {
    await copyEntry({ directory: source.parent, name: source.base }, { directory: target.parent, name }, access);
    putAtTarget(target.parent.at(name));
  } catch (error) {
    await removeAny(target.parent, name, access);
    throw error;
  }
  await syncDirectory(target.parent);
  await removeAny(source.parent, source.base, access);
}

/** Not recorded: it is part of the move. */
async function removeAny(parent: Entry["parent"], base: string, access: FileAccess): Promise<void> {
  const stat = lstatIfExists(parent.at(base));
  if (stat?.isDirectory()) await removeTree(parent, base, access, { record: false });
  else if (stat !== null) unlinkSync(parent.at(base));
}

async function contentAt(entry: Entry, access: FileAccess) {
  const held = access.anchoring(entry.parent.at(entry.base), { noFollow: true });
  try {
    return await contentOf(held, entry.parent.at(entry.base));
  } finally {
    held.close();
  }
}

/** A move does not destroy the content of its source, so only the state is recorded. */
async function stateAt(entry: Entry, access: FileAccess): Promise<EntryState> {
  const held = access.anchoring(entry.parent.at(entry.base), { noFollow: true });
  try {
    const { bytes: _, ...state } = await describeEntry(held, entry.parent.at(entry.base));
    return state;
  } finally {
    held.close();
  }
}

const writeAt = promisify(write);
const sync = promisify(fsync);
const CHUNK_BYTES = 1024 * 1024;

interface DirectoryEntry {
  directory: Anchor;
  name: string;
}

/** Copies an entry recursively to a new name, with mode, owner and times, and syncs it. Links stay links. */
async function copyEntry(from: DirectoryEntry, to: DirectoryEntry, access: FileAccess): Promise<void> {
  const held = access.anchoring(from.directory.at(from.name), { noFollow: true });
  try {
    switch (kindOf(held.stat)) {
      case "file":
        return await copyFile(held, to);
      case "symlink":
        return symlinkSync(readlinkSync(from.directory.at(from.name)), to.directory.at(to.name));
      case "directory":
        return await copyDirectory(held, to, access);
      case "other":
        throw toolError("not_regular_file", "A FIFO, socket or device cannot be moved to another file system", {
          next: "Do not move it.",
        });
    }
  } finally {
    held.close();
  }
}

async function copyFile(held: Anchor, to: DirectoryEntry): Promise<void> {
  const source = openFileOf(held.reopen(constants.O_RDONLY), held.real);
  try {
    const copy = createTemporaryFile(to.directory, 0o600, to.name);
    try {
      const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
      for (let position = 0, got = CHUNK_BYTES; got === CHUNK_BYTES; position += got) {
        got = await source.read(buffer, position);
        for (let written = 0; written < got;) {
          written += (await writeAt(copy.fd, buffer, written, got - written, position + written)).bytesWritten;
        }
      }
      keepOwnerAndMode(copy.fd, held.stat);
      futimesSync(copy.fd, Number(held.stat.atimeNs) / 1e9, Number(held.stat.mtimeNs) / 1e9);
      await sync(copy.fd);
      copy.close();
    } catch (error) {
      copy.discard();
      throw error;
    }
  } finally {
    source.close();
  }
}

async function copyDirectory(held: Anchor, to: DirectoryEntry, access: FileAccess): Promise<void> {
  mkdirSync(to.directory.at(to.name), 0o700);
  const target = access.anchoring(to.directory.at(to.name), { directory: true, noFollow: true });
  try {
    for (const name of await readdir(held.at("."))) {
      await copyEntry({ directory: held, name }, { directory: target, name }, access);
    }
    const fd = target.reopen(constants.O_RDONLY);
    try {
      fchmodSync(fd, Number(held.stat.mode & 0o7777n));
    } finally {
      closeSync(fd);
    }
    await syncDirectory(target);
  } finally {
    target.close();
  }
}
