import type { Tool as ToolDefinition } from "@modelcontextprotocol/server";
import { declarationOf } from "../../core/definition.ts";
import type { AnyTool } from "../../core/tool.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { toPortableSchema } from "../../schema/portable-schema.ts";
import { COMMON_RULES } from "../../schema/schema-rules.ts";
import type { McpServerOptions } from "./mcp-server-options.ts";
import { toPortableName } from "./portable-name.ts";

/** What the gate lets pass at most, and a word about what was cut. */
const DEFAULT_RESULT_CHARACTERS = 60_000;

type DescribeOptions = Pick<McpServerOptions, "dialect" | "portable" | "hints">;

/** A tool as clients are told of it. */
export function describeTool(tool: AnyTool, options: DescribeOptions): ToolDefinition {
  const { portable = (schema) => toPortableSchema(schema, COMMON_RULES).schema } = options;
  const { name, description, parameters } = declarationOf(tool, options.dialect);
  return {
    name: toPortableName(name),
    title: tool.title,
    description,
    inputSchema: portable(parameters) as ToolDefinition["inputSchema"],
    ...(tool.output ? { outputSchema: withoutDialect(tool.output.jsonSchema) } : {}),
    annotations: {
      title: tool.title,
      readOnlyHint: tool.isReadOnly,
      // Absent would mean the same; a client that shows them need not know that.
      destructiveHint: !tool.isReadOnly,
      idempotentHint: tool.isReadOnly || tool.idempotent,
      openWorldHint: isOpenWorld(tool),
    },
    _meta: {
      // So that Claude Code does not cut again what the gate has bounded.
      "anthropic/maxResultSizeChars": tool.limits.maxResultBytes ?? DEFAULT_RESULT_CHARACTERS,
      ...options.hints?.(tool),
    },
  };
}

/** A command reaches what its program reaches; of the others the labels say it. */
function isOpenWorld({ kind, labels, origin }: AnyTool): boolean {
  const isLabelled = labels.includes("untrusted_input") || labels.includes("outside_effect");
  return kind === "execute" || isLabelled || origin.type === "mcp";
}

/** Older clients know no other dialect than their own, and fail at the name of another. */
function withoutDialect({ $schema: _, ...schema }: JsonSchema): ToolDefinition["outputSchema"] {
  return schema as ToolDefinition["outputSchema"];
}
