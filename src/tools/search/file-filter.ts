import ignore from "ignore";
import type { Ignore } from "ignore";
import { compileGlob, type GlobPattern, withLiteralBrackets } from "../../io/files/glob-pattern.ts";
import { isHidden } from "./search-scope.ts";

export interface FileFilterOptions {
  include?: string;
  exclude?: string;
  hidden: boolean;
  /** Converts a path below the searched folder to a path in the workspace. */
  fromWorkspace(path: string): string;
}

export interface FileFilter {
  accepts(path: string): boolean;
  /** See `GlobPattern`: an accepted file has one of these names. */
  readonly names: readonly string[] | null;
  /** Exclude globs for the walk, so it does not enter excluded folders. */
  readonly prune: readonly string[];
}

/** Selects files below a folder by patterns such as `*.ts`, `src/**`, `*.js,*.ts` and `!*.test.ts`. */
export function createFileFilter({ include, exclude, hidden, fromWorkspace }: FileFilterOptions): FileFilter {
  const listed = splitList(include ?? "");
  const includes = listed.filter((pattern) => !pattern.startsWith("!")).map(compileInclude);
  const excludes = [
    ...splitList(exclude ?? ""),
    ...listed.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1)),
  ];
  const isExcluded = createIgnoreRules([{ directory: "", text: excludes.join("\n") }]);
  const names = includes.flatMap((each) => each.names ?? []);
  return {
    accepts: (path) =>
      (hidden || !isHidden(path)) &&
      (includes.length === 0 || includes.some(({ matches }) => matches(path, fromWorkspace))) &&
      !(excludes.length > 0 && isExcluded(path)),
    names: includes.length > 0 && includes.every((each) => each.names !== null) ? names : null,
    prune: excludes.filter((pattern) => /^[\w.*-]+\/?$/.test(pattern)),
  };
}

interface Include {
  matches(path: string, fromWorkspace: (path: string) => string): boolean;
  names: GlobPattern["names"];
}

/** Without a slash it matches names at any depth; with one, paths below the searched folder or the workspace. */
function compileInclude(pattern: string): Include {
  const rooted = pattern.includes("/") ? pattern.replace(/^\/+/, "") : `**/${pattern}`;
  const literal = withLiteralBrackets(rooted);
  const globs = literal === null ? [compileGlob(rooted)] : [compileGlob(rooted), compileGlob(literal)];
  const matchesAny = (path: string) => globs.some((glob) => glob.matches(path));
  return {
    matches: (path, fromWorkspace) => matchesAny(path) || (pattern.includes("/") && matchesAny(fromWorkspace(path))),
    names: literal === null ? (globs[0]?.names ?? null) : null,
  };
}

/** Splits at commas and line ends, but not inside braces. */
function splitList(list: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const character of list) {
    if (character === "{") depth++;
    else if (character === "}") depth = Math.max(0, depth - 1);
    if ((character === "," && depth === 0) || character === "\n") parts.push("");
    else parts.push(`${parts.pop() ?? ""}${character}`);
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

export interface IgnoreText {
  /** The folder whose .gitignore it is, relative to the top; "" is the top itself. */
  directory: string;
  text: string;
}

/** Whether a path relative to the top is ignored. As in git, the deepest matching file decides, folders before files. */
export type IgnoreRules = (path: string, isDirectory?: boolean) => boolean;

export function createIgnoreRules(texts: readonly IgnoreText[]): IgnoreRules {
  const files = texts
    .map(({ directory, text }) => ({
      start: directory === "" ? "" : `${directory}/`,
      rules: ignore({ ignoreCase: false }).add(text),
    }))
    .sort((a, b) => b.start.length - a.start.length);
  const decide = (path: string): boolean => {
    for (const { start, rules } of files) {
      if (!path.startsWith(start) || path.length === start.length) continue;
      const verdict = verdictOf(rules, path.slice(start.length));
      if (verdict !== null) return verdict;
    }
    return false;
  };
  return (path, isDirectory = false) => {
    const names = path.split("/");
    // A file in an ignored folder cannot be un-ignored.
    for (let depth = 1; depth < names.length; depth++) if (decide(`${names.slice(0, depth).join("/")}/`)) return true;
    return decide(isDirectory ? `${path}/` : path);
  };
}

function verdictOf(rules: Ignore, path: string): boolean | null {
  const { ignored, unignored } = rules.test(path);
  return ignored ? true : unignored ? false : null;
}
