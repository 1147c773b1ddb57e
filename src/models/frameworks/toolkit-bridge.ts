import type { CallOptions } from "../../core/call.ts";
import type { ToolResult } from "../../core/result.ts";
import type { AnyTool, DialectName } from "../../core/tool.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { blockText } from "../providers/call-results.ts";
import { defineTools, type ProviderRules, type ShownDefinition } from "../providers/define-tools.ts";
import { restoreNames } from "../providers/model-calls.ts";
import { COMMON_RULES } from "../../schema/portable-schema.ts";

/** The source of the tools for a framework: an AgentToolkit, whose calls pass the gate. */
export interface ToolkitLike {
  list(): readonly AnyTool[];
  execute(name: string, input?: unknown, options?: CallOptions): Promise<ToolResult>;
}

export interface AdapterOptions {
  dialect?: DialectName;
  /** Whether the provider should enforce the schemas, if the framework supports it. Default: the setting of each tool. */
  strict?: boolean;
  /** Options for every call: caller, mode, further policy. */
  call?: Omit<CallOptions, "id" | "signal">;
}

interface BridgedTool extends ShownDefinition {
  tool: AnyTool;
  run(input: unknown, options: { id?: string; signal?: AbortSignal }): Promise<ToolResult>;
}

/** Defines the tools of the toolkit for a framework. Each call runs through the gate. */
export function bridgeToolkit(
  toolkit: ToolkitLike,
  options: AdapterOptions,
  rules: ProviderRules = { rules: COMMON_RULES },
): BridgedTool[] {
  const tools = toolkit.list();
  const shown = defineTools(tools, options, rules, (definition) => definition);
  return tools.map((tool, at) => {
    const definition = shown.tools[at];
    if (!definition) throw new Error(`There is no definition of the tool "${tool.name}".`);
    const parameters = shown.names.get(definition.name)?.parameters;
    return {
      ...definition,
      tool,
      run(input, { id, signal }) {
        const original = parameters ? restoreNames(input, parameters) : input;
        return toolkit.execute(tool.name, original, { ...options.call, id: id || undefined, signal });
      },
    };
  });
}

/** The result as text, with "Error:" for frameworks without a flag for failures. */
export function resultText(result: ToolResult): string {
  const joined = result.content.map(blockText).join("\n") || result.display || "(no output)";
  return result.status === "failed" && !/^error\b/i.test(joined) ? `Error: ${joined}` : joined;
}

export function hasImages({ content }: ToolResult): boolean {
  return content.some(({ type }) => type === "image");
}

/** A Standard Schema that publishes `jsonSchema` and accepts everything: the gate validates inputs. */
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
  // A copy each time, because frameworks modify the schema.
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
