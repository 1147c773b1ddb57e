import type { Timer } from "../core/clock.ts";
import type { Update } from "../core/event.ts";
import { hasEnded, type JobLogLine } from "../jobs/job.ts";
import type { JobEvent } from "../jobs/job-queue.ts";
import { JOB_COLUMNS, type JobRow, toJob } from "./job-row.ts";
import { type JobWrites, readReason } from "./job-writes.ts";
import type { StoreContext } from "./store-part.ts";
import type { WriteGroup } from "./write-group.ts";

export interface JobWatcher {
  group: WriteGroup;
  writes: JobWrites;
  writer: string;
  notify(event: JobEvent): void;
  /** There may be something to take. */
  wake(): void;
  cancel(id: string, reason: string | undefined): void;
  isWorking(): boolean;
}

const MIN_POLL_MS = 10;
const MAX_POLL_MS = 100;
const LONG_ROUND_MS = 1000;

/**
 * Looks for what other processes did to the jobs: one row is read, often while something happens and ten times a second
 * while nothing does. Also finds jobs whose time has come, and those whose workers are gone.
 */
export class JobWatch {
  readonly #context: StoreContext;
  readonly #watcher: JobWatcher;
  #seen: { change: number; line: number } | undefined;
  #timer: Timer | undefined;
  #pauseMs = MIN_POLL_MS;
  #longRoundAt = Number.NEGATIVE_INFINITY;
  #round: Promise<void> | undefined;
  #isClosed = false;

  constructor(context: StoreContext, watcher: JobWatcher) {
    this.#context = context;
    this.#watcher = watcher;
  }

  /** From now on; what happened before is not told. */
  start(): void {
    if (this.#isClosed || this.#timer || this.#round) return;
    this.#look();
  }

  /** Something happened here: what follows from it elsewhere is heard soon. */
  pollSoon(): void {
    if (this.#pauseMs === MIN_POLL_MS) return;
    this.#pauseMs = MIN_POLL_MS;
    if (!this.#timer) return;
    this.#timer.cancel();
    this.#scheduleNext();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#round;
  }

  #scheduleNext(): void {
    if (this.#isClosed) return;
    this.#timer = this.#context.clock.after(this.#pauseMs, () => this.#look());
    this.#timer.setRef(false);
  }

  #look(): void {
    this.#timer = undefined;
    const next = (): void => {
      this.#round = undefined;
      this.#scheduleNext();
    };
    // What cannot be read now is read the next time.
    this.#round = this.#pollOnce().then(next, next);
  }

  async #pollOnce(): Promise<void> {
    const { database, clock } = this.#context;
    const [head] = await database.all<{ change: number; line: number }>(
      "SELECT change, line FROM jobs_head WHERE id = 1",
    );
    if (!head) return;
    const seen = (this.#seen ??= head);
    this.#pauseMs = head.change === seen.change ? Math.min(this.#pauseMs * 2, MAX_POLL_MS) : MIN_POLL_MS;
    if (head.line > seen.line) await this.#emitLines(seen.line, head.line);
    if (head.change > seen.change) await this.#notifyChanges(seen.change, head.change);
    this.#seen = head;
    if (!this.#watcher.isWorking()) return;
    await this.#promote();
    await this.#cancel();
    const now = clock.monotonic();
    if (now - this.#longRoundAt < LONG_ROUND_MS) return;
    this.#longRoundAt = now;
    await this.#recover();
    // Also for tools that were registered meanwhile.
    this.#watcher.wake();
  }

  async #notifyChanges(from: number, to: number): Promise<void> {
    const { writer, notify, wake } = this.#watcher;
    const rows = await this.#context.database.all<JobRow>(
      `SELECT ${JOB_COLUMNS} FROM jobs WHERE change > ? AND change <= ? AND changed_by <> ? ORDER BY change, seq`,
      [from, to, writer],
    );
    for (const job of rows.map(toJob)) {
      if (hasEnded(job)) notify({ type: "ended", job });
      else notify({ type: job.state === "running" ? "started" : "queued", job });
    }
    if (rows.some(({ state }) => state === "queued")) wake();
  }

  async #emitLines(from: number, to: number): Promise<void> {
    const { writer, notify } = this.#watcher;
    const rows = await this.#context.database.all<{ job: string; line: string; fixed: string }>(
      "SELECT job, line, fixed FROM jobs_log JOIN jobs ON jobs.id = jobs_log.job " +
        "WHERE number > ? AND number <= ? AND written_by <> ? ORDER BY number",
      [from, to, writer],
    );
    for (const { job, line, fixed } of rows) {
      const { update } = JSON.parse(line) as Partial<JobLogLine>;
      const { call } = JSON.parse(fixed) as { call: { callId: string } };
      if (update) notify({ type: "updated", jobId: job, callId: call.callId, update: update satisfies Update });
    }
  }

  async #promote(): Promise<void> {
    const [due] = await this.#context.database.all<{ run_at: number | null }>(
      "SELECT min(run_at) AS run_at FROM jobs WHERE state = 'delayed'",
    );
    if (!due || due.run_at === null || due.run_at > this.#context.clock.now()) return;
    const { changes } = await this.#watcher.group.add((tx) => this.#watcher.writes.promote(tx));
    if (changes > 0) this.#watcher.wake();
  }

  async #cancel(): Promise<void> {
    const rows = await this.#context.database.all<{ id: string; cancel: string }>(
      "SELECT id, cancel FROM jobs WHERE state = 'running' AND owner = ? AND cancel IS NOT NULL",
      [this.#context.owners.id],
    );
    for (const row of rows) this.#watcher.cancel(row.id, readReason(row));
  }

  async #recover(): Promise<void> {
    const { database, owners } = this.#context;
    const { group, writes, notify } = this.#watcher;
    const holders = await database.all<{ owner: string }>("SELECT DISTINCT owner FROM jobs WHERE state = 'running'");
    for (const { owner } of holders) {
      if (await owners.isAlive(owner)) continue;
      const jobs = await group.add(async (tx) => {
        const rows = await tx.all<JobRow>(`SELECT ${JOB_COLUMNS} FROM jobs WHERE state = 'running' AND owner = ?`, [
          owner,
        ]);
        const given: ReturnType<typeof toJob>[] = [];
        for (const row of rows) given.push(await writes.requeueLost(tx, row));
        return given;
      });
      for (const job of jobs) notify({ type: "queued", job });
    }
  }
}
