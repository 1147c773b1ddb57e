import type { CallOptions } from "../../core/call.ts";
import type { ToolResult } from "../../core/result.ts";
import type { AnyTool, DialectName } from "../../core/tool.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { blockText } from "../providers/call-results.ts";
import { defineTools, type ProviderRules, type ShownDefinition } from "../providers/define-tools.ts";
import { restoreNames } from "../providers/model-calls.ts";
import { COMMON_RULES } from "../../schema/portable-schema.ts";

/** What a framework is given tools from: an AgentToolkit, whose calls pass the gate. */
export interface ToolkitLike {
  listTools(): readonly AnyTool[];
  executeTool(name: string, input?: unknown, options?: CallOptions): Promise<ToolResult>;
}

export interface AdapterOptions {
  dialect?: DialectName;
  /** Whether the provider should enforce the schemas, where the framework can ask for it; as each tool wishes by default. */
  strict?: boolean;
  /** Said with every call: on whose behalf, in which mode, under which further policy. */
  call?: Omit<CallOptions, "id" | "signal">;
}

export interface BridgedTool extends ShownDefinition {
  tool: AnyTool;
  run(input: unknown, options: { id?: string; signal?: AbortSignal }): Promise<ToolResult>;
}

/** The toolkit's tools as a framework shows them to a model, each run through the gate. */
export function bridgeToolkit(
  toolkit: ToolkitLike,
  options: AdapterOptions,
  rules: ProviderRules = { rules: COMMON_RULES },
): BridgedTool[] {
  const tools = toolkit.listTools();
  const shown = defineTools(tools, options, rules, (definition) => definition);
  return shown.tools.map((definition, at) => {
    const tool = tools[at]!;
    const parameters = shown.names.get(definition.name)?.parameters;
    return {
      ...definition,
      tool,
      run: (input, { id, signal }) =>
        toolkit.executeTool(tool.name, parameters ? restoreNames(input, parameters) : input, {
          ...options.call,
          ...(id ? { id } : {}),
          ...(signal ? { signal } : {}),
        }),
    };
  });
}

/** For frameworks that keep no flag of failure. */
export function resultText(result: ToolResult): string {
  const joined = result.content.map(blockText).join("\n") || result.display || "(no output)";
  return result.status === "failed" && !/^error\b/i.test(joined) ? `Error: ${joined}` : joined;
}

export function hasImages({ content }: ToolResult): boolean {
  return content.some(({ type }) => type === "image");
}

/** A Standard Schema that shows `jsonSchema` and lets everything pass: what is wrong with an input, the gate says. */
export interface OpenSchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "haft";
    readonly validate: (value: unknown) => { value: Record<string, unknown> };
    readonly jsonSchema: {
      readonly input: () => Record<string, unknown>;
      readonly output: () => Record<string, unknown>;
    };
  };
}

export function openSchema(jsonSchema: JsonSchema): OpenSchema {
  // A copy each time: frameworks write into what they are given.
  const show = (): Record<string, unknown> => structuredClone(jsonSchema);
  return {
    "~standard": {
      version: 1,
      vendor: "haft",
      validate: (value) => ({ value: value as Record<string, unknown> }),
      jsonSchema: { input: show, output: show },
    },
  };
}
