import { existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { toolError } from "../../core/error.ts";

/** What a caller wrote, as an absolute name. It says nothing yet about where the name leads. */
export interface PathName {
  given: string;
  absolute: string;
  /** Written with a closing slash: only a directory will do. */
  directoryOnly: boolean;
}

const MAX_PATH_BYTES = 4095;
const MAX_COMPONENT_BYTES = 255;
/** What Linux follows before it gives up; more is a loop. */
export const MAX_LINKS = 40;

/**
 * `.` and `..` are taken out of the text, as every shell's `cd` and Node do, before any link is followed. Nothing is
 * decoded, trimmed or normalised: the name that is judged is the name that is used.
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
  const expanded = given === "~" || given.startsWith("~/") ? join(homedir(), given.slice(1)) : given;
  const absolute = resolve(base, expanded);
  if (Buffer.byteLength(absolute) > MAX_PATH_BYTES) {
    throw refuseName(`The path is longer than ${MAX_PATH_BYTES} bytes`, "Give a shorter path.");
  }
  if (
    absolute
      .split("/")
      .some((part) => part.length * 3 > MAX_COMPONENT_BYTES && Buffer.byteLength(part) > MAX_COMPONENT_BYTES)
  ) {
    throw refuseName(`A name in the path is longer than ${MAX_COMPONENT_BYTES} bytes`, "Use shorter names.");
  }
  return { given, absolute, directoryOnly: /\/\.{0,2}$/.test(given) || given === "." || given === ".." };
}

/**
 * Where a name leads by the links that exist now; what does not exist is kept as written. Null when the links loop.
 * For messages, locks and yes/no questions only: between this answer and a later open the links may change.
 */
export function resolveLinks(absolute: string): string | null {
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

/** A path as text in a message: quoted, bounded, with nothing invisible in it. */
export function quotePath(path: string): string {
  const shown = path.length > 300 ? `${path.slice(0, 300)}…` : path;
  return JSON.stringify(shown).replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

function linkTarget(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch {
    return null;
  }
}

function refuseName(message: string, next: string) {
  return toolError("invalid_input", message, { next });
}

// Kept apart from the policy of paths, which compiles globs: the front door gives this answer without loading that.

/**
 * Does the name lead to one of the allowed paths, by the links that exist now? An answer about a name: what opens files
 * asks again about what it opened.
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
  // An empty entry would otherwise mean the current directory.
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

/**
 * Where an absolute name leads now, as `resolveLinks` says it, but with few questions to the system: what does not exist
 * stays as written below the deepest folder that does. For rules, which judge names; what opens files judges what it
 * opened.
 */
export function realName(absolute: string): string {
  try {
    if (existsSync(absolute)) return realpathSync.native(absolute);
    let missing = absolute;
    let folder = dirname(absolute);
    while (!existsSync(folder)) [missing, folder] = [folder, dirname(folder)];
    // A link that leads nowhere yet: what is written there comes to be where it leads.
    if (lstatSync(missing, { throwIfNoEntry: false })) return resolveLinks(absolute) ?? absolute;
    const real = realpathSync.native(folder);
    return (real === "/" ? "" : real) + absolute.slice(folder === "/" ? 0 : folder.length);
  } catch {
    // A folder that may not be looked into.
    return resolveLinks(absolute) ?? absolute;
  }
}

/**
 * One spelling for all that some file system takes for the same name: case, composition, compatibility forms
 * (ligatures, full-width, long s) and code points that are not seen.
 */
export function foldName(name: string): string {
  if (/^[\x20-\x7e]*$/.test(name)) return name.toLowerCase();
  const visible = name.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  return visible.toUpperCase().toLowerCase().normalize("NFKC");
}

/** Files that make some program execute what stands in them, or that loosen what an agent may do: globs of names. */
export const EXECUTED_NAMES: readonly string[] = [
  ".git",
  ".gitconfig",
  ".gitmodules",
  ".ripgreprc",
  ".mcp.json",
  ".yarnrc.yml",
  ".pnpmfile.cjs",
  ".bash{rc,_profile,_login,_logout,_aliases}",
  ".profile",
  ".zsh{rc,env}",
  ".z{profile,login,logout}",
  ".inputrc",
  ".vscode",
  ".idea",
  ".claude",
  ".cursor",
  ".codex",
  ".gemini",
  "haft.config.*",
];
