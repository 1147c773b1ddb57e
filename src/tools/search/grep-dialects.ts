import type { AnyTool, ToolDialect } from "../../core/tool.ts";
import { flagOf, ForeignInput } from "../../core/adopt/foreign-input.ts";

const PATTERN = {
  type: "string",
  minLength: 1,
  description: "The regular expression to search for, in ripgrep syntax",
};
const OFFSET = {
  type: "integer",
  minimum: 0,
  maximum: 100_000,
  description: "Skip this many results, to continue a truncated search",
};
const LINES = { type: "integer", minimum: 0, maximum: 50 };

/** `grep` as Gemini CLI shows it. Its parameter for lines to leave out has no equal here. */
export const GEMINI_GREP: ToolDialect = {
  name: "grep_search",
  description: {
    short: "Searches the content of files with a regular expression, the most recently changed files first.",
    usageNotes: ["Upper and lower case are the same unless case_sensitive is set."],
    examples: [{ input: { pattern: "function\\s+\\w+", include_pattern: "*.ts", context: 2 } }],
  },
  parameters: { path: "dir_path", include: "include_pattern", limit: "total_max_matches" },
  schema: {
    type: "object",
    properties: {
      pattern: PATTERN,
      dir_path: { type: "string", description: "The folder or file to search. Default: the workspace" },
      include_pattern: { type: "string", description: "Only files that match, such as *.ts or src/**" },
      names_only: { type: "boolean", description: "Only the paths of files with matches" },
      case_sensitive: { type: "boolean", description: "Default: false" },
      fixed_strings: { type: "boolean", description: "Treat the pattern as plain text" },
      context: { ...LINES, description: "Lines to show before and after each match" },
      before: { ...LINES, description: "Lines to show before each match" },
      after: { ...LINES, description: "Lines to show after each match" },
      no_ignore: { type: "boolean", description: "Also search what .gitignore files ignore" },
      max_matches_per_file: { type: "integer", minimum: 1, description: "At most this many matching lines per file" },
      total_max_matches: { type: "integer", minimum: 1, maximum: 1000, description: "At most this many. Default: 100" },
      offset: OFFSET,
    },
    required: ["pattern"],
    additionalProperties: false,
  },
};

/** `grep` as Codex shows it: only the paths of files. */
export const CODEX_GREP: ToolDialect = {
  name: "grep_files",
  description: {
    short: "Finds the files whose content matches a regular expression, the most recently changed first.",
    examples: [{ input: { pattern: "function\\s+\\w+", include: "*.ts" } }],
  },
  schema: {
    type: "object",
    properties: {
      pattern: PATTERN,
      include: { type: "string", description: "Only files that match, such as *.ts or src/**" },
      path: { type: "string", description: "The folder or file to search. Default: the workspace" },
      limit: { type: "integer", minimum: 1, maximum: 1000, description: "At most this many files. Default: 100" },
      offset: OFFSET,
    },
    required: ["pattern"],
    additionalProperties: false,
  },
};

/** `search_files` of MCP's filesystem server looks for names; that of Roo Code and Cline has a `regex`. */
export const redirectNames: NonNullable<AnyTool["redirect"]> = (input, calledAs) => {
  const { excludePatterns: excluded, ...rest } = input;
  if (calledAs !== "search_files" || typeof input["pattern"] !== "string" || "regex" in input) return undefined;
  const isEmpty = Array.isArray(excluded) && excluded.length === 0;
  return { name: "glob", input: isEmpty ? rest : { ...input } };
};

export function convertGrep(input: Record<string, unknown>, calledAs: string): ForeignInput {
  const foreign = new ForeignInput(input);
  if (calledAs === "search_files" && foreign.has("pattern")) {
    foreign.problems.push("pattern: may be a pattern of names or of text; send regex to search in files");
  }
  foreign.move("regex", "pattern");
  foreign.move("queries", "pattern", (queries) =>
    [queries]
      .flat()
      .map((each) => `(?:${String(each)})`)
      .join("|"),
  );
  foreign.drop("task_progress", "the to-do list has its own tool");
  // Two clients mean different things by it: lines of the result, and files.
  foreign.refuse(
    "exclude_pattern",
    'To leave out files use "exclude", such as *.test.ts. Lines cannot be left out: make the pattern narrower.',
  );
  foreign.moveInverted("no_ignore", "respect_gitignore");
  foreign.move("names_only", "output_mode", (value) => {
    const flag = flagOf(value);
    return flag === undefined ? undefined : flag ? "files_with_matches" : "content";
  });
  const hasCase = foreign.has("ignore_case") || foreign.has("case_sensitive");
  if ((calledAs === "grep_search" || calledAs === "search_file_content") && !hasCase) {
    foreign.set("ignore_case", true, calledAs);
  }
  if (calledAs === "grep_files" && !foreign.has("output_mode")) {
    foreign.set("output_mode", "files_with_matches", calledAs);
  }
  return foreign;
}
