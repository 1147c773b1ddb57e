import { z } from "zod";
import { Caller, Count, Time, ToolFailure, ToolResult, Update } from "./basics.ts";
import { eventStream, named, read } from "./contract.ts";
import { ClientCall, SocketAnswer } from "./socket.ts";

const call = {
  at: Time,
  callId: z.string(),
  toolName: z.string(),
  caller: Caller,
  parentId: z.string().optional(),
};
const registration = { at: Time, toolName: z.string(), source: z.string() };

/** What happened to a call or a tool. `core/event.ts` tells the order. */
export const ToolEvent = named(
  "ToolEvent",
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("tool_call_requested"), ...call, input: z.unknown() }),
    z.strictObject({
      type: z.literal("permission_requested"),
      ...call,
      approvalId: z.string(),
      reason: z.string(),
    }),
    z.strictObject({
      type: z.literal("permission_resolved"),
      ...call,
      approvalId: z.string(),
      decision: z.enum(["approved", "denied", "expired"]),
      by: z.string().optional(),
      reason: z.string().optional(),
    }),
    z.strictObject({ type: z.literal("job_queued"), ...call, jobId: z.string() }),
    z.strictObject({ type: z.literal("tool_call_started"), ...call, input: z.unknown() }),
    z.strictObject({ type: z.literal("tool_call_updated"), ...call, update: Update }),
    z.strictObject({ type: z.literal("tool_call_pending"), ...call, result: ToolResult }),
    z.strictObject({ type: z.literal("tool_call_completed"), ...call, result: ToolResult, durationMs: z.number() }),
    z.strictObject({
      type: z.literal("tool_call_failed"),
      ...call,
      result: ToolResult,
      error: ToolFailure,
      durationMs: z.number(),
    }),
    z.strictObject({
      type: z.literal("tool_call_settled_late"),
      ...call,
      succeeded: z.boolean(),
      afterMs: z.number(),
      /** Replaces the outcome of a call that had ended as `unknown_outcome`. */
      result: ToolResult.optional(),
    }),
    z.strictObject({
      type: z.literal("grant_changed"),
      at: Time,
      grantId: z.string(),
      change: z.enum(["granted", "extended", "used_up", "revoked", "expired", "given_back"]),
      by: z.string().optional(),
      session: z.string().optional(),
      user: z.string().optional(),
      used: Count,
      until: Time.optional(),
    }),
    z.strictObject({ type: z.literal("tool_registered"), ...registration }),
    z.strictObject({ type: z.literal("tool_unregistered"), ...registration }),
  ]),
);
export type ToolEvent = z.infer<typeof ToolEvent>;

export const ToolEventType = z.enum([
  "tool_call_requested",
  "permission_requested",
  "permission_resolved",
  "job_queued",
  "tool_call_started",
  "tool_call_updated",
  "tool_call_pending",
  "tool_call_completed",
  "tool_call_failed",
  "tool_call_settled_late",
  "tool_registered",
  "grant_changed",
  "tool_unregistered",
]);
export type ToolEventType = z.infer<typeof ToolEventType>;

const id = z.string();

/** One message of the event stream or the WebSocket. `id` is what a reader resumes after. */
export const EventMessage = named(
  "EventMessage",
  z.discriminatedUnion("type", [
    z.strictObject({ id, type: ToolEventType, data: ToolEvent }),
    /** The first message: the id to resume from. */
    z.strictObject({ id, type: z.literal("hello"), data: z.strictObject({ startedAt: Time }) }),
    /** The events after the requested id are no longer kept: read the lists again, then continue from this id. */
    z.strictObject({ id, type: z.literal("reset"), data: z.strictObject({ reason: z.string() }) }),
    z.strictObject({ id, type: z.literal("heartbeat"), data: z.strictObject({ at: Time }) }),
    /** WebSocket only, to a client that registered tools: run this tool. */
    z.strictObject({ id, type: z.literal("client_call"), data: ClientCall }),
    /** WebSocket only: the result is no longer needed. */
    z.strictObject({
      id,
      type: z.literal("client_call_ended"),
      data: z.strictObject({ id: z.string(), reason: z.string() }),
    }),
    /** WebSocket only: the answer to a `SocketRequest`. */
    z.strictObject({ id, type: z.literal("answer"), data: SocketAnswer }),
  ]),
);
export type EventMessage = z.infer<typeof EventMessage>;

/** Also the query of the WebSocket at `SOCKET_PATH`. */
export const EventQuery = z.strictObject({
  types: z.array(ToolEventType).optional().describe("Only these types"),
  tool: z.string().optional().describe("Only of this tool"),
  session: z.string().optional().describe("Only of this session"),
  call: z.string().optional().describe("Only of this call and the calls that it makes"),
  after: z.string().optional().describe("Start with the events after this id; `Last-Event-ID` means the same"),
});
export type EventQuery = z.infer<typeof EventQuery>;

export const events = {
  subscribe: read("GET /api/events", {
    summary: "Everything that happens, as it happens",
    query: EventQuery,
    stream: eventStream(EventMessage, { isEnvelope: true, resume: "after", id: (message) => message.id }),
  }),
};
