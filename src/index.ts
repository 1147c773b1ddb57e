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

export type { TokenCounter } from "./core/token-counter.ts";
export type { ShownSet } from "./tools/discovery/defer-tools.ts";
export type { ToolSearchOptions } from "./tools/discovery/discovery.ts";

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
export type { Listener } from "./core/emitter.ts";
export { EventEmitter } from "./core/emitter.ts";
export type { EventOf, ToolEvent, ToolEventType, Update } from "./core/event.ts";
export type { Middleware, Stage, StageName } from "./core/stage.ts";
export type { CommandReading, Signature } from "./core/signature.ts";
export type { Call } from "./core/call.ts";
export type { Clock, Timer } from "./core/clock.ts";
export { systemClock } from "./core/clock.ts";

export type { ToolExecutor } from "./executor/executor.ts";
export type { ConcurrencyLimits } from "./executor/admission.ts";
export type { Timeouts } from "./executor/timeouts.ts";
export type { Spill } from "./executor/bound.ts";
export type { CallJournal, JournalEntry } from "./executor/call-journal.ts";
export type { CallLog, CallRecord } from "./executor/call-log.ts";
export type { AuditEntry, AuditFact, AuditLog, AuditQuery, AuditReport } from "./executor/audit-log.ts";
export { createRecorder } from "./executor/recorder.ts";
export type { Recorder, RecorderOptions } from "./executor/recorder.ts";
export { createReplay } from "./executor/replay.ts";
export type { Replay, ReplayOptions, ReplayReport } from "./executor/replay.ts";

export { expandToolGroups, TOOL_GROUPS } from "./policy/groups.ts";
export { normalizeToolName } from "./policy/normalize-name.ts";
export { isToolAllowedByPolicy } from "./policy/tool-policy.ts";
export type { ToolPolicy } from "./policy/tool-policy.ts";
export type { ProfileName } from "./policy/profiles.ts";
export { createPolicyLayers } from "./policy/policy-layers.ts";
export type { LayersRequest, PolicyConfig, PolicyLayer } from "./policy/policy-layers.ts";
export type { PolicyView } from "./policy/policy-view.ts";
export { RuleSet } from "./policy/rules/rule-book.ts";
export type { JudgedCall } from "./policy/rules/rule-book.ts";
export type { Rule, RuleList, RuleSource } from "./policy/rules/rule.ts";
export type { RuleFinding } from "./policy/rules/rule-finding.ts";
export { lintRules } from "./policy/rules/lint-rules.ts";
export { explainVerdict } from "./policy/rules/explain-verdict.ts";
export type { Explanation } from "./policy/rules/explain-verdict.ts";
export { testRules, previewRule } from "./policy/rules/try-rules.ts";
export type { ExampleOutcome, RuleExample } from "./policy/rules/try-rules.ts";
export { suggestRules } from "./policy/rules/suggest-rules.ts";
export type { HookSettings, HookSource } from "./policy/hooks/hook-settings.ts";
export type { TaintStore } from "./policy/taint-store.ts";
export { describeApproval } from "./policy/show-approval.ts";
export type { Approval, ApprovalAnswer, ApprovalScope, ApprovalState } from "./policy/approval.ts";
export type { ApprovalStore } from "./policy/approval-store.ts";
export type { Approvals, ApprovalsOptions } from "./policy/approvals.ts";
export type { Approver } from "./policy/ask-person.ts";
export { MCPClient } from "./mcp/client/mcp-client.ts";
export { wrapMCPTool } from "./mcp/client/wrap-mcp-tool.ts";
export { createMcpHub } from "./mcp/client/mcp-hub.ts";
export type { McpHub, McpHubOptions } from "./mcp/client/mcp-hub.ts";
export type { McpServerConfig } from "./mcp/server-config.ts";
export type { McpServerStatus } from "./mcp/client/server-status.ts";
export { isPathAllowed } from "./files/is-path-allowed.ts";

export type { JsonSchema } from "./schema/json-schema.ts";
export type { InferInput, InferOutput, SchemaSource } from "./schema/infer.ts";
export type { Schema, SchemaIssue, Validation } from "./schema/schema.ts";
export { toSchema } from "./schema/to-schema.ts";
