import { useEffect, useRef, useState } from "react";
import type { ToolResult, Update } from "../../../src/contracts/basics.ts";
import type { CallRequest } from "../../../src/contracts/calls.ts";
import { api } from "../api.ts";
import { defineWords, useWords } from "../language.tsx";
import { Button } from "./button.tsx";
import { Failure } from "./failure.tsx";
import { ResultView } from "./result-view.tsx";
import { useNow } from "./time-ago.tsx";
import { TerminalText } from "./terminal-text.tsx";

const words = defineWords({
  running: ["Running", "运行中"],
  requested: ["This call waits for an approval.", "此调用正在等待许可。"],
  answer: ["Answer it", "去处理"],
  output: ["Output so far", "目前的输出"],
});

/** Only the end of a long output is shown. The result has all of it. */
const MAX_LIVE_CHARACTERS = 20_000;

export interface RunningCallState {
  state: "idle" | "running" | "done";
  callId?: string;
  text: string;
  progress?: Update["progress"];
  approvalId?: string;
  result?: ToolResult;
  error?: Error;
  startedAt: number;
  start: (request: CallRequest) => void;
  cancel: () => void;
}

export function useRunningCall(): RunningCallState {
  const [shown, setShown] = useState<Omit<RunningCallState, "start" | "cancel">>({
    state: "idle",
    text: "",
    startedAt: 0,
  });
  const controller = useRef<AbortController>(undefined);
  const callId = useRef<string>(undefined);
  useEffect(() => () => controller.current?.abort(), []);

  const start = (request: CallRequest): void => {
    const own = new AbortController();
    controller.current?.abort();
    controller.current = own;
    setShown({ state: "running", text: "", startedAt: Date.now() });
    const follow = async (): Promise<void> => {
      for await (const frame of api.calls.stream(request, { signal: own.signal })) {
        if (frame.type === "started") {
          callId.current = frame.callId;
          setShown((now) => ({ ...now, callId: frame.callId }));
        } else if (frame.type === "update") {
          const more = frame.update.content?.map((block) => (block.type === "text" ? block.text : "")).join("") ?? "";
          setShown((now) => ({
            ...now,
            text: (now.text + more).slice(-MAX_LIVE_CHARACTERS),
            ...(frame.update.progress ? { progress: frame.update.progress } : {}),
          }));
        } else if (frame.type === "approval") {
          setShown((now) => ({ ...now, approvalId: frame.approvalId }));
        } else {
          setShown((now) => ({ ...now, state: "done", result: frame.result }));
        }
      }
    };
    follow().catch((error: Error) => {
      if (!own.signal.aborted) setShown((now) => ({ ...now, state: "done", error }));
    });
  };
  // The stream stays open: the result of the cancelled call still arrives on it.
  const cancel = (): void => {
    if (callId.current) void api.calls.cancel(callId.current).catch(() => undefined);
  };
  return { ...shown, start, cancel };
}

export function RunningCall({ call }: { call: RunningCallState }) {
  const w = useWords(words);
  const elapsed = useElapsed(call);
  if (call.state === "idle") return null;
  const { progress } = call;
  return (
    <div className="stack live" aria-live="polite">
      {call.state === "running" ? (
        <>
          <p className="row">
            <span className="badge accent pulse">{w.running}</span>
            <span className="muted mono">{(elapsed / 1000).toFixed(1)} s</span>
            {progress?.message ? <span className="muted">{progress.message}</span> : null}
          </p>
          {progress?.total ? <progress value={progress.done} max={progress.total} /> : null}
          {call.approvalId ? (
            <p className="notice warn">
              <span className="grow">{w.requested}</span>
              <Button look="small" text={w.answer} href={`/approvals/${call.approvalId}`} />
            </p>
          ) : null}
          {call.text ? (
            <pre className="code" aria-label={w.output}>
              <TerminalText text={call.text} />
            </pre>
          ) : null}
        </>
      ) : null}
      {call.error ? <Failure error={call.error} /> : null}
      {call.result ? <ResultView result={call.result} /> : null}
    </div>
  );
}

function useElapsed({ state, startedAt }: RunningCallState): number {
  const now = useNow(state === "running" ? 100 : undefined);
  return Math.max(0, now - startedAt);
}
