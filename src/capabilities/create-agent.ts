import { checkKeys, keysOf } from "../core/options.ts";
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
import type { TextFormatName } from "../core/text-formats.ts";
import type { Haft } from "../runtime.ts";
import type { Subagents } from "../tools/agents/call-subagent.ts";
import { watchLateResults } from "./late-results.ts";

/** What an agent is made of. */
export interface AgentOptions extends ModelSettings {
  /** The runtime that runs its calls. */
  haft: Haft;
  /** A language model of the AI SDK, or your own. */
  model: LanguageModel | AgentModel;
  /** Default: "agent". Policy and the record name it. */
  name?: string;
  /** Tools that it may use. Default: all that the runtime's policy allows, also those registered later. */
  toolkit?: AgentToolkit;
  /** Its task, at the start of the system prompt. */
  instructions?: string;
  /** The text format of calls, for a model without function calling. */
  format?: TextFormatName;
  /** The naming convention in which tools are shown to the model. */
  dialect?: DialectName;
  /** Bounds of one run. */
  limits?: AgentLimits;
  /** Needed to report and to limit the cost. */
  prices?: ModelPrices;
  /** Instructions that it can load when it needs them. */
  skills?: SkillLibrary;
  /** Files such as AGENTS.md, read at each step. */
  project?: () => Promise<readonly { file: string; text: string }[]>;
  /** The agents that call_subagent offers. */
  subagents?: () => readonly { name: string; description: string }[];
  /** The folder that the system prompt names. Default: the folder of the runtime. */
  workspace?: string;
  /** Replaces the whole system prompt. */
  systemPrompt?: string | ((view: PromptView) => string | Promise<string>);
}

const OPTION_KEYS = keysOf<AgentOptions>({
  haft: true,
  model: true,
  name: true,
  toolkit: true,
  instructions: true,
  format: true,
  dialect: true,
  limits: true,
  prices: true,
  skills: true,
  project: true,
  subagents: true,
  workspace: true,
  systemPrompt: true,
  maxOutputTokens: true,
  temperature: true,
  providerOptions: true,
});
const LIMIT_KEYS = keysOf<AgentLimits>({ steps: true, tokens: true, costUsd: true });

/** Creates an agent. Its calls pass the gate of the runtime. */
export function createAgent(options: AgentOptions): Agent {
  checkKeys("createAgent", options, OPTION_KEYS);
  const { haft, name = "agent", limits = {}, prices } = options;
  checkKeys("`limits` of createAgent", limits, LIMIT_KEYS);
  const { registry } = haft.tools;
  const { clock } = haft.settings;
  const gate = runtimeGateOf(haft);
  const model = modelOf(options);
  const { limits: policyLimits } = haft.policy;
  const toolkit = options.toolkit ?? new LiveToolkit(name, { registry, gate });
  return assembleAgent({
    name,
    model,
    toolkit,
    gate,
    clock,
    limits,
    prices,
    budget: {
      refusal: (caller) => policyLimits.refusalOf({ model: model.id, caller }, prices !== undefined),
      add: (caller, { inputTokens, outputTokens, costUsd }) =>
        policyLimits.addUse({ model: model.id, caller }, { tokens: inputTokens + outputTokens, costUsd }),
    },
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
      "`model` must be a language model of the AI SDK (specification v2, v3 or v4), or have respond().",
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

/** A tool that is not registered is restricted by the policy of the call only. */
async function shownTools(haft: Haft, toolkit: AgentToolkit, to: ToolAudience): Promise<readonly AnyTool[]> {
  const { caller, mode, policy, loaded, about } = to;
  await haft.tools.readUse(caller);
  const visible = new Set(haft.tools.list({ caller }));
  const among = toolkit
    .list()
    .filter((tool) => visible.has(tool) || haft.tools.registry.get(tool.name) !== tool)
    .filter((tool) => mode !== "plan" || tool.isReadOnly)
    .filter((tool) => policy.every((layer) => isToolAllowed(tool, layer)));
  return haft.tools.shown({ among, caller, mode, loaded, about }).tools;
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
    workspace: options.workspace ?? haft.settings.folder,
    today: new Date(haft.settings.clock.now()).toISOString().slice(0, 10),
    project: await project?.(),
    skills: hasSkills ? (await skills.list()).skills.filter(({ isForPeopleOnly }) => !isForPeopleOnly) : [],
    subagents: subagents?.(),
    pending: context.pending(),
  });
}

export interface LiveToolkitOptions {
  registry: ToolRegistry;
  gate: Gate;
  holds?: (tool: AnyTool) => boolean;
}

/** A toolkit that reads the registry at each use: it has tools that were registered later, and not those that were removed. */
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

export interface SubagentDirectory {
  names(): readonly string[];
  /** Creates the agent on first use, so a model that cannot be loaded affects only its own agent. */
  get(name: string): Promise<Agent> | Agent;
}

/** The agents for `call_subagent`. Their calls are nested in its call and have no more rights. */
export function connectSubagents(directory: SubagentDirectory): Subagents {
  return {
    names: () => directory.names(),
    async run({ agent: name, instruction }, context) {
      const agent = await directory.get(name);
      const { mode, policy } = context.authority;
      const caller = { agent: agent.name };
      const { session, user } = context.caller;
      const answer = await agent.run(instruction, {
        parent: context,
        // The gate sets the same caller. It is needed here for the tools that the model sees.
        caller: { ...caller, depth: context.caller.depth + 1, parent: context.caller, session, user },
        signal: context.signal,
        mode,
        policy,
        onEvent: (event) => {
          if (event.type === "tool_call") context.update(`${name}: ${event.name}`);
        },
      });
      const { text, stop, steps, usage, error } = answer;
      return { text, stop, steps, usage, pending: answer.context.pending(), error };
    },
  };
}
