import { z } from "zod";
import { Count, Time, ToolNumbers } from "./basics.ts";
import { namedObject, objects, read } from "./contract.ts";

/** Durations leave out the time in which calls waited for a person: that is `waitedMs`, of all of them together. */
const Numbers = { ...ToolNumbers.shape, waitedMs: z.number() };

export const StatisticsInfo = namedObject("StatisticsInfo", {
  from: Time,
  to: Time,
  bucketMs: z.number(),
  tools: objects({ tool: z.string(), ...Numbers }),
  /** By agent or MCP client, or by user if the caller has no agent. Empty without a store. */
  callers: objects({ caller: z.string(), ...Numbers }),
  buckets: objects({
    at: Time,
    count: Count,
    failures: Count,
    denials: Count,
    p50Ms: z.number(),
    p95Ms: z.number(),
    waitedMs: z.number(),
  }),
});
export type StatisticsInfo = z.infer<typeof StatisticsInfo>;

/** How much of a model's context the tools use. */
export const TokenReport = namedObject("TokenReport", {
  from: Time,
  to: Time,
  /** The tokenizer for definitions: o200k_base, or "estimate" if none is installed. */
  counter: z.string(),
  /** Of the definitions of all tools. */
  allTokens: Count,
  /** Of the definitions that a model gets at the start. */
  shownTokens: Count,
  /** Of all results in this time, estimated from their bytes. */
  resultTokens: Count,
  /** The largest first. */
  tools: objects({
    tool: z.string(),
    definitionTokens: Count,
    /** With its name, one line and the bare shape of its input. */
    compactTokens: Count,
    isShown: z.boolean(),
    calls: Count,
    resultTokens: Count,
  }),
});
export type TokenReport = z.infer<typeof TokenReport>;

const questionNumbers = {
  asked: Count,
  /** Answers of people. */
  yes: Count,
  no: Count,
  /** Answered in less than two seconds: probably unread. */
  unread: Count,
  /** Of the answers. */
  medianMs: z.number(),
};
const questionGroup = z.strictObject({ name: z.string(), ...questionNumbers });

/** What people were asked, and what they answered. Questions of tools to the user are not counted. */
export const QuestionStatistics = namedObject("QuestionStatistics", {
  from: Time,
  to: Time,
  ...questionNumbers,
  /** Nobody has answered yet. */
  open: Count,
  /** Ended without an answer of a person: expired, changed, stopped, or answered by a program. */
  ended: Count,
  /** By who answered; without a name if that is not known. `hours`: in how many hours of the clock. */
  people: objects({ ...questionGroup.shape, hours: Count }),
  /** Most questions first. */
  tools: z.array(questionGroup),
  risks: z.array(questionGroup),
  /** What could be proposed now from this time: how many proposals, and the questions that they would have saved. */
  proposals: z.strictObject({ count: Count, saved: Count }),
});
export type QuestionStatistics = z.infer<typeof QuestionStatistics>;

const to = Count.optional().describe("Unix milliseconds; default: now");

export const statistics = {
  show: read("GET /api/statistics", {
    summary: "Calls, failures, denials and durations, by tool and over time",
    query: z.strictObject({
      from: Count.optional().describe("Unix milliseconds; default: an hour before `to`"),
      to,
      buckets: z.number().int().min(1).max(500).optional().describe("The number of buckets, up to 500"),
    }),
    output: StatisticsInfo,
  }),
  questions: read("GET /api/statistics/questions", {
    summary: "What people were asked: how often, how they answered, how long it took, and what proposals would save",
    query: z.strictObject({ from: Count.optional().describe("Unix milliseconds; default: a week before `to`"), to }),
    output: QuestionStatistics,
  }),
  tokens: read("GET /api/statistics/tokens", {
    summary: "How much of a model's context each tool uses, by its definition and its results",
    query: z.strictObject({ from: Count.optional().describe("Unix milliseconds; default: a day before `to`"), to }),
    output: TokenReport,
  }),
};
