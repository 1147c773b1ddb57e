import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { createTool } from "../../core/create-tool.ts";
import type { ArtifactManager } from "./artifact-manager.ts";
import { artifactId, artifactLock, authorshipOf, ID_ALIASES, keyOf } from "./artifact-parameters.ts";

export function createCreateArtifactTool(manager: ArtifactManager) {
  return createTool({
    name: "create_artifact",
    title: "Create artifact",
    description: {
      short: "Makes an artifact: a document of this session that has versions, such as a report, a plan or code.",
      usageNotes: ["Later changes: update_artifact for parts, rewrite_artifact for the whole."],
      examples: [{ input: { id: "report", title: "Report", content: "# Report\n\nTo be written." } }],
    },
    parameters: z.object({
      id: artifactId,
      title: z.string().min(1).max(500).optional().describe("For people; the id where absent"),
      content_type: z.string().min(1).max(200).optional().describe("A media type; text/markdown where absent"),
      content: z.string().describe("The whole text"),
    }),
    parameterAliases: { ...ID_ALIASES, contentType: "content_type" },
    kind: "write",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "write", "report"],
    origin: { type: "builtin" },
    locks: artifactLock,
    async run({ id, title, content_type: contentType, content }, context) {
      const made = { ...keyOf(id, context), title, contentType, content };
      const { artifact, version } = await manager.create(made, authorshipOf(context));
      return {
        content: `Created the artifact "${id}", version 1 (${version.characters} characters).`,
        display: `created ${id}`,
        details: { id, title: artifact.title, contentType: artifact.contentType, version: 1 },
      };
    },
  });
}
