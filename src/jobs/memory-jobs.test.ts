import { systemClock } from "../core/clock.ts";
import { describeJobQueue } from "./job-queue.suite.ts";
import { MemoryJobs } from "./memory-jobs.ts";

describeJobQueue("memory", async () => {
  const queue = new MemoryJobs(systemClock);
  return { queue, another: async () => queue, close: () => queue.close() };
});
