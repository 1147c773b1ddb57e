/**
 * Define tools, run calls through the gate, and decide what may run.
 *
 * @example
 * import { createHaft, createTool } from "haft";
 * import { z } from "zod";
 *
 * const add = createTool({
 *   name: "add",
 *   description: "Adds two numbers.",
 *   kind: "readonly",
 *   parameters: z.object({ a: z.number(), b: z.number() }),
 *   run: ({ a, b }) => a + b,
 * });
 * const haft = createHaft({ tools: [add] });
 * const result = await haft.execute(add, { a: 1, b: 2 });
 *
 * @module
 */

// The runtime
export { createHaft, getDefaultHaft, setDefaultHaft } from "./runtime.ts";
export type { Haft, HaftCalls, HaftOptions, HaftSettings, HaftTools } from "./runtime.ts";

// Tools
export { adopt } from "./core/adopt/adopt.ts";
export type { AdoptOptions, ForeignTool } from "./core/adopt/adopt.ts";
export { createChain } from "./core/chain.ts";
export type { ChainStep } from "./core/chain.ts";
export { text, textOf } from "./core/content.ts";
export type { Content, TokenCounter } from "./core/content.ts";
export { createTool } from "./core/create-tool.ts";
export type { ToolConfig } from "./core/create-tool.ts";
export type { FunctionDeclaration, ToolCallDefinition } from "./core/definition.ts";
export type { Plugin } from "./core/plugin.ts";
export { ToolRegistry } from "./core/registry.ts";
export type { ToolOutput } from "./core/result.ts";
export { ToolCallContext } from "./core/tool-call-context.ts";
export type { ToolCallParams } from "./core/tool-call-context.ts";
export { isTool } from "./core/tool.ts";
export type { AnyTool, Preview, Tool, ToolContext, ToolInvocation, ToolOrigin } from "./core/tool.ts";
export { AgentToolkit } from "./core/toolkit.ts";
export type { InferInput, InferOutput, SchemaSource } from "./schema/infer.ts";
export type { JsonSchema } from "./schema/json-schema.ts";
export type { Schema } from "./schema/schema.ts";
export { toSchema } from "./schema/json-schema-validator.ts";

// Calls and their results
export type { BatchCall, Call, Caller, CallOptions, Execute, Verdict } from "./core/call.ts";
export { ERROR_CODES, toolError, ToolError } from "./core/error.ts";
export type { ErrorCode, ToolFailure } from "./core/error.ts";
export type { EventOf, ToolEvent, ToolEventType, Update } from "./core/events.ts";
export type { CompletedResult, FailedResult, PendingResult, ToolResult } from "./core/result.ts";
export type { Middleware } from "./core/stage.ts";
export { createRecorder, createReplay } from "./gate/record-and-replay.ts";
export type { Recorder, Replay } from "./gate/record-and-replay.ts";

// Policy and approvals
export type { Approval, ApprovalAnswer } from "./calls/approval.ts";
export type { Approver } from "./gate/permit/approver.ts";
export { describeApproval } from "./gate/permit/describe-approval.ts";
export type { DecidableCall, HostDecision } from "./gate/permit/host-decision.ts";
export type { HookSource } from "./gate/permit/hooks/hook-settings.ts";
export { createPolicyLayers } from "./gate/permit/policy-layers.ts";
export type { PolicyConfig, PolicyLayer } from "./gate/permit/policy-layers.ts";
export { explainVerdict } from "./gate/permit/rules/explain-verdict.ts";
export type { Explanation } from "./gate/permit/rules/explain-verdict.ts";
export { lintRules } from "./gate/permit/rules/lint-rules.ts";
export { RuleSet } from "./gate/permit/rules/rule-set.ts";
export type { Rule, RuleSource } from "./gate/permit/rules/rule.ts";
export { suggestRules } from "./gate/permit/rules/suggest-rules.ts";
export { previewRule, testRules } from "./gate/permit/rules/try-rules.ts";
export type { Provenance, ProvenanceOptions, ProvenanceStore } from "./gate/permit/provenance/provenance.ts";
export type { TaintStore } from "./gate/permit/taint.ts";
export type { ToolPolicy } from "./gate/permit/tool-policy.ts";

// What a host may replace
export type { CallStore } from "./calls/call-store.ts";
export type { Clock } from "./core/clock.ts";
export type { AuditLog, CallLog } from "./gate/audit-log.ts";
export type { Spill } from "./gate/bound.ts";

// MCP servers as sources of tools
export { createMcpHub } from "./mcp/client/mcp-hub.ts";
export type { McpHub } from "./mcp/client/mcp-hub.ts";
export type { McpServerConfig } from "./mcp/server-config.ts";
