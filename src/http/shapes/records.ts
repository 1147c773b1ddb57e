import { z } from "zod";
import type * as wire from "../wire.ts";
import { CallErrorCode, Caller, ToolNumbers, Verdict, any, count, name, next, time, typed } from "./basics.ts";

export const AuditEntry = typed<wire.AuditEntry>(
  z.strictObject({
    id: z.string(),
    at: time,
    type: z.string(),
    callId: z.string(),
    toolName: z.string(),
    caller: Caller,
    status: z.enum(["completed", "failed", "pending"]).optional(),
    errorCode: CallErrorCode.optional(),
    durationMs: z.number().optional(),
    verdict: Verdict.optional(),
    input: any.optional(),
    result: any.optional(),
    hash: z.string().optional(),
    previousHash: z.string().optional(),
  }),
);
export const AuditPage = typed<wire.AuditPage>(
  z.strictObject({
    items: z.array(AuditEntry),
    next,
    total: count.optional(),
    facets: z.array(
      z.strictObject({
        name: z.enum(["tool", "status", "decision", "user"]),
        values: z.array(z.strictObject({ value: z.string(), count })),
      }),
    ),
  }),
);
export const AuditCheck = typed<wire.AuditCheck>(
  z.strictObject({
    ok: z.boolean(),
    entries: count,
    head: z.string(),
    broken: z.strictObject({ id: z.string(), reason: z.string() }).optional(),
  }),
);

export const StatisticsInfo = typed<wire.StatisticsInfo>(
  z.strictObject({
    from: time,
    to: time,
    bucketMs: z.number(),
    tools: z.array(z.strictObject({ tool: z.string(), ...ToolNumbers })),
    buckets: z.array(
      z.strictObject({ at: time, count, failures: count, denials: count, p50Ms: z.number(), p95Ms: z.number() }),
    ),
  }),
);

export const TokenReport = typed<wire.TokenReport>(
  z.strictObject({
    from: time,
    to: time,
    counter: z.string(),
    allTokens: count,
    shownTokens: count,
    resultTokens: count,
    tools: z.array(
      z.strictObject({
        tool: z.string(),
        definitionTokens: count,
        compactTokens: count,
        isShown: z.boolean(),
        calls: count,
        resultTokens: count,
      }),
    ),
  }),
);

const changeInfo = {
  id: z.string(),
  callId: z.string().optional(),
  session: z.string().optional(),
  user: z.string().optional(),
  agent: z.string().optional(),
  toolName: z.string().optional(),
  at: time,
  kind: z.enum(["write", "delete", "move", "make_directory", "make_link"]),
  path: z.string(),
  to: z.string().optional(),
  state: z.enum(["done", "undone", "lost"]),
  isUndo: z.boolean().optional(),
};
export const ChangeInfo = typed<wire.ChangeInfo>(z.strictObject(changeInfo));
export const ChangeDetail = typed<wire.ChangeDetail>(z.strictObject({ ...changeInfo, diff: z.string().optional() }));
export const UndoRequest = typed<wire.UndoRequest>(
  z.strictObject({
    call: name.optional(),
    session: name.optional(),
    user: name.optional(),
    agent: name.optional(),
    change: name.optional(),
    force: z.boolean().optional(),
  }),
);
export const UndoOutcome = typed<wire.UndoOutcome>(
  z.strictObject({
    undone: z.array(ChangeInfo),
    skipped: z.array(z.strictObject({ change: ChangeInfo, reason: z.string() })),
  }),
);

export const ConfigurationInfo = typed<wire.ConfigurationInfo>(
  z.strictObject({ entries: z.array(z.strictObject({ key: z.string(), value: any, origin: z.string() })) }),
);
