import { z } from "zod";
import { countOf } from "../../core/results/count-of.ts";
import { createTool } from "../../core/create-tool.ts";
import { ForeignInput, integerOf } from "../../core/adopt/foreign-input.ts";
import { toolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import { estimatedTokens } from "../../core/results/estimated-tokens.ts";
import { continueBy, resultTokensOf } from "../../core/results/next-call.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { DirectoryEntry, Files } from "../../io/files/files.ts";
import { compileGlob } from "../../io/files/glob-pattern.ts";
import { failWithSuggestion, filesOf, type FileToolDependencies, PATH_ALIASES, previewRead } from "./file-access.ts";
import { convertFiltering } from "./read-dialects.ts";
import type { ReadRange } from "./read.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

const DEFAULT_LIMIT = 500;
/** Of the tokens of a result, for notes below the entries. */
const NOTE_TOKENS = 1_000;
/** Of the tokens, for the largest folders if not all fit. The rest is for the names of the others. */
const TOP_SHARE = 0.7;
const MIN_BYTES_PER_TOKEN = 4;

export interface ListedFile {
  path: string;
  name: string;
  type: DirectoryEntry["type"];
  size: number;
  modified: number;
  /** Of a folder in a recursive listing: how many files are below it. */
  files?: number;
}

/** The paths of all files below a folder, relative to it, without those that .gitignore files exclude. */
export type ListTree = (
  path: string,
  options: { respectGitignore: boolean; context: ToolContext },
) => Promise<{ paths: string[]; isComplete: boolean }>;

export interface ListFilesDependencies extends Pick<FileToolDependencies, "files"> {
  listTree: ListTree;
}

export function createListFilesTool({ files, listTree }: ListFilesDependencies) {
  return createTool({
    name: "list_files",
    title: "List",
    description: {
      short: "Lists a folder, or gives an overview of everything below it if recursive is set.",
      usageNotes: [
        "Recursive: each folder has its number of files; folders that are too large for limit are not opened.",
        "Recursive: what .gitignore files exclude is left out, and so are .git and the content of node_modules.",
        "To find files by pattern in a large tree, glob is faster.",
      ],
      examples: [{ input: { path: "." } }, { input: { path: ".", recursive: true } }],
    },
    kind: "readonly",
    category: "file",
    tags: ["file"],
    aliases: ["list", "list_directory", "list_dir", "list_directory_with_sizes", "directory_tree"],
    dialects: {
      claude: { name: "LS" },
      codex: { name: "list_dir", parameters: { path: "dir_path" } },
      gemini: { name: "list_directory", parameters: { path: "dir_path" } },
    },
    convertInput,
    builtIn: {
      zh: { title: "列出文件", short: "列出一个文件夹；设置 recursive 时包括其下的全部内容。" },
      isCore: true,
      knownAs: ["ls"],
      sameAs: { opencode: ["list"], gemini: ["list_directory"] },
    },
    output: describeOutput({
      files: field.list(
        field.object<ListedFile>({
          path: field.text("Relative to the listed folder"),
          name: field.text(),
          type: field.text("file, directory, symlink or other"),
          size: field.integer("In bytes"),
          modified: field.number("Unix milliseconds"),
          "files?": field.integer("Recursive: the number of files below a folder"),
        }),
      ),
      truncated: field.flag("There are more"),
    }),
    parameters: z.object({
      path: z.string().min(1).default(".").describe("The folder, relative to the workspace or absolute"),
      recursive: z.boolean().default(false).describe("Also list what is in the folders below"),
      depth: z.number().int().min(1).optional().describe("Recursive: at most this many levels"),
      pattern: z.string().optional().describe("Only names that match, such as *.ts or src/**/*.md"),
      ignore: z.array(z.string()).optional().describe("Names to leave out, as patterns"),
      respect_gitignore: z.boolean().default(true).describe("Recursive: leave out what .gitignore files exclude"),
      limit: z.number().int().min(1).max(5_000).default(DEFAULT_LIMIT).describe("At most this many entries"),
    }),
    parameterAliases: {
      ...PATH_ALIASES,
      directory: "path",
      dir: "path",
      dir_path: "path",
      glob: "pattern",
      excludePatterns: "ignore",
      respect_git_ignore: "respect_gitignore",
    },
    signature: ({ path }) => ({ text: path, reads: [path] }),
    preview: ({ path }, context) => previewRead("List", filesOf({ files }, context), path),
    run: async ({ path, recursive, pattern, ignore = [], limit, depth = Infinity, ...walk }, context) => {
      const allowed = filesOf({ files }, context);
      const wanted = pattern === undefined ? () => true : compileNamePattern(pattern);
      const unwanted = ignore.map(compileNamePattern);
      const listing = new Listing(allowed, path, {
        matches: (below) => wanted(below) && !unwanted.some((matches) => matches(below)),
        limit,
        tokens: TOP_SHARE * resultTokensOf(context),
        signal: context.signal,
      });
      if (recursive) {
        await listing.requireFolder();
        const respectGitignore = walk.respect_gitignore;
        await listing.listBelow(await listTree(path, { respectGitignore, context }), {
          depth,
          isFiltered: pattern !== undefined,
        });
      } else await listing.listFolder();
      const { listed, others } = listing;
      const budget = resultTokensOf(context) - NOTE_TOKENS;
      const lines = firstThatFit(listed.map(lineOf), others.length > 0 ? TOP_SHARE * budget : budget);
      const names = firstThatFit(others, budget - sum(lines.map(costOf)));
      const truncated = listing.truncated || lines.length < listed.length;
      const shown = { entries: lines.length, others: names, isOverview: recursive && pattern === undefined, truncated };
      if (listed.length === 0) lines.push(pattern === undefined ? "(empty)" : `(nothing matches ${pattern})`);
      return {
        content: [...lines, ...listing.notes(shown)].join("\n"),
        display: `${listed.length} ${listed.length === 1 ? "entry" : "entries"} in ${path}`,
        details: { files: listed, truncated },
      };
    },
  });
}

/** Options of other clients that are nested, inverted or counted in another way. */
function convertInput(input: Record<string, unknown>, calledAs: string): ForeignInput {
  const foreign = new ForeignInput(input);
  if (calledAs === "directory_tree") foreign.set("recursive", true, calledAs);
  if (input["sortBy"] === "name") foreign.drop("sortBy", "entries are sorted by name");
  foreign.refuse("sortBy", "Entries are sorted by name: leave it out, or use exec: ls -lS.");
  foreign.drop("task_progress", "the to-do list has its own tool");
  convertFiltering(foreign);
  if (foreign.has("depth") && !foreign.has("recursive")) {
    const depth = integerOf(input["depth"]);
    if (depth !== undefined && depth > 1) foreign.set("recursive", true, "depth");
  }
  if (foreign.has("offset") && integerOf(input["offset"]) === 1)
    foreign.drop("offset", "a listing begins at its first entry");
  foreign.refuse("offset", "A listing has no pages: raise limit, or narrow it by path or pattern.");
  return foreign;
}

/** What is below one folder, as far as the walk found it. */
interface TreeFolder {
  /** Names of files. */
  files: string[];
  folders: Map<string, TreeFolder>;
  /** Files at any depth. */
  total: number;
}

const NODE_MODULES = "node_modules";
const MAX_NAMED = 20;
/** Deeper folders count as excluded if the walk found nothing in them. */
const MAX_EMPTY_DEPTH = 4;

interface ListingOptions {
  matches(path: string): boolean;
  limit: number;
  /** For the folders at the top. */
  tokens: number;
  signal: AbortSignal;
}

/** An entry with the number of files below it, if it is a folder that is not opened yet. */
interface FoundEntry {
  entry: DirectoryEntry;
  files?: number;
}

/** One listing: breadth first, so a limit shows the top of the tree. Links are listed but not followed. */
class Listing {
  readonly listed: ListedFile[] = [];
  /** Names of folders at the top that do not fit. */
  others: string[] = [];
  /** Whether something that matches is not listed. */
  truncated = false;
  #isComplete = true;
  #unreadable: string[] = [];
  #ignored: string[] = [];
  readonly #files: Files;
  readonly #path: string;
  readonly #options: ListingOptions;

  constructor(files: Files, path: string, options: ListingOptions) {
    this.#files = files;
    this.#path = path;
    this.#options = options;
  }

  async requireFolder(): Promise<void> {
    await this.#files
      .listDirectory(this.#path)
      .catch((error: unknown) => failWithSuggestion(error, this.#files, this.#path));
  }

  async listFolder(): Promise<void> {
    for (const entry of await this.#entriesOf("")) {
      if (!this.#options.matches(entry.name)) continue;
      if (this.listed.length >= this.#options.limit) {
        this.truncated = true;
        return;
      }
      this.#add("", entry);
    }
  }

  /** Opens folders level by level, each only if all of it fits. The first level is always shown, folders first; what does not fit, as names. */
  async listBelow(
    { paths, isComplete }: { paths: readonly string[]; isComplete: boolean },
    { depth, isFiltered }: { depth: number; isFiltered: boolean },
  ): Promise<void> {
    this.#isComplete = isComplete;
    const root = treeOf(paths);
    if (isFiltered) return this.#listMatches(root, depth);
    let level: { below: string; folder: TreeFolder }[] = [{ below: "", folder: root }];
    for (let at = 1; at <= depth && level.length > 0; at++) {
      const next: typeof level = [];
      for (const { below, folder } of level) {
        this.#options.signal.throwIfAborted();
        const left = this.#options.limit - this.listed.length;
        if (below !== "" && folder.files.length + folder.folders.size > left) {
          this.truncated = true;
          continue;
        }
        for (const name of await this.#open(below, folder)) {
          const inner = folder.folders.get(name);
          if (inner) next.push({ below: below ? `${below}/${name}` : name, folder: inner });
        }
      }
      level = next;
    }
    if (level.length > 0) this.truncated = true;
  }

  /** Lists one folder and returns the names of the folders in it that may be opened. */
  async #open(below: string, folder: TreeFolder): Promise<string[]> {
    const kept = new Set(folder.files);
    const opened: string[] = [];
    const shown: FoundEntry[] = [];
    for (const entry of await this.#entriesOf(below)) {
      const path = below ? `${below}/${entry.name}` : entry.name;
      if (!this.#options.matches(path)) continue;
      if (entry.type === "file" && !kept.has(entry.name)) this.#ignored.push(path);
      else if (entry.type !== "directory") shown.push({ entry });
      else {
        if (SKIPPED_FOLDERS.has(entry.name)) continue;
        const inner = folder.folders.get(entry.name);
        const files = inner && entry.name !== NODE_MODULES ? inner.total : await this.#countEntries(path, entry.name);
        if (files === "ignored") continue;
        shown.push({ entry, files });
        if (inner && entry.name !== NODE_MODULES) opened.push(entry.name);
      }
    }
    const left = this.#options.limit - this.listed.length;
    const largest = below === "" ? this.#largestFolders(shown, left) : undefined;
    if (largest) {
      for (const found of shown) {
        if (largest.has(found)) this.#add(below, found.entry, found.files);
        else if (found.files !== undefined) this.others.push(found.entry.name);
      }
      this.truncated = true;
      const unlisted = new Set(this.others);
      return opened.filter((name) => !unlisted.has(name));
    }
    // If not everything fits, folders say more than files.
    if (shown.length > left)
      shown.sort((one, other) => Number(other.files !== undefined) - Number(one.files !== undefined));
    for (const { entry, files } of shown.slice(0, left)) this.#add(below, entry, files);
    if (shown.length > left) this.truncated = true;
    return opened;
  }

  /** Those that fit, if not all folders do. */
  #largestFolders(shown: readonly FoundEntry[], max: number): ReadonlySet<FoundEntry> | undefined {
    const folders = shown.filter(({ files }) => files !== undefined);
    const ordered = folders.toSorted((one, other) => (other.files ?? 0) - (one.files ?? 0));
    const lines = ordered.map(({ entry, files }) => lineOf(listedFile("", entry, files)));
    const count = Math.min(max, firstThatFit(lines, this.#options.tokens).length);
    return count === folders.length ? undefined : new Set(ordered.slice(0, count));
  }

  /** For a folder whose files the walk did not find. Undefined if it cannot be read. */
  async #countEntries(path: string, name: string): Promise<number | undefined | "ignored"> {
    const inner = await this.#entriesOf(path, { withInfo: false });
    if (this.#unreadable.includes(path)) return undefined;
    if (name === NODE_MODULES || inner.length === 0) return inner.length;
    // Only files are excluded: a folder of links, or of empty folders, has none.
    if (!(await this.#hasFiles(path, inner))) return 0;
    this.#ignored.push(`${path}/`);
    return "ignored";
  }

  async #hasFiles(path: string, entries: readonly DirectoryEntry[], depth = 0): Promise<boolean> {
    if (depth > MAX_EMPTY_DEPTH || entries.some(({ type }) => type === "file")) return true;
    for (const { name, type } of entries) {
      if (type !== "directory") continue;
      const below = `${path}/${name}`;
      if (await this.#hasFiles(below, await this.#entriesOf(below, { withInfo: false }), depth + 1)) return true;
    }
    return false;
  }

  async #listMatches(root: TreeFolder, depth: number): Promise<void> {
    let level: { below: string; folder: TreeFolder }[] = [{ below: "", folder: root }];
    for (let at = 1; at <= depth && level.length > 0; at++) {
      const next: typeof level = [];
      for (const { below, folder } of level) {
        const pathOf = (name: string): string => (below ? `${below}/${name}` : name);
        const names = [...folder.files, ...folder.folders.keys()].filter((name) => this.#options.matches(pathOf(name)));
        const left = this.#options.limit - this.listed.length;
        if (names.length > left) this.truncated = true;
        for (const name of names.sort(compareNames).slice(0, left)) {
          const info = await this.#files.info(`${this.#path}/${pathOf(name)}`).catch(() => undefined);
          const inner = folder.folders.get(name);
          this.#add(below, { name, type: inner ? "directory" : "file", info }, inner?.total);
        }
        const inOrder = [...folder.folders].sort(([one], [other]) => compareNames(one, other));
        for (const [name, inner] of inOrder) {
          if (name !== NODE_MODULES) next.push({ below: pathOf(name), folder: inner });
        }
      }
      level = next;
    }
  }

  #add(below: string, entry: DirectoryEntry, files?: number): void {
    this.listed.push(listedFile(below, entry, files));
  }

  async #entriesOf(below: string, { withInfo = true } = {}): Promise<DirectoryEntry[]> {
    try {
      return await this.#files.listDirectory(below ? `${this.#path}/${below}` : this.#path, { withInfo });
    } catch (error) {
      if (!below) return failWithSuggestion(error, this.#files, this.#path);
      this.#unreadable.push(below);
      return [];
    }
  }

  notes({ entries, others, isOverview, truncated }: ShownListing): string[] {
    const notes: string[] = [];
    if (this.others.length > 0) {
      const more = this.others.length - others.length;
      notes.push(`[Other folders: ${others.join(", ")}${more > 0 ? ` and ${more} more` : ""}]`);
    }
    if (truncated) {
      notes.push(
        isOverview
          ? `[${countOf(entries, "entry is", "entries are")} shown. Folders whose content is not listed show how many files they have: list one of them by path, or raise limit.]`
          : `[Only the first ${entries} are shown. Narrow by path or pattern, or raise limit.]`,
      );
    }
    if (this.#ignored.length > 0) {
      const more = this.#ignored.length > MAX_NAMED ? ", …" : "";
      notes.push(`[Excluded by .gitignore and not listed: ${this.#ignored.slice(0, MAX_NAMED).join(", ")}${more}]`);
    }
    if (!this.#isComplete)
      notes.push("[The walk took too long: the numbers of files are too low, and some folders are missing.]");
    if (this.#unreadable.length > 0) {
      notes.push(`[These folders could not be read: ${this.#unreadable.slice(0, 5).join(", ")}]`);
    }
    return notes;
  }
}

interface ShownListing {
  /** Lines of entries. */
  entries: number;
  /** Folders that only their names are shown of. */
  others: readonly string[];
  isOverview: boolean;
  truncated: boolean;
}

function listedFile(below: string, { name, type, info }: DirectoryEntry, files?: number): ListedFile {
  const path = below ? `${below}/${name}` : name;
  return { path, name, type, size: info?.size ?? 0, modified: info?.modifiedMs ?? 0, files };
}

/** The gate cuts what is too long out of the middle. Here the end is left out, and named. */
function firstThatFit(lines: readonly string[], tokens: number): string[] {
  let left = tokens;
  const end = lines.findIndex((line) => (left -= costOf(line)) < 0);
  return lines.slice(0, end === -1 ? lines.length : end);
}

/** In tokens. Results are also limited by bytes, which very long names reach first. */
function costOf(line: string): number {
  return Math.max(estimatedTokens.count(line) + 1, Buffer.byteLength(line) / MIN_BYTES_PER_TOKEN);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Internal folders of version control systems. */
const SKIPPED_FOLDERS = new Set([".git", ".hg", ".svn", ".jj"]);

function treeOf(paths: readonly string[]): TreeFolder {
  const root: TreeFolder = { files: [], folders: new Map(), total: 0 };
  for (const path of paths) {
    const parts = path.split("/");
    const name = parts.pop();
    let folder = root;
    folder.total++;
    for (const part of parts) {
      let inner = folder.folders.get(part);
      if (!inner) folder.folders.set(part, (inner = { files: [], folders: new Map(), total: 0 }));
      folder = inner;
      folder.total++;
    }
    if (name) folder.files.push(name);
  }
  return root;
}

function lineOf({ path, name, type, size, files }: ListedFile): string {
  if (type === "file") return `${path}  ${size}`;
  if (files === undefined) return markName(path, type);
  const what = name === NODE_MODULES ? "entry" : "file";
  const plural = name === NODE_MODULES ? "entries" : "files";
  return `${markName(path, type)}  (${files} ${files === 1 ? what : plural}${name === NODE_MODULES ? ", not listed" : ""})`;
}

function compareNames(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** The `read` tool on a folder: its entries, paged like lines. */
export async function readFolder(
  files: Files,
  path: string,
  { range: { offset = 1, limit = DEFAULT_LIMIT }, context }: { range: ReadRange; context: ToolContext },
): Promise<ToolOutput> {
  const all = await files.listDirectory(path);
  const first = Math.max(1, offset);
  if (first > Math.max(1, all.length)) {
    throw toolError("bad_range", `${path} has ${countOf(all.length, "entry", "entries")}; there is no entry ${first}`, {
      next: "Read with a smaller offset.",
    });
  }
  const lines: string[] = [];
  let tokens = resultTokensOf(context);
  for (const { name, type } of all.slice(first - 1, first - 1 + limit)) {
    const line = markName(name, type);
    tokens -= estimatedTokens.count(line) + 1;
    if (tokens < 0 && lines.length > 0) break;
    lines.push(line);
  }
  const entries = all.slice(first - 1, first - 1 + lines.length);
  const next = first + entries.length <= all.length ? first + entries.length : null;
  if (all.length === 0) lines.push("(empty folder)");
  if (next !== null) {
    lines.push(`[Showing entries ${first}-${next - 1} of ${all.length}. ${continueBy(context, { offset: next })}]`);
  }
  return {
    content: [`${path} is a folder:`, ...lines].join("\n"),
    display: `Listed ${path}: ${all.length} ${all.length === 1 ? "entry" : "entries"}`,
    details: { path, entries: entries.map(({ name, type }) => ({ name, type })), total: all.length, nextOffset: next },
  };
}

/** Appends a slash to folders and an at sign to links, like `ls -F`. */
function markName(name: string, type: DirectoryEntry["type"]): string {
  return type === "directory" ? `${name}/` : type === "symlink" ? `${name}@` : name;
}

/** A pattern without a slash matches names, one with a slash paths below the listed folder. */
function compileNamePattern(pattern: string): (path: string) => boolean {
  const glob = compileGlob(pattern);
  if (pattern.includes("/")) return (path) => glob.matches(path);
  return (path) => glob.matches(path.slice(path.lastIndexOf("/") + 1));
}
