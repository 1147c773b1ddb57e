import { setImmediate } from "node:timers/promises";
import { showHiddenCharacters, showName } from "../../io/shell/terminal-text.ts";
import { z } from "zod";
import { countOf } from "../../core/results/count-of.ts";
import { createTool } from "../../core/create-tool.ts";
import { ToolError } from "../../core/error.ts";
import type { Preview } from "../../core/tool.ts";
import type { Files } from "../../io/files/files.ts";
import {
  describeChange,
  failWithSuggestion,
  filesOf,
  type FileToolDependencies,
  MAX_PREVIEWED_BYTES,
  PATH_ALIASES,
  pathLock,
  previewChanges,
  readForPreview,
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
    builtIn: {
      zh: { title: "删除", short: "删除文件；设置 recursive 时可删除文件夹。删除链接本身，不删除其目标。" },
      isCore: true,
      sameAs: { opencode: ["write"], gemini: ["write_file"] },
    },
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
const MAX_COUNTED = 500_000;
/** A larger folder is counted for this long. The question must not wait longer. */
const MAX_COUNT_MS = 10_000;
/** As much as is kept for an approver to look at. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;

/** What would be lost: the lines of a file, the entries of a folder, the target of a link. */
async function previewDeletion(files: Files, path: string): Promise<Preview> {
  const title = `Delete ${showName(path)}`;
  const named = (text: string, omitted?: string, whole?: string): Preview => ({
    title,
    content: [{ type: "text", text }],
    omitted,
    whole,
  });
  const { state } = await files.entry(path);
  switch (state.kind) {
    case "symlink":
      return named(`${showName(path)} → ${showName(state.target)}\nOnly the link is deleted.`);
    case "directory":
      return previewFolder(files, path, named);
    case "file":
      break;
    default:
      return named(showName(path));
  }
  const { size } = state;
  if (size === 0) return named(`${showName(path)} (empty)`);
  const content = await readForPreview(files, path, { maxBytes: MAX_WHOLE_BYTES });
  if ("omitted" in content) return named(showName(path), content.omitted);
  if (size > MAX_PREVIEWED_BYTES) {
    const omitted = `the content of ${showName(path)} (${countOf(size, "byte")})`;
    return named(showName(path), omitted, `${title}\n\n${await removedLines(content.text)}`);
  }
  return previewChanges(title, [await describeChange(path, { before: content.text, after: "" })]);
}

async function previewFolder(
  files: Files,
  path: string,
  named: (text: string, omitted?: string, whole?: string) => Preview,
): Promise<Preview> {
  const found: string[] = [];
  let bytes = 0;
  const folders = [path];
  const until = performance.now() + MAX_COUNT_MS;
  let folder = folders.pop();
  for (; folder !== undefined && found.length < MAX_COUNTED && performance.now() < until; folder = folders.pop()) {
    for (const { name, type, info } of await files.listDirectory(folder, { withInfo: true })) {
      const entry = `${folder}/${name}`;
      if (type === "directory") folders.push(entry);
      found.push(type === "directory" ? `${entry}/` : entry);
      if (type === "file") bytes += info?.size ?? 0;
    }
  }
  const isCounted = folder === undefined;
  const count = `${isCounted ? found.length : `at least ${found.length}`} ${found.length === 1 ? "entry" : "entries"}`;
  const head =
    found.length === 0 ? `${showName(path)}/ (empty)` : `${showName(path)}/ with ${count}, ${countOf(bytes, "byte")}:`;
  const sorted = found.toSorted().map((entry) => `- ${showName(entry)}`);
  const listed = sorted.slice(0, MAX_LISTED);
  const isCut = found.length > listed.length || !isCounted;
  const omitted = isCut ? `${found.length - listed.length} of ${count}` : undefined;
  const rest = isCounted ? [] : ["[… there are more entries: the folder was not read to its end]"];
  return named([head, ...listed].join("\n"), omitted, isCut ? [head, ...sorted, ...rest].join("\n") : undefined);
}

const PART_CHARACTERS = 1024 * 1024;

/** Each line with a minus, as in a diff. In parts, so that others get their turn. */
async function removedLines(text: string): Promise<string> {
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += PART_CHARACTERS) {
    const part = text.slice(at, at + PART_CHARACTERS).replace(/\n(?!$)/g, "\n-");
    parts.push(showHiddenCharacters(at === 0 || text[at - 1] === "\n" ? `-${part}` : part));
    await setImmediate();
  }
  return parts.join("");
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
