import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import type { Preview } from "../../core/tool.ts";
import type { Files } from "../../io/files/files.ts";
import { showName } from "../../io/shell/terminal-text.ts";
import {
  describeChange,
  failWithSuggestion,
  filesOf,
  type FileToolDependencies,
  pathLock,
  previewChanges,
  readForPreview,
} from "./file-access.ts";
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
    builtIn: {
      zh: { title: "移动", short: "移动或重命名文件或文件夹。目标已存在时拒绝，除非设置 overwrite。" },
      isCore: true,
      sameAs: { opencode: ["write"], gemini: ["write_file"] },
    },
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
      return previewMove(allowed, from, to);
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

/** If a file is replaced: what is lost, and what stands there instead. */
async function previewMove(files: Files, from: string, to: string): Promise<Preview> {
  const [moved, replaced] = await Promise.all([files.entry(from), files.entry(to)]);
  const link = moved.state.kind === "symlink" ? ` (a link to ${showName(moved.state.target)})` : "";
  const summary = `${showName(from)}${link}\n→ ${showName(to)}`;
  const named = (title: string, text: string, omitted?: string): Preview => ({
    title,
    content: [{ type: "text", text }],
    omitted,
  });
  if (replaced.state.kind === "absent") return named("Move", summary);
  if (replaced.state.kind === "symlink")
    return named("Move, and replace the existing link", `${summary}\nIt links to ${showName(replaced.state.target)}.`);
  const title = "Move, and replace the existing file";
  const before = await readForPreview(files, to);
  const after = moved.state.kind === "file" ? await readForPreview(files, from) : { text: "" };
  const omitted = [before, after].flatMap((side) => ("omitted" in side ? side.omitted : []));
  if ("omitted" in before || "omitted" in after) return named(title, summary, omitted.join("; "));
  const change = await describeChange(to, { before: before.text, after: after.text });
  return previewChanges(title, [change], { summary: [summary] });
}
