import { foldName } from "../../files/fold-name.ts";
import { compileGlob, type GlobPattern } from "../../files/glob-pattern.ts";
import type { PathBases, SubjectPath } from "./subject.ts";

/** What a path rule is relative to: the root, the home folder, the folder of its file, or the working folder. */
type Base = "root" | "home" | "source" | "cwd";

export interface PathPattern {
  matches(path: SubjectPath, bases: PathBases): boolean;
  /** For rules that forbid: whether the path is a folder that what is named lies in, and that goes with it. */
  isParentOf(path: SubjectPath, bases: PathBases): boolean;
  /** The same for the walk of a search: see `DenyRule` of files/. */
  glob(bases: PathBases): string;
}

/**
 * A pattern as in .gitignore. To allow, a path must be named by itself and by where it leads, and `src/**` means the one
 * in the working folder; to forbid, either is enough, `src/**` means every one at any depth, and spelling is folded.
 */
export function compilePathPattern(spec: string, list: "forbid" | "allow"): PathPattern {
  const { base, rest } = splitBase(spec);
  const forbids = list === "forbid";
  const isBare = base === "cwd" && !spec.startsWith("./");
  const floats = isBare && (forbids || !/\/./.test(rest));
  const text = forbids ? foldName(rest) : rest;
  const globs = globsOf(text, forbids).map((glob) => compileGlob(floats ? `**/${glob}` : glob));
  const anywhere = floats && forbids;
  const needle = longestLiteral(text);
  const fixed = fixedPart(text);
  const fold = forbids ? foldName : (name: string) => name;
  const basesOf = baseReader(base, fold);

  const matchesName = (name: string, bases: PathBases): boolean => {
    if (!name.includes(needle)) return false;
    if (anywhere) return matchesAny(globs, name.slice(1));
    for (const folder of basesOf(bases)) {
      const below = belowFolder(name, folder);
      if (below !== undefined && matchesAny(globs, below)) return true;
    }
    return false;
  };
  return {
    matches(path, bases) {
      const name = forbids ? path.foldedName() : path.name;
      const byName = matchesName(name, bases);
      // To forbid, one is enough; to allow, both are needed.
      if (byName === forbids) return byName;
      const real = forbids ? path.foldedReal() : path.real();
      return real === name ? byName : matchesName(real, bases);
    },
    isParentOf(path, bases) {
      const names = [path.foldedName(), path.foldedReal()];
      return basesOf(bases).some((folder) =>
        names.some(
          (name) => name.length < folder.length + fixed.length + 1 && `${folder}/${fixed}`.startsWith(`${name}/`),
        ),
      );
    },
    glob: (bases) => {
      const pattern = rest.replace(/\/(?:\*\*)?$/, "");
      const [folder = "/"] = foldersOf(base, bases);
      return isBare ? pattern : `${folder === "/" ? "" : folder}/${pattern}`;
    },
  };
}

function splitBase(spec: string): { base: Base; rest: string } {
  if (spec.startsWith("//")) return { base: "root", rest: spec.replace(/^\/+/, "") };
  if (spec === "~" || spec.startsWith("~/")) return { base: "home", rest: spec.slice(2) };
  if (spec.startsWith("/")) return { base: "source", rest: spec.slice(1) };
  return { base: "cwd", rest: spec.replace(/^(?:\.\/)+/, "") };
}

/** A folder that is named is named with all in it; when it is named by a wildcard, only for rules that forbid. */
function globsOf(rest: string, forbids: boolean): string[] {
  if (rest === "") return ["**"];
  if (rest.endsWith("/")) return [...(forbids ? [rest.slice(0, -1)] : []), `${rest}**`];
  const [, folder] = /^(.+)\/\*\*$/.exec(rest) ?? [];
  if (folder !== undefined) return forbids ? [folder, rest] : [rest];
  const isOpen = /[*?[{]/.test(rest.slice(rest.lastIndexOf("/") + 1));
  return isOpen && !forbids ? [rest] : [rest, `${rest}/**`];
}

function matchesAny(globs: readonly GlobPattern[], path: string): boolean {
  for (const glob of globs) if (glob.matches(path)) return true;
  return false;
}

/** What every match contains: most paths are told from most rules by it alone. */
function longestLiteral(rest: string): string {
  if (/[{\\]/.test(rest)) return "";
  const plain = rest.split("/").filter((part) => !/[*?[]/.test(part) && part !== "." && part !== "..");
  return plain.reduce((longest, part) => (part.length > longest.length ? part : longest), "");
}

function fixedPart(rest: string): string {
  const parts = rest.split("/");
  const wild = parts.findIndex((part) => /[*?[{\\]/.test(part));
  return (wild < 0 ? parts : parts.slice(0, wild)).filter(Boolean).join("/");
}

function belowFolder(path: string, folder: string): string | undefined {
  if (folder === "/") return path.slice(1);
  return path.startsWith(folder) && path[folder.length] === "/" ? path.slice(folder.length + 1) : undefined;
}

const ROOT: readonly string[] = ["/"];

/** The folder by its name and by where it leads: the workspace itself may be behind a link. */
function foldersOf(base: Base, { cwd, home, source }: PathBases): readonly string[] {
  switch (base) {
    case "root":
      return ROOT;
    case "home":
      return home;
    case "source":
      return source ?? cwd;
    case "cwd":
      return cwd;
  }
}

/** Folded once for each list of folders: those stay the same from call to call. */
function baseReader(base: Base, fold: (name: string) => string): (bases: PathBases) => readonly string[] {
  let of: readonly string[] | undefined;
  let folded: readonly string[] = [];
  return (bases) => {
    const folders = foldersOf(base, bases);
    if (folders !== of) [of, folded] = [folders, folders.map(fold)];
    return folded;
  };
}
