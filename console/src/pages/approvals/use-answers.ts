import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { ApprovalAnswered, ApprovalAnswerRequest, ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import type { ChangeInfo } from "../../../../src/contracts/undo.ts";
import { api, isOutage, queries } from "../../api.ts";
import { redo, undo } from "../../undo.ts";

export type Decision = ApprovalAnswerRequest["decision"];

/** What became of an answer and of its call. */
export interface AnswerLine {
  id: string;
  approval: ApprovalInfo;
  request: ApprovalAnswerRequest;
  /** `unsent`: the server did not confirm the answer, so the question counts as open. `running`: or not started yet. */
  state: "sending" | "unsent" | "running" | "ended" | "undoing" | "undone";
  answered?: ApprovalAnswered;
  problem?: Error;
  /** File changes of the call that can be undone. */
  changes?: readonly ChangeInfo[];
  /** Of the undo that took them back. */
  undoId?: string;
}

export interface Answers {
  /** The newest first. */
  lines: readonly AnswerLine[];
  /** The questions that this user has answered since the page was opened, and the server has confirmed. */
  answered: ReadonlySet<string>;
  /** `onConfirmed` runs before the question counts as answered. */
  answer: (approval: ApprovalInfo, request: ApprovalAnswerRequest, onConfirmed?: () => void) => void;
  /** Of questions that were answered together. */
  markAnswered: (ids: readonly string[]) => void;
  /** Undoes the changes of the call, or makes undone ones again. */
  revert: (line: AnswerLine) => void;
  dismiss: (id: string) => void;
}

const MAX_LINES = 3;
/** A short call has ended by then. A longer one is followed from the next card. */
const FIRST_WAIT_MS = 300;
const WAIT_MS = 60_000;
/** A call that has not started is looked at this often: the wait ends only with the call. */
const START_WAIT_MS = 1_000;
/** Between two tries while the server is away. */
const RETRY_MS = 1_000;

/** Sends answers, and follows their calls to the end. A question stays open until the server has confirmed its answer. */
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

  const answer = useCallback<Answers["answer"]>(
    (approval, request, onConfirmed) => {
      const { id } = approval;
      const line: AnswerLine = { id, approval, request, state: "sending" };
      setLines((now) => [line, ...now.filter((other) => other.id !== id)].filter(isKept));
      const { signal } = controller.current ?? {};
      const refresh = (): void => void queries.invalidateQueries({ queryKey: ["approvals"] });
      /** The answer is given: a failure from here on does not open the question again. */
      const follow = async (first: ApprovalAnswered): Promise<void> => {
        let now = first;
        while (!now.result && now.approval.call.state !== "ended") {
          change(id, { state: "running", answered: now });
          const waitMs = hasStarted(now) ? WAIT_MS : START_WAIT_MS;
          now = { ...(await resultOf(id, { waitMs, signal })), rule: first.rule };
        }
        change(id, { state: "ended", answered: now });
        refresh();
        if (request.decision !== "deny") change(id, { changes: await changesOf(now.approval) });
      };
      confirmed(id, request).then(
        (first) => {
          onConfirmed?.();
          setAnswered((now) => new Set([...now, id]));
          refresh();
          return follow(first).catch((problem: Error) => {
            if (!signal?.aborted) change(id, { state: "ended", problem });
          });
        },
        (problem: Error) => {
          if (signal?.aborted) return;
          change(id, { state: "unsent", problem });
          refresh();
        },
      );
    },
    [change],
  );

  const revert = useCallback(
    (line: AnswerLine): void => {
      const { id, approval, undoId } = line;
      const [first] = line.changes ?? [];
      if (undoId === undefined && !first) return;
      change(id, { state: "undoing", problem: undefined });
      (undoId === undefined ? undo({ change: first?.id }) : redo(undoId))
        .then(async (outcome) => {
          const isUndone = outcome ? undoId === undefined && outcome.undone.length > 0 : line.state === "undone";
          const changes = await changesOf(approval);
          change(id, {
            state: isUndone ? "undone" : "ended",
            undoId: isUndone ? (outcome?.undoId ?? undoId) : undefined,
            changes,
          });
        })
        .catch((problem: Error) => change(id, { state: line.state, problem }))
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
    () => ({ lines, answered, answer, markAnswered, revert, dismiss }),
    [lines, answered, answer, markAnswered, revert, dismiss],
  );
}

/** Whether its changes can be undone, or made again. */
export function canRevert({ state, changes = [], undoId }: AnswerLine): boolean {
  return (state === "ended" && changes.length > 0) || (state === "undone" && undoId !== undefined);
}

/** Not if the call waits for a process that takes it. */
export function hasStarted({ approval }: ApprovalAnswered): boolean {
  return approval.call.state !== "approved";
}

/** Whether the server has not confirmed the answer. */
export function isOnItsWay({ state }: AnswerLine): boolean {
  return state === "sending" || state === "unsent";
}

function isKept(line: AnswerLine, at: number): boolean {
  return at < MAX_LINES || isOnItsWay(line);
}

/** Resolves when the answer is stored: a busy server may not have got there within the first wait. */
async function confirmed(id: string, request: ApprovalAnswerRequest): Promise<ApprovalAnswered> {
  const first = await api.approvals.answer(id, { ...request, waitMs: FIRST_WAIT_MS });
  return first.approval.state === "pending" ? api.approvals.answer(id, { ...request, waitMs: 0 }) : first;
}

/** Waits for the call, over restarts of the server. */
async function resultOf(
  id: string,
  { waitMs, signal }: { waitMs: number; signal: AbortSignal | undefined },
): Promise<ApprovalAnswered> {
  for (;;) {
    try {
      return await api.approvals.result(id, { waitMs }, { signal });
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
