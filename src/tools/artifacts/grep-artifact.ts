import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { createTool } from "../../core/create-tool.ts";
import type { ArtifactManager } from "./artifact-manager.ts";
import { artifactId, ID_ALIASES, keyOf, versionNumber } from "./artifact-parameters.ts";
import { findLines } from "./find-lines.ts";

const USUAL = 50;
const MAX_LINE_LENGTH = 400;

export function createGrepArtifactTool(manager: ArtifactManager, clock: Clock = systemClock) {
  return createTool({
    name: "grep_artifact",
    title: "Search in an artifact",
    description: {
      short: "Finds the lines of an artifact that match a regular expression, or hold a text.",
      usageNotes: ["The line numbers are those that read_artifact takes as `line`."],
      examples: [{ input: { id: "report", pattern: "TODO|FIXME" } }],
    },
    parameters: z.object({
      id: artifactId,
      pattern: z.string().min(1).max(1_000).describe("A JavaScript regular expression"),
      fixed_strings: z.boolean().optional().describe("Take the pattern as plain text"),
      ignore_case: z.boolean().optional(),
      version: versionNumber.optional().describe("The newest where absent"),
      limit: z.number().int().min(1).max(500).optional().describe("At most so many lines; 50 unless said"),
    }),
    parameterAliases: { ...ID_ALIASES, fixedStrings: "fixed_strings", ignoreCase: "ignore_case" },
    kind: "readonly",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "search", "grep"],
    origin: { type: "builtin" },
    async run(
      { id, pattern, fixed_strings: isText, ignore_case: ignoreCase, version: wanted, limit = USUAL },
      context,
    ) {
      const { version } = await manager.read(keyOf(id, context), wanted);
      const search = { pattern, isText: isText ?? false, ignoreCase: ignoreCase ?? false, max: limit };
      const { matches, total } = await findLines(version.content, search, { clock, signal: context.signal });
      const lines = matches.map(({ line, text }) => `${line}: ${shorten(text)}`);
      const more = total > matches.length ? [`[${total - matches.length} more matching lines]`] : [];
      return {
        content:
          total === 0 ? `No line of "${id}" (version ${version.version}) matches.` : [...lines, ...more].join("\n"),
        display: `${total} line${total === 1 ? "" : "s"} of ${id}`,
        details: {
          id,
          version: version.version,
          total,
          matches: matches.map(({ line, text }) => ({ line, text: shorten(text) })),
        },
      };
    },
  });
}

function shorten(line: string): string {
  return line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line;
}
