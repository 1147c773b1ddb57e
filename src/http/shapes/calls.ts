import { z } from "zod";
import type * as wire from "../wire.ts";
import {
  CallErrorCode,
  Caller,
  Content,
  Kind,
  Mode,
  ToolNumbers,
  ToolResult,
  Update,
  Verdict,
  any,
  fields,
  name,
  time,
  typed,
} from "./basics.ts";

const Origin = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("builtin") }),
  z.strictObject({ type: z.literal("own") }),
  z.strictObject({ type: z.literal("mcp"), server: z.string() }),
  z.strictObject({ type: z.literal("plugin"), plugin: z.string() }),
  z.strictObject({ type: z.literal("client"), client: z.string(), user: z.string().optional() }),
]);

export const ToolInfo = typed<wire.ToolInfo>(
  z.strictObject({
    name: z.string(),
    title: z.string(),
    description: z.strictObject({
      short: z.string(),
      long: z.string().optional(),
      usageNotes: z.array(z.string()).optional(),
      important: z.array(z.string()).optional(),
      examples: z.array(z.strictObject({ input: any, description: z.string().optional() })).optional(),
    }),
    kind: Kind,
    category: z.string(),
    tags: z.array(z.string()),
    aliases: z.array(z.string()),
    version: z.string(),
    mode: z.enum(["inline", "background"]),
    permission: z.enum(["auto", "confirm"]).optional(),
    labels: z.array(z.enum(["untrusted_input", "sensitive_data", "outside_effect"])),
    groups: z.array(z.string()),
    origin: Origin,
    parameters: fields,
    output: fields.optional(),
    limits: z.strictObject({
      timeoutMs: z.number().optional(),
      maxConcurrent: z.number().optional(),
      maxResultBytes: z.number().optional(),
    }),
    verdict: Verdict.optional(),
    statistics: z.strictObject(ToolNumbers).optional(),
  }),
);

const names = z.array(name).max(1000);
const answerKind = z.enum(["result", "events", "background"]);
export const CallRequest = typed<wire.CallRequest>(
  z.strictObject({
    tool: z.string().max(256),
    input: any.optional(),
    id: name.optional(),
    session: name.optional(),
    mode: Mode.optional(),
    timeoutMs: z.number().int().min(1).optional(),
    policy: z.strictObject({ allow: names.optional(), deny: names.optional() }).optional(),
    allowedPaths: z.array(z.string().max(4096)).max(1000).optional(),
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
    answer: answerKind.optional(),
    keepRunning: z.boolean().optional(),
  }),
);

export const CallStarted = typed<wire.CallStarted>(z.strictObject({ callId: z.string() }));

export const CallFrame = typed<wire.CallFrame>(
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("started"), callId: z.string() }),
    z.strictObject({ type: z.literal("update"), update: Update }),
    z.strictObject({ type: z.literal("approval"), approvalId: z.string(), reason: z.string() }),
    z.strictObject({ type: z.literal("result"), result: ToolResult }),
  ]),
);

const callInfo = {
  callId: z.string(),
  parentId: z.string().optional(),
  toolName: z.string(),
  kind: Kind.optional(),
  caller: Caller,
  status: z.enum(["waiting", "running", "completed", "failed", "pending"]),
  requestedAt: time,
  askedAt: time.optional(),
  answeredAt: time.optional(),
  startedAt: time.optional(),
  completedAt: time.optional(),
  durationMs: z.number().optional(),
  errorCode: CallErrorCode.optional(),
  display: z.string().optional(),
  approvalId: z.string().optional(),
  verdict: Verdict.optional(),
  canUndo: z.boolean().optional(),
};
export const CallInfo = typed<wire.CallInfo>(z.strictObject(callInfo));
export const CallDetail = typed<wire.CallDetail>(
  z.strictObject({
    ...callInfo,
    input: any.optional(),
    updates: z.array(Update),
    result: ToolResult.optional(),
    children: z.array(CallInfo),
  }),
);
export const ReplayRequest = typed<wire.ReplayRequest>(
  z.strictObject({
    input: any.optional(),
    id: name.optional(),
    mode: Mode.optional(),
    answer: answerKind.optional(),
  }),
);

export const SocketRequest = typed<wire.SocketRequest>(
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("call"), request: name, call: CallRequest }),
    z.strictObject({ type: z.literal("cancel"), request: name, callId: name }),
    z.strictObject({
      type: z.literal("register"),
      request: name,
      client: name.optional(),
      tools: z.array(
        z.strictObject({
          name,
          description: z.string().max(20_000),
          aliases: z.array(name).max(20).optional(),
          parameters: fields.optional(),
          output: fields.optional(),
          kind: Kind.optional(),
          permission: z.enum(["auto", "confirm"]).optional(),
          timeoutMs: z.number().int().min(1).optional(),
        }),
      ),
    }),
    z.strictObject({ type: z.literal("unregister"), request: name }),
    z.strictObject({
      type: z.literal("result"),
      request: name,
      id: name,
      content: z.union([z.string(), z.array(Content)]).optional(),
      details: any.optional(),
      error: z.string().optional(),
    }),
  ]),
);
