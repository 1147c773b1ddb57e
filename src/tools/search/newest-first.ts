import { basename, join } from "node:path";
import type { Files } from "../../files/files.ts";
import { checkPath } from "../../files/path-policy.ts";
import { isTemporaryName } from "../../files/temporary-file.ts";

export interface DatedPath {
  path: string;
  modifiedMs: number;
}

/** For sorting: the file changed last comes first; of the same moment, the lower path. */
function compareNewestFirst(a: DatedPath, b: DatedPath): number {
  return b.modifiedMs - a.modifiedMs || comparePaths(a.path, b.path);
}

/** When files below a folder were changed. */
export interface ModifiedTimes {
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
