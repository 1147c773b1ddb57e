import { bindGate, type Gate, runtimeGateOf } from "../core/gate.ts";
import type { ToolRegistry } from "../core/registry.ts";
import type { AnyTool, DialectName } from "../core/tool.ts";
import { AgentToolkit } from "../core/toolkit.ts";
import { isToolAllowed } from "../gate/permit/tool-policy.ts";
import { assembleAgent } from "../models/agent/agent-loop.ts";
import type { Agent, AgentLimits, AgentModel, ModelPrices, PromptView, ToolAudience } from "../models/agent/agent.ts";
import {
  createFunctionCallingFormat,
  createFunctionModel,
  type ModelSettings,
} from "../models/agent/function-model.ts";
import { isLanguageModel, type LanguageModel } from "../models/agent/language-model.ts";
import type { SkillLibrary } from "../models/agent/skills.ts";
import { writeSystemPrompt } from "../models/agent/system-prompt.ts";
import { createTextCallingFormat, createTextModel } from "../models/agent/text-model.ts";
import type { TextFormatName } from "../models/text/text-format.ts";
import type { Haft } from "../runtime.ts";
import { watchLateResults } from "./late-results.ts";

export interface AgentOptions extends ModelSettings {
  haft: Haft;
  /** Any language model of the AI SDK, or one of your own. */
  model: LanguageModel | AgentModel;
  name?: string;
  /** What it may use; everything that the runtime's policy leaves it, also what is registered later, where absent. */
  toolkit?: AgentToolkit;
  /** What it is for, at the head of its system prompt. */
  instructions?: string;
  /** For a model without function calling: how it writes calls as text. */
  format?: TextFormatName;
  /** Whose names tools are shown under. */
  dialect?: DialectName;
  limits?: AgentLimits;
  /** So that the cost is known, and can be limited. */
  prices?: ModelPrices;
  skills?: SkillLibrary;
  /** Files such as AGENTS.md, read when a step begins. */
  project?: () => Promise<readonly { file: string; text: string }[]>;
  /** Whom call_subagent knows. */
  subagents?: () => readonly { name: string; description: string }[];
  /** Where it works, for the system prompt; the runtime's folder where absent. */
  workspace?: string;
  /** In place of the whole system prompt that is written otherwise. */
  systemPrompt?: string | ((view: PromptView) => string | Promise<string>);
}

/** An agent in a runtime: every call that it makes passes that runtime's gate. */
export function createAgent(options: AgentOptions): Agent {
  const { haft, name = "agent", limits = {}, prices } = options;
  const { registry, clock } = haft;
  const gate = runtimeGateOf(haft);
  const toolkit = options.toolkit ?? new LiveToolkit(name, { registry, gate });
  return assembleAgent({
    name,
    model: modelOf(options),
    toolkit,
    gate,
    clock,
    limits,
    prices,
    shownTools: (to) => shownTools(haft, toolkit, to),
    systemPrompt: (view) => promptOf(options, view),
    watchLateResults: (of) => watchLateResults(haft, of),
    onResultDelivered: (result) => haft.jobs.processToolCallResult(result),
  });
}

function modelOf({ model, format, dialect, maxOutputTokens, temperature, providerOptions }: AgentOptions): AgentModel {
  if (!isLanguageModel(model)) {
    if (typeof (model as Partial<AgentModel>).respond === "function") return model as AgentModel;
    throw new TypeError(
      "`model` is no language model of the AI SDK (specification v2, v3 or v4), and has no respond().",
    );
  }
  const settings: ModelSettings = {
    maxOutputTokens,
    temperature,
    providerOptions,
  };
  return format === undefined
    ? createFunctionModel(model, createFunctionCallingFormat({ dialect }), settings)
    : createTextModel(model, createTextCallingFormat({ format, dialect }), settings);
}

/** A tool that is registered nowhere is in nobody's policy but the call's own. */
function shownTools(haft: Haft, toolkit: AgentToolkit, to: ToolAudience): readonly AnyTool[] {
  const { caller, mode, policy, loaded } = to;
  const visible = new Set(haft.tools({ caller }));
  const among = toolkit
    .list()
    .filter((tool) => visible.has(tool) || haft.registry.get(tool.name) !== tool)
    .filter((tool) => mode !== "plan" || tool.isReadOnly)
    .filter((tool) => policy.every((layer) => isToolAllowed(tool, layer)));
  return haft.shownTools({ among, caller, loaded }).tools;
}

async function promptOf(options: AgentOptions, view: PromptView): Promise<string> {
  const { systemPrompt, instructions, dialect, haft, skills, project, subagents } = options;
  if (typeof systemPrompt === "string") return systemPrompt;
  if (systemPrompt) return systemPrompt(view);
  const { tools, mode, context } = view;
  const hasSkills = skills !== undefined && tools.some((tool) => tool.name === "skill");
  return writeSystemPrompt({
    instructions,
    tools,
    dialect,
    mode,
    workspace: options.workspace ?? haft.folder,
    today: new Date(haft.clock.now()).toISOString().slice(0, 10),
    project: await project?.(),
    skills: hasSkills ? (await skills.list()).skills : [],
    subagents: subagents?.(),
    pending: context.pending(),
  });
}

export interface LiveToolkitOptions {
  registry: ToolRegistry;
  gate: Gate;
  holds?: (tool: AnyTool) => boolean;
}

/** A toolkit that is looked up when it is used: tools that a server brings later are in it, those that went are not. */
export class LiveToolkit extends AgentToolkit {
  readonly #registry: ToolRegistry;
  readonly #holds: (tool: AnyTool) => boolean;

  constructor(agentName: string, { registry, gate, holds = () => true }: LiveToolkitOptions) {
    super(agentName);
    bindGate(this, gate);
    this.#registry = registry;
    this.#holds = holds;
  }

  override get(name: string): AnyTool | undefined {
    const tool = super.get(name) ?? this.#registry.get(name);
    return tool && this.#holds(tool) ? tool : undefined;
  }

  override list(): AnyTool[] {
    return [...new Set([...super.list(), ...this.#registry.list()])].filter(this.#holds);
  }

  override names(): string[] {
    return this.list().map(({ name }) => name);
  }
}
