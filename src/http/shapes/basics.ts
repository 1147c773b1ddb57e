// What several of the shapes are made of.
import { z } from "zod";
import { ERROR_CODES } from "../../core/error.ts";
import type * as wire from "../wire.ts";

export const typed = <T>(schema: z.ZodType<T>): z.ZodType<T> => schema;

export const name = z.string().min(1).max(256);
export const text = z.string().max(10_000);
export const time = z.number().int();
export const count = z.number().int().min(0);
export const any = z.unknown();
export const fields = z.record(z.string(), any);

export const Mode = z.enum(["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]);
export const Decision = z.enum(["allow", "ask", "deny"]);
export const Kind = z.enum(["readonly", "write", "execute"]);
export const CallErrorCode = z.enum(Object.keys(ERROR_CODES) as [wire.ErrorCode, ...wire.ErrorCode[]]);
export const Scope = z.enum(["read", "call", "approve", "admin"]);

export const Caller = typed<wire.Caller>(
  z.looseObject({
    session: z.string().optional(),
    agent: z.string().optional(),
    user: z.string().optional(),
    task: z.string().optional(),
    depth: z.number(),
  }),
);

export const Verdict = typed<wire.Verdict>(
  z.strictObject({
    decision: Decision,
    by: z.enum(["rule", "tool", "mode", "hook", "taint", "grant", "approval", "policy"]),
    reason: z.string(),
    rule: z.string().optional(),
    origin: z.string().optional(),
    approvalId: z.string().optional(),
  }),
);

export const Content = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({ type: z.literal("image"), data: z.string(), mimeType: z.string() }),
  z.strictObject({ type: z.literal("audio"), data: z.string(), mimeType: z.string() }),
  z.looseObject({
    type: z.literal("resource"),
    resource: z.looseObject({
      uri: z.string(),
      mimeType: z.string().optional(),
      text: z.string().optional(),
      blob: z.string().optional(),
    }),
  }),
  z.looseObject({
    type: z.literal("resource_link"),
    uri: z.string(),
    name: z.string(),
    title: z.string().optional(),
    description: z.string().optional(),
    mimeType: z.string().optional(),
  }),
]);

export const Failure = z.strictObject({
  code: CallErrorCode,
  message: z.string(),
  actor: z.enum(["model", "policy", "caller", "tool", "runtime"]),
  retryable: z.boolean(),
  name: z.string(),
  data: any.optional(),
});

const resultBase = {
  callId: z.string(),
  toolName: z.string(),
  content: z.array(Content),
  display: z.string(),
  metadata: fields,
  startedAt: time,
  completedAt: time.optional(),
  durationMs: z.number().optional(),
  details: any.optional(),
};

export const ToolResult = typed<wire.ToolResult>(
  z.discriminatedUnion("status", [
    z.strictObject({ status: z.literal("completed"), success: z.literal(true), ...resultBase }),
    z.strictObject({ status: z.literal("failed"), success: z.literal(false), error: Failure, ...resultBase }),
    z.strictObject({
      status: z.literal("pending"),
      success: z.literal(false),
      pending: z.strictObject({ kind: z.enum(["job", "approval", "client"]), id: z.string() }),
      ...resultBase,
    }),
  ]),
);

export const Update = typed<wire.Update>(
  z.strictObject({
    content: z.array(Content).optional(),
    progress: z
      .strictObject({ done: z.number(), total: z.number().optional(), message: z.string().optional() })
      .optional(),
    details: any.optional(),
  }),
);

export const Preview = typed<wire.Preview>(z.strictObject({ title: z.string(), content: z.array(Content) }));

export const HttpErrorCodes = z.enum([
  "bad_request",
  "unauthorized",
  "forbidden",
  "not_found",
  "not_here",
  "method_not_allowed",
  "conflict",
  "too_large",
  "unsupported_media_type",
  "too_many_requests",
  "timeout",
  "internal",
]);
export const ErrorAnswer = typed<wire.ErrorAnswer>(
  z.strictObject({
    error: z.strictObject({
      code: z.union([HttpErrorCodes, CallErrorCode]),
      message: z.string(),
      next: z.string().optional(),
      data: any.optional(),
    }),
  }),
);

export const next = z.string().optional();
export const page = <T>(item: z.ZodType<T>): z.ZodType<wire.Page<T>> => z.strictObject({ items: z.array(item), next });

/** The fields of `wire.ToolNumbers`. */
export const ToolNumbers = {
  count,
  failures: count,
  denials: count,
  avgMs: z.number(),
  p50Ms: z.number(),
  p95Ms: z.number(),
  bytes: count,
};
