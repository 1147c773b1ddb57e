import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import { commitPatch } from "./commit-patch.ts";
import { describeChange } from "./describe-change.ts";
import { filesOf, type FileToolDependencies, pathLock } from "./file-tool.ts";
import { parsePatch } from "./parse-patch.ts";
import { type PatchStep, planPatch } from "./plan-patch.ts";

export function createApplyPatchTool({ files, reads }: Pick<FileToolDependencies, "files" | "reads">) {
  return createTool({
    name: "apply_patch",
    title: "Apply patch",
    description: {
      short: "Changes several files by a patch: adds, updates, moves and deletes, all or nothing.",
      long: [
        "The patch has this form:",
        "*** Begin Patch",
        "*** Update File: path",
        "@@ a line above the change, to find it",
        " a line that stays",
        "-a line that goes",
        "+a line that comes",
        "*** Add File: path",
        "+every line of the new file",
        "*** Delete File: path",
        "*** End Patch",
        "An Update may be followed by *** Move to: path. Paths are relative to the workspace.",
      ].join("\n"),
      examples: [{ input: { patch: "*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch" } }],
    },
    kind: "write",
    category: "file",
    tags: ["file"],
    origin: { type: "builtin" },
    permission: "confirm",
    parameters: z.object({ patch: z.string().describe("The patch, from *** Begin Patch to *** End Patch") }),
    parameterAliases: { input: "patch", diff: "patch" },
    signature: ({ patch }) => {
      const changes = pathsOf(patch);
      return { text: changes.join(", "), changes };
    },
    locks: ({ patch }) => pathsOf(patch).map((path) => pathLock(files, path)),
    preview: async ({ patch }, context) => {
      const plan = await planPatch(parsePatch(patch), filesOf({ files }, context));
      const changes = await describeSteps(plan);
      const text = [...plan.map(summarise), ...changes.map(({ diff }) => diff)].join("\n");
      return { title: `Change ${countFiles(plan)}`, content: [{ type: "text", text }] };
    },
    run: async ({ patch }, context) => {
      const allowed = filesOf({ files }, context, "apply_patch");
      const plan = await planPatch(parsePatch(patch), allowed);
      const written = await commitPatch(plan, allowed);
      for (const { info, bytes } of written) reads.saw(context, info, bytes);
      const changes = await describeSteps(plan);
      const summary = plan.map(summarise);
      return {
        content: `Applied the patch:\n${summary.join("\n")}`,
        display: `Changed ${countFiles(plan)}: ${summary.join(", ")}`,
        details: {
          files: plan.map(({ type, path, moveTo }, i) => ({
            path: moveTo ?? path,
            ...(moveTo === undefined ? {} : { from: path }),
            change: type,
            added: changes[i]?.added ?? 0,
            removed: changes[i]?.removed ?? 0,
          })),
          diff: changes.map(({ diff }) => diff).join("\n"),
        },
      };
    },
  });
}

const MARKS = { add: "A", update: "M", delete: "D" } as const;

function summarise({ type, path, moveTo }: PatchStep): string {
  return `${MARKS[type]} ${moveTo === undefined ? path : `${moveTo} (was ${path})`}`;
}

function countFiles(plan: readonly PatchStep[]): string {
  return `${plan.length} ${plan.length === 1 ? "file" : "files"}`;
}

function describeSteps(plan: readonly PatchStep[]) {
  return Promise.all(plan.map((step) => describeChange(step.path, step)));
}

/** For locks and rules only: a patch that cannot be read touches nothing. */
function pathsOf(patch: string): string[] {
  try {
    return parsePatch(patch).flatMap((change) =>
      change.type === "update" && change.moveTo !== undefined ? [change.path, change.moveTo] : [change.path],
    );
  } catch {
    return [];
  }
}
