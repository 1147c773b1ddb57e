import { lstatSync, readlinkSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { toolError } from "../core/error.ts";

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
