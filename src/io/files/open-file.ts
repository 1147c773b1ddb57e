import { type BigIntStats, closeSync, constants, fstatSync, read, readSync } from "node:fs";
import { promisify } from "node:util";
import { toolError } from "../../core/error.ts";
import { anchorPath, type FileAccess, requireRegular } from "./path-anchor.ts";
import { type PathName, quotePath } from "./path-name.ts";
import type { EntryKind } from "./undo-store.ts";

const readAt = promisify(read);

/** An open and checked regular file. Reads use the descriptor, so a change of the name has no effect. */
export interface OpenFile {
  readonly info: FileInfo;
  /** Fills the buffer from `position`. Returns fewer bytes only at the end of the file. */
  read(buffer: Buffer, position: number): Promise<number>;
  /** One synchronous system call, for data that is probably cached. May return fewer bytes. */
  readNow(buffer: Buffer, position: number): number;
  close(): void;
}

export interface ReadWholeOptions {
  maxBytes?: number;
  signal?: AbortSignal;
}

/** Bytes between two checks of the abort signal. */
const STEP_BYTES = 16 * 1024 * 1024;
const SMALL_BYTES = 64 * 1024;

const DEFAULT_MAX_BYTES = 50 * 1024 * 1024;

export function openForRead(name: PathName, access: FileAccess): OpenFile {
  const anchor = anchorPath(name, access, "read");
  try {
    requireRegular(name, anchor.stat);
    return openFileOf(anchor.reopen(constants.O_RDONLY), anchor.real, anchor.stat);
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

/** Reads all bytes, even if the file grows in the meantime. Returns null above `maxBytes`. */
export async function readAll(
  file: OpenFile,
  { maxBytes, signal }: { maxBytes: number; signal?: AbortSignal },
): Promise<Buffer | null> {
  // One byte more than expected: a read that does not fill it has reached the end.
  let buffer = Buffer.allocUnsafe(Math.min(file.info.size, maxBytes) + 1);
  let filled = 0;
  for (;;) {
    signal?.throwIfAborted();
    const step = buffer.subarray(filled, filled + STEP_BYTES);
    // Reading a small file costs less than a round trip to the thread pool.
    const got = step.length <= SMALL_BYTES ? file.readNow(step, filled) : await file.read(step, filled);
    filled += got;
    if (filled > maxBytes) return null;
    if (got === 0 || (got < step.length && step.length > SMALL_BYTES)) return buffer.subarray(0, filled);
    if (filled === buffer.length) buffer = Buffer.concat([buffer, Buffer.allocUnsafe(Math.max(SMALL_BYTES, filled))]);
  }
}

/** Takes ownership of the descriptor. */
export function openFileOf(fd: number, real: string, stat = fstatSync(fd, { bigint: true })): OpenFile {
  let isOpen = true;
  return {
    info: infoOf(real, stat),
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
      if (isOpen) closeSync(fd);
      isOpen = false;
    },
  };
}

/** A file whose content is in memory. */
export function openBytes(info: FileInfo, bytes: Buffer): OpenFile {
  const readNow = (buffer: Buffer, position: number): number => bytes.copy(buffer, 0, position);
  return { info, read: async (buffer, position) => readNow(buffer, position), readNow, close: () => {} };
}

function tooLarge(name: PathName, size: number, maxBytes: number) {
  return toolError("too_large", `${quotePath(name.given)} has ${size} bytes. At most ${maxBytes} can be read at once`, {
    next: "Read a range of its lines, or search in it.",
    data: { size, maxBytes },
  });
}

export interface FileInfo {
  /** The real path. */
  real: string;
  type: EntryKind;
  size: number;
  /** Permission bits. */
  mode: number;
  modifiedMs: number;
  createdMs: number;
  /** Number of hard links. Others may lie outside the allowed paths. */
  links: number;
  /** Changes when the content may have changed: device, inode, size and time. Permissions do not affect it. */
  stamp: string;
  /** As `stamp`, and with the time that no program can set: if it is equal, nothing in the file has changed. */
  state: string;
  /** When that was. */
  changedMs: number;
  /** The target as written in the link, if the path named a symbolic link. */
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
    state: `${stampOf(stat)}:${stat.ctimeNs}`,
    changedMs: Number(stat.ctimeMs),
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
