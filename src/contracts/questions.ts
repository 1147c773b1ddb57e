import { z } from "zod";
import { JsonObject, page, Text, Time } from "./basics.ts";
import { approve, namedObject, read } from "./contract.ts";

export const QuestionState = z.enum(["open", "accepted", "declined", "cancelled", "expired"]);
export type QuestionState = z.infer<typeof QuestionState>;

/** What an MCP server asks a person. The words are those of MCP elicitation. */
export const QuestionInfo = namedObject("QuestionInfo", {
  id: z.string(),
  server: z.string(),
  /** The calls that wait for the answer: the server does not tell which of its running calls asks. */
  callIds: z.array(z.string()).readonly().optional(),
  /** `form`: fields to fill in. `url`: a page to visit. */
  mode: z.enum(["form", "url"]),
  message: z.string(),
  /** Of a form: the schema of its fields. */
  schema: JsonObject.optional(),
  url: z.string().optional(),
  askedAt: Time,
  expiresAt: Time,
  state: QuestionState,
  answeredBy: z.string().optional(),
  answeredVia: z.string().optional(),
  answeredAt: Time.optional(),
  /** Why nobody answered. */
  note: z.string().optional(),
});
export type QuestionInfo = z.infer<typeof QuestionInfo>;

export const QuestionAnswerRequest = namedObject("QuestionAnswerRequest", {
  /** `cancel`: neither yes nor no. */
  action: z.enum(["accept", "decline", "cancel"]),
  /** For `accept`: the fields. */
  content: z.record(z.string(), z.union([Text, z.number(), z.boolean(), z.array(Text)])).optional(),
});
export type QuestionAnswerRequest = z.infer<typeof QuestionAnswerRequest>;

export const questions = {
  list: read("GET /api/questions", {
    summary: "Questions of MCP servers to a person, newest first",
    query: z.strictObject({ state: QuestionState.optional().describe("Only in this state") }),
    output: page("QuestionPage", QuestionInfo),
  }),
  get: read("GET /api/questions/{id}", { summary: "One question, with its fields or its page", output: QuestionInfo }),
  answer: approve("POST /api/questions/{id}/answer", {
    summary: "Answer a question; the MCP server gets the answer",
    body: QuestionAnswerRequest,
    output: QuestionInfo,
  }),
};
