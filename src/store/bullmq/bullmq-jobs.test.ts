import { afterAll, beforeAll, describe } from "vitest";
import type { JobQueue } from "../../calls/job-queue.ts";
import { describeJobQueue, type OpenedQueues } from "../../calls/job-queue.suite.ts";
import { type BullEngine, openPostgresEngine, openRedisEngine } from "./engine.ts";
import { openBullMqJobs } from "./bullmq-jobs.ts";
import { startPostgres, type TestPostgres } from "../start-postgres.fixture.ts";
import { hasRedis, startRedis, type TestRedis } from "../start-redis.fixture.ts";

describe("BullMQ on PostgreSQL", () => {
  let server: TestPostgres;
  let url: string;
  beforeAll(async () => {
    server = await startPostgres();
    url = await server.createDatabase();
  }, 60_000);
  afterAll(() => server.stop());

  describeJobQueue("PostgreSQL", () => open(url, openPostgresEngine));
});

describe.skipIf(!hasRedis)("BullMQ on Redis", () => {
  let server: TestRedis;
  beforeAll(async () => void (server = await startRedis()));
  afterAll(() => server.stop());

  describeJobQueue("Redis", () => open(server.createDatabase(), openRedisEngine));
});

let count = 0;

async function open(url: string, openEngine: (url: string) => Promise<BullEngine>): Promise<OpenedQueues> {
  const opened: JobQueue[] = [];
  const namespace = `test${++count}`;
  const another = async (): Promise<JobQueue> => {
    const queue = await openBullMqJobs(await openEngine(url), { namespace });
    opened.push(queue);
    return queue;
  };
  return { queue: await another(), another, close: async () => void (await Promise.all(opened.map((q) => q.close()))) };
}
