import { join } from "node:path";
import type { OpenDirectory } from "../../files/list-directory.ts";
import { locateLines } from "./locate-lines.ts";
import { readLocated, type ReadLine } from "./read-located.ts";
import type { SearchScope } from "./search-dependencies.ts";
import type { MatchedFile } from "./show-matches.ts";

export interface MatchRequest {
  directory: OpenDirectory;
  /** Files with matches, in the order in which they are shown. */
  paths: readonly string[];
  /** The pattern and how it is meant. */
  pattern: readonly string[];
  before: number;
  after: number;
  /** Matching lines to skip, and to show then. */
  offset: number;
  limit: number;
  maxPerFile: number | undefined;
}

export interface ReadMatches {
  files: MatchedFile[];
  /** Lines were left out because of `limit`, or because the answer would be too long. */
  hasMore: boolean;
}

/** A command line may not be longer on every system. */
const MAX_PATH_CHARACTERS = 24_000;
const MAX_ANSWER_CHARACTERS = 48_000;

/** The lines that match, of as many files as it takes. */
export async function readMatches(scope: SearchScope, request: MatchRequest): Promise<ReadMatches> {
  const { paths, offset, limit, maxPerFile, before, after } = request;
  const files: MatchedFile[] = [];
  let [skip, room, characters] = [offset, limit, MAX_ANSWER_CHARACTERS];
  for (const batch of batchesOf(paths)) {
    const { byFile, end } = await locateLines({
      ...request,
      ripgrep: scope.ripgrep,
      files: batch,
      maxPerFile: Math.min(maxPerFile ?? Infinity, skip + room + 1),
      signal: scope.signal,
      timeoutMs: scope.timeLeft(),
    });
    for (const path of batch) {
      const located = byFile.get(path) ?? [];
      const matching = located.filter(({ column }) => column !== undefined).map(({ line }) => line);
      const skipped = matching.splice(0, skip).length;
      skip -= skipped;
      if (matching.length === 0) continue;
      if (room === 0) return { files, hasMore: true };
      const chosen = matching.slice(0, room);
      const isNear = (line: number) => chosen.some((match) => line >= match - before && line <= match + after);
      const wanted = located.filter(({ line, column }) =>
        column === undefined ? isNear(line) : chosen.includes(line),
      );
      const lines = await readLocated(scope.files, join(request.directory.real, path), wanted);
      const { fitting, left } = fit(lines, path, characters);
      characters = left;
      room -= chosen.length;
      if (fitting.length > 0) files.push({ path, lines: fitting });
      if (fitting.length < lines.length || chosen.length < matching.length) return { files, hasMore: true };
    }
    if (end !== "complete") return { files, hasMore: true };
  }
  return { files, hasMore: false };
}

/** The lines that an answer still has room for. */
function fit(lines: readonly ReadLine[], path: string, characters: number): { fitting: ReadLine[]; left: number } {
  const fitting: ReadLine[] = [];
  let left = characters;
  for (const line of lines) {
    left -= path.length + line.text.length + 10;
    if (left < 0) return { fitting, left: 0 };
    fitting.push(line);
  }
  return { fitting, left };
}

function batchesOf(paths: readonly string[]): string[][] {
  const batches: string[][] = [];
  let length = Infinity;
  for (const path of paths) {
    length += path.length + 1;
    if (length > MAX_PATH_CHARACTERS) {
      batches.push([]);
      length = path.length + 1;
    }
    batches.at(-1)?.push(path);
  }
  return batches;
}
