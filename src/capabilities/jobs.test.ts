import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { LoadedConfig } from "../config/load-config.ts";
import { systemClock } from "../core/clock.ts";
import type { JobRequest } from "../calls/job.ts";
import { RowJobs } from "../calls/row-jobs.ts";
import { hasRedis, startRedis } from "../store/start-redis.fixture.ts";
import { type JobQueueHost, openJobQueue } from "./jobs.ts";

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

const URL_OF_STORE = "postgres://127.0.0.1:1/none";

test("jobs are in the store; Redis without a database is refused", () => {
  for (const url of [undefined, URL_OF_STORE]) {
    const { queue, embedded } = open({ url });
    expect(queue).toBe(embedded);
  }
  expect(() => open({ redisUrl: "redis://127.0.0.1:1" })).toThrow(/jobs\.redisUrl is set.*Set store\.url/s);
});

test.each(["bullmq", "ioredis"])(
  "Redis without %s names the command that installs it, at the first use",
  async (name) => {
    const missing = async (): Promise<never> => {
      throw new Error("Cannot find package");
    };
    const { queue } = open({ url: URL_OF_STORE, redisUrl: "redis://127.0.0.1:1" }, { load: { [name]: missing } });
    await expect(queue.submit(REQUEST)).rejects.toMatchObject({
      code: "missing_package",
      message: expect.stringContaining(`npm install ${name}`),
    });
  },
);

test.skipIf(!hasRedis)("a job is accepted only if workers can be woken through Redis", async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const redisUrl = new URL(redis.createDatabase());
  const port = Number(redisUrl.port);
  const away = await freePort();
  redisUrl.port = String(away);
  const { queue } = open({ url: URL_OF_STORE, redisUrl: redisUrl.href });
  const received: string[] = [];
  const leave = queue.subscribe(({ type }) => void received.push(type));
  await expect(queue.submit(REQUEST)).rejects.toMatchObject({ code: "unavailable" });
  expect(await queue.list()).toEqual([]);
  await forward(away, port);
  const { id } = await queue.submit(REQUEST);
  expect(await queue.get(id)).toMatchObject({ state: "queued" });
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
