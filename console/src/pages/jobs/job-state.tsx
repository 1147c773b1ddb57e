import { Ban, CircleCheck, CircleHelp, CircleX, Clock, Hourglass, LoaderCircle, type LucideIcon } from "lucide-react";
import type { JobInfo, JobState } from "../../../../src/contracts/jobs.ts";
import { defineWords, type Pair, useLanguage, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { formatDateTime } from "../../parts/format.ts";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

export const stateWords = defineWords<Record<JobState, Pair>>({
  delayed: ["delayed", "延迟"],
  queued: ["queued", "排队"],
  running: ["running", "运行中"],
  completed: ["completed", "完成"],
  failed: ["failed", "失败"],
  denied: ["denied", "已拒绝"],
  cancelled: ["cancelled", "已取消"],
  unknown: ["outcome unknown", "结果未知"],
});

const words = defineWords({
  time: ["Not before", "不早于"],
  retry: ["The next attempt is", "下一次尝试"],
  worker: ["Queued: waiting for a worker.", "排队中：等待工作进程。"],
  approval: ["Waits for your answer about", "等你处理"],
  answer: ["Answer", "处理"],
});

const LOOKS: Record<JobState, readonly [tone: string, icon: LucideIcon]> = {
  delayed: ["", Clock],
  queued: ["", Hourglass],
  running: ["accent", LoaderCircle],
  completed: ["ok", CircleCheck],
  failed: ["bad", CircleX],
  denied: ["warn", Ban],
  cancelled: ["warn", Ban],
  unknown: ["warn", CircleHelp],
};

export function JobStateBadge({ state }: { state: JobState }) {
  const [tone, Icon] = LOOKS[state];
  return (
    <span className={`badge ${tone}`}>
      <Icon size={12} aria-hidden /> {useWords(stateWords)[state]}
    </span>
  );
}

/** Why an open job does not run, or does not get on. */
export function JobWaitText({ job: { waitsFor } }: { job: JobInfo }) {
  const w = useWords(words);
  const { language } = useLanguage();
  switch (waitsFor?.type) {
    case undefined:
      return null;
    case "time":
    case "retry":
      return (
        <span>
          {w[waitsFor.type]} <TimeAgo at={waitsFor.until} /> ({formatDateTime(waitsFor.until, language)})
        </span>
      );
    case "worker":
      return <span>{w.worker}</span>;
    case "approval":
      return (
        <span className="row">
          <strong>{w.approval}</strong>
          <VisibleText className="mono" text={waitsFor.toolName} />
          <CallSubject subject={waitsFor.subject} />
          <Button look="small primary" text={w.answer} href={`/approvals/${encodeURIComponent(waitsFor.approvalId)}`} />
        </span>
      );
  }
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
