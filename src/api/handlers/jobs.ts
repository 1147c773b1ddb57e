import { hasEnded, type Job } from "../../calls/job.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import { type Identity, requireScope } from "../../contracts/identity.ts";
import type { JobDetail, JobFrame, JobInfo, jobs as contract } from "../../contracts/jobs.ts";
import type { Clock } from "../../core/clock.ts";
import type { Jobs } from "../../jobs/jobs.ts";

const DEFAULT_LIMIT = 50;
/** A watched job is read again after this time, in case an event of another process was lost. */
const POLL_MS = 15_000;

export interface JobsApiOptions {
  jobs: Jobs;
  clock: Clock;
}

export function createJobsApi({ jobs, clock }: JobsApiOptions): Handlers<typeof contract> {
  const find = async (id: string): Promise<Job> => {
    // A store may fail on a NUL character, and keeps none.
    const job = id.includes("\0") ? undefined : await jobs.get(id);
    if (job) return job;
    throw new ApiError("not_found", "There is no such job", "Look at GET /api/jobs.");
  };

  /** Jobs of others need the scope `admin`. */
  const findOwn = async (id: string, identity: Identity): Promise<Job> => {
    const job = await find(id);
    if (job.call.caller.user !== identity.name) requireScope(identity, "admin", "To control a job of another user");
    return job;
  };

  return {
    async list({ query: { state, tool, session, limit = DEFAULT_LIMIT, cursor } }) {
      const query = { states: state, toolName: tool, session, before: cursor, limit: limit + 1 };
      const [found, counts] = await Promise.all([jobs.list(query), jobs.counts()]);
      const items = found.slice(0, limit).map(infoOf);
      return { items, next: found.length > limit ? items.at(-1)?.id : undefined, counts };
    },
    get: async ({ params }) => detailOf(await find(params.id)),
    async log({ params, query: { after = 0 } }) {
      const { id } = await find(params.id);
      return { items: await jobs.log(id, { after }) };
    },
    async watch({ params, signal }) {
      const { id } = await find(params.id);
      return watch(jobs, clock, id, signal);
    },
    async cancel({ params, body, identity }) {
      const { id } = await findOwn(params.id, identity);
      return detailOf(await jobs.cancel(id, body.reason));
    },
    async retry({ params, identity }) {
      const { id } = await findOwn(params.id, identity);
      return detailOf(await jobs.retry(id));
    },
  };
}

/** The log from its first line, and each change of the job. Ends with the ended job. */
async function* watch(jobs: Jobs, clock: Clock, id: string, signal: AbortSignal): AsyncGenerator<JobFrame> {
  let wake: () => void = () => undefined;
  let isBehind = true;
  const onChange = (): void => {
    isBehind = true;
    wake();
  };
  const stop = jobs.subscribe((event) => {
    if (("job" in event ? event.job.id : event.jobId) === id) onChange();
  });
  signal.addEventListener("abort", onChange, { once: true });
  try {
    let last = 0;
    let shown = "";
    while (!signal.aborted) {
      if (!isBehind) {
        const timer = clock.after(POLL_MS, onChange);
        timer.setRef(false);
        await new Promise<void>((resolve) => (wake = resolve));
        timer.cancel();
        continue;
      }
      isBehind = false;
      const job = await jobs.get(id);
      for (const line of await jobs.log(id, { after: last })) {
        last = line.number;
        yield { type: "line", line };
      }
      if (!job) return;
      const detail = detailOf(job);
      const state = JSON.stringify(detail);
      if (state !== shown) yield { type: "job", job: detail };
      shown = state;
      if (job.endedAt !== undefined) return;
    }
  } finally {
    stop();
  }
}

function infoOf({ call: { callId, toolName, caller }, key: _key, result, ...job }: Job): JobInfo {
  return { ...job, callId, toolName, caller, display: hasEnded(job) ? result?.display : undefined };
}

function detailOf(job: Job): JobDetail {
  return { ...infoOf(job), input: job.call.input, result: job.result };
}
