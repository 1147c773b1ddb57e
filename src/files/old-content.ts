import { constants, readlinkSync } from "node:fs";
import type { Anchor } from "./anchoring.ts";
import { isErrno } from "./explain-failure.ts";
import { kindOf } from "./file-info.ts";
import { openFileOf, readAll } from "./open-file.ts";
import { type EntryState, MAX_UNDO_BYTES, type OldEntry, stateBefore } from "./undo-journal.ts";

/** What the journal needs to put an entry back; `path` leads to the entry itself. */
export async function contentOf(held: Anchor, path: string): Promise<OldEntry> {
  const was = kindOf(held.stat);
  const mode = Number(held.stat.mode & 0o7777n);
  if (was === "symlink") return { was, old: null, linkTarget: readlinkSync(path) };
  if (was !== "file") return { was, old: null, mode };
  if (held.stat.size > BigInt(MAX_UNDO_BYTES)) return { was, old: null, omitted: "too_large", mode };
  const file = openFileOf(held.reopen(constants.O_RDONLY), held.real);
  try {
    const old = await readAll(file, { maxBytes: MAX_UNDO_BYTES });
    return { was, old, mode, ...(old === null && { omitted: "too_large" as const }) };
  } finally {
    file.close();
  }
}

/** The same as a state, also of a file that is too large or may not be read. */
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
