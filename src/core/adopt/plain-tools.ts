// Tools that are plain objects or classes without a mark: Haft's own configuration and the five design documents.
import type { SchemaSource } from "../../schema/infer.ts";
import { isObject } from "../../schema/json-schema.ts";
import { CONFIG_KEYS } from "../create-tool.ts";
import type { Update } from "../events.ts";
import { checkKeys, keysOf } from "../options.ts";
import { type ToolContext, ToolKind } from "../tool.ts";
import {
  type AdoptedConfig,
  type AdoptOptions,
  approvalOf,
  commonFields,
  type Convention,
  type Fields,
  isFunction,
  methodOf,
  report,
} from "./convention.ts";

/** Keys that mean the same as one of `createTool`. */
const SYNONYMS = [
  "needsApproval",
  "requireApproval",
  "isReadOnly",
  "validateParams",
  "validate_params",
  "getFunctionDeclaration",
  "build",
];
const PLAIN_KEYS: ReadonlySet<string> = new Set([...CONFIG_KEYS, ...SYNONYMS]);
/** Keys that only Haft and the documents use. A tool with one of them is theirs. */
const INPUT_FIRST_KEYS = ["run", "params", "schema", "displayName", "async", "isReadOnly", "getFunctionDeclaration"];
/** What an AI SDK tool may have, beside a name that a person added. */
const AI_SDK_KEYS = new Set([
  "name",
  "id",
  "title",
  "description",
  "inputSchema",
  "outputSchema",
  "needsApproval",
  "strict",
  "execute",
]);

/** `run(input, context)` or `execute(params, context)`. */
export const haftTool: Convention = {
  title: "Haft",
  fits: (tool) => hasNameAndCode(tool) && !isBaseTool(tool) && readExecute(tool) !== "call id first",
  convert(tool, options) {
    checkKeys(`Tool "${String(tool["name"] ?? tool["id"])}"`, tool, PLAIN_KEYS);
    const { needsApproval, requireApproval, isReadOnly, getFunctionDeclaration, build: _build, ...config } = tool;
    const { validateParams, validate_params, ...rest } = config;
    const shared = rest as Fields as unknown as AdoptedConfig;
    return {
      ...shared,
      name: options.name ?? shared.name ?? shared.id,
      kind: kindOf(shared.kind, isReadOnly, options),
      parameters: parametersOf(shared, getFunctionDeclaration),
      inputSchema: undefined,
      schema: undefined,
      params: undefined,
      permission:
        shared.permission ??
        approvalOf(approvalSetting(needsApproval ?? requireApproval), (decide, input) => decide(input)),
      validate: shared.validate ?? ((validateParams ?? validate_params) as AdoptedConfig["validate"]),
    };
  },
};

/** `execute(toolCallId, params, signal, onUpdate)`. */
export const agentTool: Convention = {
  title: "AgentTool",
  fits(tool) {
    if (!hasNameAndCode(tool) || isBaseTool(tool) || isFunction(tool["run"])) return false;
    return readExecute(tool) !== "input first";
  },
  convert(tool, options) {
    const execute = methodOf(tool, "execute");
    return haftTool.convert(
      {
        ...tool,
        execute: undefined,
        run: (input: unknown, context: ToolContext) =>
          execute(context.callId, input, context.signal, (update: Update) => report(context, update)),
      },
      options,
    );
  },
};

/** A class with `getParameters()` and `execute(params)`. */
export const baseTool: Convention = {
  title: "BaseTool",
  fits: isBaseTool,
  convert(tool, options) {
    const parameters = methodOf(tool, isFunction(tool["getParameters"]) ? "getParameters" : "get_parameters");
    const validate = ["validateParams", "validate_params"].find((name) => isFunction(tool[name]));
    return {
      ...commonFields(tool, options),
      kind: kindOf(tool["kind"] as ToolKind | undefined, tool["isReadOnly"], options),
      category: tool["category"] as string | undefined,
      parameters: parameters() as SchemaSource,
      permission: tool["permission"] as AdoptedConfig["permission"],
      validate: validate === undefined ? undefined : (methodOf(tool, validate) as AdoptedConfig["validate"]),
      run: methodOf(tool, "execute") as AdoptedConfig["run"],
    };
  },
};

/** The AI SDK has no names in its tools: the name is the key in the record. */
export function isNamelessTool(tool: Fields): boolean {
  const hasName = typeof tool["name"] === "string" || typeof tool["id"] === "string";
  return !hasName && "inputSchema" in tool && !("run" in tool);
}

/** An AI SDK tool that was given a name: its second argument differs from that of Haft. */
export function isNamedAISDKTool(tool: Fields): boolean {
  const { execute } = tool;
  if (!isFunction(execute) || execute.length < 2 || !("inputSchema" in tool)) return false;
  return Object.keys(tool).every((key) => AI_SDK_KEYS.has(key)) && !readsHaftContext(execute);
}

const CONTEXT_NAMES: ReadonlySet<string> = keysOf<ToolContext>({
  callId: true,
  caller: true,
  signal: true,
  workspace: true,
  allowedPaths: true,
  waitForEnd: true,
  authority: true,
  update: true,
  pauseTimeLimit: true,
  call: true,
});

/** Whether the second parameter is a pattern with names of Haft's context only. */
function readsHaftContext(code: (...args: unknown[]) => unknown): boolean {
  const source = Function.prototype.toString.call(code);
  const [, second] = /^[^(]*\((?:\{[^{}]*\}|[^,{}()]+),\s*\{([^{}]*)\}/.exec(source) ?? [];
  const names = second?.split(",").map((part) => part.split(/[:=]/)[0]?.trim() ?? "");
  return names !== undefined && names.every((name) => name === "" || CONTEXT_NAMES.has(name));
}

function hasNameAndCode(tool: Fields): boolean {
  const hasName = typeof tool["name"] === "string" || typeof tool["id"] === "string";
  return hasName && (isFunction(tool["run"]) || isFunction(tool["execute"]));
}

function isBaseTool(tool: Fields): boolean {
  return (isFunction(tool["getParameters"]) || isFunction(tool["get_parameters"])) && isFunction(tool["execute"]);
}

/** What the first argument of `execute` is. Undefined if neither its form nor its name shows it. */
function readExecute(tool: Fields): "input first" | "call id first" | undefined {
  if (INPUT_FIRST_KEYS.some((key) => key in tool)) return "input first";
  const { execute } = tool;
  if (!isFunction(execute)) return "input first";
  const first = firstParameter(execute);
  if (first !== undefined && /^_*(tool_?)?(call)?_?id$/i.test(first)) return "call id first";
  if (first?.startsWith("{") || (first !== undefined && INPUT_NAME.test(first))) return "input first";
  // Without a second parameter, or with unused ones, both conventions pass what the code reads.
  if (execute.length >= 3) return "call id first";
  return execute.length < 2 && !first?.startsWith("...") ? "input first" : undefined;
}

const INPUT_NAME =
  /^_*(input|inputs|params?|parameters|args?|arguments|props|options|data|value|values|query|request|payload|body)_*$/i;

/** The source of the first parameter: a name, or a pattern. Undefined if the source cannot be read. */
function firstParameter(code: (...args: unknown[]) => unknown): string | undefined {
  const source = Function.prototype.toString.call(code);
  if (source.includes("[native code]")) return undefined;
  const head = source.replace(/^async\b\s*/, "").replace(/^function\b\s*/, "");
  const single = /^([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*=>/u.exec(head);
  if (single) return single[1];
  const list = head.slice(head.indexOf("(") + 1).replace(/^(\s|\/\*[^]*?\*\/)+/, "");
  if (list.startsWith("{") || list.startsWith("[")) return list[0];
  return /^(\.\.\.)?[\p{ID_Start}$_][\p{ID_Continue}$]*/u.exec(list)?.[0];
}

function parametersOf(
  { parameters, inputSchema, schema, params }: AdoptedConfig,
  declare: unknown,
): SchemaSource | undefined {
  const given = parameters ?? inputSchema ?? schema ?? params;
  if (given !== undefined || !isFunction(declare)) return given;
  const declaration = declare();
  return isObject(declaration) ? (declaration["parameters"] as SchemaSource) : undefined;
}

function kindOf(kind: ToolKind | undefined, isReadOnly: unknown, options: AdoptOptions): ToolKind | undefined {
  if (kind !== undefined && isReadOnly !== undefined && (kind === ToolKind.ReadOnly) !== isReadOnly) {
    throw new TypeError(`It has kind "${kind}" and isReadOnly ${String(isReadOnly)}, which contradict each other.`);
  }
  return options.kind ?? kind ?? (isReadOnly === true ? ToolKind.ReadOnly : undefined);
}

/** Frameworks pass different arguments to such a function; one parameter is the input in all of them. */
function approvalSetting(setting: unknown): unknown {
  if (isFunction(setting) && setting.length > 1) {
    throw new TypeError(
      "Its approval function has two parameters, and frameworks disagree about their order. Use `permission: (input) => …`.",
    );
  }
  return setting;
}
