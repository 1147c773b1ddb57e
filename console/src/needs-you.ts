import type { ApprovalInfo } from "../../src/contracts/approvals.ts";
import type { CallInfo } from "../../src/contracts/calls.ts";
import type { QuestionInfo } from "../../src/contracts/questions.ts";
import { useApi, usePending, useScope } from "./api.ts";

/** There is no event for questions of MCP servers: another process may ask them. */
const CHECK_INTERVAL_MS = 3000;

export interface NeedsYou {
  /** Calls that wait for an approval, and questions of agents. Undefined until they are loaded. */
  approvals: readonly ApprovalInfo[] | undefined;
  /** Open questions of MCP servers. */
  questions: readonly QuestionInfo[];
  /** Of both: the number that every page shows. */
  count: number;
  /** Since when the oldest waits. */
  since: number | undefined;
  error: Error | null;
  refetch: () => void;
}

/** All that waits for a person, for all who list or count it. */
export function useNeedsYou(): NeedsYou {
  const { data: approvals, error, refetch } = usePending();
  const hasQuestions = useApi("server", "info", []).data?.parts.includes("questions") ?? false;
  const { data } = useApi("questions", "list", hasQuestions ? [{ state: "open" }] : undefined, {
    everyMs: CHECK_INTERVAL_MS,
  });
  const questions = data?.items ?? NONE;
  const times = [...(approvals ?? []), ...questions].map(({ askedAt }) => askedAt);
  const since = times.length === 0 ? undefined : Math.min(...times);
  return { approvals, questions, count: times.length, since, error, refetch: () => void refetch() };
}

const NONE: readonly QuestionInfo[] = [];

export type CardOf = (call: Pick<CallInfo, "callId" | "approvalId" | "questionId" | "status">) => string | undefined;

/** The address of the card that a call waits for, itself or for a call that it made. Undefined if this person may not answer. */
export function useCardOf(): CardOf {
  const canAnswer = useScope("approve");
  const { approvals = [], questions } = useNeedsYou();
  const open = new Set(approvals.map(({ id }) => id));
  const ofParents = new Map(approvals.map(({ id, parentId }) => [parentId, id]));
  return ({ callId, approvalId = "", questionId, status }) => {
    if (!canAnswer) return undefined;
    if (questionId !== undefined && questions.some(({ id }) => id === questionId))
      return `/approvals/question-${encodeURIComponent(questionId)}`;
    const id = open.has(approvalId) ? approvalId : status === "running" ? ofParents.get(callId) : undefined;
    return id === undefined ? undefined : `/approvals/${encodeURIComponent(id)}`;
  };
}
