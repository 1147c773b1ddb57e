import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { attempt, toolError } from "../../core/error.ts";
import { deniedPath, isMissing } from "./file-errors.ts";
import { MAX_LINKS, type PathName, quotePath } from "./path-name.ts";
import { checkPath, type PathOperation, type PathPolicy } from "./path-policy.ts";
import type { ChangeMaker, UndoJournal } from "./undo-store.ts";

/** The context of every file operation. */
export interface FileAccess extends ChangeMaker {
  policy: PathPolicy;
  anchoring: Anchoring;
  journal: UndoJournal;
  clock: () => number;
}

/** An entry of an anchored directory. The entry itself may not exist. */
export interface Entry {
  parent: Anchor;
  base: string;
  real: string;
  /** Of the entry itself, links not followed; null if it does not exist. */
  stat: BigIntStats | null;
  close(): void;
}

/** Anchors the target of the name and checks its real path against the policy. */
export function anchorPath(
  name: PathName,
  access: FileAccess,
  operation: PathOperation,
  options?: AnchorOptions,
): Anchor {
  const anchor = access.anchoring(name.absolute, options);
  try {
    requireAllowed(name, access, anchor.real, operation);
    if (name.directoryOnly && !anchor.stat.isDirectory()) throw notDirectory(name);
    return anchor;
  } catch (error) {
    anchor.close();
    throw error;
  }
}

/**
 * Anchors the parent directory of the name, so a create, rename or unlink happens in the directory that was checked.
 * With `followLast` a link at the end is followed, too.
 */
export function locateEntry(
  name: PathName,
  access: FileAccess,
  { operation, followLast }: { operation: PathOperation; followLast: boolean },
): Entry {
  let absolute = name.absolute;
  for (let links = 0; links <= MAX_LINKS; links += 1) {
    const base = basename(absolute);
    if (base === "")
      throw toolError("is_directory", `${quotePath(name.given)} is the root directory`, {
        next: "Give a path below it.",
      });
    const parent = anchorParent(access, dirname(absolute));
    try {
      const stat = lstatIfExists(parent.at(base));
      if (followLast && stat?.isSymbolicLink()) {
        absolute = resolve(parent.real, readlinkSync(parent.at(base)));
        parent.close();
        continue;
      }
      const real = join(parent.real, base);
      requireAllowed(name, access, real, operation);
      if (name.directoryOnly && stat && !stat.isDirectory()) throw notDirectory(name);
      return { parent, base, real, stat, close: parent.close };
    } catch (error) {
      parent.close();
      throw error;
    }
  }
  throw Object.assign(new Error("too many links"), { code: "ELOOP" });
}

/** The missing parent directory if `locateEntry` failed for that reason, else null. */
export function missingParentOf(thrown: unknown): string | null {
  return thrown instanceof MissingParent ? thrown.path : null;
}

export function requireAllowed(name: PathName, access: FileAccess, real: string, operation: PathOperation): void {
  const refusal = checkPath(access.policy, real, operation);
  if (refusal !== null) throw deniedPath(name, refusal, access.policy);
}

export function lstatIfExists(path: string): BigIntStats | null {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
}

export function requireRegular(name: PathName, stat: BigIntStats): void {
  if (stat.isFile()) return;
  if (stat.isDirectory()) {
    throw toolError("is_directory", `${quotePath(name.given)} is a directory`, {
      next: "Give the path of a file in it.",
    });
  }
  throw toolError("not_regular_file", `${quotePath(name.given)} is not a regular file (a FIFO, socket or device)`, {
    next: "Use an ordinary file.",
  });
}

export function notDirectory(name: PathName) {
  return toolError("not_directory", `Not a directory: ${quotePath(name.given)}`, {
    next: "Give the path of a directory.",
  });
}

/** An ENOENT that names the missing directory. */
class MissingParent extends Error {
  readonly code = "ENOENT";
  readonly path: string;

  constructor(path: string, cause: unknown) {
    super("the parent directory does not exist", { cause });
    this.path = path;
  }
}

function anchorParent(access: FileAccess, path: string): Anchor {
  try {
    return access.anchoring(path, { directory: true });
  } catch (error) {
    throw isMissing(error) ? new MissingParent(path, error) : error;
  }
}

/** Linux: a descriptor that refers to a file without opening it, so devices, FIFOs and mounts are not affected. */
const O_PATH = 0o10000000;
const { O_DIRECTORY, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** A handle of a file or directory. It stays valid if the name is changed after the check. */
export interface Anchor {
  /** The real path, read from the descriptor. */
  readonly real: string;
  readonly stat: BigIntStats;
  /** A path to an entry of this directory that does not depend on the directory's name. */
  at(name: string): string;
  /** A path to this directory that child processes can use while the anchor is open. */
  readonly path: string;
  /** Opens exactly this file. */
  reopen(flags: number): number;
  close(): void;
}

interface AnchorOptions {
  directory?: boolean;
  /** Do not follow a symbolic link at the end. */
  noFollow?: boolean;
}

export type Anchoring = (path: string, options?: AnchorOptions) => Anchor;

export const anchorByDescriptor: Anchoring = (path, { directory = false, noFollow = false } = {}) => {
  const fd = openSync(path, O_PATH | (directory ? O_DIRECTORY : 0) | (noFollow ? O_NOFOLLOW : 0));
  try {
    const link = `/proc/self/fd/${fd}`;
    const real = readlinkSync(link);
    const stat = fstatSync(fd, { bigint: true });
    if (!real.startsWith("/") || (real.endsWith(" (deleted)") && !isStillLinked(real, stat))) throw vanished(path);
    const own = `/proc/${process.pid}/fd/${fd}`;
    return {
      real,
      stat,
      path: own,
      at: (name) => `${link}/${name}`,
      reopen: (flags) => openSync(link, flags | O_NONBLOCK | O_NOCTTY),
      close: () => closeSync(fd),
    };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
};

/**
 * For systems without /proc/self/fd (macOS, BSD). Weaker: the name is verified before each use, and the descriptor
 * after each open. So every read notices a swapped directory, but between the verification and a create, rename or
 * unlink there is a gap of microseconds.
 */
export const anchorByName: Anchoring = (path, { directory = false, noFollow = false } = {}) => {
  const real = noFollow ? join(realpathSync(dirname(path)), basename(path)) : realpathSync.native(path);
  const stat = lstatSync(real, { bigint: true });
  if (directory && !stat.isDirectory()) throw Object.assign(new Error("not a directory"), { code: "ENOTDIR" });
  const verify = () => {
    const parent = dirname(real);
    const now = lstatSync(real, { bigint: true });
    if (realpathSync.native(parent) !== parent || !isSameFile(now, stat)) throw vanished(path);
  };
  return {
    real,
    stat,
    path: real,
    at: (name) => {
      verify();
      return join(real, name);
    },
    reopen: (flags) => {
      const fd = openSync(real, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
      try {
        if (!isSameFile(fstatSync(fd, { bigint: true }), stat)) throw vanished(path);
        verify();
        return fd;
      } catch (error) {
        closeSync(fd);
        throw error;
      }
    },
    close: () => {},
  };
};

let detected: Anchoring | undefined;

export function detectAnchoring(): Anchoring {
  detected ??= descriptorsHavePaths() ? anchorByDescriptor : anchorByName;
  return detected;
}

export function isSameFile(a: BigIntStats, b: BigIntStats): boolean {
  return a.ino === b.ino && a.dev === b.dev;
}

function descriptorsHavePaths(): boolean {
  if (process.platform !== "linux") return false;
  try {
    const anchor = anchorByDescriptor("/", { directory: true });
    const works = anchor.real === "/" && lstatSync(anchor.at(".")).isDirectory();
    anchor.close();
    return works;
  } catch {
    return false;
  }
}

/** The kernel appends " (deleted)" to unlinked files, but a file name may also end like that. */
function isStillLinked(real: string, stat: BigIntStats): boolean {
  return attempt(() => isSameFile(lstatSync(real, { bigint: true }), stat), false);
}

function vanished(path: string): Error {
  return Object.assign(new Error(`${path} was replaced while it was being opened`), { code: "ENOENT" });
}
