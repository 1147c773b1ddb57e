import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isSameFile, type Anchor } from "./anchoring.ts";
import { lstatIfExists, type FileAccess } from "./locate-entry.ts";
import { checkPath } from "./path-policy.ts";

const MAX_ENTRIES = 50_000;

/**
 * Do all names of a hard-linked file lie in the workspace, where they may be written? Only then is a write in place no
 * write to somewhere else (a package store, a backup). Beyond the bound the answer is no.
 */
export async function allNamesAreWritable(file: Anchor, access: FileAccess): Promise<boolean> {
  let wanted = Number(file.stat.nlink);
  let left = MAX_ENTRIES;
  const pending = [access.policy.workspace, dirname(file.real)];
  const visited = new Set<string>();
  // The file's own folder comes first: that is where the other names mostly are.
  for (let path = pending.pop(); path !== undefined && wanted > 0 && left > 0; path = pending.pop()) {
    if (visited.has(path)) continue;
    visited.add(path);
    const directory = anchorIfExists(path, access);
    if (directory === null) continue;
    try {
      for (const entry of await readdir(directory.at("."), { withFileTypes: true })) {
        left -= 1;
        if (entry.isDirectory()) pending.push(join(path, entry.name));
        const stat = entry.isFile() ? lstatIfExists(directory.at(entry.name)) : null;
        if (stat === null || !isSameFile(stat, file.stat)) continue;
        if (checkPath(access.policy, join(path, entry.name), "write") === null) wanted -= 1;
      }
    } finally {
      directory.close();
    }
  }
  return wanted <= 0;
}

function anchorIfExists(path: string, { anchoring }: FileAccess): Anchor | null {
  try {
    const anchor = anchoring(path, { directory: true, noFollow: true });
    if (anchor.real === path) return anchor;
    anchor.close();
  } catch {
    // A folder that cannot be looked into counts as one that holds no name.
  }
  return null;
}
