import { accessSync, constants, rmdirSync, unlinkSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { toolError } from "../../core/error.ts";
import { contentOf, syncDirectory } from "./atomic-write.ts";
import { deniedPath } from "./file-errors.ts";
import {
  type Anchor,
  type Entry,
  type FileAccess,
  isSameFile,
  locateEntry,
  lstatIfExists,
  notDirectory,
} from "./path-anchor.ts";
import { type PathName, quotePath } from "./path-name.ts";
import { checkPath, containsRoot } from "./path-policy.ts";
import { recordChange } from "./undo-store.ts";

/** Removes a file, or a link itself but never its target. */
export async function deleteFile(name: PathName, access: FileAccess): Promise<void> {
  const entry = locateExisting(name, access);
  try {
    if (entry.stat.isDirectory()) {
      throw toolError("is_directory", `${quotePath(name.given)} is a directory`, { next: "Delete it as a directory." });
    }
    await removeOne(entry.parent, entry.base, access);
    await syncDirectory(entry.parent);
  } finally {
    entry.close();
  }
}

export async function deleteDirectory(name: PathName, access: FileAccess, { recursive = false } = {}): Promise<void> {
  const entry = locateExisting(name, access);
  try {
    if (!entry.stat.isDirectory()) throw notDirectory(name);
    refuseRoot(name, entry.real, access);
    if (!recursive) {
      await removeEmpty(entry.parent, entry.base, { access, real: entry.real, stat: entry.stat });
    } else {
      // Everything is checked before anything is removed.
      await checkTree(entry, { name, access });
      await removeTree(entry.parent, entry.base, access);
    }
    await syncDirectory(entry.parent);
  } finally {
    entry.close();
  }
}

/** Throws what deleting the file or folder would throw. A folder that is not empty needs `recursive`. */
export async function checkDelete(name: PathName, access: FileAccess, { recursive = false } = {}): Promise<void> {
  const entry = locateExisting(name, access);
  try {
    accessSync(entry.parent.at("."), constants.W_OK);
    if (!entry.stat.isDirectory()) return;
    refuseRoot(name, entry.real, access);
    if (recursive) return await checkTree(entry, { name, access });
    const directory = access.anchoring(entry.parent.at(entry.base), { directory: true, noFollow: true });
    try {
      const children = await readdir(directory.at("."));
      if (children.length > 0) throw Object.assign(new Error("not empty"), { code: "ENOTEMPTY" });
    } finally {
      directory.close();
    }
  } finally {
    entry.close();
  }
}

export function refuseRoot(name: PathName, real: string, access: FileAccess): void {
  if (!containsRoot(access.policy, real)) return;
  throw toolError(
    "path_denied",
    `Permission denied: Access denied to ${quotePath(name.given)}: it is, or contains, a whole allowed folder`,
    {
      next: "Name the files or folders inside it.",
      data: { reason: "root" },
    },
  );
}

/** `record: false` is for the second half of a change that is journalled as one. */
export async function removeTree(
  parent: Anchor,
  base: string,
  access: FileAccess,
  { record = true } = {},
): Promise<void> {
  const directory = access.anchoring(parent.at(base), { directory: true, noFollow: true });
  try {
    for (const child of await readdir(directory.at("."), { withFileTypes: true })) {
      if (child.isDirectory()) await removeTree(directory, child.name, access, { record });
      else if (record) await removeOne(directory, child.name, access);
      else unlinkSync(directory.at(child.name));
    }
    if (record) await removeEmpty(parent, base, { access, real: directory.real, stat: directory.stat });
    else rmdirSync(parent.at(base));
  } finally {
    directory.close();
  }
}

async function removeEmpty(
  parent: Anchor,
  base: string,
  { access, real, stat }: { access: FileAccess; real: string; stat: Anchor["stat"] },
): Promise<void> {
  const recorded = await recordChange(access, {
    kind: "delete",
    path: real,
    was: "directory",
    old: null,
    mode: Number(stat.mode & 0o7777n),
    next: { kind: "absent" },
  });
  try {
    rmdirSync(parent.at(base));
  } catch (error) {
    await recorded.abandon();
    throw error;
  }
}

async function removeOne(parent: Anchor, base: string, access: FileAccess): Promise<void> {
  const path = join(parent.real, base);
  const held = access.anchoring(parent.at(base), { noFollow: true });
  try {
    const old = await contentOf(held, parent.at(base));
    const recorded = await recordChange(access, { kind: "delete", path, ...old, next: { kind: "absent" } });
    const now = lstatIfExists(parent.at(base));
    if (now === null || !isSameFile(now, held.stat)) {
      await recorded.abandon();
      throw toolError(
        "stale",
        `${quotePath(path.slice(path.lastIndexOf("/") + 1))} was replaced by someone else in the meantime`,
        { next: "Check it again, then repeat." },
      );
    }
    unlinkSync(parent.at(base));
  } finally {
    held.close();
  }
}

/** Locates the entry itself. Throws if it does not exist. */
export function locateExisting(name: PathName, access: FileAccess): Entry & { stat: NonNullable<Entry["stat"]> } {
  const entry = locateEntry(name, access, { operation: "write", followLast: false });
  if (entry.stat === null) {
    entry.close();
    throw Object.assign(new Error("no such entry"), { code: "ENOENT" });
  }
  return { ...entry, stat: entry.stat };
}

const MAX_TREE_ENTRIES = 100_000;

/** Refuses the operation if the tree has a protected file, which would go with its parent; with `to`, also there. */
export async function checkTree(
  entry: Entry,
  { name, access, to }: { name: PathName; access: FileAccess; to?: string },
): Promise<void> {
  let seen = 0;
  const visit = async (parent: Anchor, base: string, target: string | undefined): Promise<void> => {
    const directory = access.anchoring(parent.at(base), { directory: true, noFollow: true });
    try {
      for (const child of await readdir(directory.at("."), { withFileTypes: true })) {
        seen += 1;
        if (seen > MAX_TREE_ENTRIES) {
          throw toolError("too_large", `${quotePath(name.given)} contains more than ${MAX_TREE_ENTRIES} entries`, {
            next: "Work on the folders inside it one by one.",
          });
        }
        const childTarget = target === undefined ? undefined : join(target, child.name);
        for (const path of [join(directory.real, child.name), childTarget]) {
          const refusal = path === undefined ? null : checkPath(access.policy, path, "write");
          if (refusal !== null)
            throw deniedPath({ ...name, given: `${name.given} (for ${child.name} inside it)` }, refusal, access.policy);
        }
        if (child.isDirectory()) await visit(directory, child.name, childTarget);
      }
    } finally {
      directory.close();
    }
  };
  await visit(entry.parent, entry.base, to);
}
