// Tools that are plain objects or classes without a mark: Haft's own configuration and the five design documents.
import type { SchemaSource } from "../../schema/infer.ts";
import { isObject } from "../../schema/json-schema.ts";
import { text } from "../content.ts";
import { CONFIG_KEYS, statedPermission } from "../create-tool.ts";
import { checkKeys } from "../options.ts";
import { didYouMean } from "../nearest-name.ts";
import { type ToolContext, ToolKind } from "../tool.ts";
import {
  type AdoptedConfig,
  type AdoptOptions,
  approvalOf,
  type Convention,
  type Fields,
  isFunction,
  methodOf,
  report,
  strictest,
} from "./convention.ts";

/** Keys that mean the same as one of `createTool`. */
const SYNONYMS = `requireApproval isReadOnly validateParams validate_params getFunctionDeclaration toCallParams
    build`.split(/\s+/);
const PLAIN_KEYS: ReadonlySet<string> = new Set([...CONFIG_KEYS, ...SYNONYMS]);
/** A field of a class with a name like one of these is taken for a misspelt setting. */
const SAFETY_KEYS = "permission needsApproval requireApproval validate validateParams isReadOnly kind".split(" ");
/** Keys that only Haft and the documents use. They decide if the parameters of `execute` do not. */
const INPUT_FIRST_KEYS =
  "run inputSchema params schema displayName async isReadOnly getFunctionDeclaration toCallParams".split(" ");
/** `run(input, context)` or `execute(params, context)`. */
export const haftTool: Convention = {
  title: "Haft",
  fits: (tool) => hasNameAndCode(tool) && !isBaseTool(tool) && readExecute(tool) !== "call id first",
  convert: (tool, options) => toConfig(readMembers(tool), options),
};

/** `execute(toolCallId, params, signal, onUpdate)`. */
export const agentTool: Convention = {
  title: "AgentTool",
  fits(tool) {
    if (!hasNameAndCode(tool) || isBaseTool(tool) || isFunction(tool["run"])) return false;
    return readExecute(tool) !== "input first";
  },
  convert(tool, options) {
    const { execute, ...members } = readMembers(tool);
    if (!isFunction(execute)) throw new TypeError("It has no `execute` function.");
    const run = (input: unknown, context: ToolContext): unknown =>
      execute(context.callId, input, context.signal, (update: unknown) => {
        const content = isObject(update) ? update["content"] : undefined;
        report(context, typeof content === "string" ? { ...(update as object), content: [text(content)] } : update);
      });
    return toConfig({ ...members, run }, options);
  },
};

/** A class with `getParameters()` and `execute(params)`. */
export const baseTool: Convention = {
  title: "BaseTool",
  fits: isBaseTool,
  convert(tool, options) {
    const list = methodOf(tool, isFunction(tool["getParameters"]) ? "getParameters" : "get_parameters");
    const { execute, ...members } = readMembers(tool);
    return toConfig({ ...members, parameters: list(), run: execute }, options);
  },
};

/** Reads each known member once, also inherited ones and getters. Functions of a class keep their `this`. */
function readMembers(tool: Fields): Record<string, unknown> {
  refuseMisspelt(tool);
  const members: Record<string, unknown> = {};
  for (const key of PLAIN_KEYS) {
    if (!(key in tool)) continue;
    const value = tool[key];
    const needsThis = isFunction(value) && !(isPlain(tool) && Object.hasOwn(tool, key));
    members[key] = needsThis ? value.bind(tool) : value;
  }
  return members;
}

/** A plain object has only known keys. A class may have fields of its own, but none that looks like a safety setting. */
function refuseMisspelt(tool: Fields): void {
  const what = `Tool "${String(tool["name"] ?? tool["id"])}"`;
  if (isPlain(tool) && !isBaseTool(tool)) return checkKeys(what, tool, PLAIN_KEYS);
  for (const key of Object.keys(tool)) {
    const near = PLAIN_KEYS.has(key) ? undefined : didYouMean(key, SAFETY_KEYS);
    if (near !== undefined) throw new TypeError(`${what} has no option "${key}". ${near}`);
  }
}

function isPlain(tool: Fields): boolean {
  const prototype: unknown = Object.getPrototypeOf(tool);
  return prototype === Object.prototype || prototype === null;
}

function toConfig(members: Fields, options: AdoptOptions): AdoptedConfig {
  const { needsApproval, requireApproval, isReadOnly, getFunctionDeclaration, ...others } = members;
  const { validateParams, validate_params, toCallParams, build: _build, ...rest } = others;
  const shared = rest as Fields as unknown as AdoptedConfig;
  const name = options.name ?? shared.name ?? shared.id;
  const asked = needsApproval === null ? undefined : approvalSetting(needsApproval);
  return {
    ...shared,
    name,
    kind: kindOf(shared.kind, isReadOnly, options),
    parameters: parametersOf(shared, getFunctionDeclaration ?? toCallParams),
    inputSchema: undefined,
    schema: undefined,
    params: undefined,
    permission: strictest(
      statedPermission(String(name), {
        permission: shared.permission,
        needsApproval: asked as AdoptedConfig["needsApproval"],
      }),
      approvalOf(approvalSetting(requireApproval), (decide, input, _host, context) => decide(input, context)),
    ),
    validate: shared.validate ?? ((validateParams ?? validate_params) as AdoptedConfig["validate"]),
  };
}

/** The AI SDK has no names in its tools: the name is the key in the record. */
export function isNamelessTool(tool: Fields): boolean {
  const hasName = typeof tool["name"] === "string" || typeof tool["id"] === "string";
  return !hasName && "inputSchema" in tool && !("run" in tool);
}

function hasNameAndCode(tool: Fields): boolean {
  const hasName = typeof tool["name"] === "string" || typeof tool["id"] === "string";
  return hasName && (isFunction(tool["run"]) || isFunction(tool["execute"]));
}

function isBaseTool(tool: Fields): boolean {
  return (isFunction(tool["getParameters"]) || isFunction(tool["get_parameters"])) && isFunction(tool["execute"]);
}

/** A plain object with a name and code, and no list of parameters as a method. */
export function isNamedPlainTool(tool: Fields): boolean {
  return hasNameAndCode(tool) && !isBaseTool(tool);
}

/** Whether `execute` certainly takes the id of the call first: by a name that no input has, or by the number of its parameters. */
export function takesCallId({ execute, run }: Fields): boolean {
  if (!isFunction(execute) || isFunction(run)) return false;
  if (execute.length > MAX_PARAMETERS) return meaningOf(execute) !== "input first";
  return /^_*(?:tool)?_?call_?id\b/i.test(parametersOfCode(execute)?.[0] ?? "");
}

/** Of `execute(input, context)`. An AgentTool has up to four. */
const MAX_PARAMETERS = 2;

/** What the first argument of `execute` is. Undefined if neither its parameters nor the tool's keys show it. */
function readExecute(tool: Fields): "input first" | "call id first" | undefined {
  const { execute } = tool;
  if (!isFunction(execute) || isFunction(tool["run"])) return "input first";
  return meaningOf(execute) ?? (INPUT_FIRST_KEYS.some((key) => key in tool) ? "input first" : undefined);
}

const CALL_ID_NAME = /^_*(tool_?)?(call)?_?id$/i;
const INPUT_NAME =
  /^_*(input|inputs|params?|parameters|args?|arguments|props|options|data|value|values|query|request|payload|body)_*$/i;

function meaningOf(code: Code): "input first" | "call id first" | undefined {
  const parameters = parametersOfCode(code);
  // A function that reads `arguments` passes them on: its own parameters say nothing.
  if (parameters === undefined || /\barguments\b/.test(sourceOf(code))) return undefined;
  const [first = "", second] = parameters;
  const [, name = ""] = /^([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*(?:=|$)/u.exec(first) ?? [];
  if (CALL_ID_NAME.test(name)) return "call id first";
  if (first.startsWith("{") || INPUT_NAME.test(name)) return "input first";
  // Nothing is read, or one plain parameter: an AgentTool that ignores its input would have named the id.
  return second === undefined && (first === "" || first === name) ? "input first" : undefined;
}

type Code = (...args: unknown[]) => unknown;

function sourceOf(code: Code): string {
  return Function.prototype.toString.call(code);
}

/** The sources of the parameters. Undefined if they cannot be read: native, bound, or with a computed name. */
function parametersOfCode(code: Code): string[] | undefined {
  const source = sourceOf(code);
  if (/\{\s*\[native code\]\s*\}\s*$/.test(source)) return undefined;
  const bare = source.replaceAll(/\/\*[^]*?\*\/|\/\/[^\n]*/g, " ").trim();
  const single = /^(?:async\s+)?([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*=>/u.exec(bare);
  if (single?.[1] !== undefined) return [single[1]];
  const start = bare.indexOf("(");
  const end = start < 0 || bare.slice(0, start).includes("[") ? -1 : closingBracket(bare, start);
  if (end < 0) return undefined;
  return splitParameters(bare.slice(start + 1, end));
}

const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/** Where the bracket at `start` closes; -1 if a text or a pattern is in between, which this does not read. */
function closingBracket(source: string, start: number): number {
  const open: string[] = [];
  for (let at = start; at < source.length; at += 1) {
    const character = source.charAt(at);
    if (Object.hasOwn(CLOSING, character)) open.push(CLOSING[character] ?? "");
    else if (character === open.at(-1)) open.pop();
    else if ("\"'`/)]}".includes(character)) return -1;
    if (open.length === 0) return at;
  }
  return -1;
}

function splitParameters(list: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = "";
  for (const character of list) {
    if ("([{".includes(character)) depth += 1;
    if (")]}".includes(character)) depth -= 1;
    if (character === "," && depth === 0) {
      parts.push(part.trim());
      part = "";
    } else part += character;
  }
  return [...parts, part.trim()].filter((each) => each !== "");
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

/** As the AI SDK calls it: `(input, context)`. OpenAI Agents pass their run first, and no such function would ask about an input. */
function approvalSetting(setting: unknown): unknown {
  if (isFunction(setting) && /^_*(?:run_?)?(?:context|ctx|run)$/i.test(parametersOfCode(setting)?.[0] ?? "")) {
    throw new TypeError(
      "Its approval function seems to have the parameters of OpenAI Agents. It is called as needsApproval(input, context).",
    );
  }
  return setting;
}
