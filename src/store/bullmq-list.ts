import { hasEnded, type Job, type JobState } from "../jobs/job.ts";
import type { JobQuery } from "../jobs/job-queue.ts";
import { readMoved } from "./bullmq-cancelled.ts";
import type { ToolQueues } from "./bullmq-lanes.ts";
import { type BullState, readJob, readJobData } from "./bullmq-record.ts";

/** Of each tool and state, at least so many are looked at: BullMQ has them in another order than that of their creation. */
const MIN_READ = 1_000;
const MAX_READ = 100_000;

const BULL_STATES: Readonly<Record<JobState, readonly BullState[]>> = {
  delayed: ["delayed"],
  queued: ["waiting", "prioritized"],
  running: ["active"],
  completed: ["completed"],
  failed: ["failed"],
  cancelled: ["waiting", "prioritized", "delayed", "failed"],
};

interface Listed {
  job: Job;
  order: number;
}

/** Newest first. */
export async function listJobs(
  toolQueues: ToolQueues,
  { states, toolName, session, limit = 100, before }: JobQuery,
  find: (id: string) => Promise<Job | undefined>,
): Promise<Job[]> {
  const wanted = new Set<BullState>(
    (states ?? (Object.keys(BULL_STATES) as JobState[])).flatMap((state) => BULL_STATES[state]),
  );
  const max = Math.min(Math.max(limit, MIN_READ), MAX_READ);
  const reading: Promise<Listed[]>[] = [];
  for (const tool of toolName === undefined ? toolQueues.tools : [toolName]) {
    if (toolQueues.tools.has(tool))
      for (const state of wanted) reading.push(readQueue(toolQueues, tool, { state, max }));
  }
  if (!states || states.includes("cancelled")) reading.push(readCancelled(toolQueues, max));
  const listed = new Map<string, Listed>();
  for (const each of (await Promise.all(reading)).flat()) listed.set(each.job.id, each);
  const end = before === undefined ? undefined : (listed.get(before)?.order ?? (await find(before))?.createdAt);
  return [...listed.values()]
    .filter(({ job, order }) => {
      if (states && !states.includes(job.state)) return false;
      if (toolName !== undefined && job.call.toolName !== toolName) return false;
      if (session !== undefined && job.call.caller.session !== session) return false;
      return end === undefined || order < end;
    })
    .sort((a, b) => b.order - a.order)
    .slice(0, limit)
    .map(({ job }) => job);
}

async function readQueue(
  toolQueues: ToolQueues,
  toolName: string,
  { state, max }: { state: BullState; max: number },
): Promise<Listed[]> {
  const jobData = await toolQueues.queueOf(toolName).getJobs([state], 0, max - 1, false);
  // One that was dropped or that went on between the two questions that this takes is missing, or is what it was.
  return jobData.flatMap((bull) => {
    if (!bull || (bull.finishedOn != null) !== (state === "completed" || state === "failed")) return [];
    return [{ job: readJob(bull, state), order: readJobData(bull).order }];
  });
}

async function readCancelled(toolQueues: ToolQueues, max: number): Promise<Listed[]> {
  const jobData = await toolQueues.cancelled.getJobs(["waiting"], 0, max - 1, false);
  return jobData.flatMap((bull) => {
    if (!bull) return [];
    const { moved, order } = readMoved(bull);
    return hasEnded(moved) ? [{ job: moved, order }] : [];
  });
}
