import { z } from "zod";
import { countOf } from "../../core/results/count-of.ts";
import { createTool } from "../../core/create-tool.ts";
import { ToolError } from "../../core/error.ts";
import { filesOf, type FileToolDependencies, PATH_ALIASES } from "./file-access.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

/** A missing path is a result, not a failure. */
export function createGetFileInfoTool({ files }: Pick<FileToolDependencies, "files">) {
  return createTool({
    name: "get_file_info",
    title: "File info",
    description: {
      short: "Reports whether a file or folder exists, its size and when it was changed.",
      examples: [{ input: { path: "." } }],
    },
    kind: "readonly",
    category: "file",
    tags: ["file"],
    builtIn: {
      zh: { title: "文件信息", short: "报告文件或文件夹是否存在、大小以及修改时间。" },
      isCore: true,
      sameAs: { opencode: [], gemini: ["read_file"] },
    },
    output: describeOutput({
      exists: field.flag(),
      size: field.integer("In bytes"),
      modified: field.number("Unix milliseconds"),
      "type?": field.text("file, directory, symlink or other"),
      "created?": field.number("Unix milliseconds"),
      "mode?": field.text("Permissions in octal"),
      "linkTarget?": field.text(),
    }),
    parameters: z.object({
      path: z.string().min(1).describe("The file or folder, relative to the workspace or absolute"),
    }),
    parameterAliases: PATH_ALIASES,
    signature: ({ path }) => ({ text: path, reads: [path] }),
    run: async ({ path }, context) => {
      const allowed = filesOf({ files }, context);
      try {
        const info = await allowed.info(path);
        const details = {
          exists: true,
          type: info.type,
          size: info.size,
          modified: info.modifiedMs,
          created: info.createdMs,
          mode: info.mode.toString(8).padStart(4, "0"),
          linkTarget: info.linkTarget,
        };
        const changed = new Date(info.modifiedMs).toISOString();
        const what = `${allowed.show(info.real)}: ${info.type}, ${countOf(info.size, "byte")}, changed ${changed}`;
        return { content: what, display: what, details };
      } catch (error) {
        if (!(error instanceof ToolError) || error.code !== "path_not_found") throw error;
        return {
          content: `${path} does not exist.`,
          display: `${path}: does not exist`,
          details: { exists: false, size: 0, modified: 0 },
        };
      }
    },
  });
}
