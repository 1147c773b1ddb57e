import { z } from "zod";
import type * as wire from "../wire.ts";
import { fields, text, time, typed } from "./basics.ts";

export const QuestionInfo = typed<wire.QuestionInfo>(
  z.strictObject({
    id: z.string(),
    server: z.string(),
    mode: z.enum(["form", "url"]),
    message: z.string(),
    schema: fields.optional(),
    url: z.string().optional(),
    askedAt: time,
    expiresAt: time,
    state: z.enum(["open", "accepted", "declined", "cancelled", "expired"]),
    answeredBy: z.string().optional(),
    answeredVia: z.string().optional(),
    answeredAt: time.optional(),
    note: z.string().optional(),
  }),
);

export const QuestionAnswerRequest = typed<wire.QuestionAnswerRequest>(
  z.strictObject({
    action: z.enum(["accept", "decline", "cancel"]),
    content: z.record(z.string(), z.union([text, z.number(), z.boolean(), z.array(text)])).optional(),
  }),
);
