import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { createTool } from "../../core/create-tool.ts";
import type { ArtifactManager } from "./artifact-manager.ts";
import { artifactId, ID_ALIASES, keyOf, versionNumber } from "./artifact-parameters.ts";

export function createDiffArtifactTool(manager: ArtifactManager) {
  return createTool({
    name: "diff_artifact",
    title: "Compare artifact versions",
    description: {
      short: "Shows what changed between two versions of an artifact, as a unified diff.",
      usageNotes: ["Without versions: what the last change was."],
      examples: [{ input: { id: "report" } }, { input: { id: "report", from: 1, to: 4 } }],
    },
    parameters: z.object({
      id: artifactId,
      from: versionNumber.optional().describe("The older one; the one before `to` where absent"),
      to: versionNumber.optional().describe("The newer one; the newest where absent"),
    }),
    parameterAliases: { ...ID_ALIASES, from_version: "from", to_version: "to" },
    kind: "readonly",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "diff", "version"],
    origin: { type: "builtin" },
    async run({ id, from, to }, context) {
      const diff = await manager.diff(keyOf(id, context), { from, to });
      const between = `versions ${diff.from} and ${diff.to} of "${id}"`;
      const cut = diff.truncated ? "\n[The rest of the difference is left out.]" : "";
      return {
        content:
          diff.text === "" ? `There is no difference between ${between}.` : `Between ${between}:\n${diff.text}${cut}`,
        display: `${id}, ${diff.from} → ${diff.to}: +${diff.added} −${diff.removed}`,
        details: { id, from: diff.from, to: diff.to, added: diff.added, removed: diff.removed },
      };
    },
  });
}
