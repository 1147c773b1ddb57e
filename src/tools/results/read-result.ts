import type { Caller } from "../../core/call.ts";
import { ToolCategory } from "../../core/category.ts";
import { countOf } from "../../core/results/count-of.ts";
import { createTool } from "../../core/create-tool.ts";
import { toolError } from "../../core/error.ts";
import { parseExactly, writeExactly } from "../../core/parse-json.ts";
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
    builtIn: {
      zh: { title: "读取长结果", short: "读取因过长而没有显示的其余结果，按行或按其 JSON 中的路径。" },
      sameAs: { opencode: [], gemini: [] },
    },
    // The result is already bounded here; the gate must not cut it again.
    limits: { maxResultBytes: 192 * 1024, maxResultTokens: 64_000 },
    parameters: PARAMETERS,
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
      const text = query === undefined ? whole : writeExactly(queryJson(parse(whole, path), query), 2);
      const window = windowOf(text, { ...range, maxTokens: resultTokensOf(context) });
      const { firstLine, lastLine, totalLines, next } = window;
      if (lastLine < firstLine) {
        throw toolError("bad_range", `${path} has ${countOf(totalLines, "line")}; there is no line ${firstLine}`, {
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

const PARAMETERS = {
  type: "object",
  properties: {
    path: { type: "string", minLength: 1, description: "The address in the shortened result, such as spill:ID" },
    offset: { type: "integer", minimum: 0, description: "First line, from 1" },
    limit: { type: "integer", minimum: 1, description: "Number of lines. Default: as many as fit" },
    column: { type: "integer", minimum: 1, description: "First character of the first line, from 1, for long lines" },
    query: { type: "string", maxLength: 1000, description: "A path in JSON, such as items[0].name or items[*].id" },
  },
  required: ["path"],
  additionalProperties: false,
} as const;

function parse(text: string, path: string): unknown {
  try {
    return parseExactly(text);
  } catch (cause) {
    throw toolError("invalid_input", `${path} is not JSON, so it cannot be queried.`, {
      next: "Read it by lines, without query.",
      cause,
    });
  }
}
