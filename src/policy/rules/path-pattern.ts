import { foldName } from "../../files/fold-name.ts";
import { compileGlob, type GlobPattern } from "../../files/glob-pattern.ts";
import type { Places, SubjectPath } from "./subject.ts";

/** What a path rule is relative to: the root, the home folder, the folder of its file, or the working folder. */
type Base = "root" | "home" | "source" | "cwd";

export interface PathPattern {
  matches(path: SubjectPath, places: Places): boolean;
  /** For rules that forbid: whether the path is a folder that what is named lies in, and that goes with it. */
  isAbove(path: SubjectPath, places: Places): boolean;
  /** The same for the walk of a search: see `DenyRule` of files/. */
  glob(places: Places): string;
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

  const matchesName = (name: string, places: Places): boolean => {
    if (!name.includes(needle)) return false;
    if (anywhere) return matchesAny(globs, name.slice(1));
    for (const folder of basesOf(places)) {
      const below = belowFolder(name, folder);
      if (below !== undefined && matchesAny(globs, below)) return true;
    }
    return false;
  };
  return {
    matches(path, places) {
      const name = forbids ? path.foldedName() : path.name;
      const byName = matchesName(name, places);
      // To forbid, one is enough; to allow, both are needed.
      if (byName === forbids) return byName;
      const real = forbids ? path.foldedReal() : path.real();
      return real === name ? byName : matchesName(real, places);
    },
    isAbove(path, places) {
      const names = [path.foldedName(), path.foldedReal()];
      return basesOf(places).some((folder) =>
        names.some(
          (name) => name.length < folder.length + fixed.length + 1 && `${folder}/${fixed}`.startsWith(`${name}/`),
        ),
      );
    },
    glob: (places) => {
      const pattern = rest.replace(/\/(?:\*\*)?$/, "");
      const [folder = "/"] = placesOf(base, places);
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
function placesOf(base: Base, { cwd, home, source }: Places): readonly string[] {
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
function baseReader(base: Base, fold: (name: string) => string): (places: Places) => readonly string[] {
  let of: readonly string[] | undefined;
  let folded: readonly string[] = [];
  return (places) => {
    const folders = placesOf(base, places);
    if (folders !== of) [of, folded] = [folders, folders.map(fold)];
    return folded;
  };
}
