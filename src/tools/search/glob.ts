import { dirname, join } from "node:path";
import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import { ToolError } from "../../core/error.ts";
import type { Files, OpenDirectory } from "../../io/files/files.ts";
import { compileGlob, type GlobPattern, splitBase, withLiteralBrackets } from "../../io/files/glob-pattern.ts";
import { flagOf, ForeignInput } from "../../core/adopt/foreign-input.ts";
import {
  CALL_MS,
  createScopes,
  isReadable,
  limitOf,
  patternOf,
  previewSearch,
  type SearchDependencies,
  type SearchScope,
  selectNewest,
  WALK_PARAMETERS,
  walkOptions,
} from "./search-scope.ts";
import type { RipgrepResult } from "./ripgrep.ts";
import { stoppedNote } from "./search-matches.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";
import type { ToolContext } from "../../core/tool.ts";

export function createGlobTool(dependencies: SearchDependencies) {
  const scopeOf = createScopes(dependencies);
  return createTool({
    name: "glob",
    title: "Find files",
    description: {
      short: "Finds files by a pattern for their paths, the most recently changed first.",
      usageNotes: [
        "* matches any part of a name, ** any folders, ? one character, [ab] one of these characters, {a,b} a choice.",
        "*.ts finds files in the folder itself, **/*.ts at any depth.",
        "To find files by their content use grep.",
      ],
      examples: [{ input: { pattern: "src/**/*.{ts,tsx}" } }, { input: { pattern: "**/package.json", limit: 20 } }],
    },
    kind: "readonly",
    category: "search",
    tags: ["file", "search"],
    aliases: ["find"],
    dialects: {
      claude: { name: "Glob" },
      gemini: { name: "glob", parameters: { path: "dir_path", respect_gitignore: "respect_git_ignore" } },
    },
    convertInput: (input) => {
      const foreign = new ForeignInput(input);
      foreign.moveInverted("no_ignore", "respect_gitignore");
      if (flagOf(input["respect_gemini_ignore"]) === false) {
        foreign.drop("respect_gemini_ignore", ".geminiignore files are never used");
      }
      foreign.refuse("respect_gemini_ignore", ".geminiignore files are not used; leave it out.");
      return foreign;
    },
    builtIn: {
      zh: { title: "查找文件", short: "按路径模式查找文件，最近修改的在前。" },
      isCore: true,
      sameAs: { opencode: ["glob"], gemini: ["glob"] },
      partlyKnownAs: ["search_files"],
    },
    output: describeOutput({
      files: field.list(field.text(), "Newest first"),
      truncated: field.flag("There are more"),
    }),
    limits: { timeoutMs: CALL_MS },
    parameters: z.object({
      pattern: patternOf("Which files, such as **/*.ts").refine((pattern) => /\S/.test(pattern), "must not be blank"),
      path: z.string().min(1).default(".").describe("The folder to search, relative to the workspace or absolute"),
      case_sensitive: z.boolean().default(true),
      ...WALK_PARAMETERS,
      limit: limitOf("files"),
    }),
    parameterAliases: {
      glob: "pattern",
      directory: "path",
      dir: "path",
      dir_path: "path",
      include_hidden: "hidden",
      respect_git_ignore: "respect_gitignore",
      max_results: "limit",
      head_limit: "limit",
    },
    signature: ({ path, pattern }) => ({ text: `${pattern} in ${path}`, reads: [searchedFolder(path, pattern)] }),
    preview: ({ path, pattern }, context) =>
      previewSearch(`Find ${JSON.stringify(pattern)} in`, scopeOf(context).files, path),
    run: async (input, context) => {
      const scope = scopeOf(context);
      const { base, rest } = splitBase(input.pattern);
      const directory = await openBase(scope.files, input.path, base);
      const { paths, hasMore, order, end } = directory
        ? await findFiles(scope, directory, { ...input, pattern: rest }).finally(() => directory.close())
        : { paths: [], hasMore: false, order: "newest" as const, end: "complete" as const };
      const truncated = hasMore || end !== "complete";
      const files = directory ? paths.map((path) => scope.files.show(join(directory.real, path))) : [];
      const lines = files.length > 0 ? [...files] : [emptyNote(input, directory !== null)];
      if (hasMore) lines.push(moreNote(files.length, order));
      if (end !== "complete") lines.push(stoppedNote(end));
      return {
        content: lines.join("\n"),
        display: `${files.length}${hasMore ? "+" : ""} ${files.length === 1 ? "file" : "files"} for ${input.pattern}`,
        details: { files, truncated },
      };
    },
  });
}

/** What other tools search by a pattern: files that a search finds, in path order, as a model is shown them. */
export function createFileFinder(dependencies: SearchDependencies) {
  const scopeOf = createScopes(dependencies);
  return async (query: FinderQuery): Promise<{ files: string[]; hasMore: boolean }> => {
    const scope = scopeOf({
      allowedPaths: undefined,
      callId: "",
      signal: query.signal ?? new AbortController().signal,
    });
    const { base, rest } = splitBase(query.pattern);
    const directory = await openBase(scope.files, ".", base);
    if (!directory) return { files: [], hasMore: false };
    const shownPath = (path: string): string => scope.files.show(join(directory.real, path));
    const walk = { case_sensitive: true, hidden: true, respect_gitignore: query.respectGitignore, limit: query.limit };
    const { paths, hasMore, end } = await findFiles(scope, directory, {
      ...walk,
      pattern: rest,
      isExcluded: (path) => query.isExcluded(shownPath(path)),
    }).finally(() => directory.close());
    const files = paths.map(shownPath);
    return { files: files.sort(), hasMore: hasMore || end !== "complete" };
  };
}

interface FinderQuery {
  pattern: string;
  isExcluded(path: string): boolean;
  respectGitignore: boolean;
  limit: number;
  signal?: AbortSignal;
}

interface FileQuery {
  pattern: string;
  /** Left out before the newest are selected. Default: none. */
  isExcluded?(path: string): boolean;
  case_sensitive: boolean;
  hidden: boolean;
  respect_gitignore: boolean;
  limit: number;
}

async function findFiles(scope: SearchScope, directory: OpenDirectory, query: FileQuery) {
  const { files, ripgrep, times, signal, timeLeft } = scope;
  const options = { caseSensitive: query.case_sensitive, hidden: query.hidden };
  const literal = withLiteralBrackets(query.pattern);
  const [asPattern, asText] = [
    compileGlob(query.pattern, options),
    literal === null ? null : compileGlob(literal, options),
  ];
  const walk = {
    hidden: true,
    respectGitignore: query.respect_gitignore,
    only: asText ? { ...asPattern, names: null } : asPattern,
  };
  const answer = await ripgrep.run({
    options: ["--files", "--null", ...walkOptions(walk)],
    directory,
    signal,
    timeoutMs: timeLeft(),
  });
  const named = asText ? pathsOf(answer, asText) : [];
  const matching = named.length > 0 ? named : pathsOf(answer, asPattern);
  const { isExcluded } = query;
  const found = isExcluded ? matching.filter((path) => !isExcluded(path)) : matching;
  const selection = await selectNewest(found, { directory: directory.real, files, times, max: query.limit });
  return { ...selection, end: answer.end };
}

/** Where the search begins, including the fixed folders of the pattern. */
function searchedFolder(path: string, pattern: string): string {
  const { base } = splitBase(pattern);
  return base === "" || base.startsWith("/") || /^~(\/|$)/.test(base) ? base || path : join(path, base);
}

/** Null if the fixed folders of the pattern do not exist: nothing matches then. A missing `path` is an error. */
async function openBase(files: Files, path: string, base: string): Promise<OpenDirectory | null> {
  if (base.startsWith("/") || /^~(\/|$)/.test(base)) return openOrNull(files, base);
  const directory = await files.openDirectory(path);
  if (base === "") return directory;
  directory.close();
  return openOrNull(files, join(directory.real, base));
}

async function openOrNull(files: Files, path: string): Promise<OpenDirectory | null> {
  try {
    return await files.openDirectory(path);
  } catch (error) {
    if (error instanceof ToolError && (error.code === "path_not_found" || error.code === "not_directory")) return null;
    throw error;
  }
}

function pathsOf({ output, prefix }: RipgrepResult, glob: GlobPattern): string[] {
  const found: string[] = [];
  // After the last NUL there is nothing, or a path that was cut off.
  for (let at = 0, end = output.indexOf("\0"); end !== -1; at = end + 1, end = output.indexOf("\0", at)) {
    const path = output.slice(at + prefix.length, end);
    if (glob.matches(path)) found.push(path);
  }
  return found;
}

function emptyNote(
  { pattern, path, respect_gitignore }: { pattern: string; path: string; respect_gitignore: boolean },
  hasFolder: boolean,
): string {
  const hints = [];
  if (!hasFolder) hints.push("The folder in the pattern does not exist.");
  else if (!pattern.includes("/")) hints.push(`To search in subfolders, too, use **/${pattern}.`);
  if (respect_gitignore)
    hints.push("Files ignored by .gitignore were not searched (set respect_gitignore: false to include them).");
  return `No files match ${JSON.stringify(pattern)} in ${JSON.stringify(path)}. ${hints.join(" ")}`.trimEnd();
}

function moreNote(shown: number, order: "newest" | "path"): string {
  const which =
    order === "newest"
      ? `the ${shown} most recently changed`
      : `the first ${shown} in path order, because there are too many to sort by time`;
  return `[Truncated: these are ${which}. Narrow by path or by a more specific pattern, or raise limit.]`;
}

/** For other tools: the files below a folder, relative to it, without those that .gitignore files exclude. */
export function createTreeLister(dependencies: SearchDependencies) {
  const scopeOf = createScopes(dependencies);
  return async (
    path: string,
    { respectGitignore, context }: { respectGitignore: boolean; context: ToolContext },
  ): Promise<{ paths: string[]; isComplete: boolean }> => {
    const { files, ripgrep, signal, timeLeft } = scopeOf(context);
    const directory = await files.openDirectory(path);
    try {
      const { output, prefix, end } = await ripgrep.run({
        options: ["--files", "--null", ...walkOptions({ hidden: true, respectGitignore })],
        directory,
        signal,
        timeoutMs: timeLeft(),
      });
      // The last path may be cut off.
      const found = output.slice(0, output.lastIndexOf("\0")).split("\0");
      const readable = new Map<string, boolean>();
      const isReadableFolder = (folder: string): boolean => {
        let known = readable.get(folder);
        if (known === undefined) {
          known =
            isReadable(files, join(directory.real, folder)) && (folder === "." || isReadableFolder(dirname(folder)));
          readable.set(folder, known);
        }
        return known;
      };
      const paths = found
        .filter((each) => each.startsWith(prefix))
        .map((each) => each.slice(prefix.length))
        .filter((each) => isReadableFolder(dirname(each)));
      return { paths, isComplete: end === "complete" };
    } finally {
      directory.close();
    }
  };
}
