import { EXECUTED_NAMES, foldName, isInside, realRoot } from "../../../io/files/path-name.ts";
import { compileGlob, expandBraces } from "../../../io/files/glob-pattern.ts";
import { stateRootOf } from "../../../io/files/state-folder.ts";
import type { PathBases, SubjectPath } from "./rule-subject.ts";

const ALL = [...EXECUTED_NAMES, ".haft"].flatMap(expandBraces);
const PLAIN = new Set(ALL.filter((name) => !name.includes("*")));
/** A quick test: nearly every path has neither. */
const HINT = /\/\.|\/haft/;
const OPEN = ALL.filter((name) => name.includes("*")).map((glob) => compileGlob(glob));

/**
 * Whether a change there makes a program execute it, or loosens these rules: every mode asks. The
 * file tools refuse such paths; a shell does not.
 */
export function isProtectedPath(path: SubjectPath, { foldedCwd }: PathBases): boolean {
  const name = path.foldedName();
  const real = path.foldedReal();
  if (isInside(real, foldedStateRoot())) return true;
  return hasProtectedName(name, foldedCwd) || (real !== name && hasProtectedName(real, foldedCwd));
}

let stateRoot: string | undefined;

function foldedStateRoot(): string {
  return (stateRoot ??= foldName(realRoot(stateRootOf(), "/")));
}

/** A single name, not a path. */
export function isProtectedName(name: string): boolean {
  const folded = foldName(name);
  return PLAIN.has(folded) || OPEN.some((glob) => glob.matches(folded));
}

/**
 * Whether a word of a command may become a protected path when it runs. A plain glob matches no name that begins with a dot
 * unless the glob has the dot; any other expansion may be anything.
 */
export function mayBecomeProtected(word: string): boolean {
  if (!/^[^$`{}~()\\]*[*?[][^$`{}~()\\]*$/.test(word)) return true;
  return word.split("/").some((part, at) => {
    if (!/[*?[]/.test(part)) return part === ".." || isProtectedName(part);
    if (part.startsWith(".") || part.includes("[")) return true;
    // Names without a dot are protected only at the top, where programs look for them.
    const pattern = part
      .replace(/[.+^|]/g, "\\$&")
      .replaceAll("?", ".")
      .replaceAll("*", ".*");
    return at === 0 && new RegExp(`^${pattern}$`, "s").test("haft.config.ts");
  });
}

function hasProtectedName(name: string, folders: readonly string[]): boolean {
  // A workspace inside, say, `.claude/` is not protected as a whole.
  const folder = folders.find((each) => each !== "/" && name.startsWith(`${each}/`));
  const below = name.slice(folder?.length ?? 0);
  if (!HINT.test(below)) return false;
  return below.split("/").some((part) => PLAIN.has(part) || OPEN.some((glob) => glob.matches(part)));
}
