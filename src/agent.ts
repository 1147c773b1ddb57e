/**
 * Agents: a loop between a model and tools that uses nothing but the gate.
 *
 * @example
 * ```ts no-run: needs the key of a provider
 * import { createHaft } from "haft";
 * import { createAgent, loadModel } from "haft/agent";
 * import { openWorkspace } from "haft/workspace";
 *
 * const haft = createHaft({ workspace: openWorkspace(".") });
 * const agent = createAgent({ haft, model: await loadModel({ model: "anthropic/claude-sonnet-4-5" }) });
 * const { text } = await agent.run("Which of these files is the largest?");
 * ```
 *
 * @module
 */
export { createAgent } from "./capabilities/create-agent.ts";
export type { AgentOptions } from "./capabilities/create-agent.ts";
export type { Agent, AgentEvent, AgentModel, AgentResult, Message } from "./models/agent/agent.ts";
export type { LanguageModel } from "./models/agent/language-model.ts";
export { loadModel } from "./models/agent/load-model.ts";

// Agents that call others, and the tools for it
export { connectSubagents } from "./capabilities/create-agent.ts";
export { createAgentTools } from "./tools/agents/agent-tools.ts";
export { createSkillLibrary } from "./models/agent/skills.ts";
export type { SkillLibrary } from "./models/agent/skills.ts";

// Plans that are carried out step by step
export { createActor, createTaskContext, runTask } from "./models/agent/plan.ts";
export type { Actor, PlanStep, TaskContext } from "./models/agent/plan.ts";
export { createModelReflector, createReflector } from "./models/agent/reflection.ts";
export type { Reflection, Reflector } from "./models/agent/reflection.ts";
