import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { createTool } from "../../core/create-tool.ts";
import { sessionOf } from "./artifact.ts";
import type { ArtifactManager } from "./artifact-manager.ts";

const USUAL = 50;

export function createListArtifactsTool(manager: ArtifactManager) {
  return createTool({
    name: "list_artifacts",
    title: "List artifacts",
    description: {
      short: "Lists the artifacts of this session, what was changed last first.",
      examples: [{ input: {} }],
    },
    parameters: z.object({
      limit: z.number().int().min(1).max(200).optional().describe("At most so many; 50 unless said"),
      offset: z.number().int().min(0).optional().describe("Leave out so many of the newest"),
    }),
    kind: "readonly",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "list"],
    origin: { type: "builtin" },
    async run({ limit = USUAL, offset = 0 }, { caller }) {
      const found = await manager.list({ session: sessionOf(caller), limit: limit + 1, offset });
      const artifacts = found.slice(0, limit).map(({ session: _, ...artifact }) => artifact);
      const lines = artifacts.map(
        ({ id, title, version, contentType }) =>
          `${id}: ${title === id ? "" : `${title}, `}version ${version}, ${contentType}`,
      );
      const more = found.length > limit ? [`[more: offset ${offset + limit}]`] : [];
      return {
        content: artifacts.length === 0 ? "This session has no artifacts." : [...lines, ...more].join("\n"),
        display: `${artifacts.length} artifact${artifacts.length === 1 ? "" : "s"}`,
        details: { artifacts, ...(found.length > limit ? { next: offset + limit } : {}) },
      };
    },
  });
}
