import { constants, readlinkSync } from "node:fs";
import type { Anchor } from "./anchoring.ts";
import { kindOf } from "./file-info.ts";
import { openFileOf, readAll } from "./open-file.ts";
import type { FileChange } from "./undo-journal.ts";

/** Larger old content is not journalled, and the journal is told so. */
const MAX_UNDO_BYTES = 64 * 1024 * 1024;

export type OldContent = Pick<FileChange, "was" | "old" | "omitted" | "mode" | "linkTarget">;

/** What the journal needs to put an entry back; `path` leads to the entry itself. */
export async function contentOf(held: Anchor, path: string): Promise<OldContent> {
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
