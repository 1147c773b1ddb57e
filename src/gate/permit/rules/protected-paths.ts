import { EXECUTED_NAMES, type ExecutedName } from "../../../io/files/executed-names.ts";
import { foldName, isInside, realRoot } from "../../../io/files/path-name.ts";
import { compileGlob, expandBraces } from "../../../io/files/glob-pattern.ts";
import { stateRootOf } from "../../../io/files/state-folder.ts";
import type { PathBases, SubjectPath } from "./rule-subject.ts";

interface NameMatcher {
  /** The reason why one of the names is protected. */
  find(names: readonly string[]): string | undefined;
}

/** Names whose change every mode asks about, and those that only `acceptEdits` asks about. */
const OF_PROGRAMS = EXECUTED_NAMES.filter(({ isRefused }) => isRefused);
const OF_STATE: ExecutedName = { glob: ".haft", why: "it is the state of Haft", isRefused: true };
const ALWAYS = matcherOf([...OF_PROGRAMS, OF_STATE]);
const IN_EDITS = matcherOf(EXECUTED_NAMES.filter(({ isRefused }) => !isRefused));
/** A quick test: nearly every path has no such beginning of a name. */
const HINT = hintOf([...EXECUTED_NAMES, OF_STATE]);

/**
 * Why a change of the path makes a program execute it, or loosens these rules; undefined if it does neither. Such
 * changes are asked about. The file tools refuse some of these paths; a shell refuses none. `isEdit`: the mode accepts
 * edits by itself, so more names are asked about.
 */
export function protectionOf(path: SubjectPath, { foldedCwd }: PathBases, isEdit: boolean): string | undefined {
  const name = path.foldedName();
  const real = path.foldedReal();
  if (isInside(real, foldedStateRoot())) return OF_STATE.why;
  return reasonFor(name, foldedCwd, isEdit) ?? (real === name ? undefined : reasonFor(real, foldedCwd, isEdit));
}

function matcherOf(list: readonly ExecutedName[]): NameMatcher {
  const plain = new Map<string, string>();
  const open: { matches(name: string): boolean; why: string }[] = [];
  const paths: { path: string; why: string }[] = [];
  for (const { glob, why } of list) {
    for (const each of expandBraces(glob)) {
      const folded = foldName(each);
      if (folded.includes("/")) paths.push({ path: `/${folded}/`, why });
      else if (folded.includes("*")) open.push({ matches: compileGlob(folded).matches, why });
      else plain.set(folded, why);
    }
  }
  return {
    find(names) {
      for (const name of names) {
        const why = plain.get(name) ?? open.find(({ matches }) => matches(name))?.why;
        if (why !== undefined) return why;
      }
      const whole = `/${names.join("/")}/`;
      return paths.find(({ path }) => whole.includes(path))?.why;
    },
  };
}

function hintOf(list: readonly ExecutedName[]): RegExp {
  const starts = list.map(({ glob }) => foldName(glob).split(/[/*{]/)[0] ?? "");
  const others = starts.filter((start) => !start.startsWith("."));
  return new RegExp(`/(?:\\.|${others.map((start) => start.replace(/\W/g, "\\$&")).join("|")})`);
}

let stateRoot: string | undefined;

function foldedStateRoot(): string {
  return (stateRoot ??= foldName(realRoot(stateRootOf(), "/")));
}

/** A single name, not a path. */
export function isProtectedName(name: string): boolean {
  return ALWAYS.find([foldName(name)]) !== undefined;
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

function reasonFor(name: string, folders: readonly string[], isEdit: boolean): string | undefined {
  // A workspace inside, say, `.claude/` is not protected as a whole.
  const folder = folders.find((each) => each !== "/" && name.startsWith(`${each}/`));
  const below = name.slice(folder?.length ?? 0);
  if (!HINT.test(below)) return undefined;
  const names = below.split("/").filter((part) => part !== "");
  return ALWAYS.find(names) ?? (isEdit ? IN_EDITS.find(names) : undefined);
}
