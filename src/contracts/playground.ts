import { z } from "zod";
import { TEXT_FORMATS } from "../core/text-formats.ts";
import { CallMode, JsonObject, Name, page, ToolFailure } from "./basics.ts";
import { namedObject, read } from "./contract.ts";
import { Explanation } from "./policy.ts";

export const TextFormatName = z.enum(TEXT_FORMATS);
export type TextFormatName = z.infer<typeof TextFormatName>;

export const TextFormatInfo = namedObject("TextFormatInfo", {
  name: TextFormatName,
  /** A call of an existing tool, as a model writes it. */
  example: z.string(),
});
export type TextFormatInfo = z.infer<typeof TextFormatInfo>;

export const ParseRequest = namedObject("ParseRequest", {
  /** What a model wrote. Only the size of the body limits it. */
  text: z.string(),
  /** Default: `auto`, which detects the format by its markers. */
  format: z.enum([...TEXT_FORMATS, "auto"]).optional(),
  /** The prompt has already opened the reasoning. */
  startsInReasoning: z.boolean().optional(),
  mode: CallMode.optional(),
  session: Name.optional(),
});
export type ParseRequest = z.infer<typeof ParseRequest>;

export const JudgedCall = namedObject("JudgedCall", {
  id: z.string(),
  name: z.string(),
  input: JsonObject,
  rawText: z.string(),
  format: TextFormatName,
  modelId: z.string().optional(),
  repairs: z.array(z.string()).optional(),
  failure: ToolFailure.optional(),
  /** Omitted if the call cannot be made as it is. */
  explanation: Explanation.optional(),
  /** Why it cannot be made: unknown tool, or invalid input. */
  problem: z.string().optional(),
  /** What the model gets for a call that could not be parsed. */
  answer: z.string().optional(),
});
export type JudgedCall = z.infer<typeof JudgedCall>;

export const ParsedAnswer = namedObject("ParsedAnswer", {
  calls: z.array(JudgedCall),
  /** The rest, for a person. */
  text: z.string(),
  reasoning: z.string(),
  warnings: z.array(z.string()),
});
export type ParsedAnswer = z.infer<typeof ParsedAnswer>;

/** A call that was made through this server. */
export const AnswerTextRequest = namedObject("AnswerTextRequest", { callId: Name, format: TextFormatName.optional() });
export type AnswerTextRequest = z.infer<typeof AnswerTextRequest>;

export const AnswerText = namedObject("AnswerText", { text: z.string() });
export type AnswerText = z.infer<typeof AnswerText>;

export const playground = {
  formats: read("GET /api/playground", {
    summary: "The formats in which models write calls as text, each with an example",
    output: page("TextFormatPage", TextFormatInfo),
  }),
  parse: read("POST /api/playground", {
    summary: "The calls in a model's text, and what would happen to each; nothing runs",
    body: ParseRequest,
    output: ParsedAnswer,
  }),
  answer: read("POST /api/playground/answer", {
    summary: "The result of a call as text for the model",
    body: AnswerTextRequest,
    output: AnswerText,
  }),
};
