import { join } from "node:path";
import type { Files } from "../../files/files.ts";
import { checkPath } from "../../files/path-policy.ts";

export interface DatedPath {
  path: string;
  modifiedMs: number;
}

/** For sorting: the file changed last comes first; of the same moment, the lower path. */
export function compareNewestFirst(a: DatedPath, b: DatedPath): number {
  return b.modifiedMs - a.modifiedMs || comparePaths(a.path, b.path);
}

/** When files below a folder were changed. */
export interface ModifiedTimes {
  /** More than this take too long; such a list is put in the order of paths. */
  readonly most: number;
  /** NaN for what is gone. */
  of(directory: string, paths: readonly string[]): Promise<readonly number[]>;
}

/** By a guarded look at each file: exact, and slow. */
export function modifiedTimesByInfo(files: Files): ModifiedTimes {
  const modified = async (path: string) => (await files.info(path).catch(() => null))?.modifiedMs ?? NaN;
  return { most: 1_000, of: (directory, paths) => Promise.all(paths.map((path) => modified(join(directory, path)))) };
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
  { directory, files, times, most }: { directory: string; files: Files; times: ModifiedTimes; most: number },
): Promise<Selection> {
  const order = found.length <= times.most ? "newest" : "path";
  const sorted = order === "newest" ? await sortByTime(found, directory, times) : found.toSorted(comparePaths);
  const paths: string[] = [];
  for (const path of sorted) {
    if (!isReadable(files, join(directory, path))) continue;
    if (paths.length === most) return { paths, hasMore: true, order };
    paths.push(path);
  }
  return { paths, hasMore: false, order };
}

/** Judged by name: nothing below the searched folder was reached through a link. */
export function isReadable(files: Files, realPath: string): boolean {
  return checkPath(files.policy, realPath, "read") === null;
}

async function sortByTime(found: readonly string[], directory: string, times: ModifiedTimes): Promise<string[]> {
  const modified = await times.of(directory, found);
  const dated = found.map((path, i): DatedPath => ({ path, modifiedMs: modified[i] ?? NaN }));
  return dated.filter(({ modifiedMs }) => !Number.isNaN(modifiedMs)).sort(compareNewestFirst).map(({ path }) => path);
}

function comparePaths(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
