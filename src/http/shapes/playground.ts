import { z } from "zod";
import { TEXT_FORMATS } from "../../models/text/text-format.ts";
import type * as wire from "../wire.ts";
import { Failure, fields, Mode, name, typed } from "./basics.ts";
import { Explanation } from "./policy.ts";

const format = z.enum(TEXT_FORMATS);

export const TextFormatInfo = typed<wire.TextFormatInfo>(z.strictObject({ name: format, example: z.string() }));

export const ParseRequest = typed<wire.ParseRequest>(
  z.strictObject({
    // Bounded with the body; a model's answer is longer than other texts.
    text: z.string(),
    format: z.enum([...TEXT_FORMATS, "auto"]).optional(),
    startsInReasoning: z.boolean().optional(),
    mode: Mode.optional(),
    session: name.optional(),
  }),
);

const JudgedCall = typed<wire.JudgedCall>(
  z.strictObject({
    id: z.string(),
    name: z.string(),
    input: fields,
    rawText: z.string(),
    format,
    modelId: z.string().optional(),
    repairs: z.array(z.string()).optional(),
    failure: Failure.optional(),
    explanation: Explanation.optional(),
    problem: z.string().optional(),
    answer: z.string().optional(),
  }),
);

export const ParsedAnswer = typed<wire.ParsedAnswer>(
  z.strictObject({
    calls: z.array(JudgedCall),
    text: z.string(),
    reasoning: z.string(),
    warnings: z.array(z.string()),
  }),
);

export const AnswerTextRequest = typed<wire.AnswerTextRequest>(
  z.strictObject({ callId: name, format: format.optional() }),
);
export const AnswerText = typed<wire.AnswerText>(z.strictObject({ text: z.string() }));
