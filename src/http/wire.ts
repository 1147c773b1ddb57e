/**
 * The JSON shapes of the HTTP door: what the console, the client and the command line speak. Types alone, no code.
 *
 * Rules that hold everywhere: times are Unix milliseconds; a list is a `Page`; what fails is an `ErrorAnswer` with a status
 * of 400 or more; a call that fails is an answer (200) whose `ToolResult` says so; a part that this server does not have is
 * missing from `ServerInfo.parts`, and its routes answer 404 `not_here`.
 */
import type { ClientToolResult, ClientCall, ClientTool } from "../models/client-tools.ts";
import type { CallMode, Caller, Verdict } from "../core/call.ts";
import type { ErrorCode } from "../core/error.ts";
import type { ToolEvent, ToolEventType, Update } from "../core/events.ts";
import type { ToolResult } from "../core/result.ts";
import type { Preview, TaintLabel, ToolExample, ToolKind, ToolOrigin, ToolPermission } from "../core/tool.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import type { ToolNumbers } from "./wire-records.ts";

export type * from "./wire-channels.ts";
export type * from "./wire-playground.ts";
export type * from "./wire-artifacts.ts";
export type * from "./wire-canvas.ts";
export type * from "./wire-jobs.ts";
export type * from "./wire-sessions.ts";
export type * from "./wire-records.ts";
export type {
  CallMode,
  Caller,
  ClientToolResult,
  ClientCall,
  ClientTool,
  ErrorCode,
  Preview,
  ToolEvent,
  ToolEventType,
  ToolResult,
  Update,
  Verdict,
};

/** `next` is the cursor of the following page; absent on the last one. */
export interface Page<Item> {
  items: Item[];
  next?: string;
}

/** Codes of the door itself, beside those of calls. */
export type HttpErrorCode =
  | "bad_request"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "not_here"
  | "method_not_allowed"
  | "conflict"
  | "too_large"
  | "unsupported_media_type"
  | "too_many_requests"
  | "timeout"
  | "internal";

export interface ErrorAnswer {
  /** `message` says what happened, `next` what to do. */
  error: { code: HttpErrorCode | ErrorCode; message: string; next?: string; data?: unknown };
}

// Server: GET /api/health (no token), GET /api/server

export interface Health {
  status: "ok";
}

/** What a server can do beyond tools, calls, approvals and events, which each has. */
export type CapabilityName =
  | "policy"
  | "audit"
  | "undo"
  | "artifacts"
  | "canvas"
  | "configuration"
  | "rules"
  | "tokens"
  | "mcp"
  | "channels"
  | "questions"
  | "jobs"
  | "schedules"
  | "sessions";

export interface ServerInfo {
  name: "haft";
  version: string;
  startedAt: number;
  workspace?: string;
  store?: { kind: "memory" | "sqlite" | "postgres"; place?: string };
  sandbox?: { kind: string; enforced: boolean; reason?: string };
  parts: CapabilityName[];
  /** What a person should know: no TLS, no sandbox, a broken rule. */
  warnings: string[];
  load: { running: number; waiting: number };
}

// Sessions and tokens: GET|POST|DELETE /api/session, GET|POST /api/tokens, DELETE /api/tokens/{id}

/** `read` sees, `call` runs tools, `approve` answers questions and changes rules, `admin` manages tokens. */
export type Scope = "read" | "call" | "approve" | "admin";

/** Exchanges the one-time token of the printed address for a cookie. */
export interface LoginRequest {
  token: string;
}

/** Who the server takes the asker for. */
export interface SessionInfo {
  name: string;
  scopes: Scope[];
  kind: "session" | "token";
  expiresAt?: number;
}

export interface TokenInfo {
  id: string;
  name: string;
  scopes: Scope[];
  createdAt: number;
  expiresAt?: number;
  lastUsedAt?: number;
}

export interface TokenRequest {
  name: string;
  scopes: Scope[];
  expiresInMs?: number;
}

/** The only answer that holds the token itself. */
export interface NewToken extends TokenInfo {
  token: string;
}

// Tools: GET /api/tools?search=&group=&kind=, GET /api/tools/{name}

export interface ToolInfo {
  name: string;
  title: string;
  description: {
    short: string;
    long?: string;
    usageNotes?: string[];
    important?: string[];
    examples?: ToolExample[];
  };
  kind: ToolKind;
  category: string;
  tags: string[];
  aliases: string[];
  version: string;
  mode: "inline" | "background";
  /** The tool's own wish; absent where it depends on the input. */
  permission?: ToolPermission;
  labels: TaintLabel[];
  groups: string[];
  origin: ToolOrigin;
  parameters: JsonSchema;
  output?: JsonSchema;
  limits: { timeoutMs?: number; maxConcurrent?: number; maxResultBytes?: number };
  /** What policy says of the tool before its input is known. */
  verdict?: Verdict;
  statistics?: ToolNumbers;
}

// Calls: POST /api/calls, GET /api/calls?tool=&status=&session=&parent=&limit=&cursor=, GET /api/calls/{id},
// GET /api/calls/{id}/updates (event stream), GET /api/calls/{id}/output (text), POST /api/calls/{id}/cancel,
// POST /api/calls/{id}/replay

export interface CallRequest {
  tool: string;
  input?: unknown;
  /** Two calls with one id, token, tool and input are one call. */
  id?: string;
  session?: string;
  /** `acceptEdits` and `bypassPermissions` need the scope `approve`. */
  mode?: CallMode;
  timeoutMs?: number;
  /** Narrows for this call. */
  policy?: { allow?: string[]; deny?: string[] };
  /** Narrows the paths of this call. */
  allowedPaths?: string[];
  /** Makes it a job, which outlives the server: answered `pending` with the job's id. `false`: waits also for a background tool. */
  background?: boolean | { priority?: number; delayMs?: number; attempts?: number };
  /** `result`: wait for it. `events`: a stream of `CallFrame`. `background`: 202 and `CallStarted`. Default `result`. */
  answer?: "result" | "events" | "background";
  /** Whether the call goes on when the asker vanishes; `background` always does. */
  keepRunning?: boolean;
}

export interface CallStarted {
  callId: string;
}

/** Server-sent events of one call: `event:` is the type, `data:` the frame. The last one is `result`. */
export type CallFrame =
  | { type: "started"; callId: string }
  | { type: "update"; update: Update }
  | { type: "approval"; approvalId: string; reason: string }
  | { type: "result"; result: ToolResult };

export type CallStatus = "waiting" | "running" | "completed" | "failed" | "pending";

/** A row of the list, and a bar of the waterfall. */
export interface CallInfo {
  callId: string;
  parentId?: string;
  toolName: string;
  kind?: ToolKind;
  caller: Caller;
  status: CallStatus;
  requestedAt: number;
  /** When a person was asked, and when that was answered. */
  askedAt?: number;
  answeredAt?: number;
  startedAt?: number;
  completedAt?: number;
  durationMs?: number;
  errorCode?: ErrorCode;
  /** One line for a person. */
  display?: string;
  approvalId?: string;
  verdict?: Verdict;
  /** Whether the files that it changed can be put back. */
  canUndo?: boolean;
}

export interface CallDetail extends CallInfo {
  input?: unknown;
  /** The last ones only. */
  updates: Update[];
  result?: ToolResult;
  /** The calls that it made. */
  children: CallInfo[];
}

/** Makes the call again under a new id; `input` where it was edited. */
export interface ReplayRequest {
  input?: unknown;
  id?: string;
  mode?: CallMode;
  answer?: CallRequest["answer"];
}

// Approvals: GET /api/approvals?state=, GET /api/approvals/{id}, POST /api/approvals/{id}/answer,
// POST /api/approvals/answers (several)

export interface ApprovalInfo {
  id: string;
  callId: string;
  toolName: string;
  kind?: ToolKind;
  input: unknown;
  caller: Caller;
  reason: string;
  /** What decided that it asks. */
  verdict?: Verdict;
  /** The folder that it would run in. */
  cwd?: string;
  preview?: Preview;
  askedAt: number;
  expiresAt?: number;
  state: "pending" | "approved" | "denied" | "expired";
  answeredBy?: string;
  answeredAt?: number;
  note?: string;
  /** Of what will run, so that two people can compare what they saw. */
  hash?: string;
  /** The rules that `session` and `always` would save, one a line; absent where only `once` can be offered. */
  rule?: string;
}

export interface ApprovalAnswerRequest {
  /** `session` and `always` also keep `rule`. */
  decision: "once" | "session" | "always" | "deny";
  /** Edited by the person, one a line; the offered ones where absent. */
  rule?: string;
  /** Told to the model. */
  reason?: string;
}

export interface ApprovalAnswered {
  approval: ApprovalInfo;
  /** Of the call that was waiting. */
  result?: ToolResult;
  /** What was kept. */
  rule?: string;
}

export interface ApprovalBatchRequest {
  answers: (ApprovalAnswerRequest & { id: string })[];
}

export type ApprovalBatchItem = { id: string } & ({ answered: ApprovalAnswered } | ErrorAnswer);

// Events: GET /api/events (server-sent events) and GET /api/socket (WebSocket), both with ?types=&tool=&session=&call=
// and ?after= (or Last-Event-ID)

/** One message of the WebSocket; in server-sent events `id:` and `data:` are its fields, `event:` its type. */
export type EventMessage =
  | { id: string; type: ToolEventType; data: ToolEvent }
  /** First: the id to resume from. */
  | { id: string; type: "hello"; data: { startedAt: number } }
  /** What happened since the id that was asked for is gone: read the lists again, then go on from this id. */
  | { id: string; type: "reset"; data: { reason: string } }
  /** Nothing happened; the connection lives. */
  | { id: string; type: "heartbeat"; data: { at: number } }
  /** For a client that brought tools: it is to run one, or nobody waits for it any more. */
  | { id: string; type: "client_call"; data: ClientCall }
  | { id: string; type: "client_call_ended"; data: { id: string; reason: string } }
  /** Answers to `SocketRequest`s. */
  | { id: string; type: "answer"; data: SocketReply };

/**
 * What a client may say over the WebSocket. Who it is was settled before: by the cookie, by `Authorization: Bearer`, or, from
 * a browser without a cookie, by the subprotocols `["haft", "haft.token." + token]`.
 */
export type SocketRequest =
  | { type: "call"; request: string; call: CallRequest }
  | { type: "cancel"; request: string; callId: string }
  | ClientRequest;

/**
 * A client brings tools, for calls of its own user. It may vanish, and is known again by its name: what was asked meanwhile, or
 * has no answer yet, is asked again. A call is answered once.
 */
export type ClientRequest =
  | { type: "register"; request: string; client?: string; tools: ClientTool[] }
  | { type: "unregister"; request: string }
  | ({ type: "result"; request: string; id: string } & ClientToolResult);

/** `request` is the one that the client chose. */
export type SocketReply =
  | { request: string; frame: CallFrame }
  | { request: string; cancelled: boolean }
  | { request: string; registered: string[] }
  /** Of a client's answer: what the gate made of it. */
  | { request: string; result: ToolResult }
  | { request: string; error: ErrorAnswer["error"] };
