// Jobs on PostgreSQL and on Redis, beside bare BullMQ on the same server: submitting, draining with one worker process and
// with two, and how long one job takes from its submission to its end.
import { execFileSync, spawn } from "node:child_process";
import { interleave, median, medianRatio, runChild } from "../harness.mjs";
import { freePort, startPostgres } from "../start-postgres.mjs";

export const name = "jobs-scale";

const ROUNDS = 3;
const JOBS = 2000;
const SUBMITTED = 1000;
const SERVERS = { postgres: startPostgres, redis: startRedis };

export async function run({ report, notMeasured }) {
  for (const [backend, start] of Object.entries(SERVERS)) {
    const server = await start();
    if (!server) {
      notMeasured(backend, "redis-server is not installed");
      continue;
    }
    try {
      await measure(backend, server.url, report);
    } finally {
      await server.stop();
    }
  }
}

async function measure(backend, url, report) {
  let count = 0;
  const child = (kind, namespace, what, jobs = 0) =>
    runChild("time-jobs-scale.mjs", [kind, backend, url, namespace, what, jobs]);
  const subject = (kind) => async () => {
    const space = `bench${++count}`;
    const { ms } = await child(kind, space, "fill", SUBMITTED);
    await child(kind, space, "fill", JOBS - SUBMITTED);
    const one = perSecond([await child(kind, space, "work")]);
    if (kind === "bare") return { ms, one, latency: await child(kind, `${space}b`, "latency", 200) };
    await child(kind, `${space}c`, "fill", JOBS);
    const both = [child(kind, `${space}c`, "work"), child(kind, `${space}c`, "work")];
    return {
      ms,
      one,
      two: perSecond(await Promise.all(both)),
      latency: await child(kind, `${space}b`, "latency", 200),
    };
  };
  const { haft, bare } = await interleave({ haft: subject("haft"), bare: subject("bare") }, ROUNDS);
  const of = (rounds, key) => rounds.map((round) => round[key]);
  const row = (title, value, more) => report({ case: `${backend}: ${title}`, value, ...more });
  row("drained by one process, 10 at a time, wall", median(of(haft, "one")), { unit: "jobs/s" });
  row("the same, bare BullMQ, wall", median(of(bare, "one")), { unit: "jobs/s" });
  row("share of bare BullMQ", medianRatio(of(haft, "one"), of(bare, "one")), { unit: "times", atLeast: 0.8 });
  row("drained by two processes, over one", medianRatio(of(haft, "two"), of(haft, "one")), {
    unit: "times",
    atLeast: 1,
  });
  row("1,000 submitted at once, over bare inserts", medianRatio(of(haft, "ms"), of(bare, "ms")), {
    unit: "times",
    atMost: 2,
  });
  row("from submission to end, p50, wall", median(haft.map(({ latency }) => latency.p50)), { unit: "ms" });
  row("the same, bare BullMQ, p50, wall", median(bare.map(({ latency }) => latency.p50)), { unit: "ms" });
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
