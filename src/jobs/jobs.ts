import { hostname } from "node:os";
import type { JobContext, JobEvent, JobOutcome, JobQueue, JobWorker } from "../calls/job-queue.ts";
import { cancelledJob, hasEnded, type Job, type JobRequest, unknownJob } from "../calls/job.ts";
import type { Call, CallOptions, SecondPass } from "../core/call.ts";
import type { Clock, Timer } from "../core/clock.ts";
import { CloseStack } from "../core/close-stack.ts";
import { toolError, type ToolError } from "../core/error.ts";
import type { EventEmitter, Update } from "../core/events.ts";
import type { Gate } from "../core/gate.ts";
import type { ToolRegistry } from "../core/registry.ts";
import type { PendingResult, ToolResult } from "../core/result.ts";
import type { ToolCallParams } from "../core/tool-call-context.ts";
import type { AnyTool } from "../core/tool.ts";

export interface JobsOptions {
  queue: JobQueue;
  /** Whether the queue is closed with this. */
  ownsQueue: boolean;
  /** Read when it is needed: the gate has a stage that submits jobs. */
  gate: () => Gate;
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

/** `submit` is apart from the rest: whoever could reach it could queue a call with a verdict of their own making. */
export interface OpenedJobs {
  jobs: Jobs;
  submit(request: JobRequest, call: Call): Promise<Job>;
}

export function createJobs(options: JobsOptions): OpenedJobs {
  const { queue, registry, clock } = options;
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

  const jobs: Jobs = {
    get running() {
      return working?.running ?? 0;
    },
    get: (id) => queue.get(id),
    list: (query) => queue.list(query),
    counts: () => queue.counts(),
    log: (id, from) => queue.log(id, from),
    subscribe: (listener) => queue.subscribe(listener),
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
    close(graceMs) {
      const steps = new CloseStack();
      steps.push("waiters", () => {
        for (const { job, settle } of waiters) settle(stillPending(job));
      });
      steps.push("events", () => unsubscribe?.());
      steps.push("queue", () => options.ownsQueue && queue.close());
      // A worker that did not start has nothing to close.
      steps.push("worker", async () => (await worker?.catch(() => undefined))?.close(graceMs));
      steps.push("missed results", () => missedEnds.close());
      return steps.close();
    },
  };
  return { jobs, submit };

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
      await endJob(job, cancelledJob(job.id, reason), options.gate());
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
          return runJob(job, context, options.gate());
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

/** So many workers may die with a job before it is taken for the reason. */
const MAX_LOST = 5;
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;

/** Makes the call of a job, in its second pass through the gate, and says whether that was its end. */
async function runJob(job: Job, { signal, update }: JobContext, gate: Gate): Promise<JobOutcome> {
  if (job.lost > MAX_LOST) return { result: await endJob(job, lostTooOften(job), gate) };
  let again: JobOutcome["again"];
  const { toolName, toolVersion, input, verdict } = job.call;
  const secondPass: SecondPass = {
    kind: "job",
    id: job.id,
    verdict,
    again(call, ended) {
      again = nextTry(job, ended, call.began);
      return again !== undefined;
    },
  };
  const options = { ...optionsOf(job), signal, onUpdate: update };
  const result = await gate.execute(`${toolName}@${toolVersion}`, input, options, { secondPass });
  return { result, again };
}

/** Records the end of a job that is not to run (any more). */
function endJob(job: Job, why: ToolError, gate: Gate): Promise<ToolResult> {
  const { toolName, input, verdict } = job.call;
  return gate.execute(toolName, input, optionsOf(job), {
    secondPass: { kind: "job", id: job.id, verdict },
    refusal: why,
  });
}

function optionsOf({ id, round, call }: Job): CallOptions {
  const ownKey = `job:${id}${round > 1 ? `#${round}` : ""}`;
  return { ...call.options, id: call.callId, caller: call.caller, idempotencyKey: call.idempotencyKey ?? ownKey };
}

function nextTry(job: Job, result: ToolResult, began: boolean): JobOutcome["again"] {
  if (result.status !== "failed" || !result.error.retryable) return undefined;
  if (began && !job.call.idempotent) return undefined;
  if (result.error.code === "shutdown") return { inMs: 0, counts: false };
  // Its turn has not come: the machine is full, or the same call still runs elsewhere.
  if (!began && result.error.code !== "not_recorded") return { inMs: FIRST_PAUSE_MS, counts: false };
  if (job.attempt >= job.attempts) return undefined;
  return { inMs: Math.min(FIRST_PAUSE_MS * 2 ** (job.attempt - 1), MAX_PAUSE_MS), counts: true };
}

function lostTooOften({ id, lost }: Job): ToolError {
  return toolError("unknown_outcome", `${lost} workers ended while they ran job "${id}", which is not tried again`, {
    next: "Check its effect first; what it was given may be more than a worker can bear.",
  });
}

/** Says of a call that was made here what its job does elsewhere, in the words of the gate. */
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

/** Whoever wants to hear of results: a `ToolCallContext`, or anything else that has one of these. */
interface ResultListener {
  /** Told of every result that arrives. What it throws stops nobody else. */
  onToolCall?(result: ToolResult): void;
  /** Those that know which calls they wait for are given their results, and no others. */
  setToolCallResult?(result: ToolResult): void;
  pending?(): readonly ToolCallParams[];
  awaited?(): readonly PendingResult[];
}

/** The contexts of the conversations that are under way here. */
class OpenContexts {
  readonly #contexts = new Set<ResultListener>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void = () => {}) {
    this.#onError = onError;
  }

  add(context: ResultListener): () => void {
    this.#contexts.add(context);
    return () => void this.#contexts.delete(context);
  }

  await(jobId: string, callId: string): boolean {
    return [...this.#contexts].some((context) => waitsFor(context, jobId, callId));
  }

  /** Joins the result to its call where that is waited for, and tells everybody. */
  join(jobId: string, result: ToolResult, contexts: Iterable<ResultListener> = this.#contexts): void {
    for (const context of contexts) {
      this.#try(() => {
        if (waitsFor(context, jobId, result.callId)) context.setToolCallResult?.(result);
      });
    }
    this.notify(result, contexts);
  }

  notify(result: ToolResult, contexts: Iterable<ResultListener> = this.#contexts): void {
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

/** By the job where that was noted already, else by the call alone: ids of calls need not be unique beyond a conversation. */
function waitsFor(context: ResultListener, jobId: string, wanted: string): boolean {
  if (!context.pending?.().some(({ callId }) => callId === wanted)) return false;
  const awaited = context.awaited?.().find(({ callId }) => callId === wanted);
  return awaited === undefined || awaited.pending.id === jobId;
}

export interface MissedJobResultsOptions {
  clock: Clock;
  /** Ids of the jobs whose end is to be told here. */
  awaited(): Iterable<string>;
  find(id: string): Promise<Job | undefined>;
  notify(job: Job): void;
}

const CHECK_AFTER_MS = 5_000;
const MAX_BATCH_SIZE = 50;

/**
 * Asks now and then for the jobs that are waited for: that one has ended is told, but what tells it may break, be restarted
 * or forget, and then nobody would ever hear.
 */
class MissedJobResults {
  readonly #options: MissedJobResultsOptions;
  #next = 0;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: MissedJobResultsOptions) {
    this.#options = options;
  }

  /** Something is waited for; it looks for as long as anything is. */
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
        // Where nobody can be asked now, one is asked again.
        const job = await find(id).catch(() => undefined);
        if (job && hasEnded(job) && !this.#isClosed) notify(job);
      }),
    );
    this.#timer = undefined;
    if (ids.length > 0) this.watch();
  }

  /** Another part each time, so that everybody has his turn. */
  #nextOf(ids: readonly string[]): string[] {
    const from = ids.length > MAX_BATCH_SIZE ? this.#next % ids.length : 0;
    this.#next = from + MAX_BATCH_SIZE;
    return [...ids.slice(from), ...ids.slice(0, from)].slice(0, MAX_BATCH_SIZE);
  }
}
