import { z } from "zod";
import { countOf } from "../../core/results/count-of.ts";
import { createTool } from "../../core/create-tool.ts";
import { ToolError } from "../../core/error.ts";
import type { Preview } from "../../core/tool.ts";
import type { Files } from "../../io/files/files.ts";
import { decodeText, isBinary } from "../../io/files/text-encoding.ts";
import {
  describeChange,
  failWithSuggestion,
  filesOf,
  type FileToolDependencies,
  PATH_ALIASES,
  pathLock,
  previewChanges,
} from "./file-access.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

export function createDeleteFileTool({ files }: Pick<FileToolDependencies, "files">) {
  return createTool({
    name: "delete_file",
    title: "Delete",
    description: {
      short: "Deletes a file, or a folder if recursive is set. A link itself is deleted, not its target.",
      examples: [{ input: { path: "build", recursive: true } }],
    },
    kind: "write",
    category: "file",
    tags: ["file"],
    origin: { type: "builtin" },
    output: describeOutput({ deleted: field.flag(), path: field.text(), type: field.text("file or directory") }),
    permission: "confirm",
    parameters: z.object({
      path: z.string().min(1).describe("What to delete, relative to the workspace or absolute"),
      recursive: z.boolean().default(false).describe("Delete a folder with everything in it"),
    }),
    parameterAliases: PATH_ALIASES,
    signature: ({ path, recursive }) => ({
      text: path,
      changes: [path],
      effects: { delete: recursive ? "unknown" : 1 },
    }),
    locks: ({ path }) => [pathLock(files, path)],
    preview: async ({ path, recursive }, context) => {
      const allowed = filesOf({ files }, context);
      await allowed
        .checkDelete(path, { recursive })
        .catch((error: unknown) => failWithSuggestion(error, allowed, path));
      return previewDeletion(allowed, path);
    },
    run: async ({ path, recursive }, context) => {
      const allowed = filesOf({ files }, context, "delete_file");
      const type = await deleteAny(allowed, path, recursive);
      const what = `Deleted ${path}`;
      return { content: `${what}.`, display: what, details: { deleted: true, path, type } };
    },
  });
}

/** Entries of a folder that are listed and counted. */
const MAX_LISTED = 200;
const MAX_COUNTED = 10_000;
/** Larger files are named, not shown. */
const MAX_SHOWN_BYTES = 1024 * 1024;

/** What would be lost: the lines of a file, the entries of a folder, the target of a link. */
async function previewDeletion(files: Files, path: string): Promise<Preview> {
  const title = `Delete ${path}`;
  const named = (text: string, omitted?: string): Preview => ({ title, content: [{ type: "text", text }], omitted });
  const { state } = await files.entry(path);
  switch (state.kind) {
    case "symlink":
      return named(`${path} → ${state.target}\nOnly the link is deleted.`);
    case "directory":
      return previewFolder(files, path, named);
    case "file":
      break;
    default:
      return named(path);
  }
  const { size } = state;
  if (size === 0) return named(`${path} (empty)`);
  if (size > MAX_SHOWN_BYTES) return named(path, `the content of ${path} (${size} bytes)`);
  // A policy may allow the deletion of a file and forbid to read it.
  const content = await files.readWhole(path).catch(() => undefined);
  if (!content) return named(path, `the content of ${path}, which may not be read (${countOf(size, "byte")})`);
  if (isBinary(content.bytes))
    return named(path, `the content of ${path}, which is not text (${countOf(size, "byte")})`);
  return previewChanges(title, [await describeChange(path, { before: decodeText(content.bytes).text, after: "" })]);
}

async function previewFolder(
  files: Files,
  path: string,
  named: (text: string, omitted?: string) => Preview,
): Promise<Preview> {
  const found: string[] = [];
  let bytes = 0;
  const folders = [path];
  for (let folder = folders.pop(); folder !== undefined && found.length < MAX_COUNTED; folder = folders.pop()) {
    for (const { name, type, info } of await files.listDirectory(folder, { withInfo: true })) {
      const entry = `${folder}/${name}`;
      if (type === "directory") folders.push(entry);
      found.push(type === "directory" ? `${entry}/` : entry);
      if (type === "file") bytes += info?.size ?? 0;
    }
  }
  const isCounted = found.length < MAX_COUNTED;
  const count = `${isCounted ? found.length : `at least ${found.length}`} ${found.length === 1 ? "entry" : "entries"}`;
  const head = found.length === 0 ? `${path}/ (empty)` : `${path}/ with ${count}, ${countOf(bytes, "byte")}:`;
  const listed = found.toSorted().slice(0, MAX_LISTED);
  const omitted = found.length > listed.length ? `${found.length - listed.length} of ${count}` : undefined;
  return named([head, ...listed.map((entry) => `- ${entry}`)].join("\n"), omitted);
}

/** No check before: what exists at the moment of the deletion decides, and a link is never followed. */
async function deleteAny(files: Files, path: string, recursive: boolean): Promise<"file" | "directory"> {
  try {
    await files.deleteFile(path);
    return "file";
  } catch (error) {
    if (!(error instanceof ToolError) || error.code !== "is_directory") return failWithSuggestion(error, files, path);
  }
  await files.deleteDirectory(path, { recursive });
  return "directory";
}
