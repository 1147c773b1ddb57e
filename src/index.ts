// The front door: everything that `import { … } from "haft"` gives, and nothing else.

export { createHaft, getDefaultHaft, setDefaultHaft } from "./runtime.ts";
export type { Haft, HaftOptions } from "./runtime.ts";

export { createTool } from "./core/create-tool.ts";
export { createChain } from "./core/chain.ts";
export type { ChainStep } from "./core/chain.ts";
export { fromAgentTool } from "./core/agent-tool.ts";
export type { AgentTool } from "./core/agent-tool.ts";
export type { ToolConfig, ToolUpdates } from "./core/tool-config.ts";
export { isTool, ToolKind, ToolPermission } from "./core/tool.ts";
export type {
  AnyTool,
  DialectName,
  Preview,
  TaintLabel,
  Tool,
  ToolCache,
  ToolContext,
  ToolDescription,
  ToolDialect,
  ToolExample,
  ToolInvocation,
  ToolLimits,
  ToolOrigin,
} from "./core/tool.ts";
export { toCategory, ToolCategory } from "./core/category.ts";
export type { FunctionDeclaration, ToolCallDefinition } from "./core/definition.ts";

export { ToolRegistry } from "./core/registry.ts";
export type { Registrable, SearchOptions, ShownTools, ToolStats } from "./core/registry.ts";
export type { ToolStatistics } from "./core/statistics.ts";
export { AgentToolkit } from "./core/toolkit.ts";
export { ToolCallContext } from "./core/call-context.ts";
export type { ToolCallParams } from "./core/call-context.ts";
export type { Plugin, PluginApi, PluginManifest } from "./core/plugin.ts";

export { text, textOf } from "./core/content.ts";
export type { Content } from "./core/content.ts";
export { jsonResult } from "./core/result.ts";
export type {
  CompletedResult,
  FailedResult,
  PendingResult,
  ResultMetadata,
  ToolOutput,
  ToolResult,
} from "./core/result.ts";
export {
  ERROR_CODES,
  ToolError,
  toolError,
  ToolNotFoundError,
  ToolPermissionError,
  ToolTimeoutError,
  ToolValidationError,
} from "./core/error.ts";
export type { ErrorActor, ErrorCode, ToolErrorOptions, ToolFailure } from "./core/error.ts";

export type { BatchCall } from "./executor/order-batch.ts";
export type { CallMode, CallOptions, CallPolicy, Caller, Execute } from "./core/call.ts";
export type { Listener } from "./core/emitter.ts";
export { EventEmitter } from "./core/emitter.ts";
export type { EventOf, ToolEvent, ToolEventType, Update } from "./core/event.ts";
export type { Middleware, Stage, StageName } from "./core/stage.ts";
export type { Call } from "./core/call.ts";
export type { Clock, Timer } from "./core/clock.ts";
export { systemClock } from "./core/clock.ts";

export type { ToolExecutor } from "./executor/executor.ts";
export type { ConcurrencyLimits } from "./executor/admission.ts";
export type { Timeouts } from "./executor/timeouts.ts";
export type { Spill } from "./executor/bound.ts";
export type { CallJournal, JournalEntry } from "./executor/call-journal.ts";
export type { CallLog, CallRecord } from "./executor/call-log.ts";

export { expandToolGroups, TOOL_GROUPS } from "./policy/groups.ts";
export { normalizeToolName } from "./policy/normalize-name.ts";
export { isToolAllowedByPolicy } from "./policy/tool-policy.ts";
export type { ToolPolicy } from "./policy/tool-policy.ts";
export type { ProfileName } from "./policy/profiles.ts";
export type { Approval, ApprovalAnswer } from "./policy/approvals.ts";
export type { Approver } from "./policy/permit.ts";
export { isPathAllowed } from "./files/is-path-allowed.ts";

export type { JsonSchema } from "./schema/json-schema.ts";
export type { InferInput, InferOutput, SchemaSource } from "./schema/infer.ts";
export type { Schema, SchemaIssue, Validation } from "./schema/schema.ts";
export { toSchema } from "./schema/to-schema.ts";
