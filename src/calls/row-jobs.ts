import { randomBytes } from "node:crypto";
import type { CallData } from "../core/call.ts";
import type { Clock, Timer } from "../core/clock.ts";
import { failedState, toolError, type ToolError } from "../core/error.ts";
import type { Update } from "../core/events.ts";
import { canonicalJson } from "../core/json.ts";
import { type CallStore, MemoryCallStore } from "./call-store.ts";
import { callKey } from "./calls.ts";
import { redacted } from "./redact-ended.ts";
import {
  closingWorker,
  failedJob,
  hasEnded,
  type Job,
  jobNewsOf,
  type JobLogLine,
  type JobQuery,
  type JobRequest,
  type JobState,
  nextRound,
  notEnded,
  toJob,
  unknownJob,
  unreadableJob,
} from "./job.ts";
import {
  type JobEvent,
  JobListeners,
  type JobOutcome,
  type JobQueue,
  type JobWorker,
  type WorkOptions,
} from "./job-queue.ts";
import type { JobNews } from "./job-rows.ts";
import { type JobSource, LocalWorker } from "./job-worker.ts";
import {
  cancel,
  end,
  endUnreadable,
  enqueue,
  lose,
  loseTaken,
  refuse,
  requeue,
  type StoredCall,
  take,
  type Transition,
  type QueuedJob,
} from "./stored-call.ts";
import { outcomeOf } from "./stored-result.ts";

/** Wakes workers, also on other machines. The row says what happened: a wake-up may get lost, be late or come twice. */
export interface JobDispatcher {
  /** Connects, if it has not. */
  open(): Promise<void>;
  add(job: Job): Promise<void>;
  /** Calls `wake` for jobs of these tools, until closed. */
  work(worker: DispatchedWorker): Promise<{ close(): Promise<void> }>;
  close(): Promise<void>;
}

export interface DispatchedWorker extends Pick<WorkOptions, "name" | "tools" | "concurrency"> {
  /** Looks for jobs as soon as fewer than `concurrency` run. False if this worker closes. */
  wake(): Promise<boolean>;
  /** Inserts the row of a job that an earlier version of Haft has queued, with its id. */
  adopt(jobId: string, request: JobRequest): Promise<void>;
}

export interface RowJobsOptions {
  clock: Clock;
  /** Default: in memory. */
  calls?: CallStore;
  /** Default: workers find jobs in the store by themselves. */
  dispatcher?: JobDispatcher;
}

/** How often a worker looks for jobs whose workers or wake-ups are gone. */
const SWEEP_MS = 1000;
const ENDS_BETWEEN_PRUNINGS = 500;

/** Background calls: rows of `calls` from submission to end (docs/decisions/0023). */
export class RowJobs implements JobQueue, JobSource {
  readonly clock: Clock;
  readonly calls: CallStore;
  readonly #dispatcher: JobDispatcher | undefined;
  readonly #listeners = new JobListeners();
  readonly #workers = new Set<LocalWorker>();
  readonly #dispatched = new Set<{ close(): Promise<void> }>();
  /** Jobs that ended in the store while the gate of this process still records their end. */
  readonly #unreported = new Map<string, Job>();
  /** Of delayed jobs. */
  readonly #timers = new Map<string, Timer>();
  #unwatch: (() => void) | undefined;
  #sweeping: Timer | undefined;
  #isWaking = false;
  #endsUntilPruning = 1;
  #closing: Promise<void> | undefined;

  constructor({ clock, calls = new MemoryCallStore(undefined, () => clock.now()), dispatcher }: RowJobsOptions) {
    this.clock = clock;
    this.calls = calls;
    this.#dispatcher = dispatcher;
  }

  async submit(request: JobRequest): Promise<Job> {
    this.#watch();
    // If no worker could be woken, nothing is accepted.
    await this.#dispatcher?.open();
    const row = request.claimed ? await this.#enqueue(request, request.claimed) : await this.#insert(request);
    const job = this.#jobOf(row);
    // Also if it is known: the process that inserted the row may have ended before it could wake a worker.
    await this.#dispatch(job);
    return job;
  }

  async get(id: string): Promise<Job | undefined> {
    return toJob(await this.calls.jobs.get(id), this.clock.now());
  }

  async list(query: JobQuery = {}): Promise<Job[]> {
    const rows = await this.calls.jobs.list(query, this.clock.now());
    return rows.map((row) => this.#jobOf(row));
  }

  async counts(): Promise<Record<JobState, number>> {
    return this.calls.jobs.counts(this.clock.now());
  }

  async log(id: string, { after = 0 } = {}): Promise<JobLogLine[]> {
    return this.calls.jobs.log(id, after);
  }

  async cancel(id: string, reason?: string): Promise<Job> {
    this.#watch();
    const row = await this.#known(id);
    const changed = await this.#change(row.id, cancel(reason));
    return this.#jobOf(changed ?? (await this.#known(id)));
  }

  async retry(id: string): Promise<Job> {
    this.#watch();
    const row = await this.#known(id);
    const next = nextRound(row, this.clock.now());
    if (row.state !== "ended") throw notEnded(this.#jobOf(row));
    if (!next) throw unreadableJob(id);
    const again = this.#rowOf(next.request, next.job, undefined, row.createdAt);
    // The ended call stays as it is. The job is another call now.
    const leave: Transition = ({ state, job }) =>
      state === "ended" && job?.round === row.job?.round ? { job: undefined } : undefined;
    await this.#change(row.id, leave, again);
    const now = await this.#known(id);
    if (now.id !== again.id) throw notEnded(this.#jobOf(now));
    this.#note(id, `Retry ${next.job.round - 1}.`);
    const job = this.#jobOf(now);
    await this.#dispatch(job);
    return job;
  }

  async clear(reason?: string): Promise<number> {
    const waiting = await this.list({ states: ["queued", "delayed"], limit: Number.MAX_SAFE_INTEGER });
    const cleared = await Promise.all(waiting.map(({ id }) => this.cancel(id, reason)));
    return cleared.filter((job) => hasEnded(job)).length;
  }

  async work(options: WorkOptions): Promise<JobWorker> {
    this.#watch();
    const local = new LocalWorker(this, options);
    const dispatched = await this.#dispatcher?.work({
      ...options,
      wake: () => local.wakeWhenFree(),
      adopt: (id, request) => this.#adopt(id, request),
    });
    if (dispatched) this.#dispatched.add(dispatched);
    this.#workers.add(local);
    this.#wake();
    this.#scheduleSweep(0);
    return {
      get running() {
        return local.running;
      },
      close: async (graceMs) => {
        const closed = dispatched && this.#dispatched.delete(dispatched) ? dispatched.close() : undefined;
        await local.close(graceMs);
        this.#workers.delete(local);
        await closed;
      },
    };
  }

  subscribe(listener: (event: JobEvent) => void, wantsOthers?: () => boolean): () => void {
    this.#watch();
    return this.#listeners.add(listener, wantsOthers);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const dispatched = [...this.#dispatched].map((worker) => worker.close());
    await Promise.all([...this.#workers].map((worker) => worker.close()));
    await Promise.all(dispatched);
    this.#sweeping?.cancel();
    for (const timer of this.#timers.values()) timer.cancel();
    if (this.calls.pollMs === undefined) await this.#failWaiting();
    this.#unwatch?.();
    await this.#dispatcher?.close();
  }

  /** Jobs in memory end with their process. */
  async #failWaiting(): Promise<void> {
    for (const job of await this.list({ states: ["queued", "delayed"], limit: Number.MAX_SAFE_INTEGER })) {
      const { id } = await this.#known(job.id);
      const result = failedJob(job, closingWorker(), this.clock.now());
      await this.#change(id, take(this.calls.processId, job.worker));
      await this.#change(id, refuse(this.calls.processId, { outcome: "failed", result }));
    }
  }

  async take(tools: readonly string[], max: () => number, worker?: string): Promise<Job[]> {
    const due = { tools, max: max(), at: this.clock.now() };
    if (tools.length === 0 || due.max <= 0) return [];
    const taken = await this.calls.takeDue(due, redacted(this.#takeBy(worker), this.clock.now()));
    const toRun = taken.filter(({ state }) => state !== "ended");
    // Behind those that cannot be read there may be more.
    if (toRun.length < taken.length) this.#wake();
    return toRun.map((row) => this.#jobOf(row));
  }

  updated({ id }: Job, update: Update): void {
    this.calls.jobs.addLine(id, { at: this.clock.now(), update });
  }

  async settled(job: Job, outcome: JobOutcome): Promise<void> {
    // Usually the gate has written it before.
    if (outcome.again || !this.#unreported.has(job.id)) await this.#settle(job, outcome);
    const ended = this.#unreported.get(job.id);
    this.#unreported.delete(job.id);
    if (ended) this.#listeners.notify({ type: "ended", job: ended });
  }

  async #settle({ id, round }: Job, { result, again }: JobOutcome): Promise<void> {
    const row = await this.calls.jobs.get(id);
    if (!row?.job || row.job.round !== round) return;
    const me = this.calls.processId;
    if (again) {
      // If the call was started, its end has queued the job again, or does so when the tool's code has ended.
      const queued = (await this.#change(row.id, requeue(me, again))) ?? (await this.calls.get(row.id));
      if (queued?.state === "approved") this.#note(id, `Will be retried: ${result.display}`);
      if (queued && queued.state !== "ended") await this.#dispatch(this.#jobOf(queued));
      return;
    }
    const ended = { outcome: outcomeOf(result), result };
    const isDenied = result.status === "failed" && failedState(result.error.code) === "denied";
    await this.#change(row.id, refuse(me, isDenied ? { outcome: "denied", result } : ended));
    if (row.state === "running" && row.owner === me)
      await this.#change(row.id, end(me, row.epoch, { ...ended, releasesKey: false }));
  }

  async #enqueue(request: JobRequest, claimed: StoredCall): Promise<StoredCall> {
    const job = { ...this.#newJob(request), id: claimed.id };
    const row = await this.#change(
      claimed.id,
      enqueue(this.calls.processId, claimed.epoch, { request: request.call, job }),
    );
    if (!row) throw lostClaim(request.call);
    return row;
  }

  async #insert(request: JobRequest): Promise<StoredCall> {
    const now = this.clock.now();
    for (;;) {
      const inserted = await this.calls.insert(this.#rowOf(request.call, this.#newJob(request, now), request.key, now));
      if (inserted.outcome === "full") throw new Error("A call without a question has no limit.");
      const { row } = inserted;
      if (inserted.outcome === "inserted" || row.job) return row;
      // A question about a call that is allowed by now.
      if (row.state !== "waiting" && row.state !== "approved") throw madeWithoutJob(request.call);
      await this.#change(row.id, cancel("the call is allowed by now"));
    }
  }

  #newJob({ priority, delayMs, attempts }: JobRequest, now = this.clock.now()): QueuedJob {
    const id = `job_${randomBytes(12).toString("hex")}`;
    return { id, seq: 0, priority, runAt: now + delayMs, attempt: 0, attempts, round: 1 };
  }

  #rowOf(request: CallData, job: QueuedJob, key: string | undefined, createdAt = this.clock.now()): StoredCall {
    const { callId, toolName, toolVersion, input, caller, idempotent } = request;
    return {
      id: job.round === 1 ? job.id : `${job.id}#${job.round}`,
      callId,
      key: key === undefined ? undefined : this.calls.digest(key),
      fingerprint: this.calls.digest(canonicalJson([toolName, toolVersion, input])),
      toolName,
      caller,
      state: "approved",
      request,
      job,
      epoch: 0,
      lost: 0,
      repeatable: idempotent,
      createdAt,
    };
  }

  #takeBy(worker: string | undefined): Transition {
    const taken = take(this.calls.processId, worker);
    return (row, now) => (row.request ? taken(row, now) : endUnreadable(row, now));
  }

  /** If it fails, a free worker finds the job in the store. */
  async #dispatch(job: Job): Promise<void> {
    if (job.state === "queued" || job.state === "delayed") await this.#dispatcher?.add(job).catch(() => undefined);
  }

  async #adopt(id: string, request: JobRequest): Promise<void> {
    const { call } = request;
    const queued = { request: call, job: { ...this.#newJob(request), id } };
    const join: Transition = ({ state, job }) =>
      state === "suspended" && !job ? { ...queued, state: "approved", result: undefined } : undefined;
    const approvalId = call.verdict?.approvalId;
    if (approvalId !== undefined && (await this.#change(approvalId, join))) return;
    // The key under which an earlier version stored its start, so that it does not start twice.
    const key = callKey(call.caller, call.idempotencyKey ?? `job:${id}`);
    await this.calls.insert(this.#rowOf(call, queued.job, key));
  }

  #watch(): void {
    this.#unwatch ??= this.calls.jobs.watch((news) => this.#handle(news), {
      // A timer of a delayed job is cancelled when another process starts it.
      wantsAll: () => this.#listeners.wantOthers || this.#timers.size > 0,
      isBusy: () => this.#workers.size > 0 && [...this.#workers].every((worker) => worker.isFull),
    });
  }

  #handle(news: JobNews): void {
    if (news.type === "due") return this.#wake();
    if (news.type === "updated") return this.#listeners.notify(news);
    const { row, before, isOwn } = news;
    const job = toJob(row, this.clock.now());
    if (!job) return;
    if (row.job?.cancel && job.state === "running") {
      const { reason } = row.job.cancel;
      for (const worker of this.#workers) worker.cancel(job.id, reason);
      // A request to stop it is no start.
      if (!before) return;
    }
    const type = jobNewsOf(before, row);
    if (type === "queued" && job.state === "delayed") this.#promoteLater(job, isOwn);
    else this.#cancelTimer(job.id);
    if (type === "ended" && this.#runsHere(job.id)) this.#unreported.set(job.id, job);
    else if (type !== undefined) this.#listeners.notify({ type, job });
    if (type === "queued" && job.state === "queued") this.#wake();
    if (type === "ended" && isOwn) this.#pruneSometimes();
  }

  #runsHere(id: string): boolean {
    return [...this.#workers].some((worker) => worker.runs(id));
  }

  /** A timer of this process, so the job is on time even if the clock is set. */
  #promoteLater({ id, runAt }: Job, isOwn: boolean): void {
    this.#cancelTimer(id);
    const promote = async (): Promise<void> => {
      this.#timers.delete(id);
      const row = await this.calls.jobs.get(id);
      const makeDue: Transition = ({ state, job }, now) =>
        state === "approved" && job && job.runAt > now ? { job: { ...job, runAt: now } } : undefined;
      if (row && isOwn) await this.#change(row.id, makeDue);
      this.#wake();
    };
    const timer = this.clock.after(Math.max(0, runAt - this.clock.now()), () => void promote().catch(() => undefined));
    timer.setRef(this.calls.pollMs === undefined);
    this.#timers.set(id, timer);
  }

  #cancelTimer(id: string): void {
    this.#timers.get(id)?.cancel();
    this.#timers.delete(id);
  }

  /** In a later turn of the event loop: `submit` resolves before the job starts. */
  #wake(): void {
    if (this.#isWaking || this.#workers.size === 0) return;
    this.#isWaking = true;
    setImmediate(() => {
      this.#isWaking = false;
      for (const worker of this.#workers) worker.wake();
    });
  }

  #scheduleSweep(ms = SWEEP_MS): void {
    if (this.#sweeping || this.#closing || this.calls.pollMs === undefined) return;
    this.#sweeping = this.clock.after(ms, () => {
      const next = (): void => {
        this.#sweeping = undefined;
        if (this.#workers.size > 0) this.#scheduleSweep();
      };
      this.#sweep().then(next, next);
    });
    this.#sweeping.setRef(false);
  }

  /** Gives jobs of processes that are gone to others, and looks for jobs that nobody takes. */
  async #sweep(): Promise<void> {
    for (const process of await this.calls.jobs.takers()) {
      const isOwn = process === this.calls.processId;
      if (!isOwn && (await this.calls.isAlive(process))) continue;
      for (const row of await this.calls.jobs.takenBy(process)) {
        if (this.#closing) return;
        if (!isOwn) await this.#lose(row, process);
        else if (row.state === "approved" && !this.#isKnown(row)) await this.#returnUnknown(row.id);
      }
    }
    // Also for tools that were registered since.
    this.#wake();
  }

  async #lose({ id, state, job }: StoredCall, process: string): Promise<void> {
    const changed = await this.#change(id, state === "running" ? lose(process) : loseTaken(process));
    if (changed?.state !== "approved" || !job) return;
    this.#note(job.id, `The worker ${job.worker ?? "that ran it"} ended without a result.`);
    await this.#dispatch(this.#jobOf(changed));
  }

  /** The answer to the commit of a take was lost: its row says that this process has the job, and no worker knows of it. */
  async #returnUnknown(id: string): Promise<void> {
    const giveBack = requeue(this.calls.processId, { inMs: 0, counts: false });
    const returned = await this.#change(id, (row, now) => (this.#isKnown(row) ? undefined : giveBack(row, now)));
    if (returned && returned.state !== "ended") await this.#dispatch(this.#jobOf(returned));
  }

  /** Whether a worker of this process has the job, or may have it. */
  #isKnown({ job }: StoredCall): boolean {
    return [...this.#workers].some((worker) => worker.isTaking || (job && worker.runs(job.id)));
  }

  #note(id: string, note: string): void {
    this.calls.jobs.addLine(id, { at: this.clock.now(), note });
  }

  #pruneSometimes(): void {
    if (--this.#endsUntilPruning > 0) return;
    this.#endsUntilPruning = ENDS_BETWEEN_PRUNINGS;
    void Promise.resolve(this.calls.jobs.prune()).catch(() => undefined);
  }

  async #change(id: string, transition: Transition, next?: StoredCall): Promise<StoredCall | undefined> {
    return this.calls.change(id, redacted(transition, this.clock.now()), { next });
  }

  async #known(id: string): Promise<StoredCall> {
    const row = await this.calls.jobs.get(id);
    if (!row) throw unknownJob(id);
    return row;
  }

  #jobOf(row: StoredCall): Job {
    const job = toJob(row, this.clock.now());
    if (!job) throw unknownJob(row.id);
    return job;
  }
}

function lostClaim({ toolName }: CallData): ToolError {
  return toolError("conflict", `"${toolName}" was taken over before it became a job`, { next: "Ask for its result." });
}

function madeWithoutJob({ toolName }: CallData): ToolError {
  return toolError("conflict", `"${toolName}" is already running under this call id, without a job`, {
    next: "Make the call again to get its result.",
  });
}
