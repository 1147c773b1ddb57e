import {
  closeSync,
  constants,
  fchmodSync,
  fsync,
  futimesSync,
  mkdirSync,
  readlinkSync,
  symlinkSync,
  write,
} from "node:fs";
import { readdir } from "node:fs/promises";
import { promisify } from "node:util";
import { toolError } from "../core/error.ts";
import type { Anchor } from "./anchoring.ts";
import { kindOf } from "./file-info.ts";
import type { FileAccess } from "./locate-entry.ts";
import { openFileOf } from "./open-file.ts";
import { createTemporaryFile } from "./temporary-file.ts";
import { keepOwnerAndMode, syncDirectory } from "./write-atomic.ts";

const writeAt = promisify(write);
const sync = promisify(fsync);
const CHUNK_BYTES = 1024 * 1024;

interface CopyTarget {
  directory: Anchor;
  name: string;
}

/** Copies an entry, with all below it, to a free place: synced, with mode, owner and times; links as links. */
export async function copyEntry(from: CopyTarget, to: CopyTarget, access: FileAccess): Promise<void> {
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
          next: "Leave it where it is.",
        });
    }
  } finally {
    held.close();
  }
}

async function copyFile(held: Anchor, to: CopyTarget): Promise<void> {
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

async function copyDirectory(held: Anchor, to: CopyTarget, access: FileAccess): Promise<void> {
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
