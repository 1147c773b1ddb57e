import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import { failWithSuggestion, filesOf, type FileToolDependencies, pathLock } from "./file-access.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

export function createMoveFileTool({ files, reads }: Pick<FileToolDependencies, "files" | "reads">) {
  return createTool({
    name: "move_file",
    title: "Move",
    description: {
      short: "Moves or renames a file or folder. An existing target is refused unless overwrite is set.",
      examples: [{ input: { from: "draft.md", to: "notes/final.md" } }],
    },
    kind: "write",
    category: "file",
    tags: ["file"],
    origin: { type: "builtin" },
    output: describeOutput({ success: field.flag(), from: field.text(), to: field.text() }),
    permission: "confirm",
    parameters: z.object({
      from: z.string().min(1).describe("What to move"),
      to: z.string().min(1).describe("The new path; missing folders are created"),
      overwrite: z.boolean().default(false).describe("Replace an existing file"),
    }),
    parameterAliases: { source: "from", destination: "to", src: "from", dest: "to", old_path: "from", new_path: "to" },
    signature: ({ from, to }) => ({ text: `${from} -> ${to}`, reads: [from], changes: [from, to] }),
    locks: ({ from, to }) => [pathLock(files, from), pathLock(files, to)],
    preview: async ({ from, to, overwrite }, context) => {
      const allowed = filesOf({ files }, context);
      await allowed
        .checkMove(from, to, { overwrite })
        .catch((error: unknown) => failWithSuggestion(error, allowed, from));
      return { title: "Move", content: [{ type: "text", text: `${from}\n→ ${to}` }] };
    },
    run: async ({ from, to, overwrite }, context) => {
      const allowed = filesOf({ files }, context, "move_file");
      const moved = await allowed
        .move(from, to, { overwrite })
        .catch((error: unknown) => failWithSuggestion(error, allowed, from));
      reads.moved(context, moved.from, moved.info.real);
      const what = `Moved ${allowed.show(moved.from)} to ${allowed.show(moved.info.real)}`;
      return {
        content: `${what}.`,
        display: what,
        details: { success: true, from: allowed.show(moved.from), to: allowed.show(moved.info.real) },
      };
    },
  });
}
