import { mkdirSync, readlinkSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Anchor } from "./anchoring.ts";
import { isErrno, isMissing } from "./explain-failure.ts";
import { lstatIfExists, requireAllowed, type FileAccess } from "./locate-entry.ts";
import { MAX_LINKS, type PathName } from "./path-name.ts";
import { recordChange } from "./undo-journal.ts";

/** Makes `absolute` and what is missing above it, one step at a time from a held directory. Answers what it made. */
export async function makeDirectories(name: PathName, access: FileAccess, absolute = name.absolute): Promise<string[]> {
  const created: string[] = [];
  let target = absolute;
  for (let links = 0; links <= MAX_LINKS; links += 1) {
    const { anchor, missing } = anchorDeepest(access, target);
    const moved = await makeBelow(anchor, missing, { name, access, created });
    if (moved === null) return created;
    target = moved;
  }
  throw Object.assign(new Error("too many links"), { code: "ELOOP" });
}

function anchorDeepest(access: FileAccess, absolute: string): { anchor: Anchor; missing: string[] } {
  const missing: string[] = [];
  for (let path = absolute; ; path = dirname(path)) {
    try {
      return { anchor: access.anchoring(path, { directory: true }), missing };
    } catch (error) {
      if (!isMissing(error) || path === "/") throw error;
      missing.unshift(basename(path));
    }
  }
}

/** Null when all is made; a path when a dangling link led elsewhere, from which to go on. */
async function makeBelow(
  start: Anchor,
  missing: readonly string[],
  { name, access, created }: { name: PathName; access: FileAccess; created: string[] },
): Promise<string | null> {
  let anchor = start;
  try {
    // Judged as a whole first, so that nothing is made on the way to a refusal.
    requireAllowed(name, access, join(anchor.real, ...missing), "write");
    for (const [index, base] of missing.entries()) {
      const path = join(anchor.real, base);
      const stat = lstatIfExists(anchor.at(base));
      if (stat?.isSymbolicLink()) {
        return resolve(anchor.real, readlinkSync(anchor.at(base)), ...missing.slice(index + 1));
      }
      if (stat === null) {
        requireAllowed(name, access, path, "write");
        const recorded = await recordChange(access, {
          kind: "make_directory",
          path,
          was: "absent",
          old: null,
          next: { kind: "directory" },
        });
        if (makeOne(anchor.at(base))) created.push(path);
        else await recorded.abandon();
      }
      const next = access.anchoring(anchor.at(base), { directory: true, noFollow: true });
      anchor.close();
      anchor = next;
    }
    return null;
  } finally {
    anchor.close();
  }
}

/** False when another made it in the meantime. */
function makeOne(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if (isErrno(error) && error.code === "EEXIST") return false;
    throw error;
  }
}
