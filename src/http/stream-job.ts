import type { Door } from "./door.ts";
import type { JobsPart } from "./host-parts.ts";
import { isCurrent } from "./identify.ts";
import type { Ask } from "./route.ts";
import { EventStream } from "./streams.ts";
import type { JobDetail, JobFrame } from "./wire.ts";

/** The log of a job, then what comes to it as it comes; the last frame is the ended job. */
export function streamJob(job: JobDetail, part: JobsPart, door: Door, { identity, incoming, outgoing }: Ask): void {
  door.streams.admit();
  const { mostUnread } = door.streams;
  const stream = new EventStream(outgoing, { mostUnread, headers: door.streamHeaders(incoming) });
  const send = (frame: JobFrame): void => stream.send(`event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`);
  let last = 0;
  let shown = "";
  let isBehind = false;
  let isReading = false;
  const unfollow = part.follow(job.id, hear);
  const remove = door.streams.add({
    beat: () => {
      stream.send(": \n\n");
      // Also where an event of another process was lost.
      hear();
      void isCurrent(identity, door.tokens, door.clock).then((current) => current || stream.end());
    },
    close: () => stream.end(),
  });
  stream.onClosed(() => {
    unfollow();
    remove();
  });
  hear();

  function hear(): void {
    isBehind = true;
    if (!isReading) void read();
  }

  /** One reading at a time: what happens meanwhile makes one more. */
  async function read(): Promise<void> {
    isReading = true;
    try {
      while (isBehind) {
        isBehind = false;
        if (await tell()) stream.end();
      }
    } catch {
      // The store does not answer: the asker comes again, and begins anew.
      stream.end();
    } finally {
      isReading = false;
    }
  }

  /** Whether that was the end. */
  async function tell(): Promise<boolean> {
    const found = await part.find(job.id);
    for (const line of await part.log(job.id, last)) {
      last = line.number;
      send({ type: "line", line });
    }
    if (!found) return true;
    const state = JSON.stringify(found);
    if (state !== shown) send({ type: "job", job: found });
    shown = state;
    return found.endedAt !== undefined;
  }
}
