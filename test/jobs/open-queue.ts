import type { JobQueue } from "../../src/calls/job-queue.ts";
import { openPostgresEngine, openRedisEngine } from "../../src/store/bullmq/engine.ts";
import { openBullMqJobs } from "../../src/store/bullmq/bullmq-jobs.ts";

/** Where everybody of one test finds the same jobs. */
export interface JobLocation {
  storeUrl: string;
  redisUrl?: string;
  namespace: string;
  leaseMs: number;
}

export async function openQueue({ storeUrl, redisUrl, namespace, leaseMs }: JobLocation): Promise<JobQueue> {
  const engine = redisUrl === undefined ? await openPostgresEngine(storeUrl) : await openRedisEngine(redisUrl);
  return openBullMqJobs(engine, { leaseMs, namespace });
}
