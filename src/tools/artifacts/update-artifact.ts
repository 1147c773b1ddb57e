import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { createTool } from "../../core/create-tool.ts";
import { unifiedDiff } from "../../files/unified-diff.ts";
import type { ArtifactManager } from "./artifact-manager.ts";
import { artifactId, artifactLock, authorshipOf, expectedVersion, ID_ALIASES, keyOf } from "./artifact-parameters.ts";
import { percent, type Replaced } from "./replace-in.ts";

const MAX_DIFF_BYTES = 8 * 1024;

export function createUpdateArtifactTool(manager: ArtifactManager) {
  return createTool({
    name: "update_artifact",
    title: "Update artifact",
    description: {
      short: "Replaces one place in an artifact, and makes a new version of it.",
      usageNotes: [
        "Quote the text as it stands, with enough around it to be unique: a quote that fits two places changes nothing.",
        "A quote with small mistakes is found where only one place is like it; the answer says how like, and what was replaced.",
      ],
      examples: [{ input: { id: "report", old_str: "To be written.", new_str: "Sales grew by 4%." } }],
    },
    parameters: z.object({
      id: artifactId,
      old_str: z
        .string()
        .min(1, "old_str is empty: quote the text that is to be replaced")
        .describe("The text to replace"),
      new_str: z.string().describe("What to put in its place; empty to delete"),
      expected_version: expectedVersion,
    }),
    parameterAliases: {
      ...ID_ALIASES,
      old_string: "old_str",
      new_string: "new_str",
      old_text: "old_str",
      new_text: "new_str",
    },
    kind: "write",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "edit", "replace"],
    origin: { type: "builtin" },
    locks: artifactLock,
    async run({ id, old_str: oldText, new_str: newText, expected_version: expected }, context) {
      const change = { oldText, newText, expectedVersion: expected, signal: context.signal };
      const { version, replaced } = await manager.update(keyOf(id, context), change, authorshipOf(context));
      const diff = await unifiedDiff(
        { before: replaced.before, after: version.content },
        { path: id, maxBytes: MAX_DIFF_BYTES },
      );
      const { step, similarity, line } = replaced;
      return {
        content: `Updated the artifact "${id}" at line ${line}: version ${version.version}${describeStep(replaced)}.\n${diff.text}`,
        display: `updated ${id}, +${diff.added} −${diff.removed}`,
        details: {
          id,
          version: version.version,
          type: version.type,
          step,
          similarity,
          line,
          replaced: replaced.oldText,
          diff: diff.text,
        },
      };
    },
  });
}

function describeStep({ step, similarity }: Replaced): string {
  if (step === "exact") return "";
  if (step === "normalised") return ", found although spelled otherwise (width, quotes, accents, blanks or line ends)";
  return `, found approximately: ${percent(similarity)} like old_str; see below whether that was meant`;
}
