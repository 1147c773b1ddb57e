import { z } from "zod";
import type * as wire from "../wire.ts";
import {
  CallErrorCode,
  Caller,
  HttpErrorCodes,
  Kind,
  Preview,
  ToolResult,
  Verdict,
  any,
  name,
  text,
  time,
  typed,
} from "./basics.ts";

export const ApprovalInfo = typed<wire.ApprovalInfo>(
  z.strictObject({
    id: z.string(),
    callId: z.string(),
    toolName: z.string(),
    kind: Kind.optional(),
    input: any,
    caller: Caller,
    reason: z.string(),
    verdict: Verdict.optional(),
    cwd: z.string().optional(),
    preview: Preview.optional(),
    askedAt: time,
    expiresAt: time.optional(),
    state: z.enum(["pending", "approved", "denied", "expired"]),
    answeredBy: z.string().optional(),
    answeredAt: time.optional(),
    note: z.string().optional(),
    hash: z.string().optional(),
    rule: z.string().optional(),
  }),
);
const answer = {
  decision: z.enum(["once", "session", "always", "deny"]),
  rule: text.optional(),
  reason: text.optional(),
};
export const ApprovalAnswerRequest = typed<wire.ApprovalAnswerRequest>(z.strictObject(answer));
export const ApprovalAnswered = typed<wire.ApprovalAnswered>(
  z.strictObject({ approval: ApprovalInfo, result: ToolResult.optional(), rule: z.string().optional() }),
);
export const ApprovalBatchRequest = typed<wire.ApprovalBatchRequest>(
  z.strictObject({
    answers: z
      .array(z.strictObject({ id: name, ...answer }))
      .min(1)
      .max(200),
  }),
);
export const ApprovalBatchItem = typed<wire.ApprovalBatchItem>(
  z.union([
    z.strictObject({ id: z.string(), answered: ApprovalAnswered }),
    z.strictObject({
      id: z.string(),
      error: z.looseObject({ code: z.union([HttpErrorCodes, CallErrorCode]), message: z.string() }),
    }),
  ]),
);
