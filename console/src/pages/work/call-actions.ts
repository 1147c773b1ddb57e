import { useState } from "react";
import { useLocation } from "wouter";
import type { CallInfo } from "../../../../src/contracts/calls.ts";
import { api, queries, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { countOf } from "../../parts/format.ts";
import { useScope } from "../../use-scope.ts";
import { saveEdited } from "../tools/call-form.tsx";

const words = defineWords({
  en: {
    approved: (tool: string) => `${tool} is approved.`,
    denied: (tool: string) => `${tool} is denied.`,
    undone: (count: number) => countOf(count, "change was undone.", "changes were undone."),
    nothing: "There is nothing to undo.",
    started: (tool: string) => `${tool} was started again.`,
  },
  zh: {
    approved: (tool: string) => `已批准 ${tool}。`,
    denied: (tool: string) => `已拒绝 ${tool}。`,
    undone: (count: number) => `已撤销 ${count} 处修改。`,
    nothing: "没有可撤销的修改。",
    started: (tool: string) => `已再次启动 ${tool}。`,
  },
});

/** What happened last, for a line that is announced. */
export interface ActionNews {
  text: string;
  /** The call that was started. */
  callId?: string;
  isProblem?: boolean;
}

export interface CallActions {
  news: ActionNews | undefined;
  /** Keys of approvals that are being answered. */
  answering: ReadonlySet<string>;
  answer(call: CallInfo, decision: "once" | "deny"): void;
  undo(call: CallInfo): void;
  /** The same call with the same input and a new id. */
  replay(call: Pick<CallInfo, "callId" | "toolName">): void;
  /** Opens the form of the tool with the input of the call. */
  edit(call: Pick<CallInfo, "callId" | "toolName">): void;
}

/** What a person can do with a call, in the list and on its page. */
export function useCallActions({ opensReplay }: { opensReplay: boolean }): CallActions {
  const w = useWords(words);
  const [, go] = useLocation();
  const [news, setNews] = useState<ActionNews>();
  const [answering, setAnswering] = useState<ReadonlySet<string>>(new Set());
  const fail = (error: Error): void => setNews({ text: error.message, isProblem: true });
  const refresh = (): void => void queries.invalidateQueries();
  return {
    news,
    answering,
    answer({ approvalId, toolName }, decision) {
      if (approvalId === undefined || answering.has(approvalId)) return;
      setAnswering((now) => new Set([...now, approvalId]));
      api.approvals
        .answer(approvalId, { decision, waitMs: 0 })
        .then(() => setNews({ text: decision === "once" ? w.approved(toolName) : w.denied(toolName) }), fail)
        .finally(() => {
          setAnswering((now) => new Set([...now].filter((id) => id !== approvalId)));
          refresh();
        });
    },
    undo({ callId, caller }) {
      api.undo
        .run({ call: callId, user: caller.user, agent: caller.agent })
        .then(({ undone }) => setNews({ text: undone.length === 0 ? w.nothing : w.undone(undone.length) }), fail)
        .finally(refresh);
    },
    replay({ callId, toolName }) {
      api.calls.replayStart(callId, {}).then((started) => {
        setNews({ text: w.started(toolName), callId: started.callId });
        if (opensReplay) go(callPath(started.callId));
      }, fail);
    },
    edit({ callId, toolName }) {
      api.calls.get(callId).then(({ input }) => {
        saveEdited(toolName, input ?? {});
        go(`/tools/${encodeURIComponent(toolName)}`);
      }, fail);
    },
  };
}

export function callPath(callId: string): string {
  return `/work/${encodeURIComponent(callId)}`;
}

/** Ids of the approvals that wait for an answer. Empty if the person may not answer. */
export function useAnswerable(): ReadonlySet<string> {
  const canAnswer = useScope("approve");
  const open = useApi("approvals", "list", [{ state: "pending", brief: true }]).data?.items ?? [];
  return new Set(canAnswer ? open.map(({ id }) => id) : []);
}
