import { hasEnded, type Job } from "../../calls/job.ts";
import type { Jobs } from "../../jobs/jobs.ts";
import type { JobsCapability } from "../host-parts.ts";
import type { JobDetail, JobInfo } from "../wire.ts";

/** The jobs of a runtime in the words of the wire. */
export function jobsCapability(jobs: Jobs): JobsCapability {
  return {
    async list(query) {
      const found = await jobs.list({ ...query, limit: query.limit + 1 });
      const items = found.slice(0, query.limit).map(infoOf);
      const last = items.at(-1);
      return {
        items,
        next: found.length > items.length && last ? last.id : undefined,
        counts: await jobs.counts(),
      };
    },
    async find(id) {
      const job = await jobs.get(id);
      return job && detailOf(job);
    },
    log: (id, after) => jobs.log(id, { after }),
    cancel: async (id, reason) => detailOf(await jobs.cancel(id, reason)),
    retry: async (id) => detailOf(await jobs.retry(id)),
    follow: (id, onChange) =>
      jobs.subscribe((event) => {
        if (("job" in event ? event.job.id : event.jobId) === id) onChange();
      }),
  };
}

function infoOf({ call: { callId, toolName, caller }, key: _key, result, ...job }: Job): JobInfo {
  return { ...job, callId, toolName, caller, ...(result && hasEnded(job) ? { display: result.display } : {}) };
}

function detailOf(job: Job): JobDetail {
  const { call, result } = job;
  return { ...infoOf(job), input: call.input, ...(result ? { result } : {}) };
}
