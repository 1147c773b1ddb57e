import { lstatSync, readlinkSync, type BigIntStats } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { toolError } from "../core/error.ts";
import type { Anchor, AnchorOptions, Anchoring } from "./anchoring.ts";
import type { PathOperation } from "./deny-rules.ts";
import { deniedPath, isErrno, isMissing } from "./explain-failure.ts";
import { MAX_LINKS, quotePath, type PathName } from "./path-name.ts";
import { checkPath, type PathPolicy } from "./path-policy.ts";
import type { ChangeMaker, UndoJournal } from "./undo-journal.ts";

/** What every operation on files is given. */
export interface FileAccess extends ChangeMaker {
  policy: PathPolicy;
  anchoring: Anchoring;
  journal: UndoJournal;
  clock: () => number;
}

/** An entry of a directory that is held fast; the entry itself may be missing. */
export interface Entry {
  parent: Anchor;
  base: string;
  real: string;
  /** Of the entry itself, links not followed. */
  stat: BigIntStats | null;
  close(): void;
}

/** Holds what the name leads to, after the policy admitted where that really lies. */
export function anchorPath(
  name: PathName,
  access: FileAccess,
  operation: PathOperation,
  options?: AnchorOptions,
): Anchor {
  const anchor = access.anchoring(name.absolute, options);
  try {
    requireAllowed(name, access, anchor.real, operation);
    if (name.directoryOnly && !anchor.stat.isDirectory()) throw notDirectory(name);
    return anchor;
  } catch (error) {
    anchor.close();
    throw error;
  }
}

/**
 * Holds the directory in which the name's last part lies, links to it followed, so that a create, rename or unlink
 * happens in the directory that was judged. With `followLast` a link at the end is followed too, to where it ends.
 */
export function locateEntry(
  name: PathName,
  access: FileAccess,
  { operation, followLast }: { operation: PathOperation; followLast: boolean },
): Entry {
  let absolute = name.absolute;
  for (let links = 0; links <= MAX_LINKS; links += 1) {
    const base = basename(absolute);
    if (base === "")
      throw toolError("is_directory", `${quotePath(name.given)} is the root directory`, {
        next: "Give a path below it.",
      });
    const parent = anchorParent(access, dirname(absolute));
    try {
      const stat = lstatIfExists(parent.at(base));
      if (followLast && stat?.isSymbolicLink()) {
        absolute = resolve(parent.real, readlinkSync(parent.at(base)));
        parent.close();
        continue;
      }
      const real = join(parent.real, base);
      requireAllowed(name, access, real, operation);
      if (name.directoryOnly && stat && !stat.isDirectory()) throw notDirectory(name);
      return { parent, base, real, stat, close: parent.close };
    } catch (error) {
      parent.close();
      throw error;
    }
  }
  throw Object.assign(new Error("too many links"), { code: "ELOOP" });
}

/** The directory that a failed `locateEntry` missed, or null when it failed for another reason. */
export function missingParentOf(thrown: unknown): string | null {
  return isMissing(thrown) && typeof (thrown as MissingParent).missingParent === "string"
    ? (thrown as MissingParent).missingParent
    : null;
}

export function requireAllowed(name: PathName, access: FileAccess, real: string, operation: PathOperation): void {
  const refusal = checkPath(access.policy, real, operation);
  if (refusal !== null) throw deniedPath(name, refusal, access.policy);
}

export function lstatIfExists(path: string): BigIntStats | null {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
}

export function requireRegular(name: PathName, stat: BigIntStats): void {
  if (stat.isFile()) return;
  if (stat.isDirectory()) {
    throw toolError("is_directory", `${quotePath(name.given)} is a directory`, {
      next: "Give the path of a file in it.",
    });
  }
  throw toolError("not_regular_file", `${quotePath(name.given)} is not a regular file (a FIFO, socket or device)`, {
    next: "Use an ordinary file.",
  });
}

export function notDirectory(name: PathName) {
  return toolError("not_directory", `Not a directory: ${quotePath(name.given)}`, {
    next: "Give the path of a directory.",
  });
}

interface MissingParent extends Error {
  missingParent: string;
}

function anchorParent(access: FileAccess, path: string): Anchor {
  try {
    return access.anchoring(path, { directory: true });
  } catch (error) {
    throw isErrno(error) ? Object.assign(error, { missingParent: path }) : error;
  }
}
