import { systemClock } from "../core/clock.ts";
import { describeJobQueue } from "../calls/job-queue.suite.ts";
import { MemoryJobs } from "./memory-job-queue.ts";

describeJobQueue("memory", async () => {
  const queue = new MemoryJobs(systemClock);
  return { queue, another: async () => queue, close: () => queue.close() };
});
