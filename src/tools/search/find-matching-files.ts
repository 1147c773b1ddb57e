import type { OpenDirectory } from "../../files/list-directory.ts";
import type { FileFilter } from "./file-filter.ts";
import type { RipgrepAnswer } from "./ripgrep.ts";
import type { SearchScope } from "./search-dependencies.ts";
import { walkOptions } from "./walk-options.ts";

export interface FileSearch {
  directory: OpenDirectory;
  /** This file of the directory only, by name. */
  file?: string;
  /** The pattern and how it is meant. */
  pattern: readonly string[];
  filter: FileFilter;
  hidden: boolean;
  respectGitignore: boolean;
  type?: string;
  /** Count the lines that match in each file, up to so many. */
  counting?: { maxPerFile: number | undefined };
}

export interface MatchingFiles {
  /** Below the directory; with the number of matching lines when counting. In no order. */
  found: Map<string, number>;
  /** How many files were looked into; unknown when the search was stopped. */
  searched: number | undefined;
  end: RipgrepAnswer["end"];
}

/** The files in which something matches, without regard to whether they may be read: nothing of them is known yet but that. */
export async function findMatchingFiles(scope: SearchScope, search: FileSearch): Promise<MatchingFiles> {
  const { directory, file, pattern, filter, hidden, respectGitignore, type, counting } = search;
  const { maxPerFile } = counting ?? {};
  const answer = await scope.ripgrep.run({
    options: [
      ...pattern,
      ...walkOptions({ hidden, respectGitignore, type, only: { names: filter.names, depth: Infinity } }),
      ...filter.prune.map((name) => `--glob=!${name}`),
      "--null",
      "--with-filename",
      "--stats",
      counting ? "--count" : "--files-with-matches",
      ...(maxPerFile === undefined ? [] : [`--max-count=${maxPerFile}`]),
      // A file that was named is searched, whatever is in it.
      ...(file === undefined ? [] : ["--text"]),
    ],
    directory,
    ...(file === undefined ? {} : { files: [file] }),
    signal: scope.signal,
    timeoutMs: scope.timeLeft(),
  });
  const { found, rest } = counting ? readCounts(answer) : readPaths(answer);
  if (file === undefined) for (const path of found.keys()) if (!filter.accepts(path)) found.delete(path);
  const searched = /^(\d+) files searched$/m.exec(rest)?.[1];
  return { found, searched: searched === undefined ? undefined : Number(searched), end: answer.end };
}

/** `path NUL path NUL … statistics` */
function readPaths({ output, prefix }: RipgrepAnswer) {
  const paths = output.split("\0");
  const rest = paths.pop() ?? "";
  return { found: new Map(paths.map((path) => [path.slice(prefix.length), 1])), rest };
}

/** `path NUL count LF … statistics` */
function readCounts({ output, prefix }: RipgrepAnswer) {
  const found = new Map<string, number>();
  let at = 0;
  for (let nul = output.indexOf("\0"); nul !== -1; nul = output.indexOf("\0", at)) {
    const end = output.indexOf("\n", nul);
    if (end === -1) break;
    found.set(output.slice(at + prefix.length, nul), Number.parseInt(output.slice(nul + 1, end), 10));
    at = end + 1;
  }
  return { found, rest: output.slice(at) };
}
