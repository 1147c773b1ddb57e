import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import { toolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import type { DirectoryEntry, Files } from "../../io/files/files.ts";
import { compileGlob } from "../../io/files/glob-pattern.ts";
import { failWithSuggestion, filesOf, type FileToolDependencies, PATH_ALIASES, previewRead } from "./file-access.ts";
import type { ReadRange } from "./read.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

const DEFAULT_LIMIT = 500;
/** A recursive listing fails above this number of entries. */
const MAX_VISITED = 100_000;

export interface ListedFile {
  path: string;
  name: string;
  type: DirectoryEntry["type"];
  size: number;
  modified: number;
}

export function createListFilesTool({ files }: Pick<FileToolDependencies, "files">) {
  return createTool({
    name: "list_files",
    title: "List",
    description: {
      short: "Lists a folder, with everything below it if recursive is set.",
      usageNotes: ["To find files by pattern in a large tree, glob is faster and respects .gitignore."],
      examples: [{ input: { path: "." } }],
    },
    kind: "readonly",
    category: "file",
    tags: ["file"],
    aliases: ["list_directory", "list_dir"],
    dialects: { claude: { name: "LS" } },
    origin: { type: "builtin" },
    output: describeOutput({
      files: field.list(
        field.object<ListedFile>({
          path: field.text("Relative to the listed folder"),
          name: field.text(),
          type: field.text("file, directory, symlink or other"),
          size: field.integer("In bytes"),
          modified: field.number("Unix milliseconds"),
        }),
      ),
      truncated: field.flag("There are more"),
    }),
    parameters: z.object({
      path: z.string().min(1).default(".").describe("The folder, relative to the workspace or absolute"),
      recursive: z.boolean().default(false).describe("Also list what is in the folders below"),
      pattern: z.string().optional().describe("Only names that match, such as *.ts or src/**/*.md"),
      limit: z.number().int().min(1).max(5_000).default(DEFAULT_LIMIT).describe("At most this many entries"),
    }),
    parameterAliases: { ...PATH_ALIASES, directory: "path", dir: "path", glob: "pattern" },
    signature: ({ path }) => ({ text: path, reads: [path] }),
    preview: ({ path }, context) => previewRead("List", filesOf({ files }, context), path),
    run: async ({ path, recursive, pattern, limit }, context) => {
      const allowed = filesOf({ files }, context);
      const matches = pattern === undefined ? () => true : compileNamePattern(pattern);
      const listing = await list(allowed, path, { recursive, matches, limit, signal: context.signal });
      const { listed, truncated, unreadable } = listing;
      const lines = listed.map(({ path: shown, type, size }) =>
        type === "file" ? `${shown}  ${size}` : markName(shown, type),
      );
      if (listed.length === 0) lines.push(pattern === undefined ? "(empty)" : `(nothing matches ${pattern})`);
      if (truncated)
        lines.push(`[Only the first ${listed.length} are shown. Narrow by path or pattern, or raise limit.]`);
      if (unreadable.length > 0) lines.push(`[These folders could not be read: ${unreadable.slice(0, 5).join(", ")}]`);
      return {
        content: lines.join("\n"),
        display: `${listed.length} ${listed.length === 1 ? "entry" : "entries"} in ${path}`,
        details: { files: listed, truncated },
      };
    },
  });
}

interface ListOptions {
  recursive: boolean;
  matches: (path: string) => boolean;
  limit: number;
  signal: AbortSignal;
}

interface Listing {
  listed: ListedFile[];
  truncated: boolean;
  /** Folders that could not be read; the others are still listed. */
  unreadable: string[];
}

/** Breadth first, so a limit shows the top of the tree. Links are listed but not followed. */
async function list(files: Files, path: string, { recursive, matches, limit, signal }: ListOptions): Promise<Listing> {
  const listing: Listing = { listed: [], truncated: false, unreadable: [] };
  const folders = [""];
  let visited = 0;
  for (const folder of folders) {
    signal.throwIfAborted();
    for (const { name, type, info } of await entriesOf(files, path, folder, listing)) {
      const below = folder ? `${folder}/${name}` : name;
      if (recursive && type === "directory") folders.push(below);
      if (matches(below)) {
        if (listing.listed.length >= limit) return { ...listing, truncated: true };
        listing.listed.push({ path: below, name, type, size: info?.size ?? 0, modified: info?.modifiedMs ?? 0 });
      }
      if (++visited > MAX_VISITED) throw tooMany();
    }
  }
  return listing;
}

async function entriesOf(
  files: Files,
  path: string,
  folder: string,
  { unreadable }: Listing,
): Promise<DirectoryEntry[]> {
  try {
    return await files.listDirectory(folder ? `${path}/${folder}` : path, { withInfo: true });
  } catch (error) {
    if (!folder) return failWithSuggestion(error, files, path);
    unreadable.push(folder);
    return [];
  }
}

function tooMany() {
  return toolError("too_large", `This folder contains more than ${MAX_VISITED} entries`, {
    next: "List a deeper folder, or use glob.",
  });
}

/** The `read` tool on a folder: its entries, paged like lines. */
export async function readFolder(
  files: Files,
  path: string,
  { offset = 1, limit = DEFAULT_LIMIT }: ReadRange,
): Promise<ToolOutput> {
  const all = await files.listDirectory(path);
  const first = Math.max(1, offset);
  if (first > Math.max(1, all.length)) {
    throw toolError("bad_range", `${path} has ${all.length} entries; there is no entry ${first}`, {
      next: "Read with a smaller offset.",
    });
  }
  const entries = all.slice(first - 1, first - 1 + limit);
  const next = first + entries.length <= all.length ? first + entries.length : null;
  const lines = entries.map(({ name, type }) => markName(name, type));
  if (all.length === 0) lines.push("(empty folder)");
  if (next !== null) {
    lines.push(`[Showing entries ${first}-${next - 1} of ${all.length}. Use offset=${next} to continue.]`);
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
