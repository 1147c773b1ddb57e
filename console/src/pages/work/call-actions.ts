import { useState } from "react";
import { useLocation } from "wouter";
import type { CallInfo } from "../../../../src/contracts/calls.ts";
import { api, queries } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { countOf } from "../../parts/format.ts";
import { redo, undo } from "../../undo.ts";
import { saveEdited } from "../tools/edited-call.ts";

const words = defineWords({
  undone: (count: number) => [
    count === 0 ? "There is nothing to undo." : countOf(count, "change was undone.", "changes were undone."),
    count === 0 ? "没有可撤销的修改。" : `已撤销 ${count} 处修改。`,
  ],
  redone: ["The changes were made again.", "已重新修改。"],
  stopped: (tool: string) => [`${tool} was told to stop.`, `已要求 ${tool} 停止。`],
  started: (tool: string) => [`${tool} was started again.`, `已再次启动 ${tool}。`],
});

/** What happened last, for a line that is announced. */
export interface ActionNews {
  text: string;
  /** The call that was started. */
  callId?: string;
  isProblem?: boolean;
  /** Of the undo that can be taken back. */
  undoId?: string;
}

export interface CallActions {
  news: ActionNews | undefined;
  undo(call: CallInfo): void;
  redo(undoId: string): void;
  stop(call: Pick<CallInfo, "callId" | "toolName">): void;
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
  const fail = (error: Error): void => setNews({ text: error.message, isProblem: true });
  const refresh = (): void => void queries.invalidateQueries();
  return {
    news,
    undo({ callId, caller }) {
      undo({ call: callId, user: caller.user, agent: caller.agent })
        .then((outcome) => {
          if (outcome) setNews({ text: w.undone(outcome.undone.length), undoId: outcome.undoId });
        }, fail)
        .finally(refresh);
    },
    redo(undoId) {
      redo(undoId)
        .then((outcome) => {
          if (outcome) setNews({ text: w.redone });
        }, fail)
        .finally(refresh);
    },
    stop({ callId, toolName }) {
      api.calls.cancel(callId).then(() => setNews({ text: w.stopped(toolName) }), fail);
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
