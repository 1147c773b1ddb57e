import type { CallStore } from "../../src/calls/call-store.ts";
import type { JobQueue } from "../../src/calls/job-queue.ts";
import { RowJobs } from "../../src/calls/row-jobs.ts";
import { systemClock } from "../../src/core/clock.ts";
import { openRedisEngine } from "../../src/store/bullmq/engine.ts";
import { WakeUps } from "../../src/store/bullmq/wake-ups.ts";

/** Where everybody of one test finds the same jobs. */
export interface JobLocation {
  storeUrl: string;
  redisUrl?: string;
  namespace: string;
  leaseMs: number;
}

export function openQueue({ redisUrl, namespace, leaseMs }: JobLocation, calls: CallStore): JobQueue {
  if (redisUrl === undefined) return new RowJobs({ clock: systemClock, calls });
  const connect = () => openRedisEngine(redisUrl);
  return new RowJobs({ clock: systemClock, calls, dispatcher: new WakeUps(connect, { leaseMs, namespace }) });
}
