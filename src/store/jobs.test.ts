import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import type { ToolResult } from "../core/result.ts";
import { failedJob, type Job, type JobRequest, unknownJob } from "../calls/job.ts";
import { describeJobQueue, type OpenedQueues } from "../calls/job-queue.suite.ts";
import type { JobOutcome } from "../calls/job-queue.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { RowJobs } from "../calls/row-jobs.ts";
import { claim, end } from "../calls/stored-call.ts";
import { SqlCalls } from "./calls.ts";
import { ENGINES, useEngine } from "./engines.fixture.ts";
import { JOB_MIGRATIONS } from "./job-tables.ts";
import { GroupWriter } from "./group-writer.ts";
import { migrate } from "./migrations.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { openStore, type Store, type StoreLocation, STORE_MIGRATIONS } from "./store.ts";
import { Owners } from "./process-owners.ts";
import type { SqlDatabase } from "./database.ts";

describe.each(ENGINES)("$name", (engine) => {
  const { createLocation } = useEngine(engine);
  describeJobQueue("the store", async () => openQueues(await createLocation()));
});

async function openQueues(place: StoreLocation): Promise<OpenedQueues> {
  const stores: Store[] = [await openStore(place)];
  return {
    queue: stores[0]!.jobs,
    async another() {
      stores.push(await openStore(place));
      return stores.at(-1)!.jobs;
    },
    async close() {
      for (const store of stores) await store.close();
    },
  };
}

describe("jobs in a store", () => {
  let folder: string;
  const opened: RowJobs[] = [];
  const stores: SqlCalls[] = [];
  const databases: SqlDatabase[] = [];
  beforeEach(() => void (folder = temporaryFolder("haft-jobs-")));
  afterEach(async () => {
    for (const jobs of opened.splice(0)) await jobs.close();
    for (const { jobs } of stores.splice(0)) await jobs.close();
    for (const database of databases.splice(0)) await database.close();
  });

  /** As another process would: its own connection, and an owner of its own. */
  async function open({ clock = systemClock, limits = {}, wrap = (database: SqlDatabase) => database } = {}) {
    const database = await openSqlite(join(folder, "jobs.db"));
    databases.push(database);
    await migrate(database, STORE_MIGRATIONS, clock.now());
    const owners = await Owners.enter(database, clock);
    const wrapped = wrap(database);
    const writer = new GroupWriter({ database: wrapped, owner: owners.id, now: () => clock.now() });
    const calls = new SqlCalls({ database: wrapped, writer, clock, owners, warn: () => undefined }, limits);
    const jobs = new RowJobs({ clock, calls });
    stores.push(calls);
    opened.push(jobs);
    return { jobs, calls, owners, database };
  }

  test("fa-003: what a worker that vanished had taken is taken by another, once", async () => {
    const gone = await open();
    const { jobs } = await open();
    const job = await gone.jobs.submit(aRequest());
    expect(await gone.jobs.take(["tool"], () => 1)).toMatchObject([{ id: job.id, state: "running" }]);
    const ran: Job[] = [];
    await jobs.work({
      tools: () => ["tool"],
      concurrency: 4,
      run: async (taken) => (ran.push(taken), outcomeOf(taken)),
    });
    // As its process ends: it is no longer among the owners.
    await gone.owners.leave();
    await until(async () => (await jobs.get(job.id))?.state === "completed");
    expect(ran).toMatchObject([{ id: job.id, attempt: 1, lost: 1 }]);
    expect(await jobs.log(job.id)).toMatchObject([{ note: expect.stringContaining("ended without a result") }]);
    // Come back, it has nothing to say of a job that is another's.
    await gone.jobs.settled(job, { result: failedJob(job, unknownJob("late"), 1) });
    expect(await jobs.get(job.id)).toMatchObject({ state: "completed" });
  });

  test("a job whose worker vanished after its start and that is cancelled then has an unknown outcome, not none", async () => {
    const gone = await open();
    const { jobs } = await open();
    const { id } = await gone.jobs.submit({ ...aRequest(), call: { ...aRequest().call, idempotent: true } });
    await gone.jobs.take(["tool"], () => 1);
    const started = claim(gone.owners.id, () => false);
    expect(await gone.calls.change(id, (row) => started(row, 1))).toMatchObject({ state: "running", epoch: 1 });
    await gone.owners.leave();
    // Gives the job back: it may run again. No tool of this worker is meant.
    await jobs.work({ tools: () => [], concurrency: 1, run: async (job) => outcomeOf(job) });
    await until(async () => (await jobs.get(id))?.state === "queued");
    const cancelled = await jobs.cancel(id, "not wanted");
    expect(cancelled).toMatchObject({ state: "unknown", result: { error: { code: "unknown_outcome" } } });
    expect(await jobs.list({ states: ["failed"] })).toEqual([]);
    expect(await jobs.list({ states: ["unknown"] })).toMatchObject([{ id }]);
    expect(await jobs.counts()).toMatchObject({ failed: 0, unknown: 1 });
  });

  test("a late result replaces an unknown outcome in what the job reports", async () => {
    const slow = await open();
    const { jobs } = await open();
    const { id } = await slow.jobs.submit(aRequest());
    const [job] = await slow.jobs.take(["tool"], () => 1);
    const started = claim(slow.owners.id, () => false);
    await slow.calls.change(id, (row) => started(row, 1));
    // Taken for dead, although it lives.
    await slow.owners.leave();
    await jobs.work({ tools: () => ["tool"], concurrency: 1, run: async (taken) => outcomeOf(taken) });
    await until(async () => (await jobs.get(id))?.state === "unknown");
    const ended = end(slow.owners.id, 1, { outcome: "completed", result: outcomeOf(job!).result, releasesKey: false });
    await slow.calls.change(id, (row) => ended(row, 2));
    expect(await jobs.get(id)).toMatchObject({ state: "completed", result: { status: "completed" } });
    expect(await jobs.list({ states: ["failed", "unknown"] })).toEqual([]);
  });

  test.each([
    ["its call cannot be read", "request = '{'"],
    ["its call is missing", "request = NULL"],
    ["the rest of it cannot be read", "job = '{'"],
  ])("a job ends if %s, and keeps no other from running", async (_name, damage) => {
    const { jobs, database } = await open();
    const other = await open();
    const ended: string[] = [];
    other.jobs.subscribe(({ type, ...event }) => void (type === "ended" && "job" in event && ended.push(event.job.id)));
    const damaged = await jobs.submit({ ...aRequest("damaged"), priority: 1 });
    const sound = await jobs.submit(aRequest("sound"));
    await database.run(`UPDATE calls SET ${damage} WHERE job_id = ?`, [damaged.id]);
    const ran: string[] = [];
    const run = async (job: Job): Promise<JobOutcome> => (ran.push(job.id), outcomeOf(job));
    await jobs.work({ tools: () => ["tool"], concurrency: 1, run });
    await until(async () => ended.length === 2);
    expect(ran).toEqual([sound.id]);
    expect(await jobs.get(damaged.id)).toMatchObject({
      state: "cancelled",
      result: { error: { message: expect.stringContaining("cannot be read any more") } },
    });
    expect((await jobs.list()).map(({ id }) => id)).toEqual([sound.id, damaged.id]);
    await expect(jobs.retry(damaged.id)).rejects.toThrow(/Make the call again/);
  });

  test("jobs of an earlier version become rows, with their logs: open ones run, ended ones are listed", async () => {
    const { jobs: now, database } = await open();
    await now.submit(aRequest("new"));
    await database.run("DELETE FROM calls");
    await database.run("DELETE FROM haft_migrations WHERE owner = 'jobs' AND version >= 2");
    await database.run("DROP TABLE jobs_lines");
    const [created, ...more] = JOB_MIGRATIONS.versions[0] ?? [];
    for (const sql of [created, ...more.filter((step) => /jobs_log/.test(String(step)))])
      await database.run(String(sql));
    const { call } = aRequest("old");
    const row = (id: string, state: string, fixed: object, result: string | null) =>
      database.run(
        `INSERT INTO jobs (id, state, tool, session, priority, run_at, attempt, lost, ended_at, change, changed_by, fixed, result)
         VALUES (?, ?, '"tool"', 'null', 3, 1, ?, 0, ?, 1, 'w', ?, ?)`,
        [
          id,
          state,
          state === "queued" ? 0 : 1,
          result && 5,
          JSON.stringify({ call, createdAt: 1, attempts: 1, round: 1, ...fixed }),
          result,
        ],
      );
    await row("waits", "queued", {}, null);
    await row("taken", "running", { call: { ...call, callId: "taken" } }, null);
    await row("done", "completed", {}, JSON.stringify(outcomeOf({ call } as Job).result));
    await database.run(`INSERT INTO jobs_log VALUES (7, 'done', 4, 'w', '{"note":"said"}')`);
    const { jobs } = await open();
    expect((await jobs.list()).map(({ id, state, priority }) => [id, state, priority])).toEqual([
      ["done", "completed", 3],
      ["taken", "queued", 3],
      ["waits", "queued", 3],
    ]);
    expect(await jobs.log("done")).toEqual([{ number: 7, at: 4, note: "said" }]);
    await jobs.work({ tools: () => ["tool"], concurrency: 2, run: async (taken) => outcomeOf(taken) });
    for (const id of ["waits", "taken"]) await until(async () => (await jobs.get(id))?.state === "completed");
  });

  test("fa-011: what could not be written was not accepted, and an end is told only when it is written", async () => {
    let isBroken = false;
    const wrap = (database: SqlDatabase): SqlDatabase => {
      const transact = database.transaction.bind(database);
      database.transaction = (work) =>
        transact(async (tx) => {
          const done = await work(tx);
          if (isBroken) throw Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR_FSYNC" });
          return done;
        });
      return database;
    };
    const clock = createFakeClock();
    const { jobs } = await open({ clock, wrap });
    isBroken = true;
    await expect(jobs.submit(aRequest())).rejects.toThrow(/disk I\/O error/);
    expect(await jobs.list()).toEqual([]);
    isBroken = false;
    const events: string[] = [];
    jobs.subscribe(({ type }) => void events.push(type));
    let runs = 0;
    await jobs.work({
      ...{ tools: () => ["tool"], concurrency: 1 },
      run: async (job) => {
        runs++;
        isBroken = true;
        return outcomeOf(job);
      },
    });
    const job = await jobs.submit(aRequest());
    await until(() => runs === 1);
    await clock.advance(2000);
    expect([events, (await jobs.get(job.id))?.state]).toEqual([["queued", "started"], "running"]);
    isBroken = false;
    await until(async () => (await clock.advance(500), (await jobs.get(job.id))?.state === "completed"));
    expect([events, runs]).toEqual([["queued", "started", "ended"], 1]);
  });

  test.each([
    ["an hour on", 3_600_000],
    ["an hour back", -3_600_000],
    ["to 2038", Date.UTC(2038, 0, 20) - Date.now()],
  ])("fa-025: a clock that is set %s neither loses nor repeats", async (_name, jumpMs) => {
    let jump = 0;
    const clock: Clock = {
      ...systemClock,
      now: () => systemClock.now() + jump,
      wallTimeAt: (monotonic) => systemClock.wallTimeAt(monotonic) + jump,
    };
    const { jobs } = await open({ clock });
    const other = await open({ clock });
    const runs: string[] = [];
    const go = new Promise<void>((resolve) => {
      jobs.subscribe((event) => void (event.type === "ended" && event.job.call.callId === "soon" && resolve()));
    });
    const run = async (job: Job): Promise<JobOutcome> => {
      runs.push(job.call.callId);
      if (job.call.callId === "long") await go;
      return outcomeOf(job);
    };
    for (const { jobs: queue } of [{ jobs }, other]) await queue.work({ tools: () => ["tool"], concurrency: 2, run });
    const long = await jobs.submit(aRequest("long"));
    await until(() => runs.length === 1);
    const late = await jobs.submit({ ...aRequest("late"), delayMs: 50 });
    jump = jumpMs;
    // Who comes now looks first of all for jobs whose workers are gone.
    await (await open({ clock })).jobs.work({ tools: () => ["tool"], concurrency: 1, run });
    const soon = await jobs.submit(aRequest("soon"));
    for (const { id } of [long, late, soon]) await until(async () => (await jobs.get(id))?.state === "completed");
    expect(runs.toSorted()).toEqual(["late", "long", "soon"]);
    expect((await jobs.list()).map(({ lost }) => lost)).toEqual([0, 0, 0]);
    expect((await jobs.list()).map(({ call }) => call.callId)).toEqual(["soon", "late", "long"]);
  });

  test("ended jobs are dropped when they are old or too many, with their logs; others never", async () => {
    const clock = createFakeClock();
    const { jobs, database } = await open({ clock, limits: { retentionMs: 1000, maxEnded: 2 } });
    const waiting = await jobs.submit({ ...aRequest(), delayMs: 1e9 });
    const ended: Job[] = [];
    for (let i = 0; i < 4; i++) {
      const job = await jobs.submit(aRequest());
      await jobs.take(["tool"], () => 1);
      jobs.updated(job, { details: i });
      await jobs.settled(job, outcomeOf(job));
      ended.push(job);
      await clock.advance(100);
    }
    await jobs.calls.jobs.prune();
    expect((await jobs.list()).map(({ id }) => id)).toEqual([ended[3]!.id, ended[2]!.id, waiting.id]);
    expect(await database.all("SELECT job FROM jobs_lines ORDER BY number")).toMatchObject([
      { job: ended[2]!.id },
      { job: ended[3]!.id },
    ]);
    await clock.advance(5000);
    await jobs.calls.jobs.prune();
    expect((await jobs.list()).map(({ id }) => id)).toEqual([waiting.id]);
  });

  test("an update that is too long is left out of the log, and that is said", async () => {
    const { jobs } = await open();
    const job = await jobs.submit(aRequest());
    await jobs.take(["tool"], () => 1);
    jobs.updated(job, { details: "x".repeat(100_000) });
    expect(await jobs.log(job.id)).toMatchObject([{ note: expect.stringMatching(/too long/) }]);
  });
});

function aRequest(callId = "call"): JobRequest {
  return {
    call: {
      ...{ callId, toolName: "tool", toolVersion: "1.0.0", input: {}, caller: { depth: 0 }, options: {} },
      ...{ verdict: { decision: "allow", by: "tool", reason: "It asks for nothing." }, idempotent: false },
    },
    ...{ priority: 0, delayMs: 0, attempts: 1 },
  };
}

function outcomeOf({ call: { callId, toolName } }: Job): JobOutcome {
  const result: ToolResult = {
    ...{ callId, toolName, status: "completed", success: true, content: [], display: "", metadata: {} },
    startedAt: 1,
  };
  return { result };
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 2));
}
