import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { createTool } from "../../core/create-tool.ts";
import type { ArtifactManager } from "./artifact-manager.ts";
import { artifactId, artifactLock, authorshipOf, expectedVersion, ID_ALIASES, keyOf } from "./artifact-parameters.ts";

export function createRewriteArtifactTool(manager: ArtifactManager) {
  return createTool({
    name: "rewrite_artifact",
    title: "Rewrite artifact",
    description: {
      short: "Replaces the whole text of an artifact by a new version; the older ones stay readable.",
      usageNotes: ["For a change of a part use update_artifact: it is shorter, and nothing else can get lost."],
      examples: [{ input: { id: "report", content: "# Report\n\nWritten anew.", expected_version: 3 } }],
    },
    parameters: z.object({
      id: artifactId,
      content: z.string().describe("The whole new text"),
      expected_version: expectedVersion,
    }),
    parameterAliases: { ...ID_ALIASES, new_content: "content" },
    kind: "write",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "write", "replace"],
    origin: { type: "builtin" },
    locks: artifactLock,
    async run({ id, content, expected_version: expected }, context) {
      const change = { content, expectedVersion: expected };
      const { version } = await manager.rewrite(keyOf(id, context), change, authorshipOf(context));
      return {
        content: `Rewrote the artifact "${id}": version ${version.version} (${version.characters} characters).`,
        display: `rewrote ${id}`,
        details: { id, version: version.version, type: version.type, characters: version.characters },
      };
    },
  });
}
