// The front door: everything that `import { … } from "haft"` gives, and nothing else.

export { createHaft, getDefaultHaft, setDefaultHaft } from "./runtime.ts";
export type { Haft, HaftOptions } from "./runtime.ts";

export { createTool } from "./core/create-tool.ts";
export { createChain } from "./core/chain.ts";
export type { ChainStep } from "./core/chain.ts";
export { fromAgentTool } from "./core/plugin.ts";
export type { AgentTool } from "./core/plugin.ts";
export type { ToolConfig, ToolUpdates } from "./core/create-tool.ts";
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
export type { Registrable, SearchOptions, ToolFilter, ToolStats } from "./core/registry.ts";
export type { ToolStatistics } from "./core/registry.ts";
export { AgentToolkit } from "./core/toolkit.ts";
export { ToolCallContext } from "./core/tool-call-context.ts";
export type { ToolCallParams } from "./core/tool-call-context.ts";
export type { Plugin, PluginApi, PluginManifest } from "./core/plugin.ts";

export type { TokenCounter } from "./core/token-counter.ts";
export type { ShownSet } from "./tools/discovery/tool-search.ts";
export type { ToolSearchOptions } from "./tools/discovery/tool-search.ts";

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

export type { BatchCall, CallMode, CallOptions, CallPolicy, Caller, Execute, Verdict } from "./core/call.ts";
export type { Listener } from "./core/events.ts";
export { EventEmitter } from "./core/events.ts";
export type { EventOf, ToolEvent, ToolEventType, Update } from "./core/events.ts";
export type { Middleware, Stage, StageName } from "./core/stage.ts";
export type { CommandReading, Signature } from "./core/signature.ts";
export type { Call } from "./core/call.ts";
export type { Clock, Timer } from "./core/clock.ts";
export { systemClock } from "./core/clock.ts";

export type { ConcurrencyLimits } from "./gate/concurrency.ts";
export type { Timeouts } from "./gate/timeouts.ts";
export type { Spill } from "./gate/bound.ts";
export type { CallJournal, JournalEntry } from "./calls/call-journal.ts";
export type { CallLog, CallRecord } from "./gate/audit-log.ts";
export type { AuditEntry, AuditFact, AuditLog, AuditQuery, AuditReport } from "./gate/audit-log.ts";
export { createRecorder } from "./gate/record-and-replay.ts";
export type { Recorder, RecorderOptions } from "./gate/record-and-replay.ts";
export { createReplay } from "./gate/record-and-replay.ts";
export type { Replay, ReplayOptions, ReplayReport } from "./gate/record-and-replay.ts";

export { expandToolGroups, TOOL_GROUPS } from "./gate/permit/tool-groups.ts";
export { normalizeToolName } from "./gate/permit/tool-groups.ts";
export { isToolAllowedByPolicy } from "./gate/permit/tool-policy.ts";
export type { ToolPolicy } from "./gate/permit/tool-policy.ts";
export type { ProfileName } from "./gate/permit/tool-groups.ts";
export { createPolicyLayers } from "./gate/permit/policy-layers.ts";
export type { LayersRequest, PolicyConfig, PolicyLayer } from "./gate/permit/policy-layers.ts";
export type { PolicyView } from "./gate/permit/policy-view.ts";
export { RuleSet } from "./gate/permit/rules/rule-set.ts";
export type { JudgedCall } from "./gate/permit/rules/rule-set.ts";
export type { Rule, RuleList, RuleSource } from "./gate/permit/rules/rule.ts";
export type { RuleFinding } from "./gate/permit/rules/lint-rules.ts";
export { lintRules } from "./gate/permit/rules/lint-rules.ts";
export { explainVerdict } from "./gate/permit/rules/explain-verdict.ts";
export type { Explanation } from "./gate/permit/rules/explain-verdict.ts";
export { testRules, previewRule } from "./gate/permit/rules/try-rules.ts";
export type { ExampleOutcome, RuleExample } from "./gate/permit/rules/try-rules.ts";
export { suggestRules } from "./gate/permit/rules/suggest-rules.ts";
export type { HookSettings, HookSource } from "./gate/permit/hooks/hook-settings.ts";
export type { TaintStore } from "./gate/permit/taint.ts";
export { describeApproval } from "./gate/permit/describe-approval.ts";
export type { Approval, ApprovalAnswer, ApprovalScope, ApprovalState } from "./calls/approval.ts";
export type { ApprovalStore } from "./calls/approval.ts";
export type { Approvals, ApprovalsOptions } from "./calls/approvals.ts";
export type { Approver } from "./gate/permit/approver.ts";
export { MCPClient } from "./mcp/client/mcp-client.ts";
export { wrapMCPTool } from "./mcp/client/mcp-tool.ts";
export { createMcpHub } from "./mcp/client/mcp-hub.ts";
export type { McpHub, McpHubOptions } from "./mcp/client/mcp-hub.ts";
export type { McpServerConfig } from "./mcp/server-config.ts";
export type { McpServerStatus } from "./mcp/client/mcp-hub.ts";
export { isPathAllowed } from "./io/files/path-name.ts";

export type { JsonSchema } from "./schema/json-schema.ts";
export type { InferInput, InferOutput, SchemaSource } from "./schema/infer.ts";
export type { Schema, SchemaIssue, Validation } from "./schema/schema.ts";
export { toSchema } from "./schema/to-schema.ts";
