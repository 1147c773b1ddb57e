import { showName } from "../../io/shell/terminal-text.ts";
import { basename, join } from "node:path";
import { z } from "zod";
import type { Preview, ToolContext } from "../../core/tool.ts";
import type { Files } from "../../io/files/files.ts";
import type { FileInfo } from "../../io/files/open-file.ts";
import type { GlobPattern } from "../../io/files/glob-pattern.ts";
import { checkPath } from "../../io/files/path-policy.ts";
import type { SpillFolder } from "../../io/files/spill-folder.ts";
import { isTemporaryName } from "../../io/files/temporary-file.ts";
import { createRipgrep, type Ripgrep } from "./ripgrep.ts";

/** The dependencies of the search tools. */
export interface SearchDependencies {
  files: Files;
  /** Outputs that were too long to show. If omitted, `grep` knows no `spill:` addresses. */
  spills?: Pick<SpillFolder, "locate">;
  /** Called with the lines of a file that a result shows whole. */
  saw?: (context: ToolContext, info: FileInfo, lines: { first: number; last: number }) => void;
  ripgrep?: Ripgrep;
  /** A fast way to get many modification times. Without it only short lists are sorted by time. */
  modifiedTimes?: ModifiedTimes;
  /** After this time the search returns what it has found. Default: 20 s. */
  timeLimitMs?: number;
}

/** The dependencies for one call, limited to its allowed paths. */
export interface SearchScope {
  files: Files;
  ripgrep: Ripgrep;
  times: ModifiedTimes;
  signal: AbortSignal;
  /** Remaining milliseconds; always enough to read what was found. */
  timeLeft(): number;
}

const SEARCH_MS = 20_000;
/** Time to read the matches when the time for the search is up. */
const READING_MS = 1_000;
/** Time limit of the whole call, for the gate. */
export const CALL_MS = 2 * SEARCH_MS;

export function createScopes(dependencies: SearchDependencies) {
  const { files, ripgrep = createRipgrep(), modifiedTimes, timeLimitMs = SEARCH_MS } = dependencies;
  return (context: Pick<ToolContext, "allowedPaths" | "callId" | "signal">): SearchScope => {
    const allowed = files.narrow(context.allowedPaths, { callId: context.callId });
    const deadline = performance.now() + timeLimitMs;
    return {
      files: allowed,
      ripgrep,
      times: modifiedTimes ?? modifiedTimesByInfo(allowed),
      signal: context.signal,
      timeLeft: () => Math.max(Math.min(READING_MS, timeLimitMs), deadline - performance.now()),
    };
  };
}

/** If a rule asks about a search. Throws if the path cannot be read anyway. */
export async function previewSearch(title: string, files: Files, path: string): Promise<Preview> {
  const { real } = await files.info(path);
  return { title: `${title} ${showName(path)}`, content: [{ type: "text", text: showName(files.show(real)) }] };
}

/** Parameters that both tools have. */
export const WALK_PARAMETERS = {
  hidden: z.boolean().default(true).describe("Include files and folders whose names begin with a dot (never .git)"),
  respect_gitignore: z.boolean().default(true).describe("Exclude what .gitignore files ignore"),
};

const MAX_RESULTS = 1_000;

export const limitOf = (what: string) =>
  z.number().int().min(1).max(MAX_RESULTS).default(100).describe(`At most this many ${what}`);

/** A NUL character cannot be passed to another program. */
export const patternOf = (description: string) =>
  z
    .string()
    .min(1)
    .refine((pattern) => !pattern.includes("\0"), "must not contain a NUL character")
    .describe(description);

export interface Walk {
  hidden: boolean;
  respectGitignore: boolean;
  /** Narrows the walk. The caller filters the result again. */
  only?: Pick<GlobPattern, "names" | "depth">;
  /** A file type that ripgrep knows. */
  type?: string;
}

/** Internal folders of version control systems. */
const SKIPPED_FOLDERS = [".git", ".hg", ".svn", ".jj"];
const TYPE_NAME = "selected";

/** ripgrep's options for the walk. Names are selected by a type defined here: `--glob` would override .gitignore. */
export function walkOptions({ hidden, respectGitignore, only, type }: Walk): string[] {
  const options = [
    "--path-separator=/",
    ...SKIPPED_FOLDERS.map((name) => `--glob=!${name}`),
    // .gitignore files apply without a repository; ignore files of the user or of ripgrep do not.
    ...(respectGitignore ? ["--no-require-git", "--no-ignore-global", "--no-ignore-dot"] : ["--no-ignore"]),
  ];
  if (hidden) options.push("--hidden");
  if (only && Number.isFinite(only.depth)) options.push(`--max-depth=${only.depth}`);
  if (type !== undefined) return [...options, `--type=${type}`];
  if (only?.names) options.push(...only.names.map((name) => `--type-add=${TYPE_NAME}:${name}`), `--type=${TYPE_NAME}`);
  return options;
}

/** Whether any name in the path begins with a dot. */
export function isHidden(path: string): boolean {
  return path.startsWith(".") || path.includes("/.");
}

export interface DatedPath {
  path: string;
  modifiedMs: number;
}

/** The most recently changed file first; for equal times, in path order. */
function compareNewestFirst(a: DatedPath, b: DatedPath): number {
  return b.modifiedMs - a.modifiedMs || comparePaths(a.path, b.path);
}

/** Modification times of files below a folder. */
interface ModifiedTimes {
  /** More files take too long; such a list is sorted by path. */
  readonly max: number;
  /** NaN for a file that no longer exists. */
  of(directory: string, paths: readonly string[]): Promise<readonly number[]>;
}

/** Checks each file through the path policy: exact but slow. */
export function modifiedTimesByInfo(files: Files): ModifiedTimes {
  const modified = async (path: string) => (await files.info(path).catch(() => null))?.modifiedMs ?? NaN;
  return { max: 1_000, of: (directory, paths) => Promise.all(paths.map((path) => modified(join(directory, path)))) };
}

export interface Selection {
  /** Relative to the folder that was searched. */
  paths: string[];
  hasMore: boolean;
  order: "newest" | "path";
}

/** The first `max` readable files, newest first. Unreadable files are omitted silently. */
export async function selectNewest(
  found: readonly string[],
  { directory, files, times, max }: { directory: string; files: Files; times: ModifiedTimes; max: number },
): Promise<Selection> {
  const isAllowed = (path: string) => isReadable(files, join(directory, path));
  if (found.length <= times.max) return take(await sortByTime(found, directory, times), max, isAllowed, "newest");
  const first = take(lowestPaths(found, 2 * max + 1), max, isAllowed, "path");
  // The rest is needed only if too many of the first are not readable.
  return first.hasMore ? first : take(found.toSorted(comparePaths), max, isAllowed, "path");
}

function take(
  sorted: Iterable<string>,
  max: number,
  isAllowed: (path: string) => boolean,
  order: Selection["order"],
): Selection {
  const paths: string[] = [];
  for (const path of sorted) {
    if (!isAllowed(path)) continue;
    if (paths.length === max) return { paths, hasMore: true, order };
    paths.push(path);
  }
  return { paths, hasMore: false, order };
}

/** The first `count` in order, without sorting all of them. */
function lowestPaths(found: readonly string[], count: number): string[] {
  const lowest = found.slice(0, count).sort(comparePaths);
  for (let i = count; i < found.length; i++) {
    const path = found[i] ?? "";
    if (path >= (lowest.at(-1) ?? "")) continue;
    let [from, to] = [0, lowest.length - 1];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (path < (lowest[middle] ?? "")) to = middle;
      else from = middle + 1;
    }
    lowest.splice(from, 0, path);
    lowest.pop();
  }
  return lowest;
}

/** Checked by name: the walk does not follow links. Temporary files of running writes are not readable. */
export function isReadable(files: Files, realPath: string): boolean {
  return checkPath(files.policy, realPath, "read") === null && !isTemporaryName(basename(realPath));
}

async function sortByTime(found: readonly string[], directory: string, times: ModifiedTimes): Promise<string[]> {
  const modified = await times.of(directory, found);
  const dated = found.map((path, i): DatedPath => ({ path, modifiedMs: modified[i] ?? NaN }));
  return dated
    .filter(({ modifiedMs }) => !Number.isNaN(modifiedMs))
    .sort(compareNewestFirst)
    .map(({ path }) => path);
}

function comparePaths(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
