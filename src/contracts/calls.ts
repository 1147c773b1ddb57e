import { z } from "zod";
import {
  CallErrorCode,
  Caller,
  CallMode,
  CallPolicy,
  CallSubject,
  Count,
  cursor,
  limit,
  Name,
  RiskLevel,
  Time,
  ToolKind,
  ToolResult,
  Update,
  Verdict,
} from "./basics.ts";
import { call, eventStream, named, namedObject, objects, read, type Variant } from "./contract.ts";

const MAX_OUTPUT_CHARACTERS = 1024 * 1024;

export const CallRequest = namedObject("CallRequest", {
  tool: z.string().max(256),
  input: z.unknown().optional(),
  /** Two calls with the same id, token, tool and input are one call. */
  id: Name.optional(),
  session: Name.optional(),
  /** `acceptEdits` and `bypassPermissions` need the scope `approve`. */
  mode: CallMode.optional(),
  timeoutMs: z.number().int().min(1).optional(),
  /** Restricts this call further. */
  policy: CallPolicy.optional(),
  /** Restricts the paths of this call. */
  allowedPaths: z.array(z.string().max(4096)).max(1000).optional(),
  /** Makes it a job that survives the server; the result is `pending` with the id of the job. `false` waits even for a background tool. */
  background: z
    .union([
      z.boolean(),
      z.strictObject({
        priority: z.number().int().min(-1_000_000).max(1_000_000).optional(),
        delayMs: z.number().int().min(0).optional(),
        attempts: z.number().int().min(1).max(100).optional(),
      }),
    ])
    .optional(),
  /** The client makes no further call: `exec` waits for the end of its command and never moves it to the background. */
  waitForEnd: z.boolean().optional(),
  /** Whether the call continues after the client disconnects. A started call always does. */
  keepRunning: z.boolean().optional(),
});
export type CallRequest = z.infer<typeof CallRequest>;

/** The same call again with a new id. */
export const ReplayRequest = namedObject("ReplayRequest", {
  /** Default: the input of the first call. */
  input: z.unknown().optional(),
  id: Name.optional(),
  mode: CallMode.optional(),
});
export type ReplayRequest = z.infer<typeof ReplayRequest>;

export const CallStarted = namedObject("CallStarted", { callId: z.string() });
export type CallStarted = z.infer<typeof CallStarted>;

/** What happens to one call. The last frame is `result`. */
export const CallFrame = named(
  "CallFrame",
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("started"), callId: z.string() }),
    z.strictObject({ type: z.literal("update"), update: Update }),
    z.strictObject({ type: z.literal("approval"), approvalId: z.string(), reason: z.string() }),
    z.strictObject({ type: z.literal("result"), result: ToolResult }),
  ]),
);
export type CallFrame = z.infer<typeof CallFrame>;

/** `waiting`: for a person. `pending`: for a worker or its caller. `denied`: by policy or a person, so nothing ran. `unknown`: nobody knows whether it took effect. */
export const CallStatus = z.enum(["waiting", "running", "completed", "failed", "denied", "unknown", "pending"]);
export type CallStatus = z.infer<typeof CallStatus>;

/** How a call came in, if it is known. */
export const CallOrigin = z.enum(["mcp", "agent", "job"]);
export type CallOrigin = z.infer<typeof CallOrigin>;

/** A row of the list, and a bar of the tree. */
export const CallInfo = namedObject("CallInfo", {
  callId: z.string(),
  parentId: z.string().optional(),
  toolName: z.string(),
  kind: ToolKind.optional(),
  subject: CallSubject.optional(),
  risk: RiskLevel.optional(),
  caller: Caller,
  origin: CallOrigin.optional(),
  status: CallStatus,
  requestedAt: Time,
  /** When a person was asked. */
  askedAt: Time.optional(),
  answeredAt: Time.optional(),
  /** When the tool began. */
  startedAt: Time.optional(),
  completedAt: Time.optional(),
  /** From the request to the end, without the time in which it waited for a person. */
  durationMs: z.number().optional(),
  /** How long it waited for a person. Omitted while it waits. */
  waitedMs: z.number().optional(),
  /** How long it waited for a slot, a lock or a worker. */
  queuedMs: z.number().optional(),
  /** How long the tool ran. */
  runMs: z.number().optional(),
  errorCode: CallErrorCode.optional(),
  /** One line for a person. */
  display: z.string().optional(),
  approvalId: z.string().optional(),
  /** The question of an MCP server that a waiting call has open. */
  questionId: z.string().optional(),
  verdict: Verdict.optional(),
  /** Whether its file changes can be undone. */
  canUndo: z.boolean().optional(),
});
export type CallInfo = z.infer<typeof CallInfo>;

export const CallDetail = named(
  "CallDetail",
  CallInfo.extend({
    input: z.unknown().optional(),
    /** Only the last ones. */
    updates: z.array(Update),
    result: ToolResult.optional(),
    /** The calls that it made. */
    children: z.array(CallInfo),
  }),
);
export type CallDetail = z.infer<typeof CallDetail>;

export const CallFacetName = z.enum(["status", "risk", "tool", "kind", "session", "user", "agent"]);
export type CallFacetName = z.infer<typeof CallFacetName>;

export const CallFacets = namedObject("CallFacets", {
  /** The number of calls that were counted: at most the newest 5,000 that match. */
  counted: Count,
  facets: objects({
    name: CallFacetName,
    values: objects({ value: z.string(), count: Count }),
    /** There are more calls that match than were counted. */
    isPartial: z.boolean().optional(),
  }),
});
export type CallFacets = z.infer<typeof CallFacets>;

/** A call with the calls above it and everything that these made. */
export const CallTree = namedObject("CallTree", {
  /** The outermost call. */
  root: z.string(),
  /** Each after its parent, in the order of their requests. */
  calls: z.array(CallInfo),
  /** There are more than 500. */
  isPartial: z.boolean().optional(),
});
export type CallTree = z.infer<typeof CallTree>;

const CallFilter = z.strictObject({
  tool: z.string().optional().describe("The name of a tool"),
  status: z.array(CallStatus).optional().describe("Only with one of these"),
  kind: z.array(ToolKind).optional().describe("Only of tools of one of these kinds"),
  risk: z.array(RiskLevel).optional().describe("Only with one of these risks"),
  session: z.string().optional().describe("Only of this session"),
  user: z.string().optional().describe("Only of this user"),
  agent: z.string().optional().describe("Only of this agent or client"),
  parent: z.string().optional().describe("Only calls that this call made"),
  search: z.string().optional().describe("Words of the call, or their beginnings"),
  from: Count.optional().describe("Unix milliseconds"),
  to: Count.optional().describe("Unix milliseconds"),
});
export type CallFilter = z.infer<typeof CallFilter>;

const result: Variant = { field: "answer", value: "result", isDefault: true };
const events: Variant = { field: "answer", value: "events" };
const background: Variant = { field: "answer", value: "background" };

/** A page of calls. */
export const CallPage = namedObject("CallPage", {
  items: z.array(CallInfo),
  next: z.string().optional(),
  /** Entries that the search for text has not looked at: the newest while the index is behind, or the oldest. */
  unsearched: Count.optional(),
});
export type CallPage = z.infer<typeof CallPage>;

export const calls = {
  execute: call("POST /api/calls", {
    summary: "Call a tool and wait for the result. A failed or pending call has a result too",
    body: CallRequest,
    variant: result,
    output: ToolResult,
  }),
  stream: call("POST /api/calls", {
    summary: "Call a tool and follow it until its result",
    body: CallRequest,
    variant: events,
    stream: eventStream(CallFrame),
  }),
  start: call("POST /api/calls", {
    summary: "Call a tool without waiting",
    body: CallRequest,
    variant: background,
    status: 202,
    output: CallStarted,
  }),
  list: read("GET /api/calls", {
    summary: "Calls of all servers that share the store, newest first",
    query: CallFilter.extend({ limit, cursor }),
    output: CallPage,
  }),
  facets: read("GET /api/calls/facets", {
    summary: "How many calls match, by tool, state, caller and so on",
    query: CallFilter,
    output: CallFacets,
  }),
  get: read("GET /api/calls/{id}", {
    summary: "One call with its input, its last updates and its result",
    output: CallDetail,
  }),
  tree: read("GET /api/calls/{id}/tree", {
    summary: "The call with the calls above it and all calls that these made, with their times",
    output: CallTree,
  }),
  watch: read("GET /api/calls/{id}/updates", {
    summary: "Follow a call until its result",
    stream: eventStream(CallFrame),
  }),
  /** The headers `x-total-characters` and `x-next-offset` tell how much there is, and where to continue. */
  output: read("GET /api/calls/{id}/output", {
    summary: "The whole output as text, even if the result has only a part of it",
    query: z.strictObject({
      offset: z.number().int().min(0).optional().describe("The first character"),
      limit: z
        .number()
        .int()
        .min(1)
        .max(MAX_OUTPUT_CHARACTERS)
        .optional()
        .describe(`Max number of characters, up to ${MAX_OUTPUT_CHARACTERS}`),
    }),
    text: "text/plain",
  }),
  cancel: call("POST /api/calls/{id}/cancel", {
    summary: "Cancel a call of this server's process, whoever made it",
    status: 202,
    output: CallStarted,
  }),
  replay: call("POST /api/calls/{id}/replay", {
    summary: "Make a call again with a new id, with the same or an edited input",
    body: ReplayRequest,
    variant: result,
    output: ToolResult,
  }),
  replayStream: call("POST /api/calls/{id}/replay", {
    summary: "Make a call again and follow it until its result",
    body: ReplayRequest,
    variant: events,
    stream: eventStream(CallFrame),
  }),
  replayStart: call("POST /api/calls/{id}/replay", {
    summary: "Make a call again without waiting",
    body: ReplayRequest,
    variant: background,
    status: 202,
    output: CallStarted,
  }),
};
