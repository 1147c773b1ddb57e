import { createServer } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { LoadedConfig } from "../config/load-config.ts";
import { systemClock } from "../core/clock.ts";
import type { JobRequest } from "../calls/job.ts";
import { RowJobs } from "../calls/row-jobs.ts";
import { openPostgres } from "../store/postgres/postgres.ts";
import { startPostgres, type TestPostgres } from "../store/postgres/start-postgres.fixture.ts";
import { hasRedis, startRedis } from "../store/start-redis.fixture.ts";
import { type JobQueueHost, openJobQueue } from "./jobs.ts";

let postgres: TestPostgres;
beforeAll(async () => void (postgres = await startPostgres()), 60_000);
afterAll(() => postgres.stop());

const REQUEST: JobRequest = {
  call: {
    ...{ callId: "c1", toolName: "look", toolVersion: "1", input: {}, caller: { depth: 0 }, options: {} },
    ...{ verdict: { decision: "allow", by: "tool", reason: "" }, idempotent: true },
  },
  ...{ priority: 0, delayMs: 0, attempts: 1 },
};

function open(place: { url?: string; redisUrl?: string }, more: Partial<JobQueueHost> = {}) {
  const { url, redisUrl } = place;
  const config = { value: { store: url ? { url } : {}, jobs: redisUrl ? { redisUrl } : {} } } as LoadedConfig;
  const embedded = new RowJobs({ clock: systemClock });
  const queue = openJobQueue(config, { embedded, clock: systemClock, ...more });
  onTestFinished(() => queue.close());
  return { queue, embedded };
}

async function jobsInPostgres(url: string): Promise<number> {
  const database = await openPostgres(url);
  onTestFinished(async () => await database.close());
  const [table] = await database.all<{ found: string | null }>("SELECT to_regclass('bullmq.job')::text AS found");
  if (!table?.found) return 0;
  const [row] = await database.all<{ count: number }>("SELECT count(*) AS count FROM bullmq.job WHERE name = 'look'");
  return row?.count ?? 0;
}

test("without a database jobs are in the store; Redis without a database is refused", () => {
  const { queue, embedded } = open({});
  expect(queue).toBe(embedded);
  expect(() => open({ redisUrl: "redis://127.0.0.1:1" })).toThrow(/jobs\.redisUrl is set.*Set store\.url/s);
});

test("with a database jobs are in it, and its tables are created at the first use", async () => {
  const url = await postgres.createDatabase();
  const { queue } = open({ url });
  expect(await jobsInPostgres(url)).toBe(0);
  const { id } = await queue.submit(REQUEST);
  expect(await queue.get(id)).toMatchObject({ state: "queued" });
  expect(await jobsInPostgres(url)).toBeGreaterThan(0);
});

test.skipIf(!hasRedis)("with a database and Redis jobs are on Redis", async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const url = await postgres.createDatabase();
  const redisUrl = redis.createDatabase();
  const { queue } = open({ url, redisUrl });
  const { id } = await queue.submit(REQUEST);
  expect(await queue.get(id)).toMatchObject({ state: "queued" });
  expect(await jobsInPostgres(url)).toBe(0);
});

test("a missing package is named at the first use, with the command that installs it", async () => {
  const missing = async (): Promise<never> => {
    throw new Error("Cannot find package");
  };
  const url = await postgres.createDatabase();
  const { queue } = open({ url }, { load: { bullmq: missing } });
  await expect(queue.submit(REQUEST)).rejects.toMatchObject({
    code: "missing_package",
    message: expect.stringContaining("npm install bullmq"),
  });
  const onRedis = open({ url, redisUrl: "redis://127.0.0.1:1" }, { load: { ioredis: missing } }).queue;
  await expect(onRedis.submit(REQUEST)).rejects.toThrow("npm install ioredis");
});

test("a job is accepted only if workers can be woken", async () => {
  const url = new URL(await postgres.createDatabase());
  const port = Number(url.port);
  const away = await freePort();
  url.port = String(away);
  const { queue } = open({ url: url.href });
  const received: string[] = [];
  const leave = queue.subscribe(({ type }) => void received.push(type));
  await expect(queue.submit(REQUEST)).rejects.toMatchObject({ code: "unavailable" });
  expect(await queue.list()).toEqual([]);
  await forward(away, port);
  await queue.submit(REQUEST);
  while (received.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(received).toEqual(["queued"]);
  leave();
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The server comes to where it was looked for. */
async function forward(from: number, to: number): Promise<void> {
  const { connect } = await import("node:net");
  const server = createServer((socket) => {
    const other = connect(to, "127.0.0.1");
    socket.pipe(other).pipe(socket);
    for (const each of [socket, other]) each.on("error", () => [socket, other].forEach((end) => end.destroy()));
    onClose.push(() => socket.destroy());
  });
  const onClose: (() => void)[] = [];
  await new Promise<void>((resolve) => server.listen(from, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    for (const close of onClose) close();
  });
}
