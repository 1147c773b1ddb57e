// A part of wire.ts: what is decided, recorded and put back.
import type { CallMode, Caller, Verdict } from "../core/call.ts";
import type { Content } from "../core/content.ts";
import type { ErrorCode } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { FormContent, ServerQuestion } from "../mcp/client/elicitation.ts";
import type { McpServerStatus } from "../mcp/client/mcp-hub.ts";
import type { Page } from "./wire.ts";

// Policy: GET /api/policy, POST /api/policy/explain, GET /api/policy/lint, POST /api/policy/simulate,
// GET /api/policy/effect?rule=&decision=

export interface RuleInfo {
  rule: string;
  decision: Verdict["decision"];
  /** The file or layer that it stands in. */
  origin: string;
  line?: number;
  /** `session`: until the session ends. */
  lasts?: "always" | "session";
}

export interface PolicyInfo {
  /** In the order in which they are asked. */
  rules: RuleInfo[];
  /** Which tools exist at all, layer by layer. */
  layers: { origin: string; profile?: string; allow?: string[]; alsoAllow?: string[]; deny?: string[] }[];
  mode: CallMode;
}

export interface ExplainRequest {
  tool: string;
  input?: unknown;
  mode?: CallMode;
  session?: string;
}

export interface Explanation {
  verdict: Verdict;
  /** Everything that was asked, in order, with what it said. */
  steps: { by: string; decision: Verdict["decision"] | "none"; reason: string; rule?: string; origin?: string }[];
}

export interface LintFinding {
  level: "error" | "warning";
  message: string;
  rule?: string;
  origin?: string;
  line?: number;
}

/** Past calls judged by the rules in force and by those with these changes. */
export interface SimulateRequest {
  add?: { rule: string; decision: Verdict["decision"] }[];
  remove?: string[];
  /** How many past calls, newest first; 200 where absent. */
  calls?: number;
}

export interface Simulation {
  judged: number;
  changed: { callId: string; toolName: string; display: string; before: Verdict; after: Verdict }[];
}

/** What one more rule would have meant for past calls. */
export interface RuleEffect {
  rule: string;
  judged: number;
  matched: number;
  samples: { callId: string; toolName: string; display: string; at: number }[];
  /** Where the rule cannot be kept, why. */
  problem?: string;
}

// Audit: GET /api/audit?…, GET /api/audit/{id}, GET /api/audit/export?… (JSONL), GET /api/audit/verify?head=

/** The query of a search and of an export; lists are separated by commas. */
export interface AuditQuery {
  search?: string;
  tool?: string;
  status?: string;
  decision?: string;
  session?: string;
  user?: string;
  errorCode?: string;
  from?: number;
  to?: number;
  limit?: number;
  cursor?: string;
}

export interface AuditEntry {
  id: string;
  at: number;
  /** What is written before the effect, and what after. */
  type: "begun" | "closed" | (string & {});
  callId: string;
  toolName: string;
  caller: Caller;
  status?: ToolResult["status"];
  errorCode?: ErrorCode;
  durationMs?: number;
  verdict?: Verdict;
  input?: unknown;
  result?: unknown;
  hash?: string;
  previousHash?: string;
}

export interface AuditPage extends Page<AuditEntry> {
  total?: number;
  facets: { name: "tool" | "status" | "decision" | "user"; values: { value: string; count: number }[] }[];
}

export interface AuditCheck {
  ok: boolean;
  entries: number;
  /** COUNT:HASH of its end. Noted elsewhere, and sent as `head` later, it shows what was cut off or rewritten since. */
  head: string;
  /** The first entry that does not fit. */
  broken?: { id: string; reason: string };
}

// Statistics: GET /api/statistics?from=&to=&buckets=

export interface ToolNumbers {
  count: number;
  failures: number;
  denials: number;
  avgMs: number;
  p50Ms: number;
  p95Ms: number;
  bytes: number;
}

export interface StatisticsInfo {
  from: number;
  to: number;
  bucketMs: number;
  tools: ({ tool: string } & ToolNumbers)[];
  buckets: { at: number; count: number; failures: number; denials: number; p50Ms: number; p95Ms: number }[];
}

// What tools cost a model's context: GET /api/statistics/tokens?from=&to=

export interface TokenReport {
  from: number;
  to: number;
  /** What definitions are counted in: o200k_base, or "estimate" where no tokenizer is installed. */
  counter: string;
  /** Of the definitions of all tools that exist, and of those that a model is shown when it begins. */
  allTokens: number;
  shownTokens: number;
  /** Of all results of that time; estimated from their bytes. */
  resultTokens: number;
  /** The dearest first. */
  tools: {
    tool: string;
    definitionTokens: number;
    /** In its name, one line, and the bare shape of its input. */
    compactTokens: number;
    isShown: boolean;
    calls: number;
    resultTokens: number;
  }[];
}

// Undo: GET /api/changes?call=&session=&limit=&cursor=, GET /api/changes/{id}, POST /api/undo

export interface ChangeInfo {
  id: string;
  callId?: string;
  session?: string;
  user?: string;
  agent?: string;
  toolName?: string;
  at: number;
  kind: "write" | "delete" | "move" | "make_directory" | "make_link";
  path: string;
  to?: string;
  state: "done" | "undone" | "lost";
  /** A step of an undo: to undo it is to do again what was undone. */
  isUndo?: boolean;
}

export interface ChangeDetail extends ChangeInfo {
  /** Unified; absent for what is not text. */
  diff?: string;
}

/** A call, a change (which undoes the call that it belongs to), or a session. */
export interface UndoRequest {
  call?: string;
  session?: string;
  /** With `call`: whose it is, where several callers use the same id. */
  user?: string;
  agent?: string;
  change?: string;
  /** Also where the file was changed since. */
  force?: boolean;
}

export interface UndoOutcome {
  undone: ChangeInfo[];
  skipped: { change: ChangeInfo; reason: string }[];
}

// MCP servers: GET /api/mcp, POST /api/mcp/{server}, POST /api/mcp (the end of a sign-in), GET /api/mcp/{server}/resources,
// POST /api/mcp/{server}/read, GET /api/mcp/{server}/prompts, POST /api/mcp/{server}/prompt

export type McpServerInfo = McpServerStatus;

/** What a person may do about a server; the actions on a tool name it. */
export interface McpActionRequest {
  action: "reconnect" | "disconnect" | "sign_in" | "approve_launch" | "approve_tool" | "enable_tool" | "disable_tool";
  /** By the server's own name of it. */
  tool?: string;
  /** With an approval, what was seen: the tool's `hash`, or the server's `launchHash`. Refused where it is another by now. */
  hash?: string;
}

/** After `sign_in`, the person goes to `signInPage`; this is the address that the browser came back to. */
export interface McpSignInRequest {
  callback: string;
}

export interface McpResourceList {
  resources: McpResourceInfo[];
  templates: McpTemplateInfo[];
}

export interface McpResourceInfo {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
}

/** An address with places to fill in. */
export interface McpTemplateInfo extends Omit<McpResourceInfo, "uri" | "size"> {
  uriTemplate: string;
}

/** Read through the gate, by the tool `read_mcp_resource`: the answer is a `ToolResult`. */
export interface McpReadRequest {
  uri: string;
}

export interface McpPromptInfo {
  name: string;
  title?: string;
  description?: string;
  arguments: { name: string; description?: string; isRequired: boolean }[];
}

export interface McpPromptRequest {
  name: string;
  arguments?: Record<string, string>;
}

/** A prompt as the server fills it in. Its words are the server's. */
export interface McpPromptText {
  description?: string;
  messages: { role: "user" | "assistant"; content: Content }[];
}

// What MCP servers ask people: GET /api/questions?state=, GET /api/questions/{id}, POST /api/questions/{id}/answer

export type QuestionInfo = Omit<ServerQuestion, "content">;

export interface QuestionAnswerRequest {
  /** `cancel`: neither yes nor no. */
  action: "accept" | "decline" | "cancel";
  /** With `accept`, what was filled in. */
  content?: FormContent;
}

// Configuration: GET /api/configuration

export interface ConfigurationInfo {
  entries: { key: string; value: unknown; origin: string }[];
}
