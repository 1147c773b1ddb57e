import { type BigIntStats, closeSync, constants, fstatSync, read, readSync } from "node:fs";
import { promisify } from "node:util";
import { toolError } from "../../core/error.ts";
import { anchorPath, type FileAccess, requireRegular } from "./path-anchor.ts";
import { type PathName, quotePath } from "./path-name.ts";
import type { EntryKind } from "./undo-store.ts";

const readAt = promisify(read);

/** A regular file, opened and judged; reads go to the descriptor, whatever becomes of the name. */
export interface OpenFile {
  readonly info: FileInfo;
  /** Fills the buffer from `position`; fewer bytes than asked only at the end of the file. */
  read(buffer: Buffer, position: number): Promise<number>;
  /** One system call on the calling thread: for scans of what is likely in memory already. May give fewer bytes. */
  readNow(buffer: Buffer, position: number): number;
  close(): void;
}

export interface ReadWholeOptions {
  maxBytes?: number;
  signal?: AbortSignal;
}

/** Between two looks at the abort signal. */
const STEP_BYTES = 16 * 1024 * 1024;
const SMALL_BYTES = 64 * 1024;

const DEFAULT_MAX_BYTES = 50 * 1024 * 1024;

export function openForRead(name: PathName, access: FileAccess): OpenFile {
  const anchor = anchorPath(name, access, "read");
  try {
    requireRegular(name, anchor.stat);
    return openFileOf(anchor.reopen(constants.O_RDONLY), anchor.real);
  } finally {
    anchor.close();
  }
}

export async function readWhole(
  name: PathName,
  access: FileAccess,
  { maxBytes = DEFAULT_MAX_BYTES, signal }: ReadWholeOptions = {},
): Promise<{ bytes: Buffer; info: FileInfo }> {
  const file = openForRead(name, access);
  try {
    if (file.info.size > maxBytes) throw tooLarge(name, file.info.size, maxBytes);
    const bytes = await readAll(file, { maxBytes, signal });
    if (bytes === null) throw tooLarge(name, file.info.size, maxBytes);
    return { bytes, info: file.info };
  } finally {
    file.close();
  }
}

/** All bytes there are, also of a file that grows meanwhile; null beyond `maxBytes`. */
export async function readAll(
  file: OpenFile,
  { maxBytes, signal }: { maxBytes: number; signal?: AbortSignal },
): Promise<Buffer | null> {
  // One byte more than expected: a read that leaves it free has seen the end.
  let buffer = Buffer.allocUnsafe(Math.min(file.info.size, maxBytes) + 1);
  let filled = 0;
  for (;;) {
    signal?.throwIfAborted();
    const step = buffer.subarray(filled, filled + STEP_BYTES);
    // A small file costs less than the way to the thread pool and back.
    const got = step.length <= SMALL_BYTES ? file.readNow(step, filled) : await file.read(step, filled);
    filled += got;
    if (filled > maxBytes) return null;
    if (got === 0 || (got < step.length && step.length > SMALL_BYTES)) return buffer.subarray(0, filled);
    if (filled === buffer.length) buffer = Buffer.concat([buffer, Buffer.allocUnsafe(Math.max(SMALL_BYTES, filled))]);
  }
}

/** Takes the descriptor over. */
export function openFileOf(fd: number, real: string): OpenFile {
  let open = true;
  return {
    info: infoOf(real, fstatSync(fd, { bigint: true })),
    read: async (buffer, position) => {
      let filled = 0;
      while (filled < buffer.length) {
        const { bytesRead } = await readAt(fd, buffer, filled, buffer.length - filled, position + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return filled;
    },
    readNow: (buffer, position) => readSync(fd, buffer, 0, buffer.length, position),
    close: () => {
      if (open) closeSync(fd);
      open = false;
    },
  };
}

function tooLarge(name: PathName, size: number, maxBytes: number) {
  return toolError(
    "too_large",
    `${quotePath(name.given)} has ${size} bytes, more than the ${maxBytes} that are read at once`,
    {
      next: "Read a range of lines of it, or search in it.",
      data: { size, maxBytes },
    },
  );
}

export interface FileInfo {
  /** Where it really lies. */
  real: string;
  type: EntryKind;
  size: number;
  /** Permission bits. */
  mode: number;
  modifiedMs: number;
  createdMs: number;
  /** More than one: other names share the content, perhaps outside the allowed paths. That cannot be seen from here. */
  links: number;
  /** Changes when the content may have: device, inode, size and time of change. Not when only permissions do. */
  stamp: string;
  /** Where the link leads, as written in it, when the path named a symbolic link. */
  linkTarget?: string;
}

export function infoOf(real: string, stat: BigIntStats): FileInfo {
  return {
    real,
    type: kindOf(stat),
    size: Number(stat.size),
    mode: Number(stat.mode & 0o7777n),
    modifiedMs: Number(stat.mtimeMs),
    createdMs: Number(stat.birthtimeMs),
    links: Number(stat.nlink),
    stamp: stampOf(stat),
  };
}

export function stampOf(stat: BigIntStats): string {
  return `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}`;
}

export function kindOf(stat: BigIntStats): EntryKind {
  if (stat.isFile()) return "file";
  if (stat.isDirectory()) return "directory";
  return stat.isSymbolicLink() ? "symlink" : "other";
}
