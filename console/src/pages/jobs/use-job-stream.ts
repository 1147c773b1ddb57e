import { useEffect, useState } from "react";
import type { JobDetail, JobFrame, JobLogLine } from "../../../../src/http/wire.ts";
import { addressOf } from "../../api.ts";

/** As many as a person reads; the server keeps not many more. */
const MAX_LINES = 1000;

/** A job's log as it grows, and the job as it is; until it ends. `round` is another number when it is run again. */
export function useJobStream(id: string, round: number): { lines: JobLogLine[]; job: JobDetail | undefined } {
  const [lines, setLines] = useState<JobLogLine[]>([]);
  const [job, setJob] = useState<JobDetail>();
  useEffect(() => {
    const stream = new EventSource(addressOf(`jobs/${encodeURIComponent(id)}/updates`), { withCredentials: true });
    const onMessage = (event: MessageEvent<string>): void => {
      const frame = JSON.parse(event.data) as JobFrame;
      if (frame.type === "line") {
        setLines((before) => [...before, frame.line].slice(-MAX_LINES));
        return;
      }
      setJob(frame.job);
      if (frame.job.endedAt !== undefined) stream.close();
    };
    // Whoever connects again is told everything again.
    stream.addEventListener("open", () => setLines([]));
    stream.addEventListener("line", onMessage);
    stream.addEventListener("job", onMessage);
    return () => stream.close();
  }, [id, round]);
  return { lines, job };
}
