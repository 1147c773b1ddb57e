import { z } from "zod";
import type * as wire from "../wire.ts";
import { any, Caller, count, Mode, name, text, time, ToolResult, typed, Update } from "./basics.ts";

const usage = z.strictObject({ inputTokens: count, outputTokens: count, costUsd: z.number().optional() });
const pending = z.strictObject({ kind: z.enum(["job", "approval", "client"]), id: z.string() });

const session = {
  key: z.string(),
  label: z.string().optional(),
  agent: z.string().optional(),
  parent: z.string().optional(),
  root: z.string(),
  caller: Caller,
  mode: Mode.optional(),
  state: z.enum(["idle", "running", "waiting", "stopped", "failed"]),
  turns: count,
  pending: z.array(z.strictObject({ callId: z.string(), name: z.string(), pending })),
  usage,
  lastText: z.string().optional(),
  error: z.string().optional(),
  createdAt: time,
  updatedAt: time,
};

export const AgentSessionInfo = typed<wire.AgentSessionInfo>(z.strictObject(session));

export const AgentSessionPage = typed<wire.AgentSessionPage>(
  z.strictObject({ items: z.array(AgentSessionInfo), canAnswer: z.boolean() }),
);

export const AgentSessionDetail = typed<wire.AgentSessionDetail>(
  z.strictObject({
    ...session,
    waiting: count,
    toolNames: z.array(z.string()).optional(),
    children: z.array(AgentSessionInfo),
  }),
);

export const NewAgentSessionRequest = typed<wire.NewAgentSessionRequest>(
  z.strictObject({
    label: z.string().min(1).max(100).optional(),
    agent: name.optional(),
    mode: Mode.optional(),
    toolNames: z.array(name).max(500).optional(),
  }),
);

export const SessionMessageRequest = typed<wire.SessionMessageRequest>(
  z.strictObject({
    text: z.string().min(1).max(200_000),
    id: name.optional(),
    waitMs: z.number().int().min(0).max(600_000).optional(),
  }),
);

export const SessionMessageAnswer = typed<wire.SessionMessageAnswer>(
  z.strictObject({
    status: z.enum(["ok", "accepted", "timeout", "error"]),
    reply: z.string().optional(),
    error: z.string().optional(),
  }),
);

export const SessionStopped = typed<wire.SessionStopped>(z.strictObject({ stopped: count }));

/** What a model gave is passed on as it is, so that parts and results stay open. */
const Message = z.union([
  z.looseObject({ role: z.enum(["system", "user", "assistant"]), content: z.union([z.string(), z.array(any)]) }),
  z.looseObject({ role: z.literal("tool"), results: z.array(ToolResult) }),
]);

const entry = z.strictObject({
  seq: count,
  turn: count,
  at: time,
  message: Message.optional(),
  incoming: z.looseObject({ id: z.string(), kind: z.enum(["message", "announce", "wake", "result"]) }).optional(),
  end: z
    .looseObject({ stop: z.string(), text: z.string(), steps: count, usage, error: z.string().optional() })
    .optional(),
});

export const SessionEntry = entry as unknown as z.ZodType<wire.SessionEntry>;

export const SessionFrame = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("entry"), entry }),
  z.strictObject({ type: z.enum(["text", "reasoning"]), text }),
  z.strictObject({ type: z.literal("tool_update"), callId: z.string(), update: Update }),
  z.strictObject({ type: z.literal("tool_result"), result: ToolResult }),
]) as unknown as z.ZodType<wire.SessionFrame>;
