import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeJobQueue, type OpenedQueues } from "../../calls/job-queue.suite.ts";
import { failedJob, unknownJob } from "../../calls/job.ts";
import { RowJobs } from "../../calls/row-jobs.ts";
import { systemClock } from "../../core/clock.ts";
import { type BullEngine, openPostgresEngine, openRedisEngine } from "./engine.ts";
import { queueNameOf, WakeUps } from "./wake-ups.ts";
import { startPostgres, type TestPostgres } from "../postgres/start-postgres.fixture.ts";
import { hasRedis, startRedis, type TestRedis } from "../start-redis.fixture.ts";
import { openStore, type Store } from "../store.ts";

let postgres: TestPostgres;
beforeAll(async () => void (postgres = await startPostgres()), 60_000);
afterAll(() => postgres.stop());

describe("BullMQ on PostgreSQL", () => {
  describeJobQueue("PostgreSQL", async () => {
    const url = await postgres.createDatabase();
    return open(url, () => openPostgresEngine(url));
  });
});

describe.skipIf(!hasRedis)("BullMQ on Redis", () => {
  let server: TestRedis;
  beforeAll(async () => void (server = await startRedis()));
  afterAll(() => server.stop());

  describeJobQueue("Redis", async () => {
    const redis = server.createDatabase();
    return open(await postgres.createDatabase(), () => openRedisEngine(redis));
  });
});

test("a job whose process ended before it woke a worker is found in the store", async () => {
  const url = await postgres.createDatabase();
  const { queue, close } = await open(url, () => openPostgresEngine(url));
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

async function open(url: string, connect: () => Promise<BullEngine>): Promise<OpenedQueues> {
  const opened: { queue: RowJobs; store: Store }[] = [];
  const another = async (): Promise<RowJobs> => {
    const store = await openStore({ url });
    const queue = new RowJobs({ clock: systemClock, calls: store.calls, dispatcher: new WakeUps(connect) });
    opened.push({ queue, store });
    return queue;
  };
  const close = async ({ queue, store }: (typeof opened)[number]): Promise<void> => {
    await queue.close();
    await store.close();
  };
  return { queue: await another(), another, close: async () => void (await Promise.all(opened.map(close))) };
}

test("the name of a queue is valid in BullMQ, and different for each tool", () => {
  const names = ["read", "mcp__files__read", "my-tool", "files:read.v2/x", "读文件", "a~b", "🙂"].map(queueNameOf);
  for (const name of names) expect(name).toMatch(/^[\w~-]+$/);
  expect(new Set(names).size).toBe(names.length);
});
