import type { CallStore } from "../../src/calls/call-store.ts";
import type { JobQueue } from "../../src/calls/job-queue.ts";
import { RowJobs } from "../../src/calls/row-jobs.ts";
import { systemClock } from "../../src/core/clock.ts";
import { openPostgresEngine, openRedisEngine } from "../../src/store/bullmq/engine.ts";
import { WakeUps } from "../../src/store/bullmq/wake-ups.ts";

/** Where everybody of one test finds the same jobs. */
export interface JobLocation {
  storeUrl: string;
  redisUrl?: string;
  namespace: string;
  leaseMs: number;
}

export function openQueue({ storeUrl, redisUrl, namespace, leaseMs }: JobLocation, calls: CallStore): JobQueue {
  const connect = () => (redisUrl === undefined ? openPostgresEngine(storeUrl) : openRedisEngine(redisUrl));
  return new RowJobs({ clock: systemClock, calls, dispatcher: new WakeUps(connect, { leaseMs, namespace }) });
}
