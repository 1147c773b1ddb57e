import { EXECUTED_NAMES } from "../../files/executed-names.ts";
import { expandBraces } from "../../files/expand-braces.ts";
import { compileGlob } from "../../files/glob-pattern.ts";
import type { Places, SubjectPath } from "./subject.ts";

const ALL = [...EXECUTED_NAMES, ".haft"].flatMap(expandBraces);
const PLAIN = new Set(ALL.filter((name) => !name.includes("*")));
/** Nearly every path has neither: that is told at once. */
const HINT = /\/\.|\/haft/;
const OPEN = ALL.filter((name) => name.includes("*")).map((glob) => compileGlob(glob));

/**
 * Whether a change there makes some program execute it, or loosens these rules themselves: asked about in every mode. The
 * file tools refuse such paths by themselves; a shell does not.
 */
export function isProtectedPath(path: SubjectPath, { foldedCwd }: Places): boolean {
  const name = path.foldedName();
  const real = path.foldedReal();
  return hasProtectedName(name, foldedCwd) || (real !== name && hasProtectedName(real, foldedCwd));
}

function hasProtectedName(name: string, folders: readonly string[]): boolean {
  // A workspace that itself lies below, say, `.claude/` is not for that reason protected as a whole.
  const folder = folders.find((each) => each !== "/" && name.startsWith(`${each}/`));
  const below = name.slice(folder?.length ?? 0);
  if (!HINT.test(below)) return false;
  return below.split("/").some((part) => PLAIN.has(part) || OPEN.some((glob) => glob.matches(part)));
}
