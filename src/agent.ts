// Agents: `import { createAgent } from "haft/agent"`. A loop between a model and tools that uses nothing but the gate.

export { createAgent } from "./capabilities/create-agent.ts";
export type { AgentOptions } from "./capabilities/create-agent.ts";
export { connectSubagents } from "./models/agent/subagents.ts";
export type { SubagentDirectory } from "./models/agent/subagents.ts";
export { loadModel } from "./models/agent/load-model.ts";
export type { ModelChoice } from "./models/agent/load-model.ts";
export { createAgentTools } from "./tools/agents/agent-tools.ts";
export type { AgentToolsOptions } from "./tools/agents/agent-tools.ts";
export type { MessageSink } from "./tools/agents/agent-tools.ts";

export type {
  Agent,
  AgentResult,
  AgentEvent,
  AgentLimits,
  AgentStop,
  AgentUsage,
  RunOptions,
} from "./models/agent/agent.ts";
export type { AgentModel, ModelRequest, ModelTurn } from "./models/agent/agent.ts";
export type { ModelPrices } from "./models/agent/agent.ts";
export type { LanguageModel } from "./models/agent/language-model.ts";
export type { Message, MessagePart, ToolCallPart } from "./models/agent/agent.ts";
export { createSkillLibrary } from "./models/agent/skills.ts";
export type { Skill, SkillLibrary } from "./models/agent/skills.ts";

export { createActor, createTaskContext } from "./models/agent/plan.ts";
export type { ActionResult, Actor, PlanStep, TaskContext } from "./models/agent/plan.ts";
export { createReflector } from "./models/agent/reflection.ts";
export { createModelReflector } from "./models/agent/reflection.ts";
export type { Reflection, Reflector, ToolFailureNote } from "./models/agent/reflection.ts";
export { runTask } from "./models/agent/plan.ts";
