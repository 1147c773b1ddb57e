import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeJobQueue, type OpenedQueues } from "../../calls/job-queue.suite.ts";
import { failedJob, unknownJob } from "../../calls/job.ts";
import { RowJobs } from "../../calls/row-jobs.ts";
import type { CallData } from "../../core/call.ts";
import { systemClock } from "../../core/clock.ts";
import { openRedisEngine } from "./engine.ts";
import { queueNameOf, WakeUps } from "./wake-ups.ts";
import { startPostgres, type TestPostgres } from "../postgres/start-postgres.fixture.ts";
import { hasRedis, startRedis, type TestRedis } from "../start-redis.fixture.ts";
import { openStore, type Store } from "../store.ts";

describe.skipIf(!hasRedis)("BullMQ on Redis", () => {
  let postgres: TestPostgres;
  let server: TestRedis;
  beforeAll(async () => void ([postgres, server] = await Promise.all([startPostgres(), startRedis()])), 60_000);
  afterAll(() => Promise.all([postgres.stop(), server.stop()]));

  async function open(): Promise<OpenedQueues> {
    const [url, redis] = [await postgres.createDatabase(), server.createDatabase()];
    const opened: { queue: RowJobs; store: Store }[] = [];
    const another = async (): Promise<RowJobs> => {
      const store = await openStore({ url });
      const dispatcher = new WakeUps(() => openRedisEngine(redis));
      const queue = new RowJobs({ clock: systemClock, calls: store.calls, dispatcher });
      opened.push({ queue, store });
      return queue;
    };
    const close = async ({ queue, store }: (typeof opened)[number]): Promise<void> => {
      await queue.close();
      await store.close();
    };
    return { queue: await another(), another, close: async () => void (await Promise.all(opened.map(close))) };
  }

  describeJobQueue("Redis", open);

  test("a second wake-up does not shorten the pause before another attempt", async () => {
    const { queue, close } = await open();
    const call: CallData = {
      ...{ callId: "c", toolName: "tool", toolVersion: "1", input: {}, caller: { depth: 0 }, options: {} },
      idempotent: true,
    };
    // Whoever submits a waiting job again wakes workers again.
    for (let n = 0; n < 3; n++) await queue.submit({ call, key: "k", ...{ priority: 0, delayMs: 0, attempts: 3 } });
    const starts: number[] = [];
    const hasEnded = new Promise<void>((resolve) => {
      void queue.work({
        tools: () => ["tool"],
        concurrency: 1,
        async run(job) {
          starts.push(systemClock.now());
          const result = failedJob(job, unknownJob("none"), 1);
          if (starts.length < 3) return { result, again: { inMs: 500, counts: true } };
          resolve();
          return { result };
        },
      });
    });
    await hasEnded;
    const pauses = starts.slice(1).map((at, n) => at - starts[n]!);
    expect(pauses.filter((ms) => ms < 500)).toEqual([]);
    await close();
  });

  test("jobs that are submitted at once share wake-ups, and all of them run", async () => {
    const [url, redis] = [await postgres.createDatabase(), server.createDatabase()];
    const store = await openStore({ url });
    const engine = await openRedisEngine(redis);
    const queue = new RowJobs({
      ...{ clock: systemClock, calls: store.calls },
      dispatcher: new WakeUps(() => openRedisEngine(redis)),
    });
    const call = { toolName: "tool", toolVersion: "1", input: {}, caller: { depth: 0 }, options: {}, idempotent: true };
    const made = Array.from({ length: 16 }, (_, n) =>
      queue.submit({ call: { ...call, callId: `c${n}` }, priority: 0, delayMs: 0, attempts: 1 }),
    );
    await Promise.all(made);
    const entries = engine.queue("haft.jobs.tool");
    expect((await entries.getJobCounts("waiting", "prioritized"))["waiting"]).toBeLessThan(16);
    const ran = new Set<string>();
    await queue.work({
      tools: () => ["tool"],
      concurrency: 3,
      run: async (job) => (ran.add(job.id), { result: failedJob(job, unknownJob("none"), 1) }),
    });
    while (ran.size < 16) await new Promise((resolve) => setTimeout(resolve, 5));
    await queue.close();
    await entries.close();
    await engine.close();
    await store.close();
  });

  test("a job whose process ended before it woke a worker is found in the store", async () => {
    const { queue, close } = await open();
    // Stored ten seconds ago, and never dispatched.
    const undispatched = new RowJobs({ clock: { ...systemClock, now: () => Date.now() - 10_000 }, calls: queue.calls });
    const { id } = await undispatched.submit({
      call: {
        ...{ callId: "c", toolName: "tool", toolVersion: "1", input: {}, caller: { depth: 0 }, options: {} },
        ...{ verdict: { decision: "allow", by: "tool", reason: "" }, idempotent: false },
      },
      ...{ priority: 0, delayMs: 0, attempts: 1 },
    });
    const ran = new Promise<string>((resolve) => {
      void queue.work({
        tools: () => ["tool"],
        concurrency: 1,
        run: async (job) => (resolve(job.id), { result: failedJob(job, unknownJob("none"), 1) }),
      });
    });
    expect(await ran).toBe(id);
    await close();
  });
});

test("the name of a queue is valid in BullMQ, and different for each tool", () => {
  const names = ["read", "mcp__files__read", "my-tool", "files:read.v2/x", "读文件", "a~b", "🙂"].map(queueNameOf);
  for (const name of names) expect(name).toMatch(/^[\w~-]+$/);
  expect(new Set(names).size).toBe(names.length);
});
