import type { Job } from "../jobs/job.ts";
import type { BullJob } from "./bullmq-engine.ts";
import type { ToolQueues } from "./bullmq-lanes.ts";
import { type BullState, readJob, readJobData, toolOfId } from "./bullmq-record.ts";

const MAX_CANCELLED = 5_000;
const CANCELLED_RETENTION_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * BullMQ ends only what a worker has taken, and knows no cancelled ones: they are moved to a queue that nobody works on. First
 * it is there, then it is gone here, so that it can be found at any moment. False where a worker has it.
 */
export async function moveToCancelled(toolQueues: ToolQueues, id: string, state: BullState): Promise<boolean> {
  const queue = toolQueues.queueOf(toolOfId(id)!);
  const bull = await queue.getJob(id);
  if (!bull) return true;
  const { order } = readJobData(bull);
  const job = readJob(bull, state);
  const { logs } = await queue.getJobLogs(id);
  const moved = await toolQueues.cancelled.add(
    job.call.toolName,
    JSON.stringify({ moved: job, order } satisfies Moved),
    {
      jobId: id,
      timestamp: job.endedAt,
    },
  );
  for (const row of logs) await moved.log(row);
  try {
    await bull.remove();
  } catch {
    // Taken by a worker meanwhile, who finds that it is cancelled.
    if (await bull.isActive()) {
      await moved.remove();
      return false;
    }
  }
  await drop(toolQueues);
  return true;
}

interface Moved {
  moved: Job;
  order: number;
}

export function readMoved(bull: BullJob): Moved {
  return JSON.parse(bull.data) as Moved;
}

/** Now and then, as BullMQ does with those that it ended itself. */
async function drop(toolQueues: ToolQueues): Promise<void> {
  if (Math.random() > 0.01) return;
  await toolQueues.cancelled.clean(CANCELLED_RETENTION_MS, 0, "wait");
  const extra = (await toolQueues.cancelled.getWaitingCount()) - MAX_CANCELLED;
  if (extra > 0) await toolQueues.cancelled.clean(0, extra, "wait");
}
