import { z } from "zod";
import {
  Caller,
  CallMode,
  CallSubject,
  Count,
  limit,
  Name,
  page,
  Pending,
  RiskLevel,
  Time,
  ToolResult,
  Update,
} from "./basics.ts";
import { call, eventStream, named, namedObject, objects, read } from "./contract.ts";

export const SessionState = z.enum(["idle", "running", "waiting", "stopped", "failed"]);
export type SessionState = z.infer<typeof SessionState>;

const Usage = z.strictObject({ inputTokens: Count, outputTokens: Count, costUsd: z.number().optional() });

/** A question to a person about a call of a session, in one line. `GET /api/approvals/{id}` has everything. */
export const SessionQuestion = z.strictObject({
  approvalId: z.string(),
  callId: z.string(),
  toolName: z.string(),
  subject: CallSubject,
  risk: RiskLevel,
  askedAt: Time,
});
export type SessionQuestion = z.infer<typeof SessionQuestion>;

/** A conversation with an agent. The login is `SessionInfo`. */
export const AgentSessionInfo = namedObject("AgentSessionInfo", {
  key: z.string(),
  label: z.string().optional(),
  agent: z.string().optional(),
  /** The session that started it. */
  parent: z.string().optional(),
  /** The outermost parent, or itself. */
  root: z.string(),
  caller: Caller,
  mode: CallMode.optional(),
  /** `waiting`: for a person, a job or a client, also while its turn is held. */
  state: SessionState,
  turns: Count,
  /** Calls without a result yet. */
  pending: objects({ callId: z.string(), name: z.string(), pending: Pending }),
  /** Open questions to people, oldest first, at most 20, and their number. */
  questions: z.array(SessionQuestion),
  questionCount: Count,
  /** So far, including a running turn. */
  usage: Usage,
  lastText: z.string().optional(),
  error: z.string().optional(),
  createdAt: Time,
  updatedAt: Time,
});
export type AgentSessionInfo = z.infer<typeof AgentSessionInfo>;

/** A step of a session's to-do list. */
const TodoItem = z.strictObject({
  content: z.string(),
  status: z.enum(["pending", "in_progress", "completed", "cancelled"]),
});

export const AgentSessionDetail = named(
  "AgentSessionDetail",
  AgentSessionInfo.extend({
    /** The number of messages for its next turn. */
    waiting: Count,
    toolNames: z.array(z.string()).optional(),
    /** Its to-do list, as its agent last wrote it. */
    todos: z.array(TodoItem),
    children: z.array(AgentSessionInfo),
    /** All sessions of its tree, itself included, at most 500, last changed first. */
    family: z.array(AgentSessionInfo),
  }),
);
export type AgentSessionDetail = z.infer<typeof AgentSessionDetail>;

export const AgentSessionPage = namedObject("AgentSessionPage", {
  items: z.array(AgentSessionInfo),
  /** Whether a model is configured. */
  canAnswer: z.boolean(),
});
export type AgentSessionPage = z.infer<typeof AgentSessionPage>;

export const NewAgentSessionRequest = namedObject("NewAgentSessionRequest", {
  label: z.string().min(1).max(100).optional(),
  agent: Name.optional(),
  /** `acceptEdits` and `bypassPermissions` need the scope `approve`. */
  mode: CallMode.optional(),
  /** Only these tools. */
  toolNames: z.array(Name).max(500).optional(),
});
export type NewAgentSessionRequest = z.infer<typeof NewAgentSessionRequest>;

export const SessionMessageRequest = namedObject("SessionMessageRequest", {
  text: z.string().min(1).max(200_000),
  /** A message with the same id is accepted once. */
  id: Name.optional(),
  /** How long to wait for the reply. Default: not at all. */
  waitMs: z.number().int().min(0).max(600_000).optional(),
});
export type SessionMessageRequest = z.infer<typeof SessionMessageRequest>;

export const SessionMessageAnswer = namedObject("SessionMessageAnswer", {
  status: z.enum(["ok", "accepted", "timeout", "error"]),
  reply: z.string().optional(),
  error: z.string().optional(),
});
export type SessionMessageAnswer = z.infer<typeof SessionMessageAnswer>;

/** The number of stopped sessions, including those that it started. */
export const SessionStopped = namedObject("SessionStopped", { stopped: Count });
export type SessionStopped = z.infer<typeof SessionStopped>;

const MessagePart = z.discriminatedUnion("type", [
  /** `resultOf`: it tells the result of this call, which was pending before. */
  z.strictObject({ type: z.literal("text"), text: z.string(), resultOf: z.string().optional() }),
  z.strictObject({ type: z.literal("reasoning"), text: z.string(), providerData: z.unknown().optional() }),
  z.strictObject({ type: z.literal("image"), data: z.string(), mimeType: z.string() }),
  z.strictObject({
    type: z.literal("tool_call"),
    callId: z.string(),
    name: z.string(),
    input: z.unknown(),
    modelId: z.string().optional(),
    rawText: z.string().optional(),
    providerData: z.unknown().optional(),
  }),
]);

export const Message = named(
  "Message",
  z.union([
    z.strictObject({
      role: z.enum(["system", "user", "assistant"]),
      content: z.union([z.string(), z.array(MessagePart)]),
    }),
    z.strictObject({ role: z.literal("tool"), results: z.array(ToolResult) }),
  ]),
);
export type Message = z.infer<typeof Message>;

/** One line of the history. The last entry of a turn has `end`. */
export const SessionEntry = namedObject("SessionEntry", {
  /** From 1, without gaps. */
  seq: Count,
  turn: Count,
  at: Time,
  message: Message.optional(),
  /** The origin of a message that the model did not write. */
  incoming: z
    .strictObject({
      id: z.string(),
      /** `announce`: a child has ended. `wake`: a schedule. `result`: of a pending call. */
      kind: z.enum(["message", "announce", "wake", "result"]),
      from: z
        .strictObject({
          user: z.string().optional(),
          session: z.string().optional(),
          label: z.string().optional(),
        })
        .optional(),
      result: ToolResult.optional(),
    })
    .optional(),
  end: z
    .strictObject({
      stop: z.enum(["done", "stopped", "limit", "loop", "aborted", "error", "pending"]),
      text: z.string(),
      steps: Count,
      usage: Usage,
      error: z.string().optional(),
    })
    .optional(),
});
export type SessionEntry = z.infer<typeof SessionEntry>;

/** Entries have numbers and are kept. The other frames are sent while a turn runs in this process. */
export const SessionFrame = named(
  "SessionFrame",
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("entry"), entry: SessionEntry }),
    z.strictObject({ type: z.literal("text"), text: z.string() }),
    z.strictObject({ type: z.literal("reasoning"), text: z.string() }),
    z.strictObject({ type: z.literal("tool_update"), callId: z.string(), update: Update }),
    z.strictObject({ type: z.literal("tool_result"), result: ToolResult }),
  ]),
);
export type SessionFrame = z.infer<typeof SessionFrame>;

const after = Count.optional();

export const sessions = {
  list: read("GET /api/sessions", {
    summary: "Conversations with agents, last changed first",
    query: z.strictObject({
      state: SessionState.optional().describe("Only in this state"),
      parent: z.string().optional().describe("Only those that this session started"),
      limit,
    }),
    output: AgentSessionPage,
  }),
  create: call("POST /api/sessions", {
    summary: "Start a conversation",
    body: NewAgentSessionRequest,
    output: AgentSessionInfo,
  }),
  get: read("GET /api/sessions/{key}", {
    summary: "One conversation, with its state and the sessions that it started",
    output: AgentSessionDetail,
  }),
  history: read("GET /api/sessions/{key}/history", {
    summary: "The entries of a conversation, oldest first",
    query: z.strictObject({ after: after.describe("Only entries with a higher number"), limit }),
    output: page("SessionEntryPage", SessionEntry),
  }),
  watch: read("GET /api/sessions/{key}/updates", {
    summary: "The entries of a conversation, and its text while it is written",
    query: z.strictObject({
      after: after.describe("Only entries with a higher number; `Last-Event-ID` means the same"),
    }),
    stream: eventStream(SessionFrame, {
      resume: "after",
      id: (frame) => (frame.type === "entry" ? String(frame.entry.seq) : undefined),
    }),
  }),
  send: call("POST /api/sessions/{key}/messages", {
    summary: "Send a message; with waitMs, wait for the reply",
    body: SessionMessageRequest,
    output: SessionMessageAnswer,
  }),
  stop: call("POST /api/sessions/{key}/stop", {
    summary: "End its turn, and the turns of the sessions that it started",
    output: SessionStopped,
  }),
};
