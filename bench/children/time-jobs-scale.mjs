// KIND (haft | bare) BACKEND (postgres | redis) URL NAMESPACE WHAT (fill | work | latency) JOBS. `haft` is the whole gate on the
// queue, with journal and log in memory: what is compared is the queue, not the store beside it.
import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { DIST, importHaft, percentile } from "../harness.mjs";

const CONCURRENCY = 10;
const [, , kind, backend, url, namespace, what, count] = process.argv;
const jobs = Number(count);
const input = {
  path: "src/folder/file.ts",
  text: "a line of a hundred characters or so, as tools are given ".repeat(2),
};
const subject = await { haft: openHaft, bare: openBare }[kind]();
const measured = await { fill, work, latency }[what]();
await subject.close();
process.stdout.write(JSON.stringify(measured), () => process.exit(0));

async function fill() {
  await subject.warm();
  const begin = performance.now();
  await Promise.all(Array.from({ length: jobs }, () => subject.submit()));
  return { ms: performance.now() - begin };
}

async function work() {
  const begunAt = Date.now();
  const ran = { count: 0, lastAt: begunAt };
  await subject.work(() => {
    ran.count++;
    ran.lastAt = Date.now();
  });
  while ((await subject.left()) > 0) await setTimeout(20);
  return { taken: ran.count, begunAt, endedAt: ran.lastAt };
}

async function latency() {
  await subject.work(() => undefined);
  const times = [];
  for (let n = 0; n < jobs; n++) {
    const begin = performance.now();
    await subject.runOne();
    if (n >= 20) times.push(performance.now() - begin);
  }
  return { p50: percentile(times, 0.5) };
}

async function openHaft() {
  const { createHaft } = await importHaft();
  const load = (name) => import(pathToFileURL(join(DIST, name)).href);
  const [engines, { WakeUps }, { RowJobs }, { systemClock: clock }] = await Promise.all(
    ["store/bullmq/engine.js", "store/bullmq/wake-ups.js", "calls/row-jobs.js", "core/clock.js"].map(load),
  );
  const connect = () => (backend === "redis" ? engines.openRedisEngine(url) : engines.openPostgresEngine(url));
  const haft = createHaft({
    jobs: new RowJobs({ clock, dispatcher: new WakeUps(connect, { namespace }) }),
    worker: false,
  });
  let onRun = () => undefined;
  haft.register({
    name: "nothing",
    kind: "readonly",
    description: "Does nothing.",
    async: true,
    parameters: [
      { name: "path", type: "string" },
      { name: "text", type: "string" },
    ],
    run: () => onRun() ?? "nothing",
  });
  const submit = async () => {
    const result = await haft.execute("nothing", input);
    if (result.status !== "pending") throw new Error(`error: ${result.display}`);
    return result.pending.id;
  };
  return {
    submit,
    // The first job of a tool makes its queue known.
    warm: submit,
    work: (reported) => ((onRun = reported), haft.jobs.work({ concurrency: CONCURRENCY })),
    async left() {
      const { queued, running } = await haft.jobs.counts();
      return queued + running;
    },
    runOne: async () => haft.jobs.wait(await submit()),
    close: () => haft.shutdown(),
  };
}

async function openBare() {
  const { createPostgresBackend, Queue, QueueEvents, Worker } = await import("bullmq");
  const given = backend === "redis" ? [] : [createPostgresBackend];
  const { hostname: host, port } = new URL(url);
  const connection =
    backend === "redis" ? { host, port: Number(port), maxRetriesPerRequest: null } : { connectionString: url };
  const queue = new Queue(namespace, { connection }, ...given);
  await queue.waitUntilReady();
  const data = JSON.stringify({ input, caller: { session: "bench" }, verdict: { decision: "allow", reason: "…" } });
  const submit = () => queue.add("nothing", data, { removeOnComplete: { count: 5000 } });
  const opened = [queue];
  let events;
  return {
    submit,
    warm: submit,
    async work(reported) {
      if (what === "latency") {
        opened.push((events = new QueueEvents(namespace, { connection }, ...given)));
        await events.waitUntilReady();
      }
      const run = async () => reported() ?? "nothing";
      opened.push(new Worker(namespace, run, { connection, concurrency: CONCURRENCY }, ...given));
    },
    async left() {
      const { waiting = 0, active = 0, prioritized = 0 } = await queue.getJobCounts();
      return waiting + active + prioritized;
    },
    runOne: async () => (await submit()).waitUntilFinished(events),
    close: () => Promise.all(opened.map((each) => each.close())),
  };
}
