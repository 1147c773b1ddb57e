import type { Clock } from "../core/clock.ts";
import type { Update } from "../core/event.ts";
import type { Job, JobLogLine } from "../jobs/job.ts";
import type { BullJob } from "./bullmq-engine.ts";
import type { Progress } from "./bullmq-record.ts";

const MAX_WAITING = 1_000;
const LINES_PER_ROW = 20;

/** Writes what a running job says: one write at a time, and what comes meanwhile is the next. */
export function saveUpdates(
  bull: BullJob,
  job: Job,
  clock: Clock,
): { add(update: Update): void; close(): Promise<void> } {
  let waiting: JobLogLine[] = [];
  let progress = job.progress;
  let number = 0;
  let writing: Promise<void> | undefined;

  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      const updates = lines.flatMap(({ update }) => update ?? []);
      const snapshot: Progress = { callId: job.call.callId, ...(progress ? { progress } : {}), updates };
      try {
        for (let i = 0; i < lines.length; i += LINES_PER_ROW) {
          await bull.log(JSON.stringify(lines.slice(i, i + LINES_PER_ROW)));
        }
        await bull.updateProgress(JSON.stringify(snapshot));
      } catch {
        // What was said on the way is lost; the job is not.
      }
    }
    writing = undefined;
  }

  return {
    add(update) {
      const at = clock.now();
      // Grows over several tries, too.
      number = Math.max(number + 1, at * 1000);
      progress = update.progress ?? progress;
      waiting.push({ number, at, update });
      if (waiting.length > MAX_WAITING) waiting.shift();
      writing ??= write();
    },
    async close() {
      await writing;
    },
  };
}
