import type { CallData, Caller, RetryPlan, Verdict } from "../core/call.ts";
import type { CallSummary } from "../core/call-summary.ts";
import type { UserAnswer, UserQuestion } from "../core/questions/user-question.ts";
import type { Update } from "../core/events.ts";
import type { PendingResult, ToolResult } from "../core/result.ts";
import type { Preview, ToolKind } from "../core/tool.ts";
import { type Charge, markCharges, withCharges } from "./grants.ts";

/** How a background call is queued: the part of its row that only jobs have. */
export interface QueuedJob {
  /** The same in each round. */
  id: string;
  /** Grows with each submission: the order of lists, and of jobs with the same priority. 0: the store sets it. */
  seq: number;
  priority: number;
  /** A `delayed` job is not taken before this time. */
  runAt: number;
  /** How often it was started, without starts that do not count. */
  attempt: number;
  attempts: number;
  /** 1, plus one for each retry after its end. */
  round: number;
  /** The worker that runs it or ran it last. */
  worker?: string;
  startedAt?: number;
  progress?: Update["progress"];
  /** Set if the worker that has it should stop it. */
  cancel?: { reason?: string };
}

/**
 * `waiting` for a person · `approved`, and not started; a job waits so for a worker · `running` in the process `owner` ·
 * `suspended` until calls that it made have ended · `ended` with an outcome.
 */
export type CallState = "waiting" | "approved" | "running" | "suspended" | "ended";

/** `changed`: what the person saw is no longer true. `unknown`: it began, and nobody knows how it ended. */
export type CallOutcome = "completed" | "failed" | "denied" | "expired" | "cancelled" | "changed" | "unknown";

/** What an approval covers: this call, or also what its rules cover in this session or from now on. */
export type ApprovalScope = "once" | "session" | "always";

/** All that an answer is bound to. If any of it differs, the answer is not used. Hashes, except the folder. */
export interface ApprovalBinding {
  tool: string;
  input: string;
  preview: string;
  cwd: string;
  /** What the session itself has set. The environment of the process is no part of it. */
  environment: string;
  /** The caller, and what narrows the call: its mode, allowed paths and policy. */
  limits: string;
  /** What asks: a rule, the tool or another part of the policy. */
  policy: string;
}

/** Rules that a person may save with an approval. The first of each scope allows no more than what was shown. */
export interface GrantChoice {
  scope: "session" | "always";
  rules: readonly string[];
  /** Who may do what, with which values, until when. */
  sentence: string;
  /** The key of the sentence and its values, for other languages. */
  key: string;
  values: Readonly<Record<string, string | number>>;
  /** It allows more than what was shown. */
  isBroader: boolean;
}

/** What a person is shown, and what the answer is bound to. */
export interface Question {
  /** The version of the tool that was shown. */
  toolVersion: string;
  /** The arguments as they are shown: plain data. */
  input: unknown;
  /** Why it asks, in one sentence. */
  reason: string;
  /** What decided that it asks. */
  verdict: Verdict;
  /** What the tool shows of its effect, such as a diff. Cut if it is too long. */
  preview?: Preview;
  /** One sentence: what of the call is not shown. If there is one, an approval needs `confirmUnshown`. */
  unseen?: string;
  /** What the call is about, and its risk. Omitted in questions of earlier versions. */
  summary?: CallSummary;
  /** Rules that "session" and "always" would save; empty if only "once" is offered. */
  suggestedRules: readonly string[];
  /** What can be granted besides this call, each in one sentence. Omitted in questions of earlier versions. */
  grants?: readonly GrantChoice[];
  /** Questions of `ask_user` that the person answers. Omitted if the call needs a permission. */
  questions?: readonly UserQuestion[];
  /** What the answer is bound to. If it changes, the approval is asked again. */
  binding: ApprovalBinding;
  /** Hash of the binding. */
  hash: string;
  /** The call that made this one. */
  parentId?: string;
  /** For counts of calls by what they do. */
  toolKind?: ToolKind;
  /** How the call was made, to run it after the answer. */
  made: CallData;
  /** The question that this one replaces, and what changed since. */
  replaces?: { id: string; changes: readonly string[] };
  /** 1, plus one for each replaced question. */
  round: number;
}

/** A person's answer as it is stored. */
export interface Answer {
  approved: boolean;
  by?: string;
  via?: string;
  reason?: string;
  scope?: ApprovalScope;
  rules?: readonly string[];
  /** Whether a rule was not suggested, and may allow more than was shown. */
  rulesEdited?: boolean;
  /** To the questions of the call. */
  answers?: readonly UserAnswer[];
  /** Hash of the answers as they were given: secrets are removed from `answers` when the call ends. */
  answersHash?: string;
}

/**
 * The one record of a call that several processes may know: because a person must answer, because it has an idempotency
 * key, or because it runs in the background. Only `src/calls` writes it, by the transitions below.
 */
export interface StoredCall {
  /** Of the row and of its approval. Cannot be guessed. */
  id: string;
  /** As the caller knows it. Not unique: models number their calls. */
  callId: string;
  /** Digest of the caller and the idempotency key. A call without one is never replayed. */
  key?: string;
  /** Digest of tool, version and input. */
  fingerprint: string;
  toolName: string;
  caller: Caller;
  state: CallState;
  outcome?: CallOutcome;
  question?: Question;
  answer?: Answer;
  /** A background call: what a worker runs, and how it is queued. */
  request?: CallData;
  job?: QueuedJob;
  /** The process whose caller waits, and until when it promises to; of a job the process whose worker took it. It runs the call. */
  holder?: string;
  holdUntil?: number;
  /** The process that runs it, or ran it last. */
  owner?: string;
  /** How often it was started. */
  epoch: number;
  /** How often its process disappeared. */
  lost: number;
  /** Nobody can answer after this time. */
  deadline?: number;
  /** Whether it may safely run again. */
  repeatable: boolean;
  /** What it took from grants when it was started. */
  charges?: readonly Charge[];
  /** Why it did not run, if it did not. */
  note?: string;
  result?: ToolResult;
  createdAt: number;
  answeredAt?: number;
  begunAt?: number;
  endedAt?: number;
}

/** Changes of a row; undefined if the transition does not apply to it. Runs while the store holds the row. */
export type Transition = (row: StoredCall, now: number) => Partial<StoredCall> | undefined;

/** An approval given at the last moment can still be used for this long. */
const MIN_USE_MS = 60_000;
/** A call whose processes disappear this often is not started again. */
const MAX_LOST = 5;

const UNHELD = { holder: undefined, holdUntil: undefined } as const;

const NOT_STARTED: readonly CallState[] = ["waiting", "approved"];

/** If it was started before, nobody can say that it did not happen. */
function withoutRun(
  row: StoredCall,
  outcome: CallOutcome,
  now: number,
  { note, ownStarts = 0 }: { note?: string; ownStarts?: number } = {},
): Partial<StoredCall> {
  if (row.epoch > ownStarts) {
    const charges = markCharges(row.charges, true);
    return { state: "ended", outcome: "unknown", endedAt: now, note, charges };
  }
  // The call did not happen: its id may be used again. A denial stays.
  const key = outcome === "denied" ? row.key : undefined;
  return { state: "ended", outcome, endedAt: now, note, key, charges: undefined };
}

/** It was cancelled and reports so, unless an earlier start may have done something. */
function notRun(row: StoredCall, result: ToolResult, now: number, ownStarts: number): Partial<StoredCall> {
  const ended = withoutRun(row, "cancelled", now, { ownStarts });
  return ended.outcome === "cancelled" ? { ...ended, result } : ended;
}

function isRunBy({ state, owner, epoch }: StoredCall, me: string, start: number): boolean {
  return state === "running" && owner === me && epoch === start;
}

/** Whether nobody can answer any more, or the answer can no longer be used. */
export type IsExpired = (row: StoredCall) => boolean;

/** Whether this process may start it: nobody else waits for it with a live caller. */
function mayClaim(row: StoredCall, me: string, now: number, deadHolder?: string): boolean {
  const { holder, holdUntil = 0 } = row;
  return holder === undefined || holder === me || holdUntil <= now || holder === deadHolder;
}

export function approve(answer: Answer, isExpired: IsExpired): Transition {
  return (row, now) => {
    if (row.state !== "waiting" || isExpired(row)) return undefined;
    const deadline = Math.max(row.deadline ?? 0, now + MIN_USE_MS);
    return { state: "approved", answer, answeredAt: now, deadline };
  };
}

/** A denial counts until the call starts. */
export function deny(answer: Answer, isExpired: IsExpired): Transition {
  return (row, now) => {
    if (!NOT_STARTED.includes(row.state) || isExpired(row)) return undefined;
    return { ...withoutRun(row, "denied", now, { note: answer.reason }), answer, answeredAt: now };
  };
}

/** `charges`: what the start takes from grants. A row that has such charges already takes them once. */
export function claim(me: string, isExpired: IsExpired, deadHolder?: string, charges?: readonly Charge[]): Transition {
  return (row, now) => {
    if (row.state !== "approved" || isExpired(row) || !mayClaim(row, me, now, deadHolder)) return undefined;
    if (row.job && (row.holder !== me || row.job.cancel)) return undefined;
    const started = { owner: me, epoch: row.epoch + 1, begunAt: now, holder: undefined, result: undefined };
    return { ...started, state: "running", charges: withCharges(row.charges, charges) };
  };
}

/** The same once more, if nobody knows whether it was written: then this process may have started the call already. */
export function claimAgain(me: string, epoch: number, again: Transition): Transition {
  return (row, now) => (isRunBy(row, me, epoch + 1) ? {} : again(row, now));
}

/** Also replaces `unknown` by the outcome, if the same start reports it late. */
export function end(me: string, epoch: number, { outcome, result, releasesKey, began = true }: EndedCall): Transition {
  return (row, now) => {
    const isOpen = row.state === "running" || (row.state === "ended" && row.outcome === "unknown");
    if (!isOpen || row.owner !== me || row.epoch !== epoch) return undefined;
    // This start did nothing. An earlier one may have.
    if (outcome === "cancelled") return notRun(row, result, now, 1);
    const charges = began || epoch > 1 ? markCharges(row.charges, outcome === "unknown") : undefined;
    return { state: "ended", outcome, result, endedAt: now, key: releasesKey ? undefined : row.key, charges };
  };
}

/** How a start of a call ended. */
export interface EndedCall {
  outcome: CallOutcome;
  result: ToolResult;
  releasesKey: boolean;
  /** False if the tool's code was not started: then nothing was used of the grants. Default: true. */
  began?: boolean;
}

/** A person found out what became of a call with an unknown outcome: nothing, so its grants get back what it took. */
export function giveBackCharges(grant: string): Transition {
  return ({ state, charges }) => {
    if (state !== "ended" || !charges?.some((each) => each.grant === grant)) return undefined;
    return { charges: charges.filter((each) => each.grant !== grant) };
  };
}

/** Its owner has done nothing: another process may start it, or after a `result` the next call with its id. */
export function giveBack(me: string, epoch: number, result?: ToolResult): Transition {
  return (row, now) => {
    if (!isRunBy(row, me, epoch)) return undefined;
    const deadline = Math.max(row.deadline ?? 0, now + MIN_USE_MS);
    const charges = epoch > 1 ? row.charges : undefined;
    return { state: "approved", owner: undefined, epoch: epoch - 1, begunAt: undefined, deadline, result, charges };
  };
}

/** An approved call that starts here becomes a job: a worker runs it. */
export function enqueue(me: string, epoch: number, queued: { request: CallData; job: QueuedJob }): Transition {
  return (row) => {
    if (!isRunBy(row, me, epoch)) return undefined;
    const waits = { state: "approved", owner: undefined, epoch: epoch - 1, begunAt: undefined } as const;
    const charges = epoch > 1 ? row.charges : undefined;
    return { ...waits, ...UNHELD, ...queued, deadline: undefined, charges };
  };
}

/** A worker of this process takes the job. Until it starts the call, nothing has happened. */
export function take(me: string, worker: string | undefined): Transition {
  return (row, now) => {
    const { job } = row;
    if (!job || row.state !== "approved" || row.holder !== undefined) return undefined;
    const taken = { ...job, worker, startedAt: now, attempt: job.attempt + 1 };
    return { holder: me, holdUntil: Number.MAX_SAFE_INTEGER, job: taken };
  };
}

/** The job cannot be read any more, so nobody can run it. */
export function endUnreadable(row: StoredCall, now: number): Partial<StoredCall> | undefined {
  if (!row.job || row.state !== "approved" || row.holder !== undefined) return undefined;
  return withoutRun(row, "cancelled", now, { note: "what was stored about it cannot be read any more" });
}

/** What a worker did with a job that is queued again: `start` if it started the call. */
export interface RequeuedJob extends RetryPlan {
  /** `begunAt` tells it from a later start of the same job: a start that did nothing gives its number back. */
  start?: { epoch: number; began: boolean; begunAt?: number };
}

/** The job is tried again, perhaps by another worker. */
export function requeue(me: string, { start, inMs, counts }: RequeuedJob): Transition {
  return (row, now) => {
    const { job, epoch } = row;
    const isOwn = start
      ? isRunBy(row, me, start.epoch) && (start.begunAt === undefined || start.begunAt === row.begunAt)
      : row.state === "approved" && row.holder === me;
    if (!job || !isOwn) return undefined;
    const ownStarts = start && !start.began ? 1 : 0;
    if (job.cancel) return withoutRun(row, "cancelled", now, { note: job.cancel.reason, ownStarts });
    const queued = { ...job, runAt: now + inMs, attempt: counts ? job.attempt : job.attempt - 1 };
    const charges = epoch > ownStarts ? row.charges : undefined;
    return { ...UNHELD, state: "approved", owner: undefined, epoch: epoch - ownStarts, job: queued, charges };
  };
}

/** The job of this worker ends without a start of the call: it was refused. */
export function refuse(me: string, { outcome, result }: { outcome: CallOutcome; result: ToolResult }): Transition {
  return (row, now) => {
    if (!row.job || row.state !== "approved" || row.holder !== me) return undefined;
    if (outcome === "cancelled") return notRun(row, result, now, 0);
    // A read-only call may have run although its start could not be written.
    return { state: "ended", outcome, result, endedAt: now, key: outcome === "completed" ? row.key : undefined };
  };
}

/** The process that took the job, and had not started the call, has disappeared. */
export function loseTaken(deadHolder: string): Transition {
  return (row, now) => {
    const { job } = row;
    if (!job || row.state !== "approved" || row.holder !== deadHolder) return undefined;
    if (job.cancel) return withoutRun(row, "cancelled", now, { note: job.cancel.reason });
    if (row.lost >= MAX_LOST) {
      return withoutRun(row, "cancelled", now, { note: `${row.lost + 1} workers ended while they had it` });
    }
    return { ...UNHELD, lost: row.lost + 1, job: { ...job, attempt: job.attempt - 1 } };
  };
}

/** A program that waits was saved: if its process disappears, another one continues it. */
export function saveProgram(me: string, epoch: number, result: PendingResult): Transition {
  return (row) => (isRunBy(row, me, epoch) ? { result } : undefined);
}

/** A program can do nothing but wait for calls that it made. */
export function suspend(me: string, epoch: number, result: PendingResult): Transition {
  return (row) => (isRunBy(row, me, epoch) ? { state: "suspended", owner: undefined, result } : undefined);
}

/** Continues a suspended program. */
export function resume(me: string): Transition {
  return (row, now) => {
    if (row.state !== "suspended") return undefined;
    return { state: "running", owner: me, epoch: row.epoch + 1, begunAt: now };
  };
}

/** What was shown is no longer true. */
export function change(me: string, note: string, deadHolder?: string): Transition {
  return (row, now) => {
    if (!NOT_STARTED.includes(row.state)) return undefined;
    if (row.state === "approved" && !mayClaim(row, me, now, deadHolder)) return undefined;
    return withoutRun(row, "changed", now, { note });
  };
}

/** Its caller waits in this process from now on. */
export function hold(me: string, until: number, deadHolder?: string): Transition {
  return (row, now) => {
    if (!NOT_STARTED.includes(row.state) || !mayClaim(row, me, now, deadHolder)) return undefined;
    // Only workers take jobs.
    if (row.job) return undefined;
    return { holder: me, holdUntil: until };
  };
}

/** Its caller does not wait any more, and the question stays. If it was answered, the holder continues. */
export function release(me: string): Transition {
  return (row) => (row.state === "waiting" && row.holder === me ? { holder: undefined } : undefined);
}

/** A job that a worker has is stopped by that worker. */
export function cancel(note: string | undefined): Transition {
  return (row, now) => {
    const isTaken = row.state === "running" || (row.state === "approved" && row.holder !== undefined);
    if (row.job && isTaken) return { job: { ...row.job, cancel: { reason: note } } };
    if (!NOT_STARTED.includes(row.state) && row.state !== "suspended") return undefined;
    return { ...withoutRun(row, "cancelled", now, { note }), result: undefined };
  };
}

/** `waitedMs`: how long its caller waited, if it ends before its deadline. */
export function expire(isExpired: IsExpired, waitedMs?: number): Transition {
  return (row, now) => {
    if (!NOT_STARTED.includes(row.state) || !isExpired(row)) return undefined;
    const answerMs = waitedMs ?? (row.deadline ?? now) - row.createdAt;
    const why =
      row.state === "waiting"
        ? `nobody answered within ${showDuration(answerMs)}`
        : "the approved call was not started in time";
    return withoutRun(row, "expired", now, { note: why });
  };
}

/** Its process has disappeared. */
export function lose(deadOwner: string): Transition {
  return (row, now) => {
    if (row.state !== "running" || row.owner !== deadOwner) return undefined;
    const canRunAgain = row.repeatable && row.lost < MAX_LOST && !row.job?.cancel;
    // A program that was saved: another process can continue it.
    const isProgram = row.result?.status === "pending";
    if (canRunAgain && isProgram) return { state: "suspended", owner: undefined, lost: row.lost + 1 };
    if (canRunAgain && row.job) {
      const job = { ...row.job, attempt: row.job.attempt - 1 };
      return { ...UNHELD, state: "approved", lost: row.lost + 1, job };
    }
    if (canRunAgain && row.question) {
      return { ...UNHELD, state: "approved", lost: row.lost + 1, deadline: now + MIN_USE_MS };
    }
    const charges = markCharges(row.charges, true);
    return { state: "ended", outcome: "unknown", endedAt: now, result: undefined, charges };
  };
}

/** Starts a call again whose outcome is unknown. For calls that may run twice. */
export function restart(me: string, charges?: readonly Charge[]): Transition {
  return (row, now) => {
    if (row.state !== "ended" || row.outcome !== "unknown") return undefined;
    const started = { outcome: undefined, result: undefined, endedAt: undefined, owner: me, epoch: row.epoch + 1 };
    const charged = withCharges(markCharges(row.charges, false), charges);
    return { ...started, state: "running", begunAt: now, charges: charged };
  };
}

function showDuration(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  const [count, unit] = ms < 120_000 ? [ms / 1000, "s"] : ms < 7_200_000 ? [ms / 60_000, "min"] : [ms / 3_600_000, "h"];
  return `${Math.round(count)} ${unit}`;
}
