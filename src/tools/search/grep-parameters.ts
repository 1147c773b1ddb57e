import { z } from "zod";
import { limitOf, patternOf, WALK_PARAMETERS } from "./search-parameters.ts";

const lines = (which: string) =>
  z.number().int().min(0).max(50).optional().describe(`Lines to show ${which} each match`);

export const GREP_PARAMETERS = z.object({
  pattern: patternOf("What to look for: a regular expression, unless fixed_strings is set"),
  path: z.string().min(1).default(".").describe("The folder or file to search, relative to the workspace or absolute"),
  include: z
    .string()
    .optional()
    .describe("Only files that match, such as *.ts or src/**/*.{ts,tsx}; !*.test.ts leaves out"),
  exclude: z
    .string()
    .optional()
    .describe("Files and folders to leave out, written as in .gitignore, with commas between"),
  output_mode: z
    .preprocess(toMode, z.enum(["content", "files_with_matches", "count"]))
    .default("content")
    .describe("Matching lines, only the paths of files with matches, or the number of matching lines of each file"),
  fixed_strings: z.boolean().default(false).describe("Take the pattern as plain text"),
  ignore_case: z.boolean().optional(),
  case_sensitive: z.boolean().optional().describe("True unless ignore_case is set"),
  multiline: z.boolean().default(false).describe("Let a match run over several lines; . then also matches a line end"),
  context: lines("before and after"),
  before: lines("before"),
  after: lines("after"),
  line_numbers: z.boolean().default(true),
  max_per_file: z.number().int().min(1).max(100_000).optional().describe("At most this many matching lines of a file"),
  type: z
    .string()
    .regex(/^\w{1,30}$/)
    .optional()
    .describe("Only files of a type that ripgrep knows, such as js, py, rust"),
  ...WALK_PARAMETERS,
  limit: limitOf("matching lines, or files in the other modes"),
  offset: z
    .number()
    .int()
    .min(0)
    .max(100_000)
    .default(0)
    .describe("Skip so many first, to continue a truncated answer"),
});

export type GrepInput = z.infer<typeof GREP_PARAMETERS>;

/** Names that models of other families use. */
export const GREP_PARAMETER_ALIASES = {
  query: "pattern",
  regex: "pattern",
  glob: "include",
  include_pattern: "include",
  file_pattern: "include",
  exclude_pattern: "exclude",
  directory: "path",
  dir: "path",
  dir_path: "path",
  file_path: "path",
  mode: "output_mode",
  literal: "fixed_strings",
  "-F": "fixed_strings",
  "-i": "ignore_case",
  ignoreCase: "ignore_case",
  case_insensitive: "ignore_case",
  "-U": "multiline",
  "-A": "after",
  "-B": "before",
  "-C": "context",
  "-n": "line_numbers",
  after_context: "after",
  before_context: "before",
  max_matches_per_file: "max_per_file",
  max_matches: "limit",
  max_results: "limit",
  head_limit: "limit",
  include_hidden: "hidden",
  respect_git_ignore: "respect_gitignore",
} as const;

/** The pattern and how it is meant, for ripgrep. A size limit keeps an expression from eating minutes and memory. */
export function patternOptions(input: GrepInput): string[] {
  const ignoreCase = input.ignore_case ?? input.case_sensitive === false;
  return [
    // In one word with its option: whatever it begins with, it is never an option or a path itself.
    `--regexp=${input.pattern}`,
    input.fixed_strings ? "--fixed-strings" : "--no-fixed-strings",
    ignoreCase ? "--ignore-case" : "--case-sensitive",
    // A file of any size is read whole to match over lines.
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
