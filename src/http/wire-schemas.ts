// The shapes of wire.ts as schemas: requests are held against them, and the OpenAPI document is made from them. Zod takes its
// time to load, so that this file is imported when it is first needed, never before. Each schema is tied to its type.
import type { z } from "zod";
import {
  ApprovalAnswerRequest,
  ApprovalAnswered,
  ApprovalBatchItem,
  ApprovalBatchRequest,
  ApprovalInfo,
} from "./shapes/approvals.ts";
import { ErrorAnswer, ToolResult, page } from "./shapes/basics.ts";
import {
  CallDetail,
  CallFrame,
  CallInfo,
  CallRequest,
  CallStarted,
  ReplayRequest,
  SocketRequest,
  ToolInfo,
} from "./shapes/calls.ts";
import { McpActionRequest, McpServerInfo } from "./shapes/mcp.ts";
import {
  ExplainRequest,
  Explanation,
  LintFinding,
  PolicyInfo,
  RuleEffect,
  SimulateRequest,
  Simulation,
} from "./shapes/policy.ts";
import {
  AuditCheck,
  AuditEntry,
  AuditPage,
  ChangeDetail,
  ChangeInfo,
  ConfigurationInfo,
  StatisticsInfo,
  UndoOutcome,
  UndoRequest,
} from "./shapes/records.ts";
import { Health, LoginRequest, NewToken, ServerInfo, SessionInfo, TokenInfo, TokenRequest } from "./shapes/server.ts";

export const SHAPES = {
  ErrorAnswer,
  Health,
  ServerInfo,
  LoginRequest,
  SessionInfo,
  TokenRequest,
  TokenPage: page(TokenInfo),
  NewToken,
  ToolInfo,
  ToolPage: page(ToolInfo),
  CallRequest,
  CallStarted,
  CallFrame,
  ToolResult,
  CallPage: page(CallInfo),
  CallDetail,
  ReplayRequest,
  ApprovalInfo,
  ApprovalPage: page(ApprovalInfo),
  ApprovalAnswerRequest,
  ApprovalAnswered,
  ApprovalBatchRequest,
  ApprovalBatchPage: page(ApprovalBatchItem),
  PolicyInfo,
  ExplainRequest,
  Explanation,
  LintPage: page(LintFinding),
  SimulateRequest,
  Simulation,
  RuleEffect,
  AuditEntry,
  AuditPage,
  AuditCheck,
  StatisticsInfo,
  ChangePage: page(ChangeInfo),
  ChangeDetail,
  UndoRequest,
  UndoOutcome,
  ConfigurationInfo,
  McpServerInfo,
  McpServerPage: page(McpServerInfo),
  McpActionRequest,
  SocketRequest,
};

export type ShapeName = keyof typeof SHAPES;
export type Shape<Name extends ShapeName> = z.infer<(typeof SHAPES)[Name]>;
