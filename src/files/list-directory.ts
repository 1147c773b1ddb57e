import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Anchor } from "./anchoring.ts";
import { infoOf, type FileInfo } from "./file-info.ts";
import { anchorPath, lstatIfExists, notDirectory, type FileAccess } from "./locate-entry.ts";
import type { PathName } from "./path-name.ts";
import { isTemporaryName } from "./temporary-file.ts";
import type { EntryKind } from "./undo-journal.ts";

export interface DirectoryEntry {
  name: string;
  type: EntryKind;
  /** Of the entry itself, links not followed; only when asked for, and absent when the entry is just gone. */
  info?: FileInfo;
}

/** A directory held fast; `path` may be a child process's working directory until it is closed. */
export interface OpenDirectory {
  readonly real: string;
  readonly path: string;
  close(): void;
}

export function openDirectory(name: PathName, access: FileAccess): OpenDirectory {
  const { real, path, close } = anchorDirectory(name, access);
  return { real, path, close };
}

/** Sorted by name; links are not followed, and one entry that cannot be looked at does not lose the others. */
export async function listDirectory(
  name: PathName,
  access: FileAccess,
  { withInfo = false } = {},
): Promise<DirectoryEntry[]> {
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
    return withInfo ? entries.map((entry) => ({ ...entry, ...infoIn(directory, entry.name) })) : entries;
  } finally {
    directory.close();
  }
}

function infoIn(directory: Anchor, name: string): { info?: FileInfo } {
  try {
    const stat = lstatIfExists(directory.at(name));
    return stat === null ? {} : { info: infoOf(join(directory.real, name), stat) };
  } catch {
    return {};
  }
}

function anchorDirectory(name: PathName, access: FileAccess): Anchor {
  const directory = anchorPath(name, access, "read");
  if (directory.stat.isDirectory()) return directory;
  directory.close();
  throw notDirectory(name);
}
