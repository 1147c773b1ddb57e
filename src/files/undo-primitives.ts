import { closeSync, constants, fchmodSync, mkdirSync, symlinkSync } from "node:fs";
import { toolError } from "../core/error.ts";
import { isErrno, isMissing } from "./explain-failure.ts";
import { stampOf } from "./file-info.ts";
import { locateEntry, type FileAccess } from "./locate-entry.ts";
import { describeEntry } from "./old-content.ts";
import { quotePath, type PathName } from "./path-name.ts";
import { type EntryState, recordChange } from "./undo-journal.ts";
import { syncDirectory } from "./write-atomic.ts";

export interface FoundEntry {
  real: string;
  state: EntryState & { bytes?: Buffer };
  /** As `FileInfo` has it; empty where nothing stands. */
  stamp: string;
}

/** What stands at the path itself, links not followed. */
export async function entryAt(name: PathName, access: FileAccess): Promise<FoundEntry> {
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

/** Makes one directory with exactly these permissions, or a link, where nothing stands. */
export async function makeEntry(
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
      throw toolError("path_exists", `${quotePath(name.given)} already exists`, { next: "Look again, then repeat." });
    }
    if (what.kind === "directory" && what.mode !== undefined) chmodDirectory(entry, what.mode, access);
    await syncDirectory(entry.parent);
  } finally {
    entry.close();
  }
}

function chmodDirectory(entry: ReturnType<typeof locateEntry>, mode: number, access: FileAccess): void {
  const made = access.anchoring(entry.parent.at(entry.base), { directory: true, noFollow: true });
  try {
    const fd = made.reopen(constants.O_RDONLY);
    try {
      fchmodSync(fd, mode);
    } finally {
      closeSync(fd);
    }
  } finally {
    made.close();
  }
}
