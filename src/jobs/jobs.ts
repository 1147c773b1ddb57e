import { hostname } from "node:os";
import type { Call, CallOptions } from "../core/call.ts";
import type { Clock, Timer } from "../core/clock.ts";
import type { EventEmitter } from "../core/emitter.ts";
import type { ToolRegistry } from "../core/registry.ts";
import type { ToolResult } from "../core/result.ts";
import type { AnyTool } from "../core/tool.ts";
import { cancelledJob, unknownJob } from "./job-failure.ts";
import { hasEnded, type Job, type JobRequest } from "./job.ts";
import type { JobEvent, JobQueue, JobWorker } from "./job-queue.ts";
import { OpenContexts, type ResultListener } from "./joined-contexts.ts";
import { MissedJobResults } from "./missed-ends.ts";
import { endJob, runJob, type SecondPassGate } from "./run-job.ts";
import { JobEventEmitter } from "./tell-job.ts";

export interface JobsOptions {
  queue: JobQueue;
  /** Whether the queue is closed with this. */
  ownsQueue: boolean;
  gate: SecondPassGate;
  registry: Pick<ToolRegistry, "list">;
  events: EventEmitter;
  clock: Clock;
  /** The worker that begins with the first submission; `false`: jobs of this process run elsewhere. */
  worker?: WorkerOptions | false;
  /** Told of a context that failed; nothing else is affected by it. */
  onContextError?: (error: unknown) => void;
}

export interface WorkerOptions {
  /** What it is called in the jobs that it takes; the host where absent. */
  name?: string;
  concurrency?: number;
  /** Which tools it takes jobs of; all that there are where absent. */
  takes?(tool: AnyTool): boolean;
}

/** What runs later: the queue, the worker of this process, and the way of results back to the calls they belong to. */
export interface Jobs extends Pick<JobQueue, "get" | "list" | "counts" | "log" | "retry" | "clear" | "subscribe"> {
  readonly queue: JobQueue;
  /** How many run in this process. */
  readonly running: number;
  cancel(id: string, reason?: string): Promise<Job>;
  /** The result once the job has ended; `pending` where this runtime is closed before. Rejects when the signal is aborted. */
  wait(id: string, options?: { signal?: AbortSignal }): Promise<ToolResult>;
  /**
   * Results of background calls reach this context by their call ids, and every result its `onToolCall`. What ended before,
   * while nobody was here, is joined at once. Gives what stops it.
   */
  follow(context: ResultListener): () => void;
  /** Tells every followed context of a result, as the loop of an agent does with those that it got at once. */
  processToolCallResult(result: ToolResult | undefined): void;
  /** Takes jobs from now on, also those that others left. There is one worker a runtime. */
  work(options?: WorkerOptions): Promise<JobWorker>;
  /** Takes no more, gives what runs this much time, hands back the rest. */
  close(graceMs?: number): Promise<void>;
}

interface Waiter {
  job: Job;
  settle(result: ToolResult): void;
}

const DEFAULT_CONCURRENCY = 8;
/** Further away than anybody waits: a timer that only keeps the process alive. */
const FAR_MS = 2_000_000_000;
let workers = 0;

export function createJobs(options: JobsOptions): Jobs & { submit(request: JobRequest, call: Call): Promise<Job> } {
  const { queue, gate, registry, clock } = options;
  const contexts = new OpenContexts(options.onContextError);
  const jobEvents = new JobEventEmitter(options.events, clock);
  /** Jobs for calls that were made here, by their ids: calls with one key share a job. */
  const submitted = new Map<string, Map<string, CallOptions["onUpdate"]>>();
  /** Jobs of this process that run elsewhere. */
  const elsewhere = new Map<string, Job>();
  const ranHere = new Set<string>();
  /** Submissions whose jobs have no ids here yet. */
  const submitting = new Set<Promise<unknown>>();
  const waiters = new Set<Waiter>();
  const missedEnds = new MissedJobResults({
    clock,
    *awaited() {
      for (const { job } of waiters) yield job.id;
      yield* submitted.keys();
    },
    find: (id) => queue.get(id),
    notify: ended,
  });
  /** Of the worker here. No other has it: by it we know our own jobs. */
  let workerName: string | undefined;
  let worker: Promise<JobWorker> | undefined;
  let working: JobWorker | undefined;
  let unsubscribe: (() => void) | undefined;

  return {
    queue,
    get running() {
      return working?.running ?? 0;
    },
    get: (id) => queue.get(id),
    list: (query) => queue.list(query),
    counts: () => queue.counts(),
    log: (id, from) => queue.log(id, from),
    subscribe: (listener) => queue.subscribe(listener),
    submit,
    cancel,
    clear,
    async retry(id) {
      onJobEvent();
      const job = await queue.retry(id);
      noteSubmitted(job, job.call.callId);
      return job;
    },
    wait,
    follow(context) {
      onJobEvent();
      const unfollow = contexts.add(context);
      for (const { pending } of context.awaited?.() ?? []) {
        if (pending.kind === "job") void queue.get(pending.id).then((job) => joinEnded(context, job));
      }
      return unfollow;
    },
    processToolCallResult(result) {
      if (result) contexts.notify(result);
    },
    work,
    async close(graceMs) {
      missedEnds.close();
      await (await worker)?.close(graceMs);
      if (options.ownsQueue) await queue.close();
      unsubscribe?.();
      for (const { job, settle } of waiters) settle(stillPending(job));
    },
  };

  /** From the first need on: a runtime without background calls listens to nothing. */
  function onJobEvent(): void {
    unsubscribe ??= queue.subscribe(onEvent);
  }

  function submit(request: JobRequest, call: Call): Promise<Job> {
    onJobEvent();
    if (options.worker !== false) void work().catch(() => undefined);
    const submission = queue
      .submit(request)
      .then((job) => (noteSubmitted(job, call.id, call.options.onUpdate), job))
      .finally(() => submitting.delete(submission));
    submitting.add(submission);
    return submission;
  }

  function noteSubmitted({ id }: Job, callId: string, onUpdate?: CallOptions["onUpdate"]): void {
    const calls = submitted.get(id) ?? new Map<string, CallOptions["onUpdate"]>();
    submitted.set(id, calls.set(callId, onUpdate));
    missedEnds.watch();
  }

  async function cancel(id: string, reason?: string): Promise<Job> {
    onJobEvent();
    const before = await queue.get(id);
    if (!before) throw unknownJob(id);
    const job = await queue.cancel(id, reason);
    await recordUnrun(before, job, reason);
    return job;
  }

  async function clear(reason?: string): Promise<number> {
    onJobEvent();
    const waiting = await queue.list({ states: ["queued", "delayed"], limit: Number.MAX_SAFE_INTEGER });
    const count = await queue.clear(reason);
    for (const before of waiting) {
      const job = await queue.get(before.id);
      if (job) await recordUnrun(before, job, reason);
    }
    return count;
  }

  /** A job that was cancelled before its turn is recorded by whoever did it: no worker will. */
  async function recordUnrun(before: Job, job: Job, reason: string | undefined): Promise<void> {
    if (hasEnded(before) || before.state === "running") return;
    if (job.state === "cancelled" && job.startedAt === before.startedAt) {
      await endJob(job, cancelledJob(job.id, reason), gate);
    }
  }

  async function wait(id: string, { signal }: { signal?: AbortSignal } = {}): Promise<ToolResult> {
    onJobEvent();
    const job = await queue.get(id);
    if (!job) throw unknownJob(id);
    signal?.throwIfAborted();
    const keepAlive: Timer = clock.after(FAR_MS, () => undefined);
    let waiter: Waiter | undefined;
    let onAbort: (() => void) | undefined;
    try {
      return await new Promise<ToolResult>((resolve, reject) => {
        waiters.add((waiter = { job, settle: resolve }));
        missedEnds.watch();
        onAbort = () => reject(signal?.reason as Error);
        signal?.addEventListener("abort", onAbort, { once: true });
        // It may have ended before anybody listened: then its end is told first here, too.
        queue.get(id).then(
          (now) => (now && hasEnded(now) ? ended(now) : undefined),
          () => undefined,
        );
      });
    } finally {
      keepAlive.cancel();
      if (waiter) waiters.delete(waiter);
      if (onAbort) signal?.removeEventListener("abort", onAbort);
    }
  }

  function work(own: WorkerOptions = {}): Promise<JobWorker> {
    onJobEvent();
    const given = { ...(options.worker === false ? undefined : options.worker), ...own };
    const { name = hostname(), concurrency = DEFAULT_CONCURRENCY, takes = () => true } = given;
    workerName ??= `${name}/${process.pid}/${++workers}`;
    worker ??= queue
      .work({
        name: workerName,
        concurrency,
        tools: () =>
          registry
            .list()
            .filter(takes)
            .map((tool) => tool.name),
        run(job, context) {
          ranHere.add(job.id);
          return runJob(job, context, gate);
        },
      })
      .then((begun) => (working = begun));
    // What could not begin may be tried again.
    worker.catch(() => (worker = undefined));
    return worker;
  }

  function onEvent(event: JobEvent): void {
    if (event.type === "ended") {
      if (submitting.size === 0 || submitted.has(event.job.id)) return ended(event.job);
      // Perhaps the job of one of these: its call is answered first.
      return void Promise.allSettled(submitting).then(() => setImmediate(ended, event.job));
    }
    if (event.type === "started") {
      // Of what runs here the gate speaks itself.
      if (event.job.worker === workerName || !submitted.has(event.job.id)) return;
      elsewhere.set(event.job.id, event.job);
      jobEvents.started(event.job);
    } else if (event.type === "updated") {
      const job = elsewhere.get(event.jobId);
      if (job) jobEvents.updated(job, event.update);
      for (const onUpdate of submitted.get(event.jobId)?.values() ?? []) reportUpdate(onUpdate, event.update);
    }
  }

  /** Whatever the process it ran in: here the end is told once, and only after it can be read. */
  function ended(job: Job): void {
    const { result } = job;
    if (!result) return;
    const calls = new Set(submitted.get(job.id)?.keys());
    if (ranHere.delete(job.id) || contexts.await(job.id, job.call.callId)) calls.add(job.call.callId);
    submitted.delete(job.id);
    elsewhere.delete(job.id);
    for (const callId of calls) {
      const own = callId === result.callId ? result : { ...result, callId };
      contexts.join(job.id, own);
      jobEvents.ended(job, own);
    }
    for (const waiter of waiters) if (waiter.job.id === job.id) waiter.settle(result);
  }

  function joinEnded(context: ResultListener, job: Job | undefined): void {
    if (job?.result && hasEnded(job)) contexts.join(job.id, job.result, [context]);
  }
}

function reportUpdate(onUpdate: CallOptions["onUpdate"], update: Parameters<NonNullable<typeof onUpdate>>[0]): void {
  try {
    const returned: unknown = onUpdate?.(update);
    if (returned instanceof Promise) returned.catch(() => undefined);
  } catch {
    // The listener's trouble, not the job's.
  }
}

function stillPending({ id, call: { callId, toolName }, createdAt }: Job): ToolResult {
  const message = `Job ${id} has not ended, and nobody here waits for it any more. Ask for it again later.`;
  return {
    ...{ callId, toolName, status: "pending", success: false, content: [{ type: "text", text: message }] },
    ...{ display: message, pending: { kind: "job", id }, metadata: {}, startedAt: createdAt },
  };
}
