import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { createTool } from "../../core/create-tool.ts";
import type { ArtifactManager } from "./artifact-manager.ts";
import { artifactId, ID_ALIASES, keyOf, versionNumber } from "./artifact-parameters.ts";
import { takePage } from "./take-page.ts";

const USUAL_PAGE = 20_000;
const MAX_PAGE_LENGTH = 50_000;

export function createReadArtifactTool(manager: ArtifactManager) {
  return createTool({
    name: "read_artifact",
    title: "Read artifact",
    description: {
      short: "Shows the text of an artifact, the newest version or an older one, page by page.",
      usageNotes: [
        "A page ends with how to go on. `line` begins at a line, as grep_artifact and diff_artifact name them.",
      ],
      examples: [{ input: { id: "report" } }, { input: { id: "report", version: 1, line: 40 } }],
    },
    parameters: z.object({
      id: artifactId,
      version: versionNumber.optional().describe("The newest where absent"),
      line: z.number().int().min(1).optional().describe("Begin at this line, from 1"),
      offset: z.number().int().min(0).optional().describe("Begin at this character, as the page before told"),
      limit: z
        .number()
        .int()
        .min(1)
        .max(MAX_PAGE_LENGTH)
        .optional()
        .describe("At most so many characters; 20000 unless said"),
    }),
    parameterAliases: ID_ALIASES,
    kind: "readonly",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "read", "version"],
    origin: { type: "builtin" },
    // A page has its own measure; cut once more it would end up as an artifact again.
    limits: { maxResultBytes: MAX_PAGE_LENGTH * 4 },
    async run({ id, version: wanted, line, offset, limit = USUAL_PAGE }, context) {
      const { artifact, version } = await manager.read(keyOf(id, context), wanted);
      const page = takePage(version.content, { line, offset, limit });
      const { content: whole, ...info } = version;
      const isOld = version.version < artifact.version ? ` (the newest is ${artifact.version})` : "";
      const isWhole = page.start === 0 && page.next === undefined;
      const part = isWhole ? "" : `, lines ${page.firstLine} to ${page.lastLine} of ${page.lines}`;
      const more =
        page.next === undefined
          ? ""
          : `\n[${whole.length - page.next} characters more: read on with offset ${page.next}]`;
      return {
        content: `[artifact "${id}", version ${version.version}${isOld}${part}]\n${page.text}${more}`,
        display: `${id}, version ${version.version}`,
        details: {
          id,
          title: artifact.title,
          contentType: artifact.contentType,
          ...info,
          newest: artifact.version,
          ...page,
        },
      };
    },
  });
}
