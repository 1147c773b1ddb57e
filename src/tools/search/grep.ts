import { basename, dirname, join } from "node:path";
import { z } from "zod";
import type { Caller } from "../../core/call.ts";
import { createTool } from "../../core/create-tool.ts";
import type { ToolOutput } from "../../core/result.ts";
import { resultTokensOf } from "../../core/results/next-call.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { Files, OpenDirectory } from "../../io/files/files.ts";
import type { FileInfo } from "../../io/files/open-file.ts";
import { isSensitivePath } from "../../io/files/path-policy.ts";
import { isSpillAddress } from "../../io/files/spill-folder.ts";
import { isBinary } from "../../io/files/text-encoding.ts";
import { createFileFilter } from "./file-filter.ts";
import { CODEX_GREP, convertGrep, GEMINI_GREP, redirectNames } from "./grep-dialects.ts";
import {
  cutNote,
  emptyNote,
  findMatchingFiles,
  type MatchingFiles,
  moreNote,
  type ReadMatches,
  readMatches,
  showLines,
  stoppedNote,
} from "./search-matches.ts";
import {
  CALL_MS,
  createScopes,
  isReadable,
  limitOf,
  modifiedTimesByInfo,
  patternOf,
  previewSearch,
  type SearchDependencies,
  type SearchScope,
  selectNewest,
  WALK_PARAMETERS,
} from "./search-scope.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

export interface GrepDetails {
  /** In content mode; without context lines. */
  matches: { path: string; line: number; text: string }[];
  /** Newest first. */
  files: string[];
  /** Number of matching lines; in mode files_with_matches the number of files. */
  count: number;
  /** In count mode. */
  counts?: { path: string; count: number }[];
  truncated: boolean;
  /** Number of searched files, if known. */
  searched?: number;
}

export function createGrepTool(dependencies: SearchDependencies) {
  const scopeOf = createScopes(dependencies);
  return createTool({
    name: "grep",
    title: "Search in files",
    description: {
      short: "Searches the content of files with a regular expression, the most recently changed files first.",
      usageNotes: [
        "Uses ripgrep syntax: no look-around and no back-references; literal braces need a backslash (interface\\{\\}).",
        "Narrow by path, include or exclude before raising limit.",
        "To find files by their names use glob.",
        "A path such as spill:ID, which a long output names, searches the whole of that output.",
      ],
      examples: [
        { input: { pattern: "function\\s+\\w+", include: "*.ts", context: 2 } },
        { input: { pattern: "a[0] = (", fixed_strings: true, output_mode: "files_with_matches" } },
      ],
    },
    kind: "readonly",
    category: "search",
    tags: ["search"],
    aliases: ["search_file_content", "search_files", "search_codebase"],
    convertInput: convertGrep,
    redirect: redirectNames,
    dialects: {
      codex: CODEX_GREP,
      gemini: GEMINI_GREP,
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
    builtIn: {
      zh: { title: "搜索文件内容", short: "用正则表达式搜索文件内容，最近修改的文件在前。" },
      isCore: true,
      sameAs: { opencode: ["grep"], gemini: ["search_file_content", "grep_search"] },
    },
    output: GREP_OUTPUT,
    limits: { timeoutMs: CALL_MS },
    labels: ["sensitive_data"],
    labelsOf: ({ path }, result) => {
      const found = filesIn(result?.details) ?? [path];
      return found.some((file) => isSensitivePath(dependencies.files, file)) ? ["sensitive_data"] : [];
    },
    parameters: GREP_PARAMETERS,
    parameterAliases: GREP_PARAMETER_ALIASES,
    signature: ({ path }) => ({ text: path, reads: [path] }),
    preview: async ({ path, pattern }, context) => {
      const title = `Search for ${JSON.stringify(pattern)} in`;
      if (dependencies.spills && isSpillAddress(path)) return { title: `${title} ${path}`, content: [] };
      return previewSearch(title, scopeOf(context).files, path);
    },
    run: async (input, context) => {
      const { scope, target } = await openScope(scopeOf(context), input.path, context.caller);
      try {
        const maxTokens = Math.max(500, resultTokensOf(context) - 500);
        const saw: ShownLines | undefined =
          target.shownAs === undefined && dependencies.saw
            ? (info, lines) => dependencies.saw?.(context, info, lines)
            : undefined;
        return await search(scope, input, { ...target, maxTokens, saw, context });
      } finally {
        target.directory.close();
      }
    },
  });

  async function openScope(scope: SearchScope, path: string, caller: Caller) {
    if (!dependencies.spills || !isSpillAddress(path)) return { scope, target: await openTarget(scope.files, path) };
    const { files, name } = await dependencies.spills.locate(path, caller);
    const target = { directory: await files.openDirectory("."), file: name, shownAs: path };
    return { scope: { ...scope, files, times: modifiedTimesByInfo(files) }, target };
  }
}

function filesIn(details: unknown): string[] | undefined {
  if (typeof details !== "object" || details === null || !("files" in details)) return undefined;
  return Array.isArray(details.files) ? details.files.filter((file) => typeof file === "string") : undefined;
}

const GREP_OUTPUT = describeOutput<GrepDetails>({
  matches: field.list(
    field.object({ path: field.text(), line: field.integer(), text: field.text() }),
    "In mode content, without context lines",
  ),
  files: field.list(field.text(), "Newest first"),
  count: field.integer("Matching lines; in mode files_with_matches: files"),
  "counts?": field.list(field.object({ path: field.text(), count: field.integer() }), "In mode count"),
  truncated: field.flag("There are more"),
  "searched?": field.integer("Number of searched files"),
});

type ShownLines = (info: FileInfo, lines: { first: number; last: number }) => void;

interface ShownTarget extends SearchTarget {
  maxTokens: number;
  saw?: ShownLines;
  context: ToolContext;
}

interface SearchTarget {
  directory: OpenDirectory;
  /** The address of a spilled output, which has no path. */
  shownAs?: string;
  /** The name of the file to search, if only one is searched. */
  file?: string;
}

async function openTarget(files: Files, path: string): Promise<SearchTarget> {
  const { type, real } = await files.info(path);
  if (type === "directory") return { directory: await files.openDirectory(path) };
  return { directory: await files.openDirectory(dirname(real)), file: basename(real) };
}

async function search(scope: SearchScope, input: GrepInput, target: ShownTarget): Promise<ToolOutput<GrepDetails>> {
  const { directory, file, shownAs } = target;
  const show = (path: string) => shownAs ?? scope.files.show(join(directory.real, path));
  if (file !== undefined && shownAs === undefined && (await isBinaryFile(scope.files, join(directory.real, file)))) {
    return reply(`${show(file)} is not text: it was not searched.`, "not text", { ...NO_MATCHES, searched: 0 });
  }
  const pattern = patternOptions(input);
  const found = await findMatchingFiles(scope, {
    directory,
    pattern,
    file,
    filter: createFileFilter({
      include: input.include,
      exclude: input.exclude,
      hidden: input.hidden,
      fromWorkspace: show,
    }),
    hidden: input.hidden,
    respectGitignore: input.respect_gitignore,
    type: input.type,
    counting: input.output_mode === "count" ? { maxPerFile: input.max_per_file } : undefined,
  });
  const run: GrepRun = { scope, input, target, found, pattern, show };
  const { lines, details, summary } = await (input.output_mode === "content" ? reportLines(run) : reportFiles(run));
  const isEmpty = details.files.length === 0;
  if (isEmpty) {
    const { path, respect_gitignore: respectGitignore, offset } = input;
    lines.unshift(
      emptyNote({
        pattern: input.pattern,
        path,
        searched: found.searched,
        respectGitignore,
        isFile: file !== undefined,
        offset,
      }),
    );
  }
  if (found.end !== "complete") lines.push(stoppedNote(found.end));
  const { searched } = found;
  const truncated = details.truncated || found.end !== "complete";
  return reply(lines.join("\n"), isEmpty ? "no matches" : summary, { ...details, searched, truncated });
}

interface GrepRun {
  scope: SearchScope;
  input: GrepInput;
  target: ShownTarget;
  found: MatchingFiles;
  pattern: readonly string[];
  show(path: string): string;
}

interface GrepReport {
  lines: string[];
  details: GrepDetails;
  summary: string;
}

async function reportLines({ scope, input, target, found, pattern, show }: GrepRun): Promise<GrepReport> {
  const { offset, limit } = input;
  const directory = target.directory.real;
  const { files, times } = scope;
  // Every file has a match, so one file more than needed shows whether there are more.
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
    maxTokens: target.maxTokens,
  });
  if (input.line_numbers) for (const file of read.files) noteShown(file, target.saw);
  const shown = read.files.map(({ path, lines }) => ({ path: show(path), lines }));
  const matches = shown.flatMap(({ path, lines }) =>
    lines.filter(({ isMatch }) => isMatch).map(({ line, text }) => ({ path, line, text })),
  );
  const hasMore = read.hasMore || selection.hasMore;
  const lines =
    shown.length === 0
      ? []
      : [
          showLines(shown, { lineNumbers: input.line_numbers, context: before + after > 0 }),
          ...cutNote(shown, target.context),
        ];
  if (hasMore && shown.length > 0)
    lines.push(
      moreNote("matching lines", { offset, shown: matches.length, order: selection.order, context: target.context }),
    );
  const summary = `${matches.length}${hasMore ? "+" : ""} matching ${matches.length === 1 ? "line" : "lines"} in ${filesText(shown.length)}`;
  const details = { matches, files: shown.map(({ path }) => path), count: matches.length, truncated: hasMore };
  return { lines, details, summary };
}

/** Lines that are cut were not seen. */
function noteShown({ info, lines }: ReadMatches["files"][number], saw: ShownLines | undefined): void {
  const whole = lines.filter(({ isCut }) => !isCut).map(({ line }) => line);
  for (let at = 0; info && saw && at < whole.length; at++) {
    const first = whole[at] ?? 0;
    while (whole[at + 1] === (whole[at] ?? 0) + 1) at++;
    saw(info, { first, last: whole[at] ?? first });
  }
}

async function reportFiles({ scope, input, target, found, show }: GrepRun): Promise<GrepReport> {
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
  if (selection.hasMore)
    lines.push(moreNote("files", { offset, shown: paths.length, order: selection.order, context: target.context }));
  const summary = isCounting
    ? `${total.count} matching lines in ${filesText(total.files)}`
    : `${filesText(paths.length, selection.hasMore)} with matches`;
  const details: GrepDetails = {
    matches: [],
    files: counts.map(({ path }) => path),
    count: total.count,
    counts: isCounting ? counts : undefined,
    truncated: selection.hasMore,
  };
  return { lines, details, summary };
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

const NO_MATCHES: GrepDetails = { matches: [], files: [], count: 0, truncated: false };
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

const lines = (which: string) =>
  z.number().int().min(0).max(50).optional().describe(`Lines to show ${which} each match`);

const GREP_PARAMETERS = z.object({
  pattern: patternOf("The regular expression, or plain text with fixed_strings"),
  path: z.string().min(1).default(".").describe("The folder or file to search, relative to the workspace or absolute"),
  include: z.string().optional().describe("Only files that match, such as src/**/*.{ts,tsx}; !*.test.ts excludes"),
  exclude: z.string().optional().describe("Patterns as in .gitignore, separated by commas"),
  output_mode: z
    .preprocess(toMode, z.enum(["content", "files_with_matches", "count"]))
    .default("content")
    .describe("Matching lines, the paths of their files, or their number per file"),
  fixed_strings: z.boolean().default(false).describe("Treat the pattern as plain text"),
  ignore_case: z.boolean().optional(),
  case_sensitive: z.boolean().optional().describe("True unless ignore_case is set"),
  multiline: z.boolean().default(false).describe("Match across lines; . also matches a line end"),
  context: lines("before and after"),
  before: lines("before"),
  after: lines("after"),
  line_numbers: z.boolean().default(true),
  max_per_file: z.number().int().min(1).max(100_000).optional().describe("At most this many matching lines per file"),
  type: z
    .string()
    .regex(/^\w{1,30}$/)
    .optional()
    .describe("Only files of this type, such as js, py, rust"),
  ...WALK_PARAMETERS,
  limit: limitOf("matching lines, or files in the other modes"),
  offset: z.number().int().min(0).max(100_000).default(0).describe("Skip this many results"),
});

type GrepInput = z.infer<typeof GREP_PARAMETERS>;

// oxfmt-ignore
/** Other parameter names that models use. */
const GREP_PARAMETER_ALIASES = {
  query: "pattern", glob: "include", include_pattern: "include", file_pattern: "include", directory: "path",
  dir: "path", dir_path: "path", file_path: "path", mode: "output_mode", literal: "fixed_strings",
  "-F": "fixed_strings", "-i": "ignore_case", ignoreCase: "ignore_case", case_insensitive: "ignore_case",
  "-U": "multiline", "-A": "after", "-B": "before", "-C": "context", "-n": "line_numbers", after_context: "after",
  before_context: "before", max_matches_per_file: "max_per_file", max_matches: "limit", max_results: "limit",
  head_limit: "limit", include_hidden: "hidden", respect_git_ignore: "respect_gitignore",
} as const;

/** The pattern options for ripgrep. Size limits bound the time and memory of an expression. */
function patternOptions(input: GrepInput): string[] {
  const ignoreCase = input.ignore_case ?? input.case_sensitive === false;
  return [
    // In one word with its option, so it can never be taken for an option or a path.
    `--regexp=${input.pattern}`,
    input.fixed_strings ? "--fixed-strings" : "--no-fixed-strings",
    ignoreCase ? "--ignore-case" : "--case-sensitive",
    // Multiline search reads whole files into memory.
    ...(input.multiline ? ["--multiline", "--multiline-dotall", "--max-filesize=64M"] : []),
    "--crlf",
    "--no-mmap",
    "--regex-size-limit=10M",
    "--dfa-size-limit=100M",
  ];
}

const MODE_NAMES: Readonly<Record<string, string>> = {
  lines: "content",
  files: "files_with_matches",
  files_only: "files_with_matches",
  filesWithMatches: "files_with_matches",
  counts: "count",
};

function toMode(given: unknown): unknown {
  return typeof given === "string" && Object.hasOwn(MODE_NAMES, given) ? MODE_NAMES[given] : given;
}
