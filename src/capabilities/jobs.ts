import type { LoadedConfig } from "../config/load-config.ts";
import type { Clock } from "../core/clock.ts";
import { toolError } from "../core/error.ts";
import type { JobEvent, JobQueue } from "../calls/job-queue.ts";
import type { EngineOptions } from "../store/bullmq/engine.ts";
import { defineCapability } from "./capability.ts";

export interface JobQueueHost {
  /** The queue in the store, for the processes of one machine. */
  embedded: JobQueue;
  clock: Clock;
  warn(warning: string): void;
  /** Loads the packages. */
  load?: EngineOptions["load"];
}

/** The queue of background calls. */
export const jobs = defineCapability({
  name: "jobs",
  config: ["jobs", "store"],
  needs: ["store"],
  open({ config, clock, warn, store }) {
    const value = openJobQueue(config, { embedded: store.jobs, clock, warn });
    return { value, close: () => value.close() };
  },
});

/** In the file of the store, in the database of the store, or on Redis if `jobs.redisUrl` is set. */
export function openJobQueue(
  { value: { store, jobs } }: LoadedConfig,
  { embedded, clock, warn, load = {} }: JobQueueHost,
): JobQueue {
  const { url } = store;
  const { redisUrl } = jobs;
  if (url === undefined) {
    // Workers on other machines would have neither the journal nor the approvals of a job.
    if (redisUrl !== undefined) throw needsStore();
    return embedded;
  }
  return whenNeeded(async () => {
    const { openPostgresEngine, openRedisEngine } = await import("../store/bullmq/engine.ts");
    const { openBullMqJobs } = await import("../store/bullmq/bullmq-jobs.ts");
    const engine = await (redisUrl === undefined
      ? openPostgresEngine(url, { load })
      : openRedisEngine(redisUrl, { load }));
    return openBullMqJobs(engine, { clock });
  }, warn);
}

/** Connects at the first use: most commands do not use the queue. */
function whenNeeded(open: () => Promise<JobQueue>, warn: (warning: string) => void): JobQueue {
  let opened: Promise<JobQueue> | undefined;
  let isClosed = false;
  const queuedListeners = new Set<{ listener: (event: JobEvent) => void; leave?: () => void }>();
  const subscribeQueued = (real: JobQueue): JobQueue => {
    for (const queuedListener of queuedListeners) queuedListener.leave ??= real.subscribe(queuedListener.listener);
    return real;
  };
  const queue = (): Promise<JobQueue> => {
    if (isClosed) return Promise.reject(toolError("shutdown", "The queue is closed"));
    opened ??= open().then(subscribeQueued);
    // A failed connection is tried again at the next use.
    opened.catch(() => (opened = undefined));
    return opened;
  };
  return {
    submit: async (request) => (await queue()).submit(request),
    get: async (id) => (await queue()).get(id),
    list: async (query) => (await queue()).list(query),
    counts: async () => (await queue()).counts(),
    log: async (id, options) => (await queue()).log(id, options),
    cancel: async (id, reason) => (await queue()).cancel(id, reason),
    retry: async (id) => (await queue()).retry(id),
    clear: async (reason) => (await queue()).clear(reason),
    work: async (options) => (await queue()).work(options),
    subscribe(listener) {
      const queuedListener: { listener: typeof listener; leave?: () => void } = { listener };
      queuedListeners.add(queuedListener);
      queue().then(subscribeQueued, (error: Error) => warn(`Events of jobs do not arrive yet: ${error.message}`));
      return () => {
        queuedListeners.delete(queuedListener);
        queuedListener.leave?.();
      };
    },
    async close() {
      isClosed = true;
      await (await opened?.catch(() => undefined))?.close();
    },
  };
}

function needsStore(): Error {
  return toolError("conflict", "jobs.redisUrl is set, but the store is a file of this machine", {
    next: "Set store.url to a PostgreSQL database, which all workers share, or remove jobs.redisUrl.",
  });
}
