import { existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { attempt, toolError } from "../../core/error.ts";

/** A path as given, made absolute. Links are not resolved yet. */
export interface PathName {
  given: string;
  absolute: string;
  /** Written with a trailing slash: it must be a directory. */
  directoryOnly: boolean;
}

const MAX_PATH_BYTES = 4095;
const MAX_COMPONENT_BYTES = 255;
/** The limit of Linux; more links are a loop. */
export const MAX_LINKS = 40;

/**
 * Removes `.` and `..` textually, before any link is followed, as Node and the `cd` of shells do. Nothing is decoded,
 * trimmed or normalised: the checked name is the name that is used.
 */
export function parsePathName(given: unknown, base: string): PathName {
  if (typeof given !== "string") throw refuseName("A path must be a string", "Give the path as text.");
  if (given === "") throw refuseName("The path is empty", "Give the path of a file or folder in the workspace.");
  if (given.includes("\0")) throw refuseName("The path contains a NUL character", "Give a path without it.");
  if (!given.isWellFormed())
    throw refuseName("The path is not well-formed Unicode", "Give a path in plain characters.");
  if (/^file:\/\//i.test(given)) {
    throw refuseName(`${quotePath(given)} is a URL, not a path`, "Give the plain path, without file://.");
  }
  const absolute = resolve(base, expandHome(given));
  if (absolute.length * 3 > MAX_PATH_BYTES && Buffer.byteLength(absolute) > MAX_PATH_BYTES) {
    throw refuseName(`The path is longer than ${MAX_PATH_BYTES} bytes`, "Give a shorter path.");
  }
  if (
    absolute.length * 3 > MAX_COMPONENT_BYTES &&
    absolute
      .split("/")
      .some((part) => part.length * 3 > MAX_COMPONENT_BYTES && Buffer.byteLength(part) > MAX_COMPONENT_BYTES)
  ) {
    throw refuseName(`A name in the path is longer than ${MAX_COMPONENT_BYTES} bytes`, "Use shorter names.");
  }
  return { given, absolute, directoryOnly: /\/\.{0,2}$/.test(given) || given === "." || given === ".." };
}

/** Resolves links as they are now; null for a loop. Only for messages, locks and checks: links may change. */
export function resolveLinks(absolute: string): string | null {
  if (process.platform === "linux") {
    try {
      return realpathSync.native(absolute);
    } catch {
      // A part is missing, cannot be searched, or belongs to a loop.
    }
  }
  const pending = absolute.split("/").reverse();
  let resolved = "/";
  let links = 0;
  while (pending.length > 0) {
    const part = pending.pop();
    if (part === undefined || part === "" || part === ".") continue;
    if (part === "..") {
      resolved = dirname(resolved);
      continue;
    }
    const next = join(resolved, part);
    const target = linkTarget(next);
    if (target === null) {
      resolved = next;
      continue;
    }
    links += 1;
    if (links > MAX_LINKS) return null;
    pending.push(...target.split("/").reverse());
    if (target.startsWith("/")) resolved = "/";
  }
  return resolved;
}

/** A path for a message: quoted, shortened, with invisible characters escaped. */
export function quotePath(path: string): string {
  const shown = path.length > 300 ? `${path.slice(0, 300)}…` : path;
  return JSON.stringify(shown).replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

function linkTarget(path: string): string | null {
  return attempt(() => (lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null), null);
}

function refuseName(message: string, next: string) {
  return toolError("invalid_input", message, { next });
}

/**
 * Whether the name is inside one of the allowed paths, with links as they are now. This checks only the name; opening a
 * file checks again. It is in this file because the path policy compiles globs, which the main entry need not load.
 */
export function isPathAllowed(path: string, allowedPaths: readonly string[] = [process.cwd()]): boolean {
  if (typeof path !== "string" || path === "" || path.includes("\0")) return false;
  const real = resolveLinks(resolve(path));
  return real !== null && realRoots(allowedPaths, process.cwd()).some((root) => isInside(real, root));
}

export function isInside(path: string, root: string): boolean {
  return path === root || path.startsWith(root === "/" ? "/" : `${root}/`);
}

export function realRoots(paths: readonly string[], base: string): string[] {
  // An empty entry would mean the current directory.
  return paths
    .filter((path) => typeof path === "string" && path !== "" && !path.includes("\0"))
    .map((path) => realRoot(path, base));
}

export function realRoot(path: string, base: string): string {
  const absolute = resolve(base, expandHome(path));
  return resolveLinks(absolute) ?? absolute;
}

export function expandHome(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}

/** No system opens a longer path, and each of its folders would be looked up. */
const MAX_PATH = 4096;

/** Like `resolveLinks`, with fewer system calls, for rules, which check names; opening a file checks again. */
export function realName(absolute: string): string {
  if (absolute.length > MAX_PATH) return absolute;
  try {
    if (existsSync(absolute)) return realpathSync.native(absolute);
    let missing = absolute;
    let folder = dirname(absolute);
    while (!existsSync(folder)) [missing, folder] = [folder, dirname(folder)];
    // A dangling link: a write would create its target.
    if (lstatSync(missing, { throwIfNoEntry: false })) return resolveLinks(absolute) ?? absolute;
    const real = realpathSync.native(folder);
    return (real === "/" ? "" : real) + absolute.slice(folder === "/" ? 0 : folder.length);
  } catch {
    // A folder that is not readable.
    return resolveLinks(absolute) ?? absolute;
  }
}

/**
 * One spelling for all names that some file system treats as equal: case, composition, compatibility forms (ligatures,
 * full-width, long s) and invisible code points.
 */
export function foldName(name: string): string {
  if (/^[\x20-\x7e]*$/.test(name)) return name.toLowerCase();
  const visible = name.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  return visible.toUpperCase().toLowerCase().normalize("NFKC");
}
