import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import { toolError, ToolError } from "../../core/error.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { FileInfo } from "../../files/file-info.ts";
import type { Files } from "../../files/files.ts";
import { describeChange } from "./describe-change.ts";
import { editBytes } from "./edit-bytes.ts";
import { filesOf, type FileToolDependencies, PATH_ALIASES, pathLock } from "./file-tool.ts";
import { refuseElisions } from "./find-elision.ts";
import type { AppliedEdit, TextEdit } from "./replace-text.ts";
import { failWithSuggestion } from "./suggest-path.ts";

const editParameters = z.object({
  old_string: z.string().describe("The text to replace, exactly as it stands in the file"),
  new_string: z.string().describe("What to put in its place; empty to delete"),
  replace_all: z.boolean().optional().describe("Replace every place instead of requiring exactly one"),
  reason: z.string().optional().describe("Why, in a few words, for whoever reads along"),
});

export function createEditTool({ files, reads, requireRead = true }: FileToolDependencies) {
  return createTool({
    name: "edit",
    title: "Edit",
    description: {
      short: "Replaces text in a file: one place that must be unique, every place, or several edits at once.",
      usageNotes: [
        "Quote the text as it stands, with enough lines around it to be unique.",
        "Several edits all speak of the file as it is now, and are made all or not at all.",
      ],
      important: ["The file must have been read in this session; the part to change is enough."],
      examples: [{ input: { path: "src/app.ts", old_string: "let count = 0;", new_string: "let count = 1;" } }],
    },
    kind: "write",
    category: "file",
    tags: ["file"],
    origin: { type: "builtin" },
    permission: "confirm",
    dialects: {
      snake: { name: "edit_file" },
      claude: { name: "Edit", parameters: { path: "file_path" } },
      openclaw: { name: "edit" },
    },
    parameters: z.object({
      path: z.string().min(1).describe("The file, relative to the workspace or absolute"),
      old_string: editParameters.shape.old_string.optional(),
      new_string: editParameters.shape.new_string.optional(),
      replace_all: editParameters.shape.replace_all,
      reason: editParameters.shape.reason,
      edits: z.array(editParameters).optional().describe("Several edits instead of one"),
    }),
    parameterAliases: {
      ...PATH_ALIASES,
      oldString: "old_string",
      newString: "new_string",
      oldText: "old_string",
      newText: "new_string",
      old_str: "old_string",
      new_str: "new_string",
      replaceAll: "replace_all",
      explanation: "reason",
    },
    signature: ({ path }) => ({ text: path, changes: [path] }),
    locks: ({ path }) => [pathLock(files, path)],
    preview: async (input, context) => {
      const { edited, shown } = await prepare(input, context, "requireRead");
      const { diff } = await describeChange(shown, edited);
      const why = input.reason ? ` (${input.reason})` : "";
      return { title: `Edit ${shown}${why}`, content: [{ type: "text", text: diff }] };
    },
    run: async (input, context) => {
      const { allowed, edited, shown, stamp } = await prepare(input, context, "requireFresh");
      const condition = stamp === undefined ? { ifAbsent: true } : { ifStamp: stamp };
      const outcome = await allowed.writeFileAtomic(input.path, edited.bytes, condition);
      reads.saw(context, outcome.info, edited.bytes);
      const change = await describeChange(shown, edited);
      const replacements = edited.edits.reduce((sum, edit) => sum + edit.replacements, 0);
      const places = `${replacements} ${replacements === 1 ? "place" : "places"}`;
      const what = outcome.created ? `Created ${shown}` : `Edited ${shown}: ${places}`;
      return {
        content: `${what}${describeSteps(edited.edits)}\n${change.shown}`,
        display: `${what}, +${change.added} −${change.removed}`,
        details: {
          path: shown,
          created: outcome.created,
          replacements,
          edits: edited.edits,
          bytesWritten: edited.bytes.length,
          diff: change.diff,
          added: change.added,
          removed: change.removed,
        },
      };
    },
  });

  /** The same for a preview as for the edit: an unread file tells neither what is in it nor what is not. */
  async function prepare(input: EditInput, context: ToolContext, demand: "requireRead" | "requireFresh") {
    const allowed = filesOf({ files }, context, "edit");
    const edits = editsOf(input);
    const { bytes, info } = await readOrCreate(allowed, input.path, { edits, signal: context.signal });
    const shown = info ? allowed.show(info.real) : input.path;
    const check = (wanted: typeof demand) => {
      if (info && requireRead) reads[wanted](context, { info, bytes }, shown);
    };
    check(demand);
    try {
      return { allowed, edited: editBytes(bytes, edits), shown, stamp: info?.stamp };
    } catch (error) {
      // That the file has changed explains more than that the text is not in it.
      check("requireFresh");
      throw error;
    }
  }
}

interface EditInput {
  path: string;
  old_string?: string;
  new_string?: string;
  replace_all?: boolean;
  edits?: z.infer<typeof editParameters>[];
}

function editsOf({ old_string, new_string, replace_all, edits = [] }: EditInput): TextEdit[] {
  // Some models fill every parameter they see: two empty strings beside a list say nothing.
  if (edits.length > 0 && (old_string || new_string)) {
    throw toolError("invalid_input", "Both edits and old_string/new_string were given", {
      next: "Send one of the two.",
    });
  }
  const all = edits.length > 0 ? edits : [{ old_string, new_string, replace_all }];
  return all.map((edit) => {
    if (edit.old_string === undefined || edit.new_string === undefined) {
      throw toolError("invalid_input", "An edit needs old_string and new_string", {
        next: "Send both, or a list of edits with both in each.",
      });
    }
    const replaceAll = edit.replace_all ?? replace_all;
    return {
      oldString: edit.old_string,
      newString: edit.new_string,
      ...(replaceAll === undefined ? {} : { replaceAll }),
    };
  });
}

/** An empty old_string makes a file that is not there; every other edit needs one. */
async function readOrCreate(
  files: Files,
  path: string,
  { edits, signal }: { edits: readonly TextEdit[]; signal: AbortSignal },
): Promise<{ bytes: Buffer; info?: FileInfo }> {
  try {
    return await files.readWhole(path, { signal });
  } catch (error) {
    const only = edits.length === 1 ? edits[0] : undefined;
    const isMissing = error instanceof ToolError && error.code === "path_not_found";
    if (only?.oldString !== "" || !isMissing) return failWithSuggestion(error, files, path);
    refuseElisions(only.newString, "", "new_string");
    return { bytes: Buffer.alloc(0) };
  }
}

/** A match that was not exact is named, so that a wrong guess is seen. */
function describeSteps(edits: readonly AppliedEdit[]): string {
  const inexact = edits.filter(({ step }) => step !== "exact");
  if (inexact.length === 0) return ".";
  return ` (found by: ${[...new Set(inexact.map(({ step }) => step))].join(", ")}).`;
}
