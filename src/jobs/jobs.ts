import { hostname } from "node:os";
import { BoundedMap } from "../core/bounded-map.ts";
import type { Calls } from "../calls/calls.ts";
import type { JobContext, JobEvent, JobOutcome, JobQueue, JobWorker } from "../calls/job-queue.ts";
import { cancelledJob, hasEnded, type Job, type JobRequest, unknownJob } from "../calls/job.ts";
import { type Call, type CallOptions, type CallToRun, fromCallData, type SecondPass } from "../core/call.ts";
import type { Clock, Timer } from "../core/clock.ts";
import { CloseStack } from "../core/close-stack.ts";
import { ERROR_CODES, isErrorCode, toolError, type ToolError, type ToolFailure } from "../core/error.ts";
import type { EventEmitter, Update } from "../core/events.ts";
import type { Gate } from "../core/gate.ts";
import type { ToolRegistry } from "../core/registry.ts";
import { type PendingResult, pendingResult, type ToolResult } from "../core/result.ts";
import type { ToolCallParams } from "../core/tool-call-context.ts";
import type { AnyTool } from "../core/tool.ts";

export interface JobsOptions {
  queue: JobQueue;
  /** Of a call that a person approved. */
  calls: Pick<Calls, "takeClaimed" | "setClaimed">;
  /** Whether the queue is closed with the jobs. */
  ownsQueue: boolean;
  /** Read when it is needed: the gate has a stage that submits jobs. */
  gate: () => Gate;
  registry: Pick<ToolRegistry, "list" | "get">;
  events: EventEmitter;
  clock: Clock;
  /** The worker that starts with the first submission; `false`: jobs of this process run elsewhere. */
  worker?: WorkerOptions | false;
  /** Called if a context throws. Other contexts are not affected. */
  onContextError?: (error: unknown) => void;
}

export interface WorkerOptions {
  /** Its name in the jobs that it takes. Default: the host name. */
  name?: string;
  /** How many jobs it runs at a time, from 1 to 1000. Default: 8. */
  concurrency?: number;
  /** Selects the tools whose jobs it takes. Default: all. */
  takes?(tool: AnyTool): boolean;
}

/** Background calls: the queue, the worker of this process, and the delivery of results to their calls. */
export interface Jobs extends Pick<JobQueue, "get" | "list" | "counts" | "log" | "retry" | "clear" | "subscribe"> {
  /** How many run in this process. */
  readonly running: number;
  cancel(id: string, reason?: string): Promise<Job>;
  /** The result when the job has ended; `pending` if this runtime is closed first. Rejects if the signal is aborted. */
  wait(id: string, options?: { signal?: AbortSignal }): Promise<ToolResult>;
  /**
   * Delivers results of background calls to this context by their call ids, and the result of every call of this runtime
   * to its `onToolCall`, except of calls inside other calls. Results of background calls that arrived before are delivered
   * at once. Returns a function that stops it.
   */
  follow(context: ResultListener): () => void;
  /** Reports a result of another runtime to every followed context. One that was reported before is ignored. */
  processToolCallResult(result: ToolResult | undefined): void;
  /** Starts to take jobs, also those that other processes left. A runtime has one worker. */
  work(options?: WorkerOptions): Promise<JobWorker>;
  /** Takes no more jobs, waits `graceMs` for running ones and returns the others to the queue. */
  close(graceMs?: number): Promise<void>;
}

interface Waiter {
  job: Job;
  settle(result: ToolResult): void;
}

const DEFAULT_CONCURRENCY = 8;
const MAX_CONCURRENCY = 1000;
const MAX_REPORTED = 1000;
/** Longer than any wait: a timer that only keeps the process alive. */
const FAR_MS = 2_000_000_000;
let workers = 0;

/** `submit` is separate from the public object: its caller chooses the verdict of the queued call. */
export interface OpenedJobs {
  jobs: Jobs;
  submit(request: JobRequest, call: Call): Promise<Job>;
}

export function createJobs(options: JobsOptions): OpenedJobs {
  const { queue } = options;
  const service = new JobService(options);
  const jobs: Jobs = {
    get running() {
      return service.running;
    },
    get: (id) => queue.get(id),
    list: (query) => queue.list(query),
    counts: () => queue.counts(),
    log: (id, from) => queue.log(id, from),
    subscribe: (listener) => queue.subscribe(listener),
    cancel: (id, reason) => service.cancel(id, reason),
    clear: (reason) => service.clear(reason),
    retry: (id) => service.retry(id),
    wait: (id, wait) => service.wait(id, wait),
    follow: (context) => service.follow(context),
    processToolCallResult: (result) => service.processToolCallResult(result),
    work: (own) => service.work(own),
    close: (graceMs) => service.close(graceMs),
  };
  return { jobs, submit: (request, call) => service.submit(request, call) };
}

class JobService {
  readonly #options: JobsOptions;
  readonly #queue: JobQueue;
  readonly #contexts: OpenContexts;
  readonly #jobEvents: JobEventEmitter;
  readonly #missedResults: MissedJobResults;
  /** Jobs of calls that were made here, with their ids: calls with the same key share a job. */
  readonly #submitted = new Map<string, Map<string, CallOptions["onUpdate"]>>();
  /** Jobs of this process that run elsewhere. */
  readonly #elsewhere = new Map<string, Job>();
  readonly #ranHere = new Set<string>();
  /** Submissions whose job ids are not known yet. */
  readonly #submitting = new Set<Promise<unknown>>();
  readonly #waiters = new Set<Waiter>();
  /** Unique: jobs of the worker of this process are recognised by it. */
  #workerName: string | undefined;
  #starting: Promise<JobWorker> | undefined;
  #worker: JobWorker | undefined;
  #unsubscribe: (() => void) | undefined;
  /** Of the events of calls. */
  #stops: (() => void)[] | undefined;

  constructor(options: JobsOptions) {
    this.#options = options;
    this.#queue = options.queue;
    this.#contexts = new OpenContexts(options.onContextError);
    this.#jobEvents = new JobEventEmitter(options.events, options.clock);
    this.#missedResults = new MissedJobResults({
      clock: options.clock,
      awaited: () => [...[...this.#waiters].map(({ job }) => job.id), ...this.#submitted.keys()],
      find: (id) => this.#queue.get(id),
      notify: (job) => this.#ended(job),
    });
  }

  get running(): number {
    return this.#worker?.running ?? 0;
  }

  submit(request: JobRequest, call: Call): Promise<Job> {
    this.#listen();
    if (this.#options.worker !== false) void this.work().catch(() => undefined);
    const submission = this.#submit(request, call).finally(() => this.#submitting.delete(submission));
    this.#submitting.add(submission);
    return submission;
  }

  async retry(id: string): Promise<Job> {
    this.#listen();
    const job = await this.#queue.retry(id);
    this.#addSubmitted(job, job.call.callId);
    return job;
  }

  async cancel(id: string, reason?: string): Promise<Job> {
    this.#listen();
    const before = await this.#queue.get(id);
    if (!before) throw unknownJob(id);
    const job = await this.#queue.cancel(id, reason);
    await this.#recordUnrun(before, job, reason);
    return job;
  }

  async clear(reason?: string): Promise<number> {
    this.#listen();
    const waiting = await this.#queue.list({ states: ["queued", "delayed"], limit: Number.MAX_SAFE_INTEGER });
    const count = await this.#queue.clear(reason);
    for (const before of waiting) {
      const job = await this.#queue.get(before.id);
      if (job) await this.#recordUnrun(before, job, reason);
    }
    return count;
  }

  async wait(id: string, { signal }: { signal?: AbortSignal } = {}): Promise<ToolResult> {
    this.#listen();
    const job = await this.#queue.get(id);
    if (!job) throw unknownJob(id);
    signal?.throwIfAborted();
    const keepAlive: Timer = this.#options.clock.after(FAR_MS, () => undefined);
    let waiter: Waiter | undefined;
    let onAbort: (() => void) | undefined;
    try {
      return await new Promise<ToolResult>((resolve, reject) => {
        this.#waiters.add((waiter = { job, settle: resolve }));
        this.#missedResults.watch();
        onAbort = () => reject(signal?.reason);
        signal?.addEventListener("abort", onAbort, { once: true });
        // It may have ended before the subscription: then its end is reported from here.
        this.#queue.get(id).then(
          (now) => (now && hasEnded(now) ? this.#ended(now) : undefined),
          () => undefined,
        );
      });
    } finally {
      keepAlive.cancel();
      if (waiter) this.#waiters.delete(waiter);
      if (onAbort) signal?.removeEventListener("abort", onAbort);
    }
  }

  follow(context: ResultListener): () => void {
    this.#listen();
    const { events } = this.#options;
    const onEnded = ({ parentId, result }: { parentId?: string; result: ToolResult }): void => {
      if (parentId === undefined) this.#contexts.notify(result);
    };
    this.#stops ??= [events.on("tool_call_completed", onEnded), events.on("tool_call_failed", onEnded)];
    const unfollow = this.#contexts.add(context);
    for (const { pending } of context.awaited?.() ?? []) {
      if (pending.kind === "job") void this.#queue.get(pending.id).then((job) => this.#joinEnded(context, job));
    }
    return unfollow;
  }

  processToolCallResult(result: ToolResult | undefined): void {
    if (result) this.#contexts.notify(result);
  }

  work(own: WorkerOptions = {}): Promise<JobWorker> {
    this.#listen();
    this.#starting ??= this.#startWorker({ ...(this.#options.worker || undefined), ...own });
    // A worker that could not start may be started again.
    this.#starting.catch(() => (this.#starting = undefined));
    return this.#starting;
  }

  close(graceMs?: number): Promise<void> {
    const steps = new CloseStack();
    steps.push("waiters", () => {
      for (const { job, settle } of this.#waiters) settle(stillPending(job));
    });
    steps.push("events", () => {
      this.#unsubscribe?.();
      this.#stops?.forEach((stop) => stop());
    });
    steps.push("queue", () => this.#options.ownsQueue && this.#queue.close());
    // A worker that did not start has nothing to close.
    steps.push("worker", async () => (await this.#starting?.catch(() => undefined))?.close(graceMs));
    steps.push("missed results", () => this.#missedResults.close());
    return steps.close();
  }

  /** On first use: a runtime without background calls subscribes to nothing. */
  #listen(): void {
    const isWaiting = (): boolean =>
      this.#submitted.size + this.#submitting.size + this.#waiters.size + this.#contexts.size > 0;
    this.#unsubscribe ??= this.#queue.subscribe((event) => this.#onEvent(event), isWaiting);
  }

  async #submit(request: JobRequest, call: Call): Promise<Job> {
    const { calls } = this.#options;
    const claimed = calls.takeClaimed(call);
    try {
      const job = await this.#queue.submit({ ...request, claimed });
      if (!hasEnded(job)) this.#addSubmitted(job, call.id, call.options.onUpdate);
      return job;
    } catch (error) {
      // The permit stage ends it.
      if (claimed) calls.setClaimed(call, claimed);
      throw error;
    }
  }

  #addSubmitted({ id }: Job, callId: string, onUpdate?: CallOptions["onUpdate"]): void {
    const calls = this.#submitted.get(id) ?? new Map<string, CallOptions["onUpdate"]>();
    this.#submitted.set(id, calls.set(callId, onUpdate));
    this.#missedResults.watch();
  }

  /** No worker records a job that was cancelled while it waited. If a start was lost before, its outcome is unknown. */
  async #recordUnrun(before: Job, { id, state, result, ...job }: Job, reason: string | undefined): Promise<void> {
    if (hasEnded(before) || before.state === "running" || job.startedAt !== before.startedAt) return;
    if (state === "cancelled") await endJob({ ...job, id, state }, cancelledJob(id, reason), this.#options);
    else if (result?.status === "failed" && result.error.code === "unknown_outcome") {
      const { message, next } = result.error;
      const why = toolError("unknown_outcome", message, { next });
      await endJob({ ...job, id, state }, why, this.#options);
    }
  }

  async #startWorker({
    name = hostname(),
    concurrency = DEFAULT_CONCURRENCY,
    takes = () => true,
  }: WorkerOptions): Promise<JobWorker> {
    const { registry } = this.#options;
    if (!(concurrency >= 1)) throw noJobAtATime(concurrency);
    this.#workerName ??= `${name}/${process.pid}/${++workers}`;
    const tools = (): string[] =>
      registry
        .list()
        .filter((tool) => takes(tool))
        .map((tool) => tool.name);
    this.#worker = await this.#queue.work({
      name: this.#workerName,
      concurrency: Math.min(concurrency, MAX_CONCURRENCY),
      tools,
      run: (job, context) => {
        this.#ranHere.add(job.id);
        return runJob(job, context, this.#options);
      },
    });
    return this.#worker;
  }

  #onEvent(event: JobEvent): void {
    if (event.type === "ended") {
      if (this.#submitting.size === 0 || this.#submitted.has(event.job.id)) return this.#ended(event.job);
      // It may belong to one of these submissions, whose call is answered first.
      const later = (): void => void setImmediate(() => this.#ended(event.job));
      return void Promise.allSettled(this.#submitting).then(later);
    }
    if (event.type === "started") {
      // The gate itself reports jobs that run here.
      if (event.job.worker === this.#workerName || !this.#submitted.has(event.job.id)) return;
      this.#elsewhere.set(event.job.id, event.job);
      this.#jobEvents.started(event.job);
    } else if (event.type === "updated") {
      const job = this.#elsewhere.get(event.jobId);
      if (job) this.#jobEvents.updated(job, event.update);
      for (const onUpdate of this.#submitted.get(event.jobId)?.values() ?? []) reportUpdate(onUpdate, event.update);
    }
  }

  /** Reports an end once in this process, whichever process ran the job, and only after it can be read. */
  #ended(job: Job): void {
    const { result } = job;
    if (!result) return;
    const calls = new Set(this.#submitted.get(job.id)?.keys());
    if (this.#ranHere.delete(job.id) || this.#contexts.await(job.id, job.call.callId)) calls.add(job.call.callId);
    this.#submitted.delete(job.id);
    this.#elsewhere.delete(job.id);
    for (const callId of calls) {
      const own = callId === result.callId ? result : { ...result, callId };
      this.#contexts.join(job.id, own);
      this.#jobEvents.ended(job, own);
    }
    for (const waiter of this.#waiters) if (waiter.job.id === job.id) waiter.settle(result);
  }

  #joinEnded(context: ResultListener, job: Job | undefined): void {
    if (job?.result && hasEnded(job)) this.#contexts.join(job.id, job.result, [context]);
  }
}

function noJobAtATime(concurrency: number): ToolError {
  return toolError("invalid_input", `A worker cannot run ${concurrency} jobs at a time`, {
    next: "Set its concurrency to 1 or more.",
  });
}

function reportUpdate(onUpdate: CallOptions["onUpdate"], update: Parameters<NonNullable<typeof onUpdate>>[0]): void {
  try {
    const returned: unknown = onUpdate?.(update);
    if (returned instanceof Promise) returned.catch(() => undefined);
  } catch {
    // A failing listener must not affect the job.
  }
}

function stillPending({ id, call: { callId, toolName }, createdAt: startedAt }: Job): ToolResult {
  const message = `Job ${id} has not ended, and this process no longer waits for it. Ask for it later.`;
  return pendingResult({ callId, toolName, startedAt }, { kind: "job", id }, message);
}

const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;

type JobHost = Pick<JobsOptions, "gate" | "registry">;

/** Runs the call of a job in its second pass through the gate, and returns whether it is retried. */
async function runJob(job: Job, { signal, update }: JobContext, host: JobHost): Promise<JobOutcome> {
  let again: JobOutcome["again"];
  const { name, input, options, scope, verdict } = toRun(job, host);
  const secondPass: SecondPass = {
    kind: "job",
    id: job.id,
    verdict,
    again(call, ended) {
      return (again = nextTry(job, ended, call.began));
    },
  };
  const own = { ...options, signal, onUpdate: update };
  const result = await host.gate().execute(name, input, own, { scope, secondPass });
  return { result, again };
}

/** A store that is away comes back. A log of the host that throws may never be written. */
function isPassing({ code, data }: ToolFailure): boolean {
  const { cause } = Object(data) as { cause?: unknown };
  return code !== "not_recorded" || (isErrorCode(cause) && ERROR_CODES[cause].retryable);
}

/** Records the end of a job that will not run. */
function endJob(job: Job, why: ToolError, host: JobHost): Promise<ToolResult> {
  const { input, options, scope, verdict } = toRun(job, host);
  return host.gate().execute(job.call.toolName, input, options, {
    scope,
    secondPass: { kind: "job", id: job.id, verdict },
    refusal: why,
  });
}

/** Under a key of its own, if the caller gave none. */
function toRun({ id, round, call }: Job, { registry }: JobHost): CallToRun {
  const ownKey = `job:${id}${round > 1 ? `#${round}` : ""}`;
  return fromCallData({ ...call, idempotencyKey: call.idempotencyKey ?? ownKey }, registry);
}

function nextTry(job: Job, result: ToolResult, began: boolean): JobOutcome["again"] {
  if (result.status !== "failed" || !result.error.retryable) return undefined;
  if (began && !job.call.idempotent) return undefined;
  if (result.error.code === "shutdown") return { inMs: 0, counts: false };
  // It could not start: the machine is full, the store is away, or the same call still runs elsewhere.
  if (!began && isPassing(result.error)) return { inMs: FIRST_PAUSE_MS, counts: false };
  if (job.attempt >= job.attempts) return undefined;
  return { inMs: Math.min(FIRST_PAUSE_MS * 2 ** (job.attempt - 1), MAX_PAUSE_MS), counts: true };
}

/** Emits the gate's events for calls of this process whose jobs run elsewhere. */
class JobEventEmitter {
  readonly #events: EventEmitter;
  readonly #clock: Clock;

  constructor(events: EventEmitter, clock: Clock) {
    this.#events = events;
    this.#clock = clock;
  }

  started(job: Job): void {
    if (!this.#events.hasListeners("tool_call_started")) return;
    this.#events.emit({ type: "tool_call_started", ...this.#base(job), input: job.call.input });
  }

  updated(job: Job, update: Update): void {
    if (!this.#events.hasListeners("tool_call_updated")) return;
    this.#events.emit({ type: "tool_call_updated", ...this.#base(job), update });
  }

  ended(job: Job, result: ToolResult): void {
    const base = { ...this.#base(job), callId: result.callId, result };
    const { durationMs = 0 } = result;
    if (result.status === "completed") this.#events.emit({ type: "tool_call_completed", ...base, durationMs });
    else if (result.status === "pending") this.#events.emit({ type: "tool_call_pending", ...base });
    else this.#events.emit({ type: "tool_call_failed", ...base, error: result.error, durationMs });
  }

  #base({ call: { callId, toolName, caller } }: Job) {
    return { at: this.#clock.now(), callId, toolName, caller };
  }
}

/** A `ToolCallContext`, or any other object with one of these methods. */
interface ResultListener {
  /** Called with every result. An error is reported and affects no other listener. */
  onToolCall?(result: ToolResult): void;
  /** Called with the results of the calls in `pending` only. */
  setToolCallResult?(result: ToolResult): void;
  pending?(): readonly ToolCallParams[];
  awaited?(): readonly PendingResult[];
}

/** The contexts of the conversations of this process. */
class OpenContexts {
  readonly #contexts = new Set<ResultListener>();
  /** The latest: the loop of an agent and the events of the gate have the same results. */
  readonly #reported = new BoundedMap<string, true>(MAX_REPORTED);
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void = () => {}) {
    this.#onError = onError;
  }

  add(context: ResultListener): () => void {
    this.#contexts.add(context);
    return () => void this.#contexts.delete(context);
  }

  get size(): number {
    return this.#contexts.size;
  }

  await(jobId: string, callId: string): boolean {
    return [...this.#contexts].some((context) => waitsFor(context, jobId, callId));
  }

  /** Gives the result to the contexts that wait for its call, then reports it to all. */
  join(jobId: string, result: ToolResult, contexts: Iterable<ResultListener> = this.#contexts): void {
    for (const context of contexts) {
      this.#try(() => {
        if (waitsFor(context, jobId, result.callId)) context.setToolCallResult?.(result);
      });
    }
    this.notify(result, contexts);
  }

  notify(result: ToolResult, contexts: Iterable<ResultListener> = this.#contexts): void {
    if (contexts === this.#contexts && this.#contexts.size > 0) {
      const { callId, startedAt, completedAt } = result;
      const key = JSON.stringify([callId, startedAt, completedAt]);
      if (this.#reported.has(key)) return;
      this.#reported.set(key, true);
    }
    for (const context of contexts) this.#try(() => context.onToolCall?.(result));
  }

  #try(notify: () => unknown): void {
    try {
      const notified = notify();
      if (notified instanceof Promise) notified.catch(this.#onError);
    } catch (error) {
      this.#onError(error);
    }
  }
}

/** By the job if the context knows it, otherwise by the call id, which is unique in a conversation only. */
function waitsFor(context: ResultListener, jobId: string, wanted: string): boolean {
  if (!context.pending?.().some(({ callId }) => callId === wanted)) return false;
  const awaited = context.awaited?.().find(({ callId }) => callId === wanted);
  return awaited === undefined || awaited.pending.id === jobId;
}

export interface MissedJobResultsOptions {
  clock: Clock;
  /** Ids of the jobs that this process waits for. */
  awaited(): Iterable<string>;
  find(id: string): Promise<Job | undefined>;
  notify(job: Job): void;
}

const CHECK_AFTER_MS = 5_000;
const MAX_BATCH_SIZE = 50;

/** Polls the jobs that are waited for: an event may get lost, for example while a server restarts. */
class MissedJobResults {
  readonly #options: MissedJobResultsOptions;
  #next = 0;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: MissedJobResultsOptions) {
    this.#options = options;
  }

  /** Starts to poll, for as long as a job is waited for. */
  watch(): void {
    if (this.#timer || this.#isClosed) return;
    this.#timer = this.#options.clock.after(CHECK_AFTER_MS, () => void this.#look());
    this.#timer.setRef(false);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  async #look(): Promise<void> {
    const { awaited, find, notify } = this.#options;
    const ids = [...new Set(awaited())];
    await Promise.all(
      this.#nextOf(ids).map(async (id) => {
        // If the store cannot be read now, the next poll tries again.
        const job = await find(id).catch(() => undefined);
        if (job && hasEnded(job) && !this.#isClosed) notify(job);
      }),
    );
    this.#timer = undefined;
    if (ids.length > 0) this.watch();
  }

  /** Another part of the list each time. */
  #nextOf(ids: readonly string[]): string[] {
    const from = ids.length > MAX_BATCH_SIZE ? this.#next % ids.length : 0;
    this.#next = from + MAX_BATCH_SIZE;
    return [...ids.slice(from), ...ids.slice(0, from)].slice(0, MAX_BATCH_SIZE);
  }
}
