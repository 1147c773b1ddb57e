import type { JobDetail, JobInfo, JobLogLine, JobState } from "../http/wire.ts";
import { type Output, safe, safeLine, type Style } from "./output.ts";
import { showColumns } from "./show-columns.ts";
import { showJson } from "./show-json.ts";
import { showDuration, showTime } from "./show-time.ts";

const STYLES: Readonly<Record<JobState, Style>> = {
  delayed: "dim",
  queued: "dim",
  running: "cyan",
  completed: "green",
  failed: "red",
  cancelled: "yellow",
};

export function showJobs(jobs: readonly JobInfo[], { paint, columns }: Output): string[] {
  return showColumns(
    jobs.map((job) => [
      job.id,
      job.state,
      safeLine(job.toolName),
      showTime(job.createdAt),
      durationOf(job),
      job.attempt > 1 ? `try ${job.attempt} of ${job.attempts}` : "",
      safeLine(progressOf(job) ?? job.display ?? ""),
    ]),
    { paint, columns, styles: ["bold"], styleOf: (cell, at) => (at === 1 ? STYLES[cell as JobState] : undefined) },
  );
}

export function* showJob(job: JobDetail): Iterable<string> {
  yield `${job.id}  ${job.state}  ${safeLine(job.toolName)}  (call ${safeLine(job.callId)})`;
  yield `made ${showTime(job.createdAt)}, try ${job.attempt} of ${job.attempts}, priority ${job.priority}`;
  if (job.state === "delayed") yield `not before ${showTime(job.runAt)}`;
  if (job.startedAt !== undefined)
    yield `begun ${showTime(job.startedAt)}${job.worker ? ` by ${safeLine(job.worker)}` : ""}`;
  if (job.endedAt !== undefined) yield `ended ${showTime(job.endedAt)}, after ${durationOf(job)}`;
  const progress = progressOf(job);
  if (progress !== undefined && job.endedAt === undefined) yield `progress ${safeLine(progress)}`;
  yield `input ${safe(showJson(job.input))}`;
  for (const block of job.result?.content ?? []) if (block.type === "text") yield safe(block.text);
}

export function* showLogLine({ at, note, update }: JobLogLine): Iterable<string> {
  const time = showTime(at);
  if (note !== undefined) yield `${time}  ${safe(note)}`;
  for (const block of update?.content ?? []) if (block.type === "text") yield `${time}  ${safe(block.text)}`;
  if (update?.progress) yield `${time}  ${safeLine(showProgress(update.progress))}`;
}

function durationOf({ startedAt, endedAt }: JobInfo): string {
  return startedAt === undefined || endedAt === undefined ? "" : showDuration(endedAt - startedAt);
}

function progressOf({ progress, endedAt }: JobInfo): string | undefined {
  return progress && endedAt === undefined ? showProgress(progress) : undefined;
}

function showProgress({ done, total, message }: NonNullable<JobInfo["progress"]>): string {
  return [total === undefined ? `${done}` : `${done}/${total}`, message].filter(Boolean).join(" ");
}
