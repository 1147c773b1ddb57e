import { randomUUID } from "node:crypto";
import { JOB_STATES, type JobLogLine, type JobQuery, type JobState } from "../calls/job.ts";
import { type JobNews, type JobRows, noJobs, type WatchNeeds } from "../calls/job-rows.ts";
import type { StoredCall } from "../calls/stored-call.ts";
import type { Timer } from "../core/clock.ts";
import type { Update } from "../core/events.ts";
import type { MaybePromise } from "../core/stage.ts";
import { withDefaults } from "../core/options.ts";
import type { SqlTransaction, SqlValue } from "./database.ts";
import { integer, json, placeholders, rowNumber, type StoreContext, table, text } from "./table.ts";

const jobsLines = table("jobs_lines", {
  number: rowNumber(),
  job: text(),
  at: integer(),
  writtenBy: text(),
  line: json<Omit<JobLogLine, "number" | "at">>(),
});

export interface JobLimits {
  /** How long, and how many, ended jobs are listed. */
  retentionMs: number;
  maxEnded: number;
}

/** As many as the writes of a group need. */
const NUMBERS_AT_ONCE = 200;
const FORGOTTEN_AT_ONCE = 200;

const DEFAULT_LIMITS: JobLimits = { retentionMs: 7 * 24 * 60 * 60 * 1000, maxEnded: 10_000 };

/** Reads rows of `calls`. `where`: all that follows FROM. */
type ReadRows = (where: string, values: readonly SqlValue[]) => Promise<StoredCall[]>;

/** What the store of calls offers its jobs. */
interface RowAccess {
  read: ReadRows;
  /** The same for rows that are changed next. */
  readToChange: ReadRows;
  /** The row of a job that this process has taken, if it is known. */
  held(jobId: string): StoredCall | undefined;
}

/** Numbers that a transaction may still give. */
interface Numbers {
  next: number;
  last: number;
  /** Of all its changes, if the engine numbers transactions. */
  own: number | undefined;
}

/** The rows of background calls in a database that several processes share. */
export class SqlJobRows implements JobRows {
  readonly #context: StoreContext;
  readonly #read: ReadRows;
  readonly #readToChange: ReadRows;
  readonly #limits: JobLimits;
  readonly #writer = randomUUID();
  readonly #lines: JobLines;
  readonly #watch: JobWatch;
  readonly #listeners = new Map<(news: JobNews) => void, WatchNeeds>();
  readonly #held: (jobId: string) => StoredCall | undefined;
  /** Numbers that a transaction may still give. */
  readonly #numbers = new WeakMap<SqlTransaction, Promise<Numbers>>();

  constructor(context: StoreContext, { read, readToChange, held }: RowAccess, limits: Partial<JobLimits> = {}) {
    this.#context = context;
    this.#read = read;
    this.#readToChange = readToChange;
    this.#held = held;
    this.#limits = withDefaults(DEFAULT_LIMITS, limits);
    this.#lines = new JobLines(context, this.#writer);
    this.#watch = new JobWatch(context, {
      read,
      writer: this.#writer,
      notify: (news) => this.#notify(news),
      wantsAll: () => [...this.#listeners.values()].some(({ wantsAll }) => wantsAll?.() ?? true),
      isBusy: () => [...this.#listeners.values()].every(({ isBusy }) => isBusy?.() ?? false),
    });
  }

  async get(jobId: string): Promise<StoredCall | undefined> {
    return (await this.#read("WHERE job_id = ?", [jobId]))[0];
  }

  async getToChange(jobId: string): Promise<StoredCall | undefined> {
    return this.#held(jobId) ?? (await this.#readToChange("WHERE job_id = ?", [jobId]))[0];
  }

  async list({ states, toolName, session, limit = 100, before }: JobQuery, now: number): Promise<StoredCall[]> {
    if (states?.length === 0) return [];
    // By the number, so that SQLite takes its index, which has the order.
    const wanted = ["job_seq IS NOT NULL", "job_id IS NOT NULL"];
    const values: SqlValue[] = [];
    const want = (sql: string, ...given: SqlValue[]): void => void (wanted.push(sql), values.push(...given));
    if (states) want(`${stateSql()} IN (${placeholders(states)})`, now, ...states);
    if (toolName !== undefined) want("tool_name = ?", JSON.stringify(toolName));
    if (session !== undefined) want("job_session = ?", JSON.stringify(session));
    if (before !== undefined) want("job_seq < (SELECT job_seq FROM calls WHERE job_id = ?)", before);
    return this.#read(`WHERE ${wanted.join(" AND ")} ORDER BY job_seq DESC LIMIT ?`, [...values, limit]);
  }

  async counts(now: number): Promise<Record<JobState, number>> {
    const counts = noJobs();
    const sql = `SELECT job_state, count(*) AS count FROM
      (SELECT ${stateSql()} AS job_state FROM calls WHERE job_id IS NOT NULL) AS found GROUP BY job_state`;
    const rows = await this.#context.database.all<{ job_state: JobState; count: number }>(sql, [now]);
    for (const { job_state: state, count } of rows) if (JOB_STATES.includes(state)) counts[state] = count;
    return counts;
  }

  async takers(): Promise<string[]> {
    const has = (process: string, where: string): string =>
      `SELECT ${process} AS taker FROM calls WHERE state <> 'ended' AND job_id IS NOT NULL AND ${where}`;
    const rows = await this.#context.database.all<{ taker: string }>(
      `${has("holder", "state = 'approved' AND holder IS NOT NULL")}
       UNION ${has("owner", "state = 'running' AND owner <> ?")}`,
      [this.#context.owners.id],
    );
    return rows.map(({ taker }) => taker);
  }

  async takenBy(processId: string): Promise<StoredCall[]> {
    return this.#read(
      `WHERE state <> 'ended' AND state IN ('approved', 'running') AND job_id IS NOT NULL
       AND ((state = 'approved' AND holder = ?) OR (state = 'running' AND owner = ?))`,
      [processId, processId],
    );
  }

  async log(jobId: string, after: number): Promise<JobLogLine[]> {
    await this.#lines.flush();
    const where = "WHERE job = ? AND number > ? ORDER BY number";
    const rows = await jobsLines.select(this.#context.database, ["number", "at", "line"], where, [jobId, after]);
    return rows.map(({ number, at, line }) => ({ number, at, ...line }));
  }

  addLine(jobId: string, line: Omit<JobLogLine, "number">): void {
    const callId = this.#lines.add(jobId, line);
    if (line.update && callId !== undefined) this.#notify({ type: "updated", jobId, callId, update: line.update });
  }

  watch(listener: (news: JobNews) => void, needs: WatchNeeds = {}): () => void {
    this.#listeners.set(listener, needs);
    this.#watch.start();
    return () => void this.#listeners.delete(listener);
  }

  /** In slices: one statement for all would block the event loop. */
  async prune(): Promise<void> {
    const { retentionMs, maxEnded } = this.#limits;
    const ended = "job_id IS NOT NULL AND state = 'ended'";
    const [last] = await this.#context.database.all<{ ended_at: number }>(
      `SELECT ended_at FROM calls WHERE ${ended} ORDER BY ended_at DESC LIMIT 1 OFFSET ?`,
      [maxEnded - 1],
    );
    const before = Math.max(this.#context.clock.now() - retentionMs, last?.ended_at ?? 0);
    const forgetSome = async (tx: SqlTransaction): Promise<number> => {
      const found = await tx.all<{ job_id: string }>(
        `SELECT job_id FROM calls WHERE ${ended} AND ended_at < ? ORDER BY ended_at LIMIT ${FORGOTTEN_AT_ONCE}`,
        [before],
      );
      const ids = found.map((row) => row.job_id);
      if (ids.length === 0) return 0;
      const some = placeholders(ids);
      // One that is tried again meanwhile stays, with its log.
      await tx.run(
        `UPDATE calls SET job_id = NULL, job = NULL, request = NULL WHERE ${ended} AND ended_at < ? AND job_id IN (${some})`,
        [before, ...ids],
      );
      await tx.run(
        `DELETE FROM jobs_lines WHERE job IN (${some}) AND job NOT IN (SELECT job_id FROM calls WHERE job_id IN (${some}))`,
        [...ids, ...ids],
      );
      return ids.length;
    };
    while ((await this.write(forgetSome)) === FORGOTTEN_AT_ONCE) {
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  /** Logs of jobs whose calls were deleted. In slices, too. */
  async pruneLogs(): Promise<void> {
    const orphans = `SELECT DISTINCT job FROM jobs_lines
      WHERE NOT EXISTS (SELECT 1 FROM calls WHERE calls.job_id = jobs_lines.job) LIMIT ${FORGOTTEN_AT_ONCE}`;
    for (let found = FORGOTTEN_AT_ONCE; found === FORGOTTEN_AT_ONCE;) {
      const jobs = (await this.#context.database.all<{ job: string }>(orphans)).map(({ job }) => job);
      found = jobs.length;
      if (found > 0)
        await this.write((tx) => tx.run(`DELETE FROM jobs_lines WHERE job IN (${placeholders(jobs)})`, jobs));
    }
  }

  /** Writes of one turn of the event loop share a transaction. */
  write<T>(work: (tx: SqlTransaction) => MaybePromise<T>): Promise<T> {
    return this.#context.writer.write(work, { appends: false });
  }

  /** Writes waiting log lines. If that fails, they are lost, which does not harm the jobs. */
  async flush(): Promise<void> {
    await this.#lines.flush().catch(() => undefined);
  }

  /**
   * A number for the order of a new job, and the number of the change, by which other processes find it. A transaction takes
   * many at once and holds the row of the last number until it is committed, so numbers are visible in their order.
   */
  async nextNumber(tx: SqlTransaction): Promise<{ seq: number; change: number }> {
    const reserve = (): Promise<Numbers> => {
      const reserved = this.#reserve(tx);
      this.#numbers.set(tx, reserved);
      return reserved;
    };
    let numbers = await (this.#numbers.get(tx) ?? reserve());
    while (numbers.next > numbers.last) numbers = await reserve();
    const seq = numbers.next++;
    return { seq, change: numbers.own ?? seq };
  }

  async #reserve(tx: SqlTransaction): Promise<Numbers> {
    const own = this.#context.database.changeNumbers?.own ?? "NULL";
    const sql = `UPDATE jobs_head SET change = change + ? WHERE id = 1 RETURNING change, ${own} AS own`;
    const [head] = await tx.all<{ change: number; own: number | null }>(sql, [NUMBERS_AT_ONCE]);
    const last = head?.change ?? 0;
    return { next: last - NUMBERS_AT_ONCE + 1, last, own: head?.own ?? undefined };
  }

  /** Tells the writes of this process from those of others. */
  get writer(): string {
    return this.#writer;
  }

  /** Call when the change of a row that is a job is committed. */
  changed(row: StoredCall, before: StoredCall | undefined): void {
    if (row.job && row.request) this.#lines.know(row.job.id, row.state === "ended" ? undefined : row.request.callId);
    this.#notify({ type: "changed", row, before, isOwn: true });
  }

  async close(): Promise<void> {
    await this.#watch.close();
    await this.flush();
  }

  #notify(news: JobNews): void {
    for (const listener of this.#listeners.keys()) listener(news);
  }
}

/** As `toJob` has it. One parameter: the time. */
function stateSql(): string {
  return `CASE WHEN state = 'ended' THEN CASE WHEN outcome IN ('completed', 'denied', 'cancelled', 'unknown') THEN outcome ELSE 'failed' END
    WHEN state <> 'approved' OR holder IS NOT NULL THEN 'running'
    WHEN run_at > ? THEN 'delayed' ELSE 'queued' END`;
}

interface JobWatcher {
  read: ReadRows;
  writer: string;
  notify(news: JobNews): void;
  /** Whether somebody wants the changes of all jobs. */
  wantsAll(): boolean;
  isBusy(): boolean;
}

/** A change by another process. */
interface Changed {
  id: string;
  job_change: number;
  run_at: number | null;
  state: string;
  holder: string | null;
}

const ROWS_PER_READ = 200;

/** How long it waits after a look that failed. */
const LOOK_AGAIN_MS = 1000;

/** Looks for changes by other processes when the database reports commits, with a pause after each. Reports later changes only. */
class JobWatch {
  readonly #context: StoreContext;
  readonly #watcher: JobWatcher;
  /** Changes from number `open` on may not be visible yet. */
  #seen: { open: number; line: number } | undefined;
  /** Changes beyond that which were visible already, by row. */
  #reported: ReadonlyMap<string, number> = new Map();
  #unwatch: (() => void) | undefined;
  #round: Promise<void> | undefined;
  #timer: Timer | undefined;
  /** Whether there were commits since the last look began. */
  #isBehind = false;
  #isLongPause = false;
  #isClosed = false;

  constructor(context: StoreContext, watcher: JobWatcher) {
    this.#context = context;
    this.#watcher = watcher;
  }

  start(): void {
    if (this.#isClosed || this.#unwatch) return;
    this.#unwatch = this.#context.database.watch(() => this.#look());
    this.#look();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#unwatch?.();
    this.#timer?.cancel();
    await this.#round;
  }

  #look(): void {
    this.#isBehind = true;
    const { min, max } = this.#context.database.pollMs;
    const { wantsAll, isBusy } = this.#watcher;
    // It was busy when it began to pause.
    if (this.#isLongPause && !isBusy()) this.#endPause();
    if (this.#round || this.#timer) return;
    this.#isBehind = false;
    const looked = (): number => {
      this.#isLongPause = !wantsAll() && isBusy();
      return this.#isLongPause ? max : min;
    };
    const failed = (): number => ((this.#isBehind = true), LOOK_AGAIN_MS);
    this.#round = this.#lookOnce()
      .then(looked, failed)
      .then((pauseMs) => this.#pause(pauseMs));
  }

  #endPause(): void {
    this.#isLongPause = false;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #pause(ms: number): void {
    this.#round = undefined;
    if (this.#isClosed) return;
    this.#timer = this.#context.clock.after(ms, () => {
      this.#endPause();
      if (this.#isBehind) this.#look();
    });
    this.#timer.setRef(false);
  }

  async #lookOnce(): Promise<void> {
    const { database } = this.#context;
    const open = database.changeNumbers?.open ?? "change + 1";
    const [head] = await database.all<{ open: number; line: number }>(
      `SELECT ${open} AS open, line FROM jobs_head WHERE id = 1`,
    );
    if (!head) return;
    const seen = (this.#seen ??= head);
    if (head.line > seen.line) await this.#emitLines(seen.line, head.line);
    if (head.open > seen.open || database.changeNumbers) await this.#notifyChanges(seen.open, head.open);
    this.#seen = head;
  }

  async #notifyChanges(from: number, open: number): Promise<void> {
    const { read, writer, notify, wantsAll } = this.#watcher;
    const isAll = wantsAll();
    const me = this.#context.owners.id;
    const ofWorker = " AND (owner = ? OR holder = ? OR (state = 'approved' AND holder IS NULL))";
    const found = await this.#context.database.all<Changed>(
      `SELECT id, job_change, run_at, state, holder FROM calls
       WHERE job_change >= ? AND changed_by <> ?${isAll ? "" : ofWorker} ORDER BY job_change, job_seq`,
      isAll ? [from, writer] : [from, writer, me, me],
    );
    // Somebody waits since the look began.
    if (!isAll && wantsAll()) return this.#notifyChanges(from, open);
    const fresh = found.filter(({ id, job_change: change }) => this.#reported.get(id) !== change);
    this.#reported = new Map(found.flatMap(({ id, job_change: change }) => (change < open ? [] : [[id, change]])));
    const now = this.#context.clock.now();
    const isDue = ({ state, holder, run_at: runAt }: Changed): boolean =>
      state === "approved" && holder === null && (runAt ?? 0) <= now;
    const wanted = isAll ? fresh : fresh.filter((row) => !isDue(row));
    if (wanted.length < fresh.length) notify({ type: "due" });
    for (let at = 0; at < wanted.length; at += ROWS_PER_READ) {
      const some = wanted.slice(at, at + ROWS_PER_READ);
      const ids = some.map(({ id }) => id);
      const changes = [...new Set(some.map(({ job_change: change }) => change))];
      // A row that has changed again is reported by the next look, once.
      const where = `WHERE id IN (${placeholders(ids)}) AND job_change IN (${placeholders(changes)}) AND job_id IS NOT NULL`;
      const rows = new Map((await read(where, [...ids, ...changes])).map((row) => [row.id, row]));
      for (const row of ids.flatMap((id) => rows.get(id) ?? [])) notify({ type: "changed", row, isOwn: false });
    }
  }

  async #emitLines(from: number, to: number): Promise<void> {
    const { writer, notify } = this.#watcher;
    const rows = await this.#context.database.all<{ call_id: string }>(
      "SELECT jobs_lines.job AS job, line, call_id FROM jobs_lines JOIN calls ON calls.job_id = jobs_lines.job " +
        "WHERE number > ? AND number <= ? AND written_by <> ? ORDER BY number",
      [from, to, writer],
    );
    for (const [at, { job, line }] of jobsLines.read(["job", "line"], rows).entries()) {
      const callId = JSON.parse(rows[at]?.call_id ?? '""') as string;
      if (line.update) notify({ type: "updated", jobId: job, callId, update: line.update });
    }
  }
}

const MAX_LINES = 1000;
const MAX_LINE_BYTES = 64 * 1024;
const WRITTEN_AFTER_MS = 20;
const LINES_BETWEEN_TRIMMINGS = 250;
const LINES_PER_INSERT = 100;

type Line = Omit<JobLogLine, "number">;

interface WaitingLines {
  lines: Line[];
  progress: Update["progress"];
}

/** Log lines of jobs, collected for some milliseconds: a job may send a thousand updates a second. */
class JobLines {
  readonly #context: StoreContext;
  readonly #writer: string;
  /** The call ids of jobs that this process changed. */
  readonly #callIds = new Map<string, string>();
  readonly #waiting = new Map<string, WaitingLines>();
  #written: Promise<void> = Promise.resolve();
  readonly #untilTrimming = new Map<string, number>();
  #timer: Timer | undefined;

  constructor(context: StoreContext, writer: string) {
    this.#context = context;
    this.#writer = writer;
  }

  know(jobId: string, callId: string | undefined): void {
    if (callId !== undefined) return void this.#callIds.set(jobId, callId);
    this.#callIds.delete(jobId);
    this.#untilTrimming.delete(jobId);
  }

  /** Returns the id of the call. */
  add(id: string, line: Line): string | undefined {
    const waiting = this.#waiting.get(id) ?? { lines: [], progress: undefined };
    this.#waiting.set(id, waiting);
    waiting.lines.push(line);
    if (line.update?.progress) waiting.progress = line.update.progress;
    if (waiting.lines.length > MAX_LINES) waiting.lines.shift();
    this.#timer ??= this.#context.clock.after(WRITTEN_AFTER_MS, () => void this.flush().catch(() => undefined));
    this.#timer.setRef(false);
    return this.#callIds.get(id);
  }

  /** Resolves when all lines that were added are written, or are lost because that failed. */
  async flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    const write = (): Promise<void> => this.#write(waiting);
    const written = waiting.length === 0 ? this.#written : this.#written.then(write);
    this.#written = written.catch(() => undefined);
    await written;
  }

  async #write(waiting: readonly (readonly [string, WaitingLines])[]): Promise<void> {
    const write = async (tx: SqlTransaction): Promise<void> => {
      for (const [id, { progress }] of waiting) {
        if (progress) await tx.run("UPDATE calls SET progress = ? WHERE job_id = ?", [JSON.stringify(progress), id]);
      }
      // Last: all processes wait for the row of the last number.
      for (const [id, { lines }] of waiting) await this.#append(tx, id, lines);
    };
    await this.#context.writer.write(write, { appends: false });
  }

  async #append(tx: SqlTransaction, id: string, lines: readonly Line[]): Promise<void> {
    const [head] = await tx.all<{ line: number }>("UPDATE jobs_head SET line = line + ? WHERE id = 1 RETURNING line", [
      lines.length,
    ]);
    const first = (head?.line ?? 0) - lines.length + 1;
    for (let from = 0; from < lines.length; from += LINES_PER_INSERT) {
      const rows = lines.slice(from, from + LINES_PER_INSERT).map(({ at, ...line }, index) => {
        return { number: first + from + index, job: id, at, writtenBy: this.#writer, line: fit(line) };
      });
      await jobsLines.insertMany(tx, rows);
    }
    await this.#trim(tx, id, lines.length);
  }

  async #trim(tx: SqlTransaction, id: string, added: number): Promise<void> {
    const left = (this.#untilTrimming.get(id) ?? LINES_BETWEEN_TRIMMINGS) - added;
    this.#untilTrimming.set(id, left > 0 ? left : LINES_BETWEEN_TRIMMINGS);
    if (left > 0) return;
    await tx.run(
      "DELETE FROM jobs_lines WHERE job = ? AND number <= " +
        "(SELECT number FROM jobs_lines WHERE job = ? ORDER BY number DESC LIMIT 1 OFFSET ?)",
      [id, id, MAX_LINES],
    );
  }
}

function fit(line: Omit<Line, "at">): Omit<Line, "at"> {
  const { length } = JSON.stringify(line);
  if (length <= MAX_LINE_BYTES) return line;
  return { note: `An update of ${length} characters was too long to be stored.` };
}
