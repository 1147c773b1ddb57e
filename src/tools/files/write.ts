import { ForeignInput } from "../../core/adopt/foreign-input.ts";
import { showName } from "../../io/shell/terminal-text.ts";
import { z } from "zod";
import { countOf } from "../../core/results/count-of.ts";
import { createTool } from "../../core/create-tool.ts";
import { ToolError } from "../../core/error.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { FileInfo } from "../../io/files/open-file.ts";
import type { Files } from "../../io/files/files.ts";
import { convertLineEnds, type DecodedText, decodeText, encodeText, isBinary } from "../../io/files/text-encoding.ts";
import {
  CHANGE_FIELDS,
  describeChange,
  encodingNamed,
  filesOf,
  type FileToolDependencies,
  PATH_ALIASES,
  pathLock,
  previewChanges,
} from "./file-access.ts";
import { refuseElisions } from "./elided-text.ts";
import { reportDiagnostics } from "./report-diagnostics.ts";
import { withoutBom } from "./text-match.ts";
import { describeOutput } from "../../schema/describe-output.ts";

export function createWriteTool(dependencies: FileToolDependencies) {
  const { files, reads, diagnostics } = dependencies;
  return createTool({
    name: "write",
    title: "Write",
    description: {
      short: "Writes a whole file. Missing folders are created; an existing file is replaced.",
      usageNotes: [
        "Prefer edit to change an existing file.",
        "An existing file must have been read completely in this session.",
        "An existing file keeps its encoding, byte order mark and line ends.",
      ],
      examples: [{ input: { path: "notes/today.md", content: "# Today\n" } }],
    },
    kind: "write",
    category: "file",
    tags: ["file"],
    builtIn: {
      zh: { title: "写入", short: "写入整个文件。缺少的文件夹会创建，已有的文件会被替换。" },
      isCore: true,
      knownAs: ["write_file"],
      sameAs: { opencode: ["write"], gemini: ["write_file"] },
      partlyKnownAs: ["str_replace_based_edit_tool", "str_replace_editor", "editor"],
    },
    output: describeOutput(CHANGE_FIELDS),
    permission: "confirm",
    dialects: {
      snake: { name: "write_file" },
      claude: { name: "Write", parameters: { path: "file_path" } },
      gemini: { name: "write_file", parameters: { path: "file_path" } },
      openclaw: { name: "write" },
    },
    aliases: ["write_to_file"],
    convertInput: (input) => {
      const foreign = new ForeignInput(input);
      foreign.drop("line_count", "the content says it");
      foreign.drop("task_progress", "the to-do list has its own tool");
      return foreign;
    },
    parameters: z.object({
      path: z.string().min(1).describe("The file, relative to the workspace or absolute"),
      content: z.string().describe("The whole new content"),
      encoding: z.string().optional().describe("Encoding of a new file. Default: utf-8"),
    }),
    parameterAliases: { ...PATH_ALIASES, contents: "content", text: "content", file_text: "content" },
    signature: ({ path }) => ({ text: path, changes: [path] }),
    locks: ({ path }) => [pathLock(files, path)],
    preview: async (input, context) => {
      const { allowed, bytes, present } = await prepare(input, context, "requireRead");
      await allowed.checkWrite(input.path);
      const binary = present && isBinary(present.bytes) ? [input.path] : [];
      const change = await describeChange(input.path, {
        before: binary.length > 0 ? "" : (present?.decoded.text ?? ""),
        after: decodeText(bytes).text,
      });
      return previewChanges(`${present ? "Replace" : "Create"} ${showName(input.path)}`, [change], { binary });
    },
    run: async (input, context) => {
      const { allowed, bytes, present } = await prepare(input, context, "requireFresh");
      const condition = present ? { ifStamp: present.info.stamp } : { ifAbsent: true };
      const outcome = await allowed.writeFileAtomic(input.path, bytes, condition);
      reads.saw(context, outcome.info, { bytes, seen: "whole" });
      const shown = allowed.show(outcome.info.real);
      const change = await describeChange(shown, {
        before: present?.decoded.text ?? "",
        after: decodeText(bytes).text,
      });
      const changed = { file: outcome.info.real, before: present?.bytes, after: bytes };
      const found = await reportDiagnostics(diagnostics, [changed], { context, show: allowed.show.bind(allowed) });
      const what = `${outcome.created ? "Created" : "Wrote"} ${shown} (${countOf(bytes.length, "byte")})`;
      return {
        content: `${present && change.shown ? `${what}\n${change.shown}` : `${what}.`}${found.text}`,
        display: `${what}, +${change.added} −${change.removed}`,
        details: {
          bytesWritten: bytes.length,
          path: shown,
          created: outcome.created,
          diff: change.diff,
          diffOmitted: change.omitted,
          added: change.added,
          removed: change.removed,
          diagnostics: found.problems,
        },
      };
    },
  });

  /** Used by the preview and the write: neither may reveal the content of an unread file. */
  async function prepare(
    { path, content, encoding }: WriteInput,
    context: ToolContext,
    check: "requireRead" | "requireFresh",
  ) {
    const allowed = filesOf({ files }, context, "write");
    const present = await readIfExists(allowed, path);
    if (present && dependencies.requireRead !== false) {
      reads[check](context, present, path);
      reads.requireWhole(context, present, path);
    }
    refuseElisions(content, present?.decoded.text ?? "", "content");
    return { allowed, present, bytes: present ? encodeLike(content, present.decoded) : encodeNew(content, encoding) };
  }
}

interface WriteInput {
  path: string;
  content: string;
  encoding?: string;
}

interface ExistingFile {
  info: FileInfo;
  bytes: Buffer;
  decoded: DecodedText;
}

async function readIfExists(files: Files, path: string): Promise<ExistingFile | undefined> {
  try {
    const { bytes, info } = await files.readWhole(path);
    return { info, bytes, decoded: decodeText(bytes) };
  } catch (error) {
    if (error instanceof ToolError && error.code === "path_not_found") return undefined;
    throw error;
  }
}

/** Text keeps its encoding, and its line ends if they are uniform. A binary file has nothing to preserve. */
function encodeLike(content: string, present: DecodedText): Buffer {
  if (isBinary(present.bytes)) return encodeNew(content, undefined);
  const { eol, text, bom } = present;
  const body = bom ? withoutBom(content) : content;
  return encodeText(eol === "mixed" || !text.includes("\n") ? body : convertLineEnds(body, eol), present);
}

function encodeNew(content: string, encoding: string | undefined): Buffer {
  return encodeText(content, { encoding: encodingNamed(encoding ?? "utf-8"), bom: false });
}
