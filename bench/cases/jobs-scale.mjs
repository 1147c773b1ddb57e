// Jobs on PostgreSQL and on Redis, beside bare BullMQ with the same row writes and audit entries: submitting, draining with one
// worker process and with two, and how long one job takes from its submission to its end.
import { execFileSync, spawn } from "node:child_process";
import { interleave, median, medianRatio, runChild } from "../harness.mjs";
import { freePort, startPostgres } from "../start-postgres.mjs";

export const name = "jobs-scale";

const ROUNDS = 3;
const JOBS = 1500;
const SUBMITTED = 1000;
const CONCURRENCY = 10;
/** Jobs that wait, for the second worker: few at a time, so that the machine is not the limit. */
const WAITING = { jobs: 400, concurrency: 2, waitMs: 20 };

export async function run({ report, notMeasured }) {
  const redis = await startRedis();
  if (!redis) notMeasured("redis", "redis-server is not installed");
  try {
    for (const backend of redis ? ["postgres", "redis"] : ["postgres"]) {
      const store = await startPostgres();
      try {
        await measure(backend, { store: store.url, redis: redis?.url ?? "" }, report);
      } finally {
        await store.stop();
      }
    }
  } finally {
    await redis?.stop();
  }
}

async function measure(backend, urls, report) {
  let count = 0;
  const child = (kind, namespace, what, { jobs = 0, concurrency = CONCURRENCY, waitMs = 0 } = {}) =>
    runChild("time-jobs-scale.mjs", [
      kind,
      backend,
      urls.store,
      urls.redis,
      namespace,
      what,
      jobs,
      concurrency,
      waitMs,
    ]);
  const drain = async (kind, workers, options) => {
    const space = `bench${++count}`;
    await child(kind, space, "fill", options);
    return perSecond(await Promise.all(Array.from({ length: workers }, () => child(kind, space, "work", options))));
  };
  const subject = (kind) => async () => {
    const space = `bench${++count}`;
    const { ms } = await child(kind, space, "fill", { jobs: SUBMITTED });
    await child(kind, space, "fill", { jobs: JOBS - SUBMITTED });
    const one = perSecond([await child(kind, space, "work")]);
    const measured = { ms, one, latency: await child(kind, `${space}b`, "latency", { jobs: 200 }) };
    if (kind === "bare") return measured;
    const [oneWaiting, twoWaiting] = [await drain(kind, 1, WAITING), await drain(kind, 2, WAITING)];
    return { ...measured, oneWaiting, twoWaiting, two: await drain(kind, 2, { jobs: JOBS }) };
  };
  const { haft, bare } = await interleave({ haft: subject("haft"), bare: subject("bare") }, ROUNDS);
  const of = (rounds, key) => rounds.map((round) => round[key]);
  const row = (title, value, more) => report({ case: `${backend}: ${title}`, value, ...more });
  row("drained by one process, 10 at a time, wall", median(of(haft, "one")), { unit: "jobs/s" });
  row("the same, BullMQ with the same rows and entries, wall", median(of(bare, "one")), { unit: "jobs/s" });
  row("share of BullMQ with the same rows and entries", medianRatio(of(haft, "one"), of(bare, "one")), {
    unit: "times",
    atLeast: 0.8,
  });
  row("jobs that wait 20 ms, two processes over one", medianRatio(of(haft, "twoWaiting"), of(haft, "oneWaiting")), {
    unit: "times",
    atLeast: 1.6,
  });
  row("no-op jobs, two processes over one", medianRatio(of(haft, "two"), of(haft, "one")), { unit: "times" });
  row("1,000 submitted at once, over BullMQ with the same", medianRatio(of(haft, "ms"), of(bare, "ms")), {
    unit: "times",
    atMost: 2,
  });
  row("from submission to end, p50, wall", median(haft.map(({ latency }) => latency.p50)), { unit: "ms" });
  row("the same, BullMQ, p50, wall", median(bare.map(({ latency }) => latency.p50)), { unit: "ms" });
}

function perSecond(workers) {
  const begun = Math.min(...workers.map(({ begunAt }) => begunAt));
  const ended = Math.max(...workers.map(({ endedAt }) => endedAt));
  return (workers.reduce((sum, { taken }) => sum + taken, 0) / (ended - begun)) * 1000;
}

async function startRedis() {
  try {
    execFileSync("redis-server", ["--version"], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  const port = await freePort();
  const flags = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  const server = spawn("redis-server", flags, { stdio: ["ignore", "pipe", "ignore"] });
  await new Promise((resolve) => server.stdout.on("data", (text) => String(text).includes("Ready") && resolve()));
  return { url: `redis://127.0.0.1:${port}`, stop: async () => void server.kill("SIGKILL") };
}
