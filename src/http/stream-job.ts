import type { ApiContext } from "./door.ts";
import type { JobsCapability } from "./host-parts.ts";
import { isCurrent } from "./identify.ts";
import type { RequestContext } from "./route.ts";
import { EventStream } from "./streams.ts";
import type { JobDetail, JobFrame } from "./wire.ts";

/** The log of a job, then what comes to it as it comes; the last frame is the ended job. */
export function streamJob(
  job: JobDetail,
  part: JobsCapability,
  api: ApiContext,
  { identity, incoming, outgoing }: RequestContext,
): void {
  api.streams.admit();
  const { maxUnread } = api.streams;
  const stream = new EventStream(outgoing, { maxUnread, headers: api.streamHeaders(incoming) });
  const send = (frame: JobFrame): void => stream.send(`event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`);
  let last = 0;
  let shown = "";
  let isBehind = false;
  let isReading = false;
  const unfollow = part.follow(job.id, onChange);
  const remove = api.streams.add({
    heartbeat: () => {
      stream.send(": \n\n");
      // Also where an event of another process was lost.
      onChange();
      void isCurrent(identity, api.tokens, api.clock).then((current) => current || stream.end());
    },
    close: () => stream.end(),
  });
  stream.onClosed(() => {
    unfollow();
    remove();
  });
  onChange();

  function onChange(): void {
    isBehind = true;
    if (!isReading) void read();
  }

  /** One reading at a time: what happens meanwhile makes one more. */
  async function read(): Promise<void> {
    isReading = true;
    try {
      while (isBehind) {
        isBehind = false;
        if (await sendChanges()) stream.end();
      }
    } catch {
      // The store does not answer: the asker comes again, and begins anew.
      stream.end();
    } finally {
      isReading = false;
    }
  }

  /** Whether that was the end. */
  async function sendChanges(): Promise<boolean> {
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
