import type { Caller, CallOptions } from "../core/call.ts";
import { toolError, type ToolError, ToolPermissionError } from "../core/error.ts";
import { canonicalJson } from "../core/json.ts";
import { keysOf } from "../core/options.ts";
import { answerLine, describeChoices, readUserAnswers, type UserAnswer } from "../core/questions/user-question.ts";
import type { MaybePromise } from "../core/stage.ts";
import { hashOf } from "./approval-binding.ts";
import { unseenOf } from "./shown-question.ts";
import type { Answer, ApprovalScope, CallOutcome, CallState, Question, StoredCall } from "./stored-call.ts";

export type { ApprovalScope };

/** `approved` also while the call runs and after it. `changed`: what was shown is no longer true, and it is asked again. */
export type ApprovalState = "pending" | "approved" | "denied" | "expired" | "cancelled" | "changed";

/** A question to a person, bound to exactly one call, and what became of both. Plain data. */
export interface Approval extends Omit<Question, "round"> {
  /** Of the question. */
  id: string;
  /** Of the call that waits. */
  callId: string;
  /** The tool that would run. */
  toolName: string;
  /** On whose behalf the call is made. */
  caller: Caller;
  /** In milliseconds since 1970. */
  askedAt: number;
  /** After this time nobody can answer. */
  expiresAt: number;
  /** Until when the caller waits for the call; undefined if it does not wait. */
  waitsUntil?: number;
  /** The process of the caller ended while it waited. */
  hasCallerEnded?: boolean;
  /** What became of the question. */
  state: ApprovalState;
  /** What became of the call. */
  call: { state: CallState; outcome?: CallOutcome };
  /** The person who answered. */
  answeredBy?: string;
  /** The interface that the answer came from. */
  answeredVia?: string;
  /** When the answer came. */
  answeredAt?: number;
  /** Why it was denied, expired, was cancelled or changed. The model gets it. */
  note?: string;
  /** What was granted besides this call. */
  scope?: ApprovalScope;
  /** The rules that were saved with the answer. */
  rules?: readonly string[];
  /** Whether a saved rule was not suggested, and may allow more than was shown. */
  rulesEdited?: boolean;
  /** What the person answered to the questions. */
  answers?: readonly UserAnswer[];
  /** When the approved call began. */
  begunAt?: number;
}

/** A person's answer to a question. */
export interface ApprovalAnswer {
  /** Whether the call may run. */
  approved: boolean;
  /** The person who answers. */
  by?: string;
  /** Why; the model gets it too. */
  reason?: string;
  /** What an approval covers. Default: this call only. */
  scope?: ApprovalScope;
  /** Instead of the suggested ones. */
  rule?: string | readonly string[];
  /** The answers to the questions of the call, in their order. A yes without them is no answer. */
  answers?: readonly UserAnswer[];
  /** Needed to approve a call of which something is not shown (`unseen`): the person was told, and said yes again. */
  confirmUnshown?: boolean;
  /** Needed to save rules that allow more than was shown, if the risk is high: the person chose that. */
  confirmBroader?: boolean;
  /** The interface that it came from. */
  via?: string;
  /** The rights of the person, if the interface knows them: without "approve" the answer is refused. */
  rights?: readonly string[];
}

/** How a caller follows a call that waits for an approval. */
export interface FollowOptions {
  /** Stops following, and aborts the call if this process runs it. */
  signal?: AbortSignal;
  /** Called with each partial result if this process runs the call. */
  onUpdate?: CallOptions["onUpdate"];
  /** The caller of the call waits here for this long: this process runs the call if it can. */
  holdMs?: number;
}

/** The row as people and interfaces see it. */
export function toApproval(row: StoredCall): Approval {
  const { id, callId, toolName, caller, question, answer, createdAt, answeredAt, deadline, holder, holdUntil, job } =
    row;
  if (!question) throw new TypeError(`Call "${callId}" has no question.`);
  const { round: _round, ...shown } = question;
  return {
    id,
    callId,
    toolName,
    caller,
    ...shown,
    unseen: unseenIn(question),
    askedAt: createdAt,
    // A job that waits for a worker does not expire; its question was answered.
    expiresAt: deadline ?? answeredAt ?? createdAt,
    // A worker that has a job is no caller that waits.
    waitsUntil: holder === undefined || job ? undefined : holdUntil,
    state: approvalStateOf(row),
    call: { state: row.state, outcome: row.outcome },
    answeredBy: answer?.by,
    answeredVia: answer?.via,
    answeredAt: row.answeredAt,
    note: row.note ?? answer?.reason,
    scope: answer?.scope,
    rules: answer?.rules,
    rulesEdited: answer?.rulesEdited,
    answers: answer?.answers,
    begunAt: row.begunAt,
  };
}

function approvalStateOf({ state, outcome, answer }: StoredCall): ApprovalState {
  if (state === "waiting") return "pending";
  if (state !== "ended") return "approved";
  // A job that a person approved, and a rule denied when it was to start.
  if (outcome === "denied" && answer?.approved) return "approved";
  if (outcome === "denied" || outcome === "expired" || outcome === "cancelled" || outcome === "changed") return outcome;
  return answer?.approved ? "approved" : "denied";
}

/** In characters. The model gets the reason. */
const MAX_REASON_LENGTH = 4000;
const ANSWER_KEYS = keysOf<ApprovalAnswer>({
  approved: true,
  by: true,
  reason: true,
  scope: true,
  rule: true,
  answers: true,
  confirmUnshown: true,
  confirmBroader: true,
  via: true,
  rights: true,
});

/** The answer as it is stored. Throws if it is malformed, or asks for something that was not offered. */
export function readAnswer(row: StoredCall, answer: ApprovalAnswer): Answer {
  const { id } = row;
  if (typeof answer !== "object" || answer === null) throw malformed(id, "an answer is an object");
  const unknown = Object.keys(answer).find((key) => !ANSWER_KEYS.has(key));
  if (unknown !== undefined) throw malformed(id, `an answer has no field "${unknown}"`);
  const { approved, scope = "once", by, via, reason } = answer;
  if (typeof approved !== "boolean") throw malformed(id, '"approved" must be true or false');
  for (const [name, value] of Object.entries({ by, via, reason })) {
    if (value !== undefined && typeof value !== "string") throw malformed(id, `"${name}" must be text`);
  }
  const given = { by, via, reason: reason?.slice(0, MAX_REASON_LENGTH) };
  const { questions } = row.question ?? {};
  if (questions && approved) {
    const answers = readGivenAnswers(row, answer);
    return { approved, ...given, scope: "once", answers, answersHash: hashOfAnswers(row, answers) };
  }
  if (answer.answers !== undefined) {
    const why = questions ? "a dismissed question has no answers" : "the call needs approval, not answers";
    throw malformed(id, why);
  }
  if (!approved) return { approved, ...given };
  const read = { approved, ...given, ...readGrant(row, scope, answer.rule) };
  const missing = missingConfirmation(row, answer);
  if (missing) throw badAnswer(missing.why, missing.next);
  return read;
}

/** The second step that a plain yes lacks: nobody approves what was not shown, or grants more than it, with one key. */
export function missingConfirmation(
  { id, question }: StoredCall,
  { approved, scope = "once", rule, confirmUnshown, confirmBroader }: ApprovalAnswer,
): { why: string; next: string } | undefined {
  if (!question || question.questions || !approved) return undefined;
  const unseen = unseenIn(question);
  if (unseen !== undefined && confirmUnshown !== true) {
    const next = `Look at all of it (\`haft approvals show ${id} --whole\`), then approve it with confirmUnshown, or deny it.`;
    return { why: `"${id}" is not approved by a plain yes. ${unseen}`, next };
  }
  if (scope === "once" || rule === undefined || confirmBroader === true) return undefined;
  const { level } = question.summary?.risk ?? { level: "high" };
  if (level !== "high" && level !== "critical") return undefined;
  if (rulesOf(rule).every((each) => question.suggestedRules.includes(each))) return undefined;
  return {
    why: `The rule for "${id}" allows more than what was shown, and the risk is ${level}`,
    next: `Approve it with confirmBroader (--confirm-broader), or leave out the rule to allow only: ${question.suggestedRules.join(", ")}.`,
  };
}

/** Questions of earlier versions have only what their preview says. */
function unseenIn({ unseen, preview }: Question): string | undefined {
  return unseen ?? unseenOf(preview, undefined);
}

/** A yes is not an answer to a question, and an answer grants nothing. */
function readGivenAnswers(row: StoredCall, { answers, scope, rule }: ApprovalAnswer): readonly UserAnswer[] {
  const { id, question, answer } = row;
  const { questions = [] } = question ?? {};
  if ((scope !== undefined && scope !== "once") || rule !== undefined) {
    throw badAnswer(`"${id}" is a question: an answer allows no further calls`, "Answer without a scope and a rule.");
  }
  if (answers === undefined) {
    const choices = questions.map((asked) => `"${asked.question}": ${describeChoices(asked)}.`).join(" ");
    throw badAnswer(`"${id}" is a question: approving does not answer it`, choices);
  }
  // It is only compared with the first answer. The labels may have lost their secrets, and cannot be chosen any more.
  return answer ? answers : readUserAnswers(questions, answers);
}

/** Independent of the questions. With the id: equal answers to two questions have different hashes. */
function hashOfAnswers({ id }: StoredCall, answers: unknown): string {
  return hashOf([id, comparable(answers)]);
}

function comparable(answers: unknown): unknown {
  if (!Array.isArray(answers)) return answers;
  return answers.map((answer: unknown) => {
    const { choices, text } = (typeof answer === "object" && answer !== null ? answer : {}) as UserAnswer;
    const chosen = new Set(Array.isArray(choices) ? choices.map(String) : []);
    return [[...chosen].sort(), typeof text === "string" ? text.trim() : ""];
  });
}

function readGrant(
  { id, question }: StoredCall,
  scope: ApprovalScope,
  given: ApprovalAnswer["rule"],
): Pick<Answer, "scope" | "rules" | "rulesEdited"> {
  const { suggestedRules = [], grants = [] } = question ?? {};
  if (scope === "once") {
    if (given !== undefined)
      throw badAnswer(`A rule was given for "${id}", but the scope is "once"`, 'Give the scope "session" or "always".');
    return { scope };
  }
  if (scope !== "session" && scope !== "always") {
    throw badAnswer(`"${String(scope)}" is not a scope of an approval`, 'Use "once", "session" or "always".');
  }
  const isOffered = grants.some((grant) => grant.scope === scope && given && sameRules(grant.rules, rulesOf(given)));
  if (suggestedRules.length === 0 && !isOffered) {
    throw badAnswer(
      `"${id}" can only be approved once: no rule matches it`,
      'Answer with "once", without --always. After a yes to the first call of an MCP tool, the next question can be answered with "always".',
    );
  }
  const rules = given === undefined ? suggestedRules : rulesOf(given);
  if (rules.length === 0 || rules.some((rule) => typeof rule !== "string" || rule.trim() === "")) {
    throw badAnswer(`"${id}" was approved ${scope} with an empty rule`, "Give the rule, or answer with once.");
  }
  if (!rules.every(isOneLine)) {
    throw badAnswer(`"${id}" was approved ${scope} with a rule of several lines`, "Give one rule per line.");
  }
  const isEdited = rules.some((rule) => !suggestedRules.includes(rule));
  return isEdited ? { scope, rules, rulesEdited: true } : { scope, rules };
}

/** Rules are shown, sent and stored as lines. */
export function isOneLine(rule: string): boolean {
  return !/[\r\n\0\u2028\u2029]/.test(rule);
}

function sameRules(one: readonly string[], other: readonly string[]): boolean {
  return canonicalJson(one) === canonicalJson(other);
}

function rulesOf(given: string | readonly string[]): readonly string[] {
  return typeof given === "string" ? [given] : given;
}

/** Throws if the person may not answer. `check` is the host's own. */
export async function requireRight(
  row: StoredCall,
  answer: ApprovalAnswer,
  check?: (approval: Approval, answer: ApprovalAnswer) => MaybePromise<string | undefined>,
): Promise<void> {
  const why = missingRight(row, answer) ?? (await check?.(toApproval(row), answer));
  if (why === undefined) return;
  const subject = row.question?.questions ? "question" : "approval";
  throw new ToolPermissionError(row.toolName, `${subject} "${row.id}" cannot be answered this way: ${why}`);
}

/** An approver decides for others, and nobody but an administrator speaks for another user. */
function missingRight({ caller, question }: StoredCall, { rights, via, by }: ApprovalAnswer): string | undefined {
  if (!rights) return undefined;
  if (!rights.includes("approve")) return `it needs the right "approve"${via ? `, also through ${via}` : ""}`;
  if (!question?.questions || isAsked(caller, { by, rights })) return undefined;
  return caller.user === undefined
    ? 'it is not addressed to a user, so it needs the right "admin"'
    : `it is addressed to ${caller.user}`;
}

/** Whether a question of this caller is for this person. If the caller has no user, only for administrators. */
export function isAsked(
  { user }: Caller,
  { by, rights }: { by?: string | undefined; rights: readonly string[] },
): boolean {
  return rights.includes("admin") || (user !== undefined && user === by);
}

/** Whether the stored answer is the same as this one. */
export function isSameAnswer(row: StoredCall, { approved, scope, rule, answers }: ApprovalAnswer): boolean {
  const { answer } = row;
  if (!answer || answer.approved !== approved) return false;
  if (!approved) return true;
  if (answers !== undefined && row.question?.questions) {
    // Also equal to what is shown of it, without secrets.
    const given = hashOfAnswers(row, answers);
    return given === answer.answersHash || given === hashOfAnswers(row, answer.answers);
  }
  if (scope !== undefined && scope !== answer.scope) return false;
  return rule === undefined || sameRules(rulesOf(rule), answer.rules ?? []);
}

/** Why an answer did not count. */
export function conflictOf(row: StoredCall): ToolError {
  const { id, state, outcome, answer, note, question } = row;
  const by = answer?.by === undefined ? "" : ` by ${answer.by}`;
  const why = note === undefined ? "" : `: ${note}`;
  if (answer?.answers) {
    const said = answer.answers.map(answerLine).join("; ");
    return toolError("conflict", `Question "${id}" was already answered${by}: ${said}.`, { next: FIRST_COUNTS });
  }
  const approved = `was already approved${by} (${answer?.scope ?? "once"})`;
  const ended: Partial<Record<CallOutcome, string>> = {
    denied: `was already ${question?.questions ? "dismissed" : "denied"}${by}${why}`,
    expired: `has expired${why}`,
    cancelled: `was cancelled${why}`,
    changed: `is out of date, because the call has changed since${why}`,
    unknown: `${approved}, and the outcome of the call is unknown`,
  };
  const what =
    state === "ended"
      ? ((outcome && ended[outcome]) ?? `${approved}, and the call has ${outcome}`)
      : state === "approved"
        ? approved
        : `${approved}, and the call is ${state}`;
  const subject = question?.questions ? "Question" : "Approval";
  return toolError("conflict", `${subject} "${id}" ${what}.`, { next: FIRST_COUNTS });
}

const FIRST_COUNTS = "Only the first answer is used.";

function malformed(id: string, why: string): ToolError {
  return badAnswer(
    `The answer to "${id}" cannot be read: ${why}`,
    "Answer with { approved: true } or { approved: false }.",
  );
}

function badAnswer(message: string, next: string): ToolError {
  return toolError("invalid_input", message, { next });
}
