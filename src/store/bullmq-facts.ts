import type { QueueEvents } from "bullmq";
import { JobListeners } from "../jobs/job-listeners.ts";
import type { Job } from "../jobs/job.ts";
import type { JobEvent } from "../jobs/job-queue.ts";
import { type ToolQueues, listenFromNow } from "./bullmq-lanes.ts";
import type { Progress } from "./bullmq-record.ts";

const REMEMBERED = 10_000;

/** What BullMQ tells of the jobs of all tools, as facts, in the order in which they became true; heard where somebody listens. */
export class BullMqEvents {
  readonly #toolQueues: ToolQueues;
  readonly #find: (id: string) => Promise<Job | undefined>;
  readonly #listeners = new JobListeners();
  readonly #sources = new Map<string, Promise<QueueEvents>>();
  /** Tools that have a past at the time of the first listener. */
  readonly #old: ReadonlySet<string>;
  /** Ends that were told: by BullMQ, and by whoever cancelled. */
  readonly #ended = new Set<string>();
  /** Jobs that are new: that they wait is told once. */
  readonly #added = new Set<string>();
  #notified: Promise<unknown> = Promise.resolve();
  #stop: (() => void) | undefined;

  constructor(toolQueues: ToolQueues, find: (id: string) => Promise<Job | undefined>) {
    this.#toolQueues = toolQueues;
    this.#find = find;
    this.#old = new Set(toolQueues.tools);
  }

  subscribe(listener: (event: JobEvent) => void): () => void {
    this.#stop ??= this.#start();
    return this.#listeners.add(listener);
  }

  /** When it resolves, what happens to jobs of this tool is heard, if somebody listens. */
  async subscribeTo(toolName: string): Promise<void> {
    if (this.#stop) await this.#open(toolName);
  }

  async close(): Promise<void> {
    this.#stop?.();
    await Promise.allSettled([...this.#sources.values()].map(async (source) => (await source).close()));
  }

  #start(): () => void {
    const stop = this.#toolQueues.onNotice((notice) => {
      if (notice.notice === "tool") void this.#open(notice.toolName);
      if (notice.notice === "cancelled") this.#notify(notice.jobId, "ended");
    });
    for (const toolName of this.#toolQueues.tools) void this.#open(toolName);
    return stop;
  }

  #open(toolName: string): Promise<QueueEvents> {
    let source = this.#sources.get(toolName);
    if (!source) this.#sources.set(toolName, (source = this.#listen(toolName)));
    return source;
  }

  async #listen(toolName: string): Promise<QueueEvents> {
    const { engine } = this.#toolQueues;
    const name = this.#toolQueues.nameOf(toolName);
    const events = this.#old.has(toolName) ? await listenFromNow(engine, name) : engine.events(name, "0");
    events.on("added", ({ jobId }) => {
      this.#added.add(jobId);
      this.#notify(jobId, "queued");
    });
    events.on("waiting", ({ jobId, prev }) => {
      if (prev === undefined) this.#added.delete(jobId);
      else if (prev !== "delayed") this.#notify(jobId, "queued");
    });
    events.on("delayed", ({ jobId }) => {
      if (!this.#added.delete(jobId)) this.#notify(jobId, "queued");
    });
    events.on("active", ({ jobId }) => this.#notify(jobId, "started"));
    events.on("completed", ({ jobId }) => this.#notify(jobId, "ended"));
    events.on("failed", ({ jobId }) => this.#notify(jobId, "ended"));
    events.on("progress", ({ jobId, data }) => {
      const { callId, updates } = JSON.parse(data as string) as Progress;
      this.#inOrder(async () => {
        for (const update of updates) this.#listeners.notify({ type: "updated", jobId, callId, update });
      });
    });
    return events;
  }

  #notify(id: string, type: "queued" | "started" | "ended"): void {
    if (this.#listeners.size === 0) return;
    const finding = this.#find(id).catch(() => undefined);
    this.#inOrder(async () => {
      const job = await finding;
      // Dropped since, as very old ones are.
      if (!job) return;
      if (type === "ended") this.#emitEnd(job);
      else this.#listeners.notify({ type, job: snapshotAt(job, type) });
    });
  }

  #emitEnd(job: Job): void {
    const end = `${job.id}#${job.round}`;
    if (this.#ended.has(end)) return;
    this.#ended.add(end);
    if (this.#ended.size > REMEMBERED) this.#ended.delete(this.#ended.values().next().value!);
    this.#listeners.notify({ type: "ended", job });
  }

  #inOrder(notify: () => Promise<void>): void {
    this.#notified = this.#notified.then(notify, notify);
  }
}

/** Meanwhile it may have gone on. */
function snapshotAt(job: Job, type: "queued" | "started"): Job {
  const { result: _result, endedAt: _endedAt, ...open } = job;
  if (type === "started") return { ...open, state: "running" };
  return { ...open, state: job.state === "delayed" ? "delayed" : "queued" };
}
