// Agents: `import { createAgent } from "haft/agent"`. A loop between a model and tools that uses nothing but the gate.

export { createAgent } from "./agents/create-agent.ts";
export type { AgentOptions } from "./agents/create-agent.ts";
export { connectSubagents } from "./agents/connect-subagents.ts";
export type { SubagentDirectory } from "./agents/connect-subagents.ts";
export { loadModel } from "./agents/load-model.ts";
export type { ModelChoice } from "./agents/load-model.ts";
export { createAgentTools } from "./tools/agents/agent-tools.ts";
export type { AgentToolsOptions } from "./tools/agents/agent-tools.ts";
export type { MessageSink } from "./tools/agents/cli-response.ts";

export type { Agent, AgentResult, AgentEvent, AgentLimits, AgentStop, AgentUsage, RunOptions } from "./agent/agent.ts";
export type { AgentModel, ModelRequest, ModelTurn } from "./agent/agent-model.ts";
export type { ModelPrices } from "./agent/agent-parts.ts";
export type { LanguageModel } from "./agent/language-model.ts";
export type { Message, MessagePart, ToolCallPart } from "./agent/message.ts";
export { createSkillLibrary } from "./agent/read-skills.ts";
export type { Skill, SkillLibrary } from "./agent/skill.ts";

export { createActor, createTaskContext } from "./agent/plan.ts";
export type { ActionResult, Actor, PlanStep, TaskContext } from "./agent/plan.ts";
export { createReflector } from "./agent/reflect.ts";
export { createModelReflector } from "./agent/reflect-by-model.ts";
export type { Reflection, Reflector, ToolFailureNote } from "./agent/reflection.ts";
export { runTask } from "./agent/run-task.ts";
