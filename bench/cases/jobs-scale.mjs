// Jobs on PostgreSQL and on Redis, beside bare BullMQ with the same row writes and audit entries: submitting, draining with one
// worker process and with several, and how long one job takes from its submission to its end.
import { execFileSync, spawn } from "node:child_process";
import { interleave, median, medianRatio, runChild, SMOKE } from "../harness.mjs";
import { freePort, startPostgres } from "../start-postgres.mjs";

export const name = "jobs-scale";

const ROUNDS = 3;
const JOBS = SMOKE ? 150 : 1500;
const SUBMITTED = SMOKE ? 100 : 1000;
const CONCURRENCY = 50;
/** Jobs of each worker that wait, for more workers: few at a time, so that the machine is not the limit. */
const WAITING = { jobs: SMOKE ? 10 : 200, concurrency: 2, waitMs: 50 };
/** Longer than processes need to start: workers that are compared begin at the same moment. */
const START_MS = 2500;

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
  const child = (kind, namespace, what, { jobs = 0, concurrency = CONCURRENCY, waitMs = 0, start = 0 } = {}) =>
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
      start,
    ]);
  const drain = async (kind, workers, options) => {
    const space = `bench${++count}`;
    await child(kind, space, "fill", { ...options, jobs: options.jobs * workers });
    const given = { ...options, start: Date.now() + START_MS };
    return rates(await Promise.all(Array.from({ length: workers }, () => child(kind, space, "work", given))));
  };
  const subject = (kind) => async () => {
    const space = `bench${++count}`;
    const { ms } = await child(kind, space, "fill", { jobs: SUBMITTED });
    await child(kind, space, "fill", { jobs: JOBS - SUBMITTED });
    const one = rates([await child(kind, space, "work", { start: Date.now() + START_MS })]);
    const { p50 } = await child(kind, `${space}b`, "latency", { jobs: 200 });
    const measured = { ms, one: one.perSecond, oneCpu: one.cpuMs, p50 };
    if (kind === "bare") return measured;
    const waiting = [];
    for (const workers of [1, 2, 4]) waiting.push(await drain(kind, workers, WAITING));
    const [oneWaiting, twoWaiting, fourWaiting] = waiting.map(({ perSecond }) => perSecond);
    const two = await drain(kind, 2, { jobs: JOBS });
    return {
      ...{ ...measured, oneWaiting, twoWaiting, fourWaiting, two: two.perSecond },
      waitingCpu: waiting[2].cpuMs / waiting[0].cpuMs,
    };
  };
  const { haft, bare } = await interleave({ haft: subject("haft"), bare: subject("bare") }, ROUNDS);
  const of = (rounds, key) => rounds.map((round) => round[key]);
  const row = (title, value, more) => report({ case: `${backend}: ${title}`, value, ...more });
  row("drained by one process, 50 at a time, wall", median(of(haft, "one")), { unit: "jobs/s", atLeast: 1000 });
  row("the same, BullMQ with the same rows and entries, wall", median(of(bare, "one")), { unit: "jobs/s" });
  row("share of BullMQ with the same rows and entries", medianRatio(of(haft, "one"), of(bare, "one")), {
    unit: "times",
    atLeast: 0.8,
  });
  row("CPU of the worker for each job", median(of(haft, "oneCpu")), { unit: "ms" });
  row("the same, BullMQ", median(of(bare, "oneCpu")), { unit: "ms" });
  row("jobs that wait 50 ms, two processes over one", medianRatio(of(haft, "twoWaiting"), of(haft, "oneWaiting")), {
    unit: "times",
    atLeast: 1.8,
  });
  row("the same, four processes over one", medianRatio(of(haft, "fourWaiting"), of(haft, "oneWaiting")), {
    unit: "times",
    atLeast: 3.2,
  });
  row("CPU for each of them, four processes over one", median(of(haft, "waitingCpu")), { unit: "times", atMost: 1.1 });
  row("no-op jobs, two processes over one", medianRatio(of(haft, "two"), of(haft, "one")), { unit: "times" });
  row("1,000 submitted at once, over BullMQ with the same", medianRatio(of(haft, "ms"), of(bare, "ms")), {
    unit: "times",
    atMost: 2,
  });
  row("from submission to end, p50, wall", median(of(haft, "p50")), { unit: "ms", atMost: 10 });
  row("the same, BullMQ, p50, wall", median(of(bare, "p50")), { unit: "ms" });
}

function rates(workers) {
  const begun = Math.min(...workers.map(({ begunAt }) => begunAt));
  const ended = Math.max(...workers.map(({ endedAt }) => endedAt));
  const sum = (key) => workers.reduce((all, worker) => all + worker[key], 0);
  return { perSecond: (sum("taken") / (ended - begun)) * 1000, cpuMs: sum("cpuMs") / sum("taken") };
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
