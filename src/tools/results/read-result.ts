import { z } from "zod";
import type { Caller } from "../../core/call.ts";
import { ToolCategory } from "../../core/category.ts";
import { createTool } from "../../core/create-tool.ts";
import { toolError } from "../../core/error.ts";
import { queryJson } from "../../core/results/json-path.ts";
import { continueBy, resultTokensOf } from "../../core/results/next-call.ts";
import { windowOf } from "../../core/results/text-window.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

/** Where whole results are kept: only those of the caller's own session are found. */
export interface KeptResults {
  readOwn(ref: string, caller: Caller): string | undefined;
}

/** Reads results that were too long to show, in a runtime without a workspace: there `read` does it. */
export function createReadResultTool(kept: KeptResults) {
  return createTool({
    name: "read_result",
    title: "Read a long result",
    description: {
      short: "Reads the rest of a result that was too long to show, by lines or by a path in its JSON.",
      usageNotes: ["The shortened result names its address, such as spill:ID.", "Returns as many lines as fit."],
      examples: [
        { input: { path: "spill:call_1", offset: 200 } },
        { input: { path: "spill:call_1", query: "items[10:20]" } },
      ],
    },
    kind: "readonly",
    category: ToolCategory.DATA,
    tags: ["result", "output", "rest", "spill"],
    origin: { type: "builtin" },
    // The result is already bounded here; the gate must not cut it again.
    limits: { maxResultBytes: 192 * 1024, maxResultTokens: 64_000 },
    parameters: z.object({
      path: z.string().min(1).describe("The address that the shortened result names, such as spill:ID"),
      offset: z.number().int().min(0).optional().describe("First line, from 1"),
      limit: z.number().int().min(1).optional().describe("Number of lines. Default: as many as fit"),
      column: z.number().int().min(1).optional().describe("First character of the first line, from 1, for long lines"),
      query: z.string().max(1000).optional().describe("A path in JSON, such as items[0].name or items[*].id"),
    }),
    output: describeOutput({
      content: field.text(),
      firstLine: field.integer(),
      lastLine: field.integer(),
      totalLines: field.integer(),
      "nextOffset?": field.integer("Where to continue"),
      "nextColumn?": field.integer("Where to continue in a long line"),
    }),
    run({ path, query, ...range }, context) {
      const whole = kept.readOwn(path, context.caller);
      if (whole === undefined) {
        throw toolError("path_not_found", `There is no result ${JSON.stringify(path.slice(0, 200))} of this session`, {
          next: "Only the latest long results are kept. Make the call again, or request less.",
        });
      }
      const text = query === undefined ? whole : JSON.stringify(queryJson(parse(whole, path), query), null, 2);
      const window = windowOf(text, { ...range, maxTokens: resultTokensOf(context) });
      const { firstLine, lastLine, totalLines, next } = window;
      if (lastLine < firstLine) {
        throw toolError("bad_range", `${path} has ${totalLines} lines; there is no line ${firstLine}`, {
          next: "Read with a smaller offset.",
        });
      }
      const where = `lines ${firstLine}-${lastLine} of ${totalLines}`;
      const note = next ? `\n[Showing ${where}. ${continueBy(context, next)}]` : "";
      return {
        content: window.text + note,
        display: `Read ${path}: ${where}`,
        details: {
          content: window.text,
          firstLine,
          lastLine,
          totalLines,
          nextOffset: next?.offset,
          nextColumn: next?.column,
        },
      };
    },
  });
}

function parse(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw toolError("invalid_input", `${path} is not JSON, so it cannot be queried.`, {
      next: "Read it by lines, without query.",
      cause,
    });
  }
}
