import { toolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import type { Files } from "../../files/files.ts";
import type { DirectoryEntry } from "../../files/list-directory.ts";
import type { ReadRange } from "./read.ts";

const DEFAULT_ENTRIES = 500;

/** What is in a folder, paged like lines: a model that reads a folder wants to know what it may read. */
export async function readFolder(
  files: Files,
  path: string,
  { offset = 1, limit = DEFAULT_ENTRIES }: ReadRange,
): Promise<ToolOutput> {
  const all = await files.listDirectory(path);
  const first = Math.max(1, offset);
  if (first > Math.max(1, all.length)) {
    throw toolError("bad_range", `${path} has ${all.length} entries; there is no entry ${first}`, {
      next: "Read with a smaller offset.",
    });
  }
  const entries = all.slice(first - 1, first - 1 + limit);
  const next = first + entries.length <= all.length ? first + entries.length : null;
  const lines = entries.map(({ name, type }) => markName(name, type));
  if (all.length === 0) lines.push("(empty folder)");
  if (next !== null) {
    lines.push(`[Showing entries ${first}-${next - 1} of ${all.length}. Use offset=${next} to continue.]`);
  }
  return {
    content: [`${path} is a folder:`, ...lines].join("\n"),
    display: `Listed ${path}: ${all.length} ${all.length === 1 ? "entry" : "entries"}`,
    details: { path, entries: entries.map(({ name, type }) => ({ name, type })), total: all.length, nextOffset: next },
  };
}

/** A slash behind folders and an at sign behind links, as `ls -F` has them. */
export function markName(name: string, type: DirectoryEntry["type"]): string {
  return type === "directory" ? `${name}/` : type === "symlink" ? `${name}@` : name;
}
