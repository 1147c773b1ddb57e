import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  type BigIntStats,
} from "node:fs";
import { basename, dirname, join } from "node:path";

/** Linux: a descriptor that names a file without opening it, so that no device, FIFO or mount feels the look. */
const O_PATH = 0o10000000;
const { O_DIRECTORY, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** A file or directory held fast: whatever happens to its name afterwards, this is what was judged. */
export interface Anchor {
  /** Where it really lies, told by the descriptor. */
  readonly real: string;
  readonly stat: BigIntStats;
  /** A path to an entry of this directory that does not go through the directory's name. */
  at(name: string): string;
  /** A path to this directory itself, good for a child process's working directory while the anchor is open. */
  readonly path: string;
  /** Opens exactly this file. */
  reopen(flags: number): number;
  close(): void;
}

export interface AnchorOptions {
  directory?: boolean;
  /** Take a symbolic link at the end as itself. */
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
 * Where there is no /proc/self/fd (macOS, BSD). Weaker: the name is verified before and a read's descriptor after each
 * use, so a swapped directory is noticed on every read, but between the verification of a directory and a create,
 * rename or unlink in it a gap of microseconds stays open.
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

/** The kernel marks an unlinked file by a suffix that a file may also carry as its name. */
function isStillLinked(real: string, stat: BigIntStats): boolean {
  try {
    return isSameFile(lstatSync(real, { bigint: true }), stat);
  } catch {
    return false;
  }
}

function vanished(path: string): Error {
  return Object.assign(new Error(`${path} was replaced while it was opened`), { code: "ENOENT" });
}
