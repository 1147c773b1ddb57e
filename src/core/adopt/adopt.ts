import { createTool, statedPermission, type ToolConfig } from "../create-tool.ts";
import { errorMessage } from "../error.ts";
import { checkKeys } from "../options.ts";
import type { SchemaSource } from "../../schema/infer.ts";
import { type AnyTool, isTool, type ToolKind, ToolPermission } from "../tool.ts";
import {
  ADOPT_KEYS,
  type AdoptedConfig,
  type AdoptOptions,
  type Convention,
  type Fields,
  isFunction,
  strictest,
} from "./convention.ts";
import {
  adkTool,
  aiSDKTool,
  claudeAgentTool,
  genkitTool,
  langChainTool,
  llamaIndexTool,
  mastraTool,
  mcpTool,
  openAIAgentsTool,
  tanStackTool,
} from "./framework-tools.ts";
import { agentTool, baseTool, haftTool, isNamedPlainTool, takesCallId } from "./plain-tools.ts";

export type { AdoptOptions } from "./convention.ts";

/**
 * A tool that another system made: AI SDK, LangChain, OpenAI Agents, Mastra, TanStack AI, Genkit, LlamaIndex, Google ADK, Claude
 * Agent SDK, MCP, or one of the design documents. Only the members that tell them apart.
 */
export type ForeignTool =
  | {
      name: string;
      description: string;
      parameters: object;
      kind?: ToolKind;
      needsApproval?: boolean | ((input: never, context: never) => unknown);
      execute: (...args: never[]) => unknown;
    }
  | { inputSchema: unknown }
  | { invoke: object }
  | { handler: object }
  | { runAsync: object }
  | { __action: object }
  | { metadata: object; call: object }
  | { getParameters: object }
  | { get_parameters: object };

/** A tool, or the configuration of one. */
export type Registrable = AnyTool | ToolConfig<SchemaSource, SchemaSource, unknown>;

/** The systems by the name that `as` takes. A tool with the mark of a framework is never taken for a plain object. */
const MARKED: ReadonlyMap<string, Convention> = new Map([
  ["langchain", langChainTool],
  ["openai-agents", openAIAgentsTool],
  ["mastra", mastraTool],
  ["tanstack", tanStackTool],
  ["genkit", genkitTool],
  ["llamaindex", llamaIndexTool],
  ["adk", adkTool],
  ["claude-agent-sdk", claudeAgentTool],
]);
const PLAIN: ReadonlyMap<string, Convention> = new Map([
  ["haft", haftTool],
  ["agent-tool", agentTool],
  ["base-tool", baseTool],
  ["ai-sdk", aiSDKTool],
  ["mcp", mcpTool],
]);

/**
 * Makes a tool of Haft from a tool of another system, with its safety settings. Throws if it fits no system, or several.
 *
 * @example
 * haft.register(adopt(weatherTool, { name: "weather", kind: "readonly" }));
 */
export function adopt(tool: Registrable | ForeignTool, options: AdoptOptions = {}): AnyTool {
  checkKeys("adopt", options, ADOPT_KEYS);
  if (isTool(tool)) {
    if (Object.keys(options).length === 0) return tool;
    throw new TypeError(`"${tool.name}" is already a Haft tool. Set its options in createTool.`);
  }
  return createTool(adoptedConfig(tool, options));
}

/**
 * As `adopt`, for a caller whose type says that plain objects get their input first: only an id of a call among its parameters
 * means an AgentTool.
 */
export function adoptInputFirst(tool: Registrable | ForeignTool): AnyTool {
  if (isTool(tool)) return tool;
  const isPlain = ![...MARKED.values()].some((convention) => convention.fits(tool as unknown as Fields));
  if (!isPlain || !isNamedPlainTool(tool as unknown as Fields)) return adopt(tool);
  return adopt(tool, { as: takesCallId(tool as unknown as Fields) ? "agent-tool" : "haft" });
}

function adoptedConfig(tool: unknown, options: AdoptOptions): ToolConfig<SchemaSource, SchemaSource, unknown> {
  if ((typeof tool !== "object" && !isFunction(tool)) || tool === null) {
    throw new TypeError(`A tool must be an object, not ${tool === null ? "null" : typeof tool}.`);
  }
  const fields = tool as unknown as Fields;
  const convention = options.as === undefined ? recognise(fields) : find(options.as);
  try {
    const config = convention.convert(fields, options);
    if (config.name === undefined) {
      throw new TypeError("It has no name: pass one as `adopt(tool, { name })`.");
    }
    return { ...config, ...labelsWith(config, options), permission: withOption(config, options.needsApproval) };
  } catch (cause) {
    if (convention === haftTool) throw cause;
    const name = options.name ?? nameOf(fields);
    throw new TypeError(`The ${convention.title} tool "${name}" cannot be adopted: ${errorMessage(cause)}`, { cause });
  }
}

function labelsWith(
  { labels, labelsOf }: AdoptedConfig,
  { labels: more = [] }: AdoptOptions,
): Pick<AdoptedConfig, "labels" | "labelsOf"> {
  if (more.length === 0) return { labels, labelsOf };
  const own = labelsOf && ((...given: Parameters<typeof labelsOf>) => [...labelsOf(...given), ...more]);
  return { labels: [...(labels ?? []), ...more], labelsOf: own };
}

/** What the tool says about approval, and what `adopt` was told where the tool says nothing. */
function withOption(
  config: ToolConfig<SchemaSource, SchemaSource, unknown>,
  needsApproval: AdoptOptions["needsApproval"],
): typeof config.permission {
  const { permission } = config;
  if (needsApproval === undefined) return permission;
  if (typeof needsApproval !== "boolean") {
    return strictest(permission, statedPermission(config.name ?? "", { needsApproval }));
  }
  if (needsApproval) return ToolPermission.CONFIRM;
  if (permission === ToolPermission.CONFIRM)
    throw new TypeError("It needs approval itself; `needsApproval: false` cannot lift that.");
  if (typeof permission !== "function") return ToolPermission.AUTO;
  return async (input, context) => (await permission(input, context)) ?? ToolPermission.AUTO;
}

function recognise(tool: Fields): Convention {
  const fits = ([, convention]: [string, Convention]): boolean => convention.fits(tool);
  const marked = [...MARKED].filter(fits);
  const found = marked.length > 0 ? marked : [...PLAIN].filter(fits);
  const [first, second] = found;
  if (first === undefined) {
    // `createTool` says what is missing.
    if (["run", "execute", "parameters", "description"].some((key) => key in tool)) return haftTool;
    const keys = Object.keys(tool).slice(0, 12).join(", ") || "none";
    throw new TypeError(
      `This is not a tool: it has the keys ${keys}. A tool has a name, a description, \`inputSchema\` and \`execute(input, context)\`; ` +
        `\`adopt\` also takes tools of ${listOfSystems()}.`,
    );
  }
  if (second === undefined) return first[1];
  const choices = found.map(([name, { title }]) => `${title}: adopt(tool, { as: "${name}" })`);
  const hint = found.some(([name]) => name === "haft") ? " Or write `run(input, context)`." : "";
  throw new TypeError(
    `The tool "${nameOf(tool)}" fits several conventions, which pass different arguments. Choose one with \`adopt\`. ` +
      `${choices.join("; ")}.${hint}`,
  );
}

function find(name: string): Convention {
  const convention = MARKED.get(name) ?? PLAIN.get(name);
  if (convention) return convention;
  throw new TypeError(`adopt knows no system "${name}". Known: ${[...PLAIN.keys(), ...MARKED.keys()].join(", ")}.`);
}

function nameOf(tool: Fields): string {
  return String(tool["name"] ?? tool["id"] ?? "");
}

function listOfSystems(): string {
  return [...MARKED.values(), aiSDKTool, agentTool, mcpTool].map(({ title }) => title).join(", ");
}
