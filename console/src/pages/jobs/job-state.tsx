import type { JobInfo, JobState } from "../../../../src/contracts/jobs.ts";
import { defineWords, useWords } from "../../language.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

export const stateWords = defineWords<Record<JobState, string>>({
  en: {
    delayed: "delayed",
    queued: "queued",
    running: "running",
    completed: "completed",
    failed: "failed",
    cancelled: "cancelled",
  },
  zh: { delayed: "延迟", queued: "排队", running: "运行中", completed: "完成", failed: "失败", cancelled: "已取消" },
});

const TONES: Record<JobState, string> = {
  delayed: "",
  queued: "",
  running: "accent pulse",
  completed: "ok",
  failed: "bad",
  cancelled: "warn",
};

export function JobStateBadge({ state }: { state: JobState }) {
  return <span className={`badge ${TONES[state]}`}>{useWords(stateWords)[state]}</span>;
}

/** The progress of a running job. */
export function JobProgress({ job: { progress, state, toolName } }: { job: JobInfo }) {
  if (!progress || state !== "running") return null;
  const { done, total, message } = progress;
  return (
    <span className="row small job-progress">
      {total === undefined ? null : <progress value={done} max={total} aria-label={toolName} />}
      <span className="mono muted">{total === undefined ? done : `${done}/${total}`}</span>
      {message ? <VisibleText text={message} /> : null}
    </span>
  );
}
