import { basename, join } from "node:path";
import { z } from "zod";
import type { ToolContext } from "../../core/tool.ts";
import type { Files } from "../../io/files/files.ts";
import type { GlobPattern } from "../../io/files/glob-pattern.ts";
import { checkPath } from "../../io/files/path-policy.ts";
import type { SpillFolder } from "../../io/files/spill-folder.ts";
import { isTemporaryName } from "../../io/files/temporary-file.ts";
import { createRipgrep, type Ripgrep } from "./ripgrep.ts";

/** What the search tools are given. */
export interface SearchDependencies {
  files: Files;
  /** Outputs that were too long to show. If omitted, `grep` knows no `spill:` addresses. */
  spills?: Pick<SpillFolder, "locate">;
  ripgrep?: Ripgrep;
  /** A quick look at many files; without it only short lists come newest first. */
  modifiedTimes?: ModifiedTimes;
  /** After this an answer comes with what was found. */
  timeLimitMs?: number;
}

/** The same for one call: its files are never more than the runtime allows. */
export interface SearchScope {
  files: Files;
  ripgrep: Ripgrep;
  times: ModifiedTimes;
  signal: AbortSignal;
  /** Milliseconds that are left, never none: what comes last may still answer with what there is. */
  timeLeft(): number;
}

const SEARCH_MS = 20_000;
/** What was found when time is up is still to be read. */
const READING_MS = 1_000;
/** For the gate: a call that does not end by itself. */
export const CALL_MS = 2 * SEARCH_MS;

export function createScopes(dependencies: SearchDependencies) {
  const { files, ripgrep = createRipgrep(), modifiedTimes, timeLimitMs = SEARCH_MS } = dependencies;
  return (context: ToolContext): SearchScope => {
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

/** Parameters that both tools have. */
export const WALK_PARAMETERS = {
  hidden: z.boolean().default(true).describe("Also files and folders whose names begin with a dot (never .git)"),
  respect_gitignore: z.boolean().default(true).describe("Leave out what .gitignore files leave out"),
};

const MAX_RESULTS = 1_000;

export const limitOf = (what: string) =>
  z.number().int().min(1).max(MAX_RESULTS).default(100).describe(`At most this many ${what}`);

/** Only text can be given to another program. */
export const patternOf = (description: string) =>
  z
    .string()
    .min(1)
    .refine((pattern) => !pattern.includes("\0"), "must not contain a NUL character")
    .describe(description);

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

export interface DatedPath {
  path: string;
  modifiedMs: number;
}

/** For sorting: the file changed last comes first; of the same moment, the lower path. */
function compareNewestFirst(a: DatedPath, b: DatedPath): number {
  return b.modifiedMs - a.modifiedMs || comparePaths(a.path, b.path);
}

/** When files below a folder were changed. */
interface ModifiedTimes {
  /** More than this take too long; such a list is put in the order of paths. */
  readonly max: number;
  /** NaN for what is gone. */
  of(directory: string, paths: readonly string[]): Promise<readonly number[]>;
}

/** By a guarded look at each file: exact, and slow. */
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

/** The first `most` that may be read, newest first. What may not is left out as if it were not there. */
export async function selectNewest(
  found: readonly string[],
  { directory, files, times, max }: { directory: string; files: Files; times: ModifiedTimes; max: number },
): Promise<Selection> {
  const isAllowed = (path: string) => isReadable(files, join(directory, path));
  if (found.length <= times.max) return take(await sortByTime(found, directory, times), max, isAllowed, "newest");
  const first = take(lowestPaths(found, 2 * max + 1), max, isAllowed, "path");
  // Only where most of the first may not be read is the rest needed.
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
    const path = found[i] as string;
    if (path >= (lowest.at(-1) as string)) continue;
    let [from, to] = [0, lowest.length - 1];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (path < (lowest[middle] as string)) to = middle;
      else from = middle + 1;
    }
    lowest.splice(from, 0, path);
    lowest.pop();
  }
  return lowest;
}

/** Judged by name: nothing below the searched folder was reached through a link. A half-written file is nobody's. */
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
