import type { Agent, AgentLimits } from "../agent/agent.ts";
import type { AgentModel } from "../agent/agent-model.ts";
import type { ModelPrices, PromptView, ToolAudience } from "../agent/agent-parts.ts";
import { assembleAgent } from "../agent/assemble-agent.ts";
import { createFunctionModel, type ModelSettings } from "../agent/function-model.ts";
import { isLanguageModel, type LanguageModel } from "../agent/language-model.ts";
import type { SkillLibrary } from "../agent/skill.ts";
import { writeSystemPrompt } from "../agent/system-prompt.ts";
import { createTextModel } from "../agent/text-model.ts";
import type { AnyTool, DialectName } from "../core/tool.ts";
import type { AgentToolkit } from "../core/toolkit.ts";
import type { TextFormatName } from "../formats/text/text-format.ts";
import { isToolAllowed } from "../policy/tool-policy.ts";
import type { Haft } from "../runtime.ts";
import { LiveToolkit } from "./live-toolkit.ts";
import { createFunctionCallingFormat } from "./speak-functions.ts";
import { createTextCallingFormat } from "./speak-text.ts";
import { watchLateResults } from "./watch-late-results.ts";

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
  const { registry, executor } = haft;
  const toolkit = options.toolkit ?? new LiveToolkit(name, { registry, gate: executor });
  return assembleAgent({
    name,
    model: modelOf(options),
    toolkit,
    gate: executor,
    clock: executor.clock,
    limits,
    ...(prices ? { prices } : {}),
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
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
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
    .listTools()
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
    workspace: options.workspace ?? haft.executor.workspace,
    today: new Date(haft.executor.clock.now()).toISOString().slice(0, 10),
    project: await project?.(),
    skills: hasSkills ? (await skills.list()).skills : [],
    subagents: subagents?.(),
    pending: context.pending(),
  });
}
