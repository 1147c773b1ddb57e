import { z } from "zod";
import {
  Caller,
  CallSubject,
  CommandStep,
  cursor,
  limit,
  Name,
  page,
  Preview,
  Risk,
  Text,
  Time,
  ToolKind,
  ToolResult,
  Verdict,
} from "./basics.ts";
import { approve, named, namedObject, objects, read } from "./contract.ts";
import { ErrorAnswer } from "./errors.ts";

export const ApprovalState = z.enum(["pending", "approved", "denied", "expired"]);
export type ApprovalState = z.infer<typeof ApprovalState>;

/** A question of `ask_user`. */
export const UserQuestion = namedObject("UserQuestion", {
  question: z.string(),
  /** A short title. */
  header: z.string().optional(),
  /** What can be chosen. Without any the answer is text. */
  options: objects({
    label: z.string(),
    description: z.string().optional(),
    /** What may be changed with it: lines of the answer's `text`, such as `minutes: 10`. */
    fields: objects({
      name: z.string(),
      value: z.string(),
      kind: z.enum(["number", "lines"]),
      unit: z.string().optional(),
    }).optional(),
  }).optional(),
  /** Whether several options may be chosen. */
  multiple: z.boolean().optional(),
  /** Whether the person may write their own answer. Default: true. */
  free_text: z.boolean().optional(),
});
export type UserQuestion = z.infer<typeof UserQuestion>;

/** An answer to one question: labels of options, free text, or both. */
export const UserAnswer = namedObject("UserAnswer", {
  choices: z.array(Text).max(20).optional(),
  text: Text.optional(),
});
export type UserAnswer = z.infer<typeof UserAnswer>;

const CallProgress = z.strictObject({
  state: z.enum(["waiting", "approved", "running", "suspended", "ended"]),
  outcome: z.enum(["completed", "failed", "denied", "expired", "cancelled", "changed", "unknown"]).optional(),
});

/** What "this session" or "always" would allow from now on, in one sentence that a person reads before it is saved. */
export const GrantChoice = namedObject("GrantChoice", {
  scope: z.enum(["session", "always"]),
  /** The rules that would be saved. Send them as `rule`, one a line. */
  rules: z.array(z.string()),
  /** Who, which tool, which values, until when. */
  sentence: z.string(),
  /** The key of `sentence` and its values, for other languages. */
  key: z.string(),
  values: z.record(z.string(), z.union([z.string(), z.number()])),
  /** It allows more than the values that were shown. If the risk is high, it needs `confirmBroader`. */
  isBroader: z.boolean(),
});
export type GrantChoice = z.infer<typeof GrantChoice>;

export const ApprovalInfo = namedObject("ApprovalInfo", {
  id: z.string(),
  callId: z.string(),
  /** The call that made this one: it waits too. */
  parentId: z.string().optional(),
  toolName: z.string(),
  /** Omitted if the process that answers this request has no such tool. */
  kind: ToolKind.optional(),
  /** The title of the tool, for people. */
  title: z.string().optional(),
  subject: CallSubject,
  risk: Risk,
  /** The parts of a command. */
  steps: z.array(CommandStep).optional(),
  /** `null` in a brief list. Long texts are shortened; `approvals.input` has all of it. */
  input: z.unknown(),
  caller: Caller,
  reason: z.string(),
  /** Why a person is asked. */
  verdict: Verdict.optional(),
  /** The folder that the call would run in. */
  cwd: z.string().optional(),
  /** Only for callers with the scope `approve`. */
  preview: Preview.optional(),
  /** One sentence: what of the call is not shown here. If there is one, an approval needs `confirmUnshown`. */
  unseen: z.string().optional(),
  askedAt: Time,
  expiresAt: Time.optional(),
  /** How long the caller waits for the call. Omitted if it does not wait. */
  waitsUntil: Time.optional(),
  /** The process of the caller ended while it waited: the call, made again with its key, takes the answer. */
  hasCallerEnded: z.boolean().optional(),
  state: ApprovalState,
  /** What became of the call itself. */
  call: CallProgress,
  /** The question that this one replaces, and what changed since. */
  replaces: z.strictObject({ id: z.string(), changes: z.array(z.string()) }).optional(),
  answeredBy: z.string().optional(),
  answeredAt: Time.optional(),
  note: z.string().optional(),
  /** Questions of `ask_user`. If there are any, the call needs answers and no permission. */
  questions: z.array(UserQuestion).optional(),
  /** To these questions, in their order. */
  answers: z.array(UserAnswer).optional(),
  /** Of what will run. Two people can compare what they saw. */
  hash: z.string().optional(),
  /** The rules that `session` and `always` would save, one a line. Omitted if only `once` is possible. */
  rule: z.string().optional(),
  /** For each of these rules: calls that it would allow, and calls that would still ask. */
  ruleExamples: objects({ rule: z.string(), allows: z.array(z.string()), asks: z.array(z.string()) }).optional(),
  /** What can be granted besides this call. The first of each scope covers only what was shown. */
  grants: z.array(GrantChoice).optional(),
});
export type ApprovalInfo = z.infer<typeof ApprovalInfo>;

const answer = {
  /**
   * `once`, `session` and `always` approve the call; `session` and `always` also save `rule`. `answer` answers its
   * questions, and `deny` dismisses them.
   */
  decision: z.enum(["once", "session", "always", "answer", "deny"]),
  /** For `answer`: one for each question, in their order. */
  answers: z.array(UserAnswer).max(20).optional(),
  /** One rule a line: those of a choice in `grants`, or edited by the person. Default: the first choice of the scope. */
  rule: Text.optional(),
  /** The model gets it too. */
  reason: Text.optional(),
  /** Needed to approve a call of which something is not shown (`unseen`): the person was told, and said yes again. */
  confirmUnshown: z.boolean().optional(),
  /** Needed to save rules that allow more than was shown (`isBroader`, or edited ones) if the risk is high. */
  confirmBroader: z.boolean().optional(),
};
/** How long a request waits for the end of the call, at most a minute. */
const WaitMs = z.number().int().min(0).max(60_000);
export const ApprovalAnswerRequest = namedObject("ApprovalAnswerRequest", {
  ...answer,
  /** 0: stores the answer only; a process that stays runs the call. Default: 20 seconds. */
  waitMs: WaitMs.optional(),
});
export type ApprovalAnswerRequest = z.infer<typeof ApprovalAnswerRequest>;

export const ApprovalAnswered = namedObject("ApprovalAnswered", {
  approval: ApprovalInfo,
  /** Of the call, if it has ended. */
  result: ToolResult.optional(),
  /** The rules that were saved. */
  rule: z.string().optional(),
});
export type ApprovalAnswered = z.infer<typeof ApprovalAnswered>;

export const ApprovalBatchRequest = namedObject("ApprovalBatchRequest", {
  answers: objects({ id: Name, ...answer })
    .min(1)
    .max(200),
});
export type ApprovalBatchRequest = z.infer<typeof ApprovalBatchRequest>;

export const ApprovalBatchItem = named(
  "ApprovalBatchItem",
  z.union([
    z.strictObject({ id: z.string(), answered: ApprovalAnswered }),
    z.strictObject({ id: z.string(), error: ErrorAnswer.shape.error }),
  ]),
);
export type ApprovalBatchItem = z.infer<typeof ApprovalBatchItem>;

const MAX_PREVIEW_CHARACTERS = 1_000_000;

export const PreviewPart = namedObject("PreviewPart", {
  /** Whole lines, if they are not very long. */
  text: z.string(),
  /** The first character of it in the whole text. */
  offset: z.number().int(),
  /** Where the next part starts. Omitted in the last one. */
  next: z.number().int().optional(),
  /** Characters of the whole text. */
  total: z.number().int(),
  /** What the whole text leaves out too: it was too large to be kept, or cannot be shown. */
  missing: z.string().optional(),
});
export type PreviewPart = z.infer<typeof PreviewPart>;

export const approvals = {
  list: read("GET /api/approvals", {
    summary: "Approvals, newest first",
    query: z.strictObject({
      state: z
        .enum([...ApprovalState.options, "answered"])
        .optional()
        .describe("Only in this state; `answered`: all but pending ones"),
      brief: z.boolean().optional().describe("Without input, preview, steps and rules: for long lists"),
      limit: limit.describe("Max number of items, up to 500. Default: 100"),
      cursor,
    }),
    output: page("ApprovalPage", ApprovalInfo),
  }),
  get: read("GET /api/approvals/{id}", {
    summary: "One approval, with everything that would run",
    output: ApprovalInfo,
  }),
  preview: approve("GET /api/approvals/{id}/preview", {
    summary: "The whole of what would happen, in parts: the list of effects, the differences, the output",
    query: z.strictObject({
      offset: z.number().int().min(0).optional().describe("The first character"),
      limit: z
        .number()
        .int()
        .min(1)
        .max(MAX_PREVIEW_CHARACTERS)
        .optional()
        .describe(`Max number of characters, up to ${MAX_PREVIEW_CHARACTERS}`),
    }),
    output: PreviewPart,
  }),
  previewText: approve("GET /api/approvals/{id}/preview/text", {
    summary: "The whole of what would happen, as a text file",
    text: "text/plain",
  }),
  input: approve("GET /api/approvals/{id}/input", {
    summary: "The whole arguments, as a JSON file",
    text: "application/json",
  }),
  grant: approve("GET /api/approvals/{id}/grant", {
    summary: "What rules would allow if they were saved with the approval, in one sentence; saves nothing",
    query: z.strictObject({
      scope: z.enum(["session", "always"]).describe("For how long the rules would hold"),
      rule: Text.describe("One rule a line"),
    }),
    output: GrantChoice,
  }),
  answer: approve("POST /api/approvals/{id}/answer", {
    summary: "Approve or deny a call; an approved call runs",
    body: ApprovalAnswerRequest,
    output: ApprovalAnswered,
  }),
  result: read("GET /api/approvals/{id}/result", {
    summary: "The result of the call, once it has ended",
    query: z.strictObject({ waitMs: z.coerce.number().int().min(0).max(60_000).optional().describe("Wait this long") }),
    output: ApprovalAnswered,
  }),
  answerMany: approve("POST /api/approvals/answers", {
    summary: "Answer several approvals, each on its own",
    body: ApprovalBatchRequest,
    output: page("ApprovalBatchPage", ApprovalBatchItem),
  }),
};
