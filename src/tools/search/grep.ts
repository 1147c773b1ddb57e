import { basename, dirname, join } from "node:path";
import { createTool } from "../../core/create-tool.ts";
import type { ToolOutput } from "../../core/result.ts";
import type { Files } from "../../files/files.ts";
import { isBinary } from "../../files/is-binary.ts";
import type { OpenDirectory } from "../../files/list-directory.ts";
import { isSensitivePath } from "../../files/sensitive-path.ts";
import { createFileFilter } from "./file-filter.ts";
import { findMatchingFiles, type MatchingFiles } from "./find-matching-files.ts";
import { GREP_PARAMETER_ALIASES, GREP_PARAMETERS, type GrepInput, patternOptions } from "./grep-parameters.ts";
import { isReadable, selectNewest } from "./newest-first.ts";
import { readMatches } from "./read-matches.ts";
import { CALL_MS, createScopes, type SearchDependencies, type SearchScope } from "./search-dependencies.ts";
import { cutNote, emptyNote, moreNote, showLines, stoppedNote } from "./show-matches.ts";

export interface GrepDetails {
  /** In content mode; lines beside a match are not among them. */
  matches: { path: string; line: number; text: string }[];
  /** Newest first. */
  files: string[];
  /** Matching lines: of `matches`, or those counted in count mode; in the third mode the number of files. */
  count: number;
  /** In count mode. */
  counts?: { path: string; count: number }[];
  truncated: boolean;
  /** Files looked into, where that is known. */
  searched?: number;
}

export function createGrepTool(dependencies: SearchDependencies) {
  const scopeOf = createScopes(dependencies);
  return createTool({
    name: "grep",
    title: "Search in files",
    description: {
      short: "Searches what is in files with a regular expression, files changed last first.",
      usageNotes: [
        "The expressions are ripgrep's: no look-around and no back-references; braces of code need a backslash (interface\\{\\}).",
        "Narrow by path, include or exclude before raising limit.",
        "To find files by their names use glob.",
      ],
      examples: [
        { input: { pattern: "function\\s+\\w+", include: "*.ts", context: 2 } },
        { input: { pattern: "a[0] = (", fixed_strings: true, output_mode: "files_with_matches" } },
      ],
    },
    kind: "readonly",
    category: "search",
    tags: ["search"],
    aliases: ["search_file_content"],
    dialects: {
      claude: {
        name: "Grep",
        parameters: {
          include: "glob",
          ignore_case: "-i",
          after: "-A",
          before: "-B",
          context: "-C",
          line_numbers: "-n",
          limit: "head_limit",
        },
      },
    },
    origin: { type: "builtin" },
    limits: { timeoutMs: CALL_MS },
    labels: ["sensitive_data"],
    labelsOf: ({ path }, result) => {
      const found = (result?.details as Partial<GrepDetails> | undefined)?.files ?? [path];
      return found.some((one) => isSensitivePath(dependencies.files, one)) ? ["sensitive_data"] : [];
    },
    parameters: GREP_PARAMETERS,
    parameterAliases: GREP_PARAMETER_ALIASES,
    signature: ({ path }) => ({ text: path, reads: [path] }),
    run: async (input, context) => {
      const scope = scopeOf(context);
      const target = await openTarget(scope.files, input.path);
      try {
        return await search(scope, input, target);
      } finally {
        target.directory.close();
      }
    },
  });
}

interface SearchTarget {
  directory: OpenDirectory;
  /** The name of the one file in it that is meant. */
  file?: string;
}

async function openTarget(files: Files, path: string): Promise<SearchTarget> {
  const { type, real } = await files.info(path);
  if (type === "directory") return { directory: await files.openDirectory(path) };
  return { directory: await files.openDirectory(dirname(real)), file: basename(real) };
}

async function search(scope: SearchScope, input: GrepInput, target: SearchTarget): Promise<ToolOutput<GrepDetails>> {
  const { directory, file } = target;
  const show = (path: string) => scope.files.show(join(directory.real, path));
  if (file !== undefined && (await isBinaryFile(scope.files, join(directory.real, file)))) {
    return reply(`${show(file)} is not text: it was not searched.`, "not text", { ...NOTHING, searched: 0 });
  }
  const pattern = patternOptions(input);
  const found = await findMatchingFiles(scope, {
    directory,
    pattern,
    ...(file === undefined ? {} : { file }),
    filter: createFileFilter({
      include: input.include,
      exclude: input.exclude,
      hidden: input.hidden,
      fromWorkspace: show,
    }),
    hidden: input.hidden,
    respectGitignore: input.respect_gitignore,
    ...(input.type === undefined ? {} : { type: input.type }),
    ...(input.output_mode === "count" ? { counting: { maxPerFile: input.max_per_file } } : {}),
  });
  const answer: GrepRun = { scope, input, target, found, pattern, show };
  const { lines, details, summary } = await (input.output_mode === "content"
    ? answerLines(answer)
    : answerFiles(answer));
  const isEmpty = details.files.length === 0;
  if (isEmpty) {
    const { pattern: wanted, path, respect_gitignore: respectGitignore, offset } = input;
    lines.unshift(
      emptyNote({
        pattern: wanted,
        path,
        searched: found.searched,
        respectGitignore,
        isFile: file !== undefined,
        offset,
      }),
    );
  }
  if (found.end !== "complete") lines.push(stoppedNote(found.end));
  const searched = found.searched === undefined ? {} : { searched: found.searched };
  const truncated = details.truncated || found.end !== "complete";
  return reply(lines.join("\n"), isEmpty ? "no matches" : summary, { ...details, ...searched, truncated });
}

interface GrepRun {
  scope: SearchScope;
  input: GrepInput;
  target: SearchTarget;
  found: MatchingFiles;
  pattern: readonly string[];
  show(path: string): string;
}

interface GrepReport {
  lines: string[];
  details: GrepDetails;
  summary: string;
}

async function answerLines({ scope, input, target, found, pattern, show }: GrepRun): Promise<GrepReport> {
  const { offset, limit } = input;
  const directory = target.directory.real;
  const { files, times } = scope;
  // Every file has a match, so one more than are shown tells whether there are more.
  const selection = await selectNewest([...found.found.keys()], { directory, files, times, max: offset + limit + 1 });
  const before = input.before ?? input.context ?? 0;
  const after = input.after ?? input.context ?? 0;
  const read = await readMatches(scope, {
    directory: target.directory,
    paths: selection.paths,
    pattern,
    before,
    after,
    offset,
    limit,
    maxPerFile: input.max_per_file,
  });
  const shown = read.files.map(({ path, lines }) => ({ path: show(path), lines }));
  const matches = shown.flatMap(({ path, lines }) =>
    lines.filter(({ isMatch }) => isMatch).map(({ line, text }) => ({ path, line, text })),
  );
  const hasMore = read.hasMore || selection.hasMore;
  const lines =
    shown.length === 0
      ? []
      : [showLines(shown, { lineNumbers: input.line_numbers, context: before + after > 0 }), ...cutNote(shown)];
  if (hasMore && shown.length > 0)
    lines.push(moreNote("matching lines", { offset, shown: matches.length, order: selection.order }));
  const summary = `${matches.length}${hasMore ? "+" : ""} matching ${matches.length === 1 ? "line" : "lines"} in ${filesText(shown.length)}`;
  const details = { matches, files: shown.map(({ path }) => path), count: matches.length, truncated: hasMore };
  return { lines, details, summary };
}

async function answerFiles({ scope, input, target, found, show }: GrepRun): Promise<GrepReport> {
  const { offset, limit } = input;
  const directory = target.directory.real;
  const isCounting = input.output_mode === "count";
  const { files, times } = scope;
  const selection = await selectNewest([...found.found.keys()], { directory, files, times, max: offset + limit });
  const paths = selection.paths.slice(offset);
  const counts = paths.map((path) => ({ path: show(path), count: found.found.get(path) ?? 0 }));
  const lines = counts.map(({ path, count }) => (isCounting ? `${path}: ${count}` : path));
  const total = isCounting
    ? totalOf(found.found, (path) => isReadable(files, join(directory, path)))
    : { count: paths.length, files: paths.length };
  if (isCounting && paths.length > 0) {
    lines.push(`Total: ${total.count} matching ${total.count === 1 ? "line" : "lines"} in ${filesText(total.files)}.`);
  }
  if (selection.hasMore) lines.push(moreNote("files", { offset, shown: paths.length, order: selection.order }));
  const summary = isCounting
    ? `${total.count} matching lines in ${filesText(total.files)}`
    : `${filesText(paths.length, selection.hasMore)} with matches`;
  const details: GrepDetails = {
    matches: [],
    files: counts.map(({ path }) => path),
    count: total.count,
    truncated: selection.hasMore,
  };
  return { lines, details: isCounting ? { ...details, counts } : details, summary };
}

function totalOf(found: ReadonlyMap<string, number>, isCounted: (path: string) => boolean) {
  const total = { count: 0, files: 0 };
  for (const [path, count] of found) {
    if (!isCounted(path)) continue;
    total.count += count;
    total.files += 1;
  }
  return total;
}

const NOTHING: GrepDetails = { matches: [], files: [], count: 0, truncated: false };
const SAMPLE_BYTES = 8 * 1024;

async function isBinaryFile(files: Files, path: string): Promise<boolean> {
  const file = await files.openForRead(path);
  try {
    const sample = Buffer.alloc(SAMPLE_BYTES);
    return isBinary(sample.subarray(0, file.readNow(sample, 0)));
  } finally {
    file.close();
  }
}

function filesText(count: number, hasMore = false): string {
  return `${count}${hasMore ? "+" : ""} ${count === 1 ? "file" : "files"}`;
}

function reply(content: string, display: string, details: GrepDetails): ToolOutput<GrepDetails> {
  return { content, display, details };
}
