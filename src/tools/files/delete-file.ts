import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import { ToolError } from "../../core/error.ts";
import type { Files } from "../../io/files/files.ts";
import { failWithSuggestion, filesOf, type FileToolDependencies, PATH_ALIASES, pathLock } from "./file-access.ts";

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
      return {
        title: `Delete ${path}`,
        content: [{ type: "text", text: recursive ? `${path}, with everything in it` : path }],
      };
    },
    run: async ({ path, recursive }, context) => {
      const allowed = filesOf({ files }, context, "delete_file");
      const type = await deleteAny(allowed, path, recursive);
      const what = `Deleted ${path}`;
      return { content: `${what}.`, display: what, details: { deleted: true, path, type } };
    },
  });
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
