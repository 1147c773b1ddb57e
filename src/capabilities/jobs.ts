import type { JobQueue } from "../calls/job-queue.ts";
import { isAsked } from "../calls/approval.ts";
import { hasEnded, type Job } from "../calls/job.ts";
import { RowJobs } from "../calls/row-jobs.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import type { Handlers } from "../contracts/contract.ts";
import { notFound } from "../contracts/errors.ts";
import { type Identity, requireScope } from "../contracts/identity.ts";
import type { Contracts } from "../contracts/index.ts";
import type { JobDetail, JobFrame, JobInfo, JobWait } from "../contracts/jobs.ts";
import type { Clock } from "../core/clock.ts";
import { toolError } from "../core/error.ts";
import { hideAnswers } from "../core/result.ts";
import { summarizeCall } from "../gate/summarize-call.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { Haft } from "../runtime.ts";
import type { EngineOptions } from "../store/bullmq/engine.ts";
import { WakeUps } from "../store/bullmq/wake-ups.ts";
import { defineCapability } from "./capability.ts";

export interface JobQueueHost {
  /** The queue in the store. */
  embedded: JobQueue;
  clock: Clock;
  /** Loads the packages. */
  load?: EngineOptions["load"];
}

/** The queue of background calls. */
export const jobs = defineCapability({
  name: "jobs",
  config: ["jobs", "store"],
  needs: ["store"],
  open({ config, clock, store }) {
    const value = openJobQueue(config, { embedded: store.jobs, clock });
    return {
      value,
      api: ({ haft }) => ({ jobs: createJobsApi({ haft, clock }) }),
      close: () => value.close(),
    };
  },
});

/** Workers find jobs in the store. If `jobs.redisUrl` is set, they are woken through Redis. */
export function openJobQueue(
  { value: { store, jobs } }: LoadedConfig,
  { embedded, clock, load }: JobQueueHost,
): JobQueue {
  const { redisUrl } = jobs;
  if (redisUrl === undefined) return embedded;
  // Workers on other machines would have neither the journal nor the approvals of a job.
  if (store.url === undefined) throw needsStore();
  const connect = async () => (await import("../store/bullmq/engine.ts")).openRedisEngine(redisUrl, { load });
  return new RowJobs({ clock, calls: embedded.calls, dispatcher: new WakeUps(connect, { clock }) });
}

function needsStore(): Error {
  return toolError("conflict", "jobs.redisUrl is set, but the store is a file of this machine", {
    next: "Set store.url to a PostgreSQL database, which all workers share, or remove jobs.redisUrl.",
  });
}

const DEFAULT_LIMIT = 50;
/** A watched job is read again after this time, in case an event of another process was lost. */
const POLL_MS = 15_000;

export interface JobsApiOptions {
  haft: Haft;
  clock: Clock;
}

export function createJobsApi({ haft, clock }: JobsApiOptions): Handlers<Contracts["jobs"]> {
  const { jobs: all } = haft;
  const infoOf = (job: Job): Promise<JobInfo> => describe(job, haft);
  const detailOf = async (job: Job, { name, scopes }: Identity): Promise<JobDetail> => {
    const { call, result } = job;
    const isFor = isAsked(call.caller, { by: name, rights: scopes });
    return { ...(await infoOf(job)), input: call.input, result: result && !isFor ? hideAnswers(result) : result };
  };
  const find = async (id: string): Promise<Job> => {
    // A store may fail on a NUL character, and keeps none.
    const job = id.includes("\0") ? undefined : await all.get(id);
    if (job) return job;
    throw notFound("There is no such job", "jobs");
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
      const [found, counts] = await Promise.all([all.list(query), all.counts()]);
      const items = await Promise.all(found.slice(0, limit).map(infoOf));
      return { items, next: found.length > limit ? items.at(-1)?.id : undefined, counts };
    },
    get: async ({ params, identity }) => detailOf(await find(params.id), identity),
    async log({ params, query: { after = 0 } }) {
      const { id } = await find(params.id);
      return { items: await all.log(id, { after }) };
    },
    async watch({ params, identity, signal }) {
      const { id } = await find(params.id);
      return watch(all, { clock, id, signal, detailOf: (job) => detailOf(job, identity) });
    },
    async cancel({ params, body, identity }) {
      const { id } = await findOwn(params.id, identity);
      return detailOf(await all.cancel(id, body.reason), identity);
    },
    async retry({ params, identity }) {
      const { id } = await findOwn(params.id, identity);
      return detailOf(await all.retry(id), identity);
    },
  };
}

/** The log from its first line, and each change of the job. Ends with the ended job. */
async function* watch(
  all: Jobs,
  {
    clock,
    id,
    signal,
    detailOf,
  }: { clock: Clock; id: string; signal: AbortSignal; detailOf(job: Job): Promise<JobDetail> },
): AsyncGenerator<JobFrame> {
  let wake: () => void = () => undefined;
  let isBehind = true;
  const onChange = (): void => {
    isBehind = true;
    wake();
  };
  const stop = all.subscribe((event) => {
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
      const job = await all.get(id);
      for (const line of await all.log(id, { after: last })) {
        last = line.number;
        yield { type: "line", line };
      }
      if (!job) return;
      const detail = await detailOf(job);
      const state = JSON.stringify(detail);
      if (state !== shown) yield { type: "job", job: detail };
      shown = state;
      if (job.endedAt !== undefined) return;
    }
  } finally {
    stop();
  }
}

async function describe(job: Job, haft: Haft): Promise<JobInfo> {
  const { call, result, ...facts } = job;
  const { callId, toolName, caller, input } = call;
  const { subject, risk } = summarizeCall(haft.tools.registry.get(toolName), input);
  return {
    ...facts,
    callId,
    toolName,
    caller,
    subject,
    risk: risk.level,
    waitsFor: await waitOf(job, haft),
    display: hasEnded(job) && result ? hideAnswers(result).display : undefined,
  };
}

async function waitOf(
  { state, attempt, runAt, call }: Job,
  { approvals, tools: { registry } }: Haft,
): Promise<JobWait | undefined> {
  if (state === "delayed") return { type: attempt > 0 ? "retry" : "time", until: runAt };
  if (state === "queued") return { type: "worker" };
  if (state !== "running") return undefined;
  // The job itself was approved before it was queued; calls that it makes may ask.
  const open = await approvals.listOpen(call.caller);
  const question = open.find(({ callId }) => callId.startsWith(`${call.callId}/`));
  if (!question) return undefined;
  const { id: approvalId, toolName, input, summary } = question;
  const { subject } = summary ?? summarizeCall(registry.get(toolName), input);
  return { type: "approval", approvalId, toolName, subject };
}
