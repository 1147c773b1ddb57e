import { systemClock } from "../core/clock.ts";
import { describeJobQueue } from "./job-queue.suite.ts";
import { RowJobs } from "./row-jobs.ts";

describeJobQueue("memory", async () => {
  const queue = new RowJobs({ clock: systemClock });
  return { queue, another: async () => queue, close: () => queue.close() };
});
