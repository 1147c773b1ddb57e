import { showName } from "../../io/shell/terminal-text.ts";
import { z } from "zod";
import { textOf } from "../../core/content.ts";
import { countOf } from "../../core/results/count-of.ts";
import { attempt, type ErrorCode, ToolError, toolError } from "../../core/error.ts";
import { createTool } from "../../core/create-tool.ts";
import type { ToolOutput } from "../../core/result.ts";
import { estimatedTokens } from "../../core/results/estimated-tokens.ts";
import { resultTokensOf } from "../../core/results/next-call.ts";
import type { ToolContext } from "../../core/tool.ts";
import { compileGlob } from "../../io/files/glob-pattern.ts";
import type { Files } from "../../io/files/files.ts";
import { isSpillAddress } from "../../io/files/spill-folder.ts";
import { isSensitivePath } from "../../io/files/path-policy.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";
import { filesOf, type FileToolDependencies } from "./file-access.ts";
import { convertReadMany, redirectOne } from "./read-dialects.ts";
import type { ReadPath } from "./read.ts";

/** Finds files by a pattern. The tools of another folder do it. */
export type FindFiles = (query: {
  pattern: string;
  /** Whether a file is left out, by its path as it is shown. */
  isExcluded(path: string): boolean;
  respectGitignore: boolean;
  limit: number;
}) => Promise<{ files: string[]; hasMore: boolean }>;

export interface ReadManyDependencies extends FileToolDependencies {
  findFiles: FindFiles;
}

const MAX_FILES = 100;
/** For all files together: as much as one `read`. */
const TOTAL_BYTES = 50 * 1024;
const DETAIL_BYTES = 64 * 1024;
/** Of text with many tokens: a small file gets a share that is enough for it. */
const MIN_BYTES_PER_TOKEN = 1.5;
/** Of a line number. */
const LINE_TOKENS = 4;
/** The last line counts with a line end, also if it has none. */
const LINE_END_BYTES = 1;

/** The files that a call names, after its patterns were expanded. */
interface Selection {
  /** In the order of the call, each once. */
  files: string[];
  /** Those of `files` that only a pattern names. A call that may not read one leaves it out. */
  found: Set<string>;
  /** Patterns without a file. */
  empty: string[];
  /** Patterns that match more files than are read. */
  cut: string[];
}

interface ReadFile {
  path: string;
  content?: string;
  totalLines?: number | null;
  nextOffset?: number | null;
  truncated?: boolean;
  /** Files of the project whose instructions were added to the text. */
  instructions?: string[];
  error?: { code: ErrorCode; message: string };
}

export function createReadManyTool(dependencies: ReadManyDependencies, readPath: ReadPath) {
  const { files } = dependencies;
  /** By the input of a call: rules, the approver and the run get the same list, also if files appear in between. */
  const selections = new WeakMap<object, Promise<Selection>>();
  const selected = new WeakMap<object, Selection>();
  const select = (input: ReadManyInput): Promise<Selection> => {
    const known = selections.get(input);
    if (known) return known;
    const made = selectFiles(input, dependencies);
    selections.set(input, made);
    // A rejection is reported by the caller that awaits it.
    made.then((selection) => selected.set(input, selection)).catch(() => undefined);
    return made;
  };
  return createTool({
    name: "read_many",
    title: "Read many",
    description: {
      short: "Reads several text files at once, by paths and patterns such as src/**/*.ts.",
      usageNotes: [
        `At most ${MAX_FILES} files and about 12,000 tokens in total, shared fairly: short files are whole, long ones cut.`,
        "A cut file names the offset to continue with read. Files that cannot be read are named; the others are read.",
        "Patterns skip what .gitignore ignores.",
      ],
      examples: [{ input: { paths: ["package.json", "src/*.ts"] } }],
    },
    kind: "readonly",
    category: "file",
    tags: ["file"],
    builtIn: {
      zh: { title: "读取多个文件", short: "一次读取多个文本文件，可用路径和 src/**/*.ts 这样的模式。" },
      isCore: true,
      knownAs: ["read_many_files"],
      sameAs: { opencode: ["read"], gemini: ["read_file", "read_many_files"] },
    },
    output: describeOutput({
      files: field.list(
        field.object<ReadFile>({
          path: field.text(),
          "content?": field.text("The text without line numbers"),
          "totalLines?": field.orNull(field.integer("Null if unknown")),
          "nextOffset?": field.orNull(field.integer("Where to continue with read; null at the end")),
          "truncated?": field.flag("There is more text"),
          "instructions?": field.list(field.text(), "Files whose instructions were added to the text"),
          "error?": field.object({ code: field.text(), message: field.text() }, "Why it was not read"),
        }),
      ),
      empty: field.list(field.text(), "Patterns that match no file"),
      cut: field.list(field.text(), "Patterns that match more files than were read"),
    }),
    labels: ["sensitive_data"],
    labelsOf: (input) => {
      const named = selected.get(input)?.files ?? input.paths;
      return named.some((path) => isSensitivePath(files, path)) ? ["sensitive_data"] : [];
    },
    // The result is already bounded here; the gate must not cut it again.
    limits: { maxResultBytes: 256 * 1024, maxResultTokens: 64_000 },
    aliases: ["read_multiple_files", "read_files"],
    redirect: redirectOne,
    dialects: {
      snake: { name: "read_many_files" },
      gemini: { name: "read_many_files", parameters: { paths: "include" } },
    },
    convertInput: convertReadMany,
    parameters: z.object({
      paths: z
        .array(z.string().min(1))
        .min(1)
        .max(MAX_FILES)
        .describe("Files and patterns, relative to the workspace or absolute"),
      exclude: z
        .array(z.string().min(1))
        .default([])
        .describe("Patterns of files to leave out, such as src/**/*.test.ts; without a slash, by name: *.test.ts"),
      respect_gitignore: z.boolean().default(true).describe("Exclude what .gitignore files ignore from patterns"),
    }),
    parameterAliases: { files: "paths", file_paths: "paths", include: "paths" },
    signature: async (input) => {
      const { files: named } = await select(input);
      const reads = named.length > 0 ? named : input.paths;
      return { text: reads.join(" "), reads, effects: { read: named.length } };
    },
    preview: async (input, context) => {
      const { files: named } = await select(input);
      const allowed = filesOf({ files }, context);
      const shown = named.map((path) => showName(path) + (mayRead(allowed, path) ? "" : " (cannot be read)"));
      return { title: `Read ${countOf(named.length, "file")}`, content: [{ type: "text", text: shown.join("\n") }] };
    },
    run: async (input, context) => {
      const { files: all, found, empty, cut } = await select(input);
      const allowed = filesOf({ files }, context);
      const named = all.filter((path) => !found.has(path) || mayRead(allowed, path));
      if (named.length === 0) throw nothingFound(input.paths);
      const parts = await readInTurn(named, { readPath, context, sizes: await sizesOf(named, dependencies, context) });
      const failed = parts.filter(({ file }) => file.error !== undefined);
      if (failed.length === parts.length) throw allFailed(failed.map(({ file }) => file));
      const notes = [
        ...empty.map((pattern) => `[No file matches ${pattern}.]`),
        ...cut.map((pattern) => `[${pattern} matches more files. Use a narrower pattern for the rest.]`),
      ];
      if (parts.some(({ file }) => file.truncated)) {
        notes.push("[To continue a file, use read with its path and the offset given above.]");
      }
      const read = parts.length - failed.length;
      return {
        content: [...parts.map(({ file, text }) => `${headingOf(file.path)}${text}`), ...notes].join("\n"),
        display: `Read ${read} of ${countOf(parts.length, "file")}`,
        details: { files: parts.map(({ file }) => file), empty, cut },
      };
    },
  });
}

interface ReadManyInput {
  paths: string[];
  exclude: string[];
  respect_gitignore: boolean;
}

async function selectFiles(input: ReadManyInput, { files, findFiles }: ReadManyDependencies): Promise<Selection> {
  const selection: Selection = { files: [], found: new Set(), empty: [], cut: [] };
  const seen = new Set<string>();
  const excludes = input.exclude.map(compileExclude);
  const isExcluded = (path: string): boolean => excludes.some((matches) => matches(path));
  const add = (path: string): void => {
    const key = realPathOf(path);
    if (seen.has(key)) return;
    seen.add(key);
    selection.files.push(path);
  };
  for (const path of input.paths) {
    // A name with brackets may be a file: `app/[id]/page.tsx`.
    if (!/[*?[{]/.test(path) || (await exists(path))) {
      add(path);
      continue;
    }
    const left = MAX_FILES - selection.files.length;
    const found =
      left > 0
        ? await findFiles({ pattern: path, isExcluded, respectGitignore: input.respect_gitignore, limit: MAX_FILES })
        : { files: [], hasMore: true };
    const fresh = found.files.filter((file) => !seen.has(realPathOf(file)));
    for (const file of fresh.slice(0, left)) {
      add(file);
      selection.found.add(file);
    }
    if (fresh.length > left || found.hasMore) selection.cut.push(path);
    else if (found.files.length === 0) selection.empty.push(path);
  }
  return selection;

  function realPathOf(path: string): string {
    return attempt(() => files.realPath(path), path);
  }

  async function exists(path: string): Promise<boolean> {
    const info = await files.info(path).catch(() => undefined);
    return info !== undefined;
  }
}

/** A pattern without a slash is for names of files and folders, as in .gitignore files. */
function compileExclude(pattern: string): (path: string) => boolean {
  const { matches } = compileGlob(pattern);
  return pattern.includes("/") ? matches : (path) => path.split("/").some(matches);
}

function mayRead(files: Files, path: string): boolean {
  try {
    files.realPath(path);
    return true;
  } catch {
    return isSpillAddress(path);
  }
}

/** Undefined for a file that cannot be opened: it needs no share of the budget. */
async function sizesOf(
  paths: readonly string[],
  { files, spills }: FileToolDependencies,
  context: ToolContext,
): Promise<(number | undefined)[]> {
  const allowed = filesOf({ files }, context);
  const infoOf = async (path: string) => {
    if (!spills || !isSpillAddress(path)) return allowed.info(path);
    const spilled = await spills.locate(path, context.caller);
    return spilled.files.info(spilled.name);
  };
  return Promise.all(paths.map(async (path) => (await infoOf(path).catch(() => undefined))?.size));
}

function headingOf(path: string): string {
  return `--- ${path} ---\n`;
}

interface Part {
  file: ReadFile;
  text: string;
}

/** One after the other: what a file leaves of its share goes to the others. */
async function readInTurn(
  paths: readonly string[],
  { readPath, context, sizes }: { readPath: ReadPath; context: ToolContext; sizes: readonly (number | undefined)[] },
): Promise<Part[]> {
  const shares = shareFairly(
    sizes.map((size) => (size === undefined ? 0 : size + LINE_END_BYTES)),
    TOTAL_BYTES,
  );
  const parts: Part[] = [];
  const headings = paths.reduce((sum, path) => sum + estimatedTokens.count(headingOf(path)), 0);
  const tokenShares = shareFairly(
    sizes.map((size) => (size === undefined ? 0 : Math.ceil(size / MIN_BYTES_PER_TOKEN) + LINE_TOKENS)),
    Math.max(0, resultTokensOf(context) - headings),
  );
  for (const [index, path] of paths.entries()) {
    context.signal.throwIfAborted();
    const [shownBytes, shownTokens] = [shares[index] ?? 0, tokenShares[index] ?? 0];
    const bounds = { shownBytes, shownTokens, detailBytes: DETAIL_BYTES, textOnly: true };
    try {
      parts.push(partOf(path, await readPath(path, { bounds, context }), shownBytes));
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      const { code, message } = error;
      parts.push({ file: { path, error: { code, message } }, text: `[Not read: ${message}]` });
    }
  }
  return parts;
}

/** Small files get all they need; the rest is divided equally among the larger ones. */
export function shareFairly(needs: readonly number[], total: number): number[] {
  const shares = needs.map(() => 0);
  let left = total;
  const order = needs.map((_, index) => index).sort((one, other) => (needs[one] ?? 0) - (needs[other] ?? 0));
  for (const [done, index] of order.entries()) {
    const share = Math.min(needs[index] ?? 0, Math.floor(left / (order.length - done)));
    shares[index] = share;
    left -= share;
  }
  return shares;
}

function partOf(path: string, { content, details }: ToolOutput, maxBytes: number): Part {
  const { content: whole, totalLines, nextOffset, truncated, instructions, ...read } = details as Partial<ReadFile>;
  const file: ReadFile = { path: read.path ?? path, content: whole, totalLines, nextOffset, truncated, instructions };
  const text = typeof content === "string" ? content : textOf(content);
  // Lines are bounded when they are read, the cells of a notebook are not.
  if (totalLines !== undefined || Buffer.byteLength(text) <= maxBytes) return { file, text };
  const cut = `${Buffer.from(text)
    .subarray(0, maxBytes)
    .toString()
    .replace(/\ufffd*$/, "")}\n[Cut. Use read for all of it.]`;
  return { file: { ...file, content: undefined, truncated: true }, text: cut };
}

function nothingFound(paths: readonly string[]): ToolError {
  return toolError("path_not_found", `No file matches ${paths.join(", ")}`, {
    next: "Files ignored by .gitignore are left out: set respect_gitignore to false to include them.",
  });
}

/** The first reason stands for all. */
function allFailed(files: readonly ReadFile[]): ToolError {
  const [first] = files;
  const others = files.slice(1).map(({ path, error }) => `${path}: ${error?.message ?? ""}`);
  const message = [first?.error?.message ?? "", ...others].join("\n");
  return toolError(first?.error?.code ?? "path_not_found", message, { data: { files } });
}
