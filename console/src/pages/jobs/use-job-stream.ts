import { useState } from "react";
import type { JobDetail, JobLogLine } from "../../../../src/contracts/jobs.ts";
import { api } from "../../api.ts";
import { useStream } from "../../streams.ts";

/** More than a person reads; the server keeps about as many. */
const MAX_LINES = 1000;

/** The log of a job and the job itself, live until it ends. `round` changes when the job is run again. */
export function useJobStream(id: string, round: number): { lines: JobLogLine[]; job: JobDetail | undefined } {
  const [lines, setLines] = useState<JobLogLine[]>([]);
  const [job, setJob] = useState<JobDetail>();
  useStream(
    (signal) => {
      setLines([]);
      return api.jobs.watch(id, { signal });
    },
    (frame) => {
      if (frame.type === "line") setLines((before) => [...before, frame.line].slice(-MAX_LINES));
      else setJob(frame.job);
    },
    `${id} ${round}`,
  );
  return { lines, job };
}
