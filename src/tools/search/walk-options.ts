import type { GlobPattern } from "../../files/glob-pattern.ts";

export interface Walk {
  hidden: boolean;
  respectGitignore: boolean;
  /** Files that may be left out already while walking; whoever asks filters again by what he really means. */
  only?: Pick<GlobPattern, "names" | "depth">;
  /** A file type that ripgrep knows. */
  type?: string;
}

/** Version control keeps its own files there: nobody looks for them, and they are many. */
const NEVER_WALKED = [".git", ".hg", ".svn", ".jj"];
const TYPE_NAME = "wanted";

/**
 * How ripgrep walks. Never an including `--glob`: that would bring back what .gitignore leaves out. A file type is looked
 * at after the ignore files, so names are narrowed by one made up here.
 */
export function walkOptions({ hidden, respectGitignore, only, type }: Walk): string[] {
  const options = [
    "--path-separator=/",
    ...NEVER_WALKED.map((name) => `--glob=!${name}`),
    // Rules hold without a repository; those that only this user or this program has do not.
    ...(respectGitignore ? ["--no-require-git", "--no-ignore-global", "--no-ignore-dot"] : ["--no-ignore"]),
  ];
  if (hidden) options.push("--hidden");
  if (only && Number.isFinite(only.depth)) options.push(`--max-depth=${only.depth}`);
  if (type !== undefined) return [...options, `--type=${type}`];
  if (only?.names) options.push(...only.names.map((name) => `--type-add=${TYPE_NAME}:${name}`), `--type=${TYPE_NAME}`);
  return options;
}

/** Does a name on the way begin with a dot? */
export function isHidden(path: string): boolean {
  return path.startsWith(".") || path.includes("/.");
}
