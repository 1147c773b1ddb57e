import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { ApprovalAnswered, ApprovalAnswerRequest, ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import type { ChangeInfo } from "../../../../src/contracts/undo.ts";
import { api, isOutage, queries } from "../../api.ts";
import { undoConflicts } from "../../undo-conflict.ts";

export type Decision = ApprovalAnswerRequest["decision"];

/** What became of an answer and of its call. */
export interface AnswerLine {
  id: string;
  approval: ApprovalInfo;
  decision: Decision;
  /** `refused`: the server did not take the answer, and the question is still open. */
  state: "sending" | "running" | "ended" | "refused" | "undoing" | "undone";
  answered?: ApprovalAnswered;
  problem?: Error;
  /** File changes of the call that can be undone. */
  changes?: readonly ChangeInfo[];
  /** Nothing was undone: a file was changed since. A person may undo it anyway. */
  isBlocked?: boolean;
}

export interface Answers {
  /** The newest first. */
  lines: readonly AnswerLine[];
  /** The questions that this user has answered since the page was opened. */
  answered: ReadonlySet<string>;
  answer: (approval: ApprovalInfo, request: ApprovalAnswerRequest) => void;
  /** Of questions that were answered together. */
  markAnswered: (ids: readonly string[]) => void;
  undo: (line: AnswerLine, options?: { force?: boolean }) => void;
  dismiss: (id: string) => void;
}

const MAX_LINES = 3;
/** A short call has ended by then. A longer one is waited for in the background. */
const FIRST_WAIT_MS = 1_500;
const NEXT_WAIT_MS = 60_000;
/** Between two tries while the server is away. */
const RETRY_MS = 1_000;

/** Sends answers in the background, so that the next card is there at once, and follows their calls to the end. */
export function useAnswers(): Answers {
  const [lines, setLines] = useState<readonly AnswerLine[]>([]);
  const [answered, setAnswered] = useState<ReadonlySet<string>>(new Set());
  const controller = useRef<AbortController>(undefined);
  useEffect(() => {
    const own = new AbortController();
    controller.current = own;
    return () => own.abort();
  }, []);

  const change = useCallback((id: string, changes: Partial<AnswerLine>): void => {
    setLines((now) => now.map((line) => (line.id === id ? { ...line, ...changes } : line)));
  }, []);

  const answer = useCallback(
    (approval: ApprovalInfo, request: ApprovalAnswerRequest): void => {
      const { id } = approval;
      const line: AnswerLine = { id, approval, decision: request.decision, state: "sending" };
      setLines((now) => [line, ...now.filter((other) => other.id !== id)].slice(0, MAX_LINES));
      setAnswered((now) => new Set([...now, id]));
      const { signal } = controller.current ?? {};
      const refresh = (): void => void queries.invalidateQueries({ queryKey: ["approvals"] });
      const refuse = (problem: Error): void => {
        if (signal?.aborted) return;
        change(id, { state: "refused", problem });
        setAnswered((now) => new Set([...now].filter((other) => other !== id)));
        refresh();
      };
      /** The answer is given: a failure from here on does not open the question again. */
      const follow = async (first: ApprovalAnswered): Promise<void> => {
        let now = first;
        refresh();
        while (!now.result && now.approval.call.state !== "ended") {
          change(id, { state: "running", answered: now });
          now = await resultOf(id, signal);
        }
        change(id, { state: "ended", answered: now });
        refresh();
        if (request.decision !== "deny") change(id, { changes: await changesOf(now.approval) });
      };
      api.approvals.answer(id, { ...request, waitMs: FIRST_WAIT_MS }).then(
        (first) =>
          follow(first).catch((problem: Error) => {
            if (!signal?.aborted) change(id, { state: "ended", problem });
          }),
        refuse,
      );
    },
    [change],
  );

  const undo = useCallback(
    ({ id, approval, changes = [] }: AnswerLine, { force }: { force?: boolean } = {}): void => {
      const [first] = changes;
      if (!first) return;
      change(id, { state: "undoing", problem: undefined, isBlocked: false });
      api.undo
        .run({ change: first.id, force })
        .then(async ({ undone }) => {
          change(id, { state: undone.length > 0 ? "undone" : "ended", changes: await changesOf(approval) });
        })
        .catch((problem: Error) =>
          change(id, { state: "ended", problem, isBlocked: undoConflicts(problem).length > 0 }),
        )
        .finally(() => void queries.invalidateQueries({ queryKey: ["undo"] }));
    },
    [change],
  );

  const markAnswered = useCallback(
    (ids: readonly string[]): void => setAnswered((now) => new Set([...now, ...ids])),
    [],
  );
  const dismiss = useCallback((id: string): void => setLines((now) => now.filter((line) => line.id !== id)), []);
  return useMemo(
    () => ({ lines, answered, answer, markAnswered, undo, dismiss }),
    [lines, answered, answer, markAnswered, undo, dismiss],
  );
}

/** Waits for the call, over restarts of the server. */
async function resultOf(id: string, signal: AbortSignal | undefined): Promise<ApprovalAnswered> {
  for (;;) {
    try {
      return await api.approvals.result(id, { waitMs: NEXT_WAIT_MS }, { signal });
    } catch (error) {
      if (signal?.aborted || !(error instanceof Error) || !isOutage(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

/** Callers choose their call ids, and two may choose the same. */
async function changesOf({ callId, caller }: ApprovalInfo): Promise<readonly ChangeInfo[]> {
  const { items } = await api.undo.list({ call: callId });
  return items.filter(
    ({ state, session, user, isUndo }) =>
      state === "done" && !isUndo && session === caller.session && user === caller.user,
  );
}
