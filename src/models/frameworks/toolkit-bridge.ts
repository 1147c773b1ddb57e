import type { CallOptions } from "../../core/call.ts";
import { declarationOf } from "../../core/definition.ts";
import { toolError, ToolError } from "../../core/error.ts";
import type { CallQuestion } from "../../core/gate.ts";
import { checkKeys, keysOf } from "../../core/options.ts";
import type { FailedResult, PendingResult, ToolResult } from "../../core/result.ts";
import { type AnyTool, type DialectName, isTool, type Tool } from "../../core/tool.ts";
import type { AgentToolkit } from "../../core/toolkit.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";
import { blockText } from "../providers/call-results.ts";
import { defineTools, type ProviderRules, type ShownDefinition } from "../providers/define-tools.ts";
import { restoreNames } from "../providers/model-calls.ts";
import { COMMON_RULES } from "../../schema/portable-schema.ts";
import { type FrameworkAnswer, type FrameworkCall, FrameworkCalls, type FrameworkRun } from "./framework-calls.ts";

/** The tools for a framework: a toolkit, or tools by the names that models get. */
export type FrameworkTools = AgentToolkit | Readonly<Record<string, AnyTool>>;

/** What a model sends to a tool. */
export type RawInputOf<T> = T extends Tool<infer _Input, infer _Details, infer Raw> ? Raw : never;
/** The data of the host that a tool needs; unknown if it has no schema of them. */
export type HostOf<T> = T extends Tool<infer _Input, infer _Details, infer _Raw, infer Host> ? Host : never;
/** The details of a tool's results. */
export type DetailsOf<T> = T extends Tool<infer _Input, infer Details, infer _Raw> ? Details : never;

/** Options of every adapter. */
export interface AdapterOptions {
  /** Which names a model sees if tools have several. */
  dialect?: DialectName;
  /** Whether the provider should enforce the schemas, if the framework supports it. Default: the setting of each tool. */
  strict?: boolean;
  /** Options for every call: caller, mode, further policy. Set `caller.session` to the id of the conversation. */
  call?: Omit<CallOptions, "id" | "signal">;
}

const OPTION_KEYS = keysOf<AdapterOptions>({ dialect: true, strict: true, call: true });

/** What a framework is, for its bridge. */
export interface FrameworkProfile {
  /** Its name in the audit, as the interface that an answer came from. */
  via: string;
  /** The adapter's function, for error messages. */
  adapter: string;
  /** The versions that work, for the message to programs with another one. */
  versions: string;
  /** Options of the adapter besides the common ones. */
  keys?: readonly string[];
  rules?: ProviderRules;
}

/** A tool for a framework. All its calls go through the gate. */
export interface BridgedTool extends ShownDefinition {
  tool: AnyTool;
  /** Before the framework runs a call: the open question about it. Undefined if nobody must be asked, also if it is denied. */
  check(input: unknown, call: FrameworkCall): Promise<CallQuestion | undefined>;
  /** The framework runs the call. Never rejects: failures and calls that wait for a person are results. */
  run(input: unknown, call: FrameworkRun): Promise<ToolResult>;
  /** The framework's person said no, and the framework does not run the call. */
  deny(call: FrameworkCall, answer?: Omit<FrameworkAnswer, "approved">): Promise<void>;
  /** The question about the call, in any state. Asks nothing. */
  find(call: FrameworkCall): Promise<CallQuestion | undefined>;
  /** Waits until the question about the call is answered, in any interface. Undefined if there is no question. */
  wait(call: FrameworkCall, signal?: AbortSignal): Promise<CallQuestion | undefined>;
}

/** Defines tools for a framework. */
export function bridgeToolkit(
  source: FrameworkTools,
  options: AdapterOptions,
  { via, adapter, keys = [], rules = { rules: COMMON_RULES } }: FrameworkProfile,
): BridgedTool[] {
  checkKeys(adapter, options, new Set([...OPTION_KEYS, ...keys]));
  checkSource(source, adapter);
  const toolkit = isToolkit(source) ? source : undefined;
  const named = isToolkit(source) ? source.list().map((tool) => [undefined, tool] as const) : Object.entries(source);
  const declared = named.map(([name, tool]) => {
    const declaration = declarationOf(tool, options.dialect);
    return name === undefined ? declaration : { ...declaration, name };
  });
  const { tools, names } = defineTools(declared, options, rules, (definition) => definition);
  const byName = new Map(tools.flatMap(({ name }, at) => (named[at] ? [[name, named[at][1]]] : [])));
  const calls = new FrameworkCalls({ via, toolkit, tools: byName, call: options.call });
  return tools.map((definition, at) => {
    const tool = named[at]?.[1];
    if (!tool) throw new Error(`There is no tool for the definition "${definition.name}".`);
    const parameters = names.get(definition.name)?.parameters;
    const original = (input: unknown): unknown => (parameters ? restoreNames(input, parameters) : input);
    return {
      ...definition,
      tool,
      check: (input, call) => calls.check(tool, original(input), call),
      run: (input, call) => calls.run(tool, original(input), call),
      deny: (call, answer) => calls.deny(tool, call, answer),
      find: (call) => calls.find(tool, call),
      wait: (call, signal) => calls.wait(tool, call, signal),
    };
  });
}

/**
 * The framework behaves as none of the versions that work. Adapters load no framework, so they see it by what the framework
 * gives them, and refuse before a tool runs.
 */
export function unknownVersion({ adapter, versions }: FrameworkProfile, difference: string): ToolError {
  const problem = `${adapter} works with ${versions}. Another version is installed: ${difference}. No tool was run.`;
  return toolError("unavailable", problem, { next: "Install a version that works." });
}

function checkSource(source: unknown, adapter: string): void {
  if (isObject(source) && isToolkit(source as FrameworkTools)) return;
  const taken = "{ name: tool }, with tools of createTool or adopt, or a toolkit: haft.tools.toolkit(agent, names)";
  if (!isObject(source)) throw new TypeError(`${adapter} takes ${taken}.`);
  if ("execute" in source && "tools" in source) throw new TypeError(`${adapter} takes ${taken}; this is a runtime.`);
  for (const [name, tool] of Object.entries(source)) {
    if (isTool(tool)) continue;
    throw new TypeError(
      `${adapter}: "${name}" is no tool of createTool. For one of another system: adopt(tool, { name }).`,
    );
  }
}

function isToolkit(source: FrameworkTools): source is AgentToolkit {
  return typeof source.list === "function" && typeof source.execute === "function";
}

/** The result as text, with "Error:" for frameworks without a flag for failures. */
export function resultText(result: ToolResult): string {
  const joined = result.content.map(blockText).join("\n") || result.display || "(no output)";
  return result.status === "failed" && !/^error\b/i.test(joined) ? `Error: ${joined}` : joined;
}

export function hasImages({ content }: ToolResult): boolean {
  return content.some(({ type }) => type === "image");
}

/** A failed call, or one that waits for a person, as the error that frameworks report as a failure of the tool. */
export function failureOf(result: FailedResult | PendingResult): ToolError {
  const text = result.content.map(blockText).join("\n") || result.display;
  if (result.status === "pending") return new ToolError(result.toolName, text, undefined, { code: "denied" });
  const { code, data } = result.error;
  return new ToolError(result.toolName, text, undefined, { code, data });
}

/** Whether the call waits for a person that the framework did not ask. */
export function waitsForPerson(result: ToolResult): result is PendingResult {
  return result.status === "pending" && result.pending.kind === "approval";
}

/** A Standard Schema that publishes `jsonSchema` and accepts everything: the gate validates inputs. */
export interface OpenSchema<Value = Record<string, unknown>> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "haft";
    readonly validate: (value: unknown) => { value: Value };
    /** Only for inference. */
    readonly types?: { readonly input: Value; readonly output: Value } | undefined;
    readonly jsonSchema: {
      readonly input: () => Record<string, unknown>;
      readonly output: () => Record<string, unknown>;
    };
  };
}

export function openSchema<Value = Record<string, unknown>>(jsonSchema: JsonSchema): OpenSchema<Value> {
  // A copy each time, because frameworks modify the schema.
  const show = (): Record<string, unknown> => structuredClone(jsonSchema);
  return {
    "~standard": {
      version: 1,
      vendor: "haft",
      validate: (value) => ({ value: value as Value }),
      jsonSchema: { input: show, output: show },
    },
  };
}
