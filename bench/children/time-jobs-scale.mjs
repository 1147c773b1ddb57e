// KIND (haft | bare) BACKEND (postgres | redis) STORE REDIS NAMESPACE WHAT (fill | work | latency) JOBS CONCURRENCY WAIT START. Several
// workers start at the time START. Haft is the whole gate with its store in PostgreSQL. Bare is BullMQ with the same row writes and audit entries, in PostgreSQL too: an insert, three
// updates and two entries for each job, in as few statements as possible.
import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { DIST, importHaft, percentile } from "../harness.mjs";

const [, , kind, backend, storeUrl, redisUrl, namespace, what, count, atOnce, wait, start] = process.argv;
const jobs = Number(count);
const concurrency = Number(atOnce);
const waitMs = Number(wait);
const url = backend === "redis" ? redisUrl : storeUrl;
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
  await setTimeout(Math.max(0, Number(start ?? 0) - Date.now()));
  const begunAt = Date.now();
  const cpu = process.cpuUsage();
  const ran = { count: 0, lastAt: begunAt };
  await subject.work(async () => {
    if (waitMs > 0) await setTimeout(waitMs);
    ran.count++;
    ran.lastAt = Date.now();
  });
  // Seldom: counting takes time that the jobs need.
  while ((await subject.left()) > 0) await setTimeout(250);
  const { user, system } = process.cpuUsage(cpu);
  return { taken: ran.count, begunAt, endedAt: ran.lastAt, cpuMs: (user + system) / 1000 };
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
  const [engines, { WakeUps }, { RowJobs }, { systemClock: clock }, { openStore }] = await Promise.all(
    ["store/bullmq/engine.js", "store/bullmq/wake-ups.js", "calls/row-jobs.js", "core/clock.js", "store/store.js"].map(
      load,
    ),
  );
  const store = await openStore({ url: storeUrl });
  const dispatcher = backend === "redis" ? new WakeUps(() => engines.openRedisEngine(url), { namespace }) : undefined;
  const queue = new RowJobs({ clock, calls: store.calls, dispatcher });
  const haft = createHaft({ log: store.audit, calls: store.calls, jobs: queue, worker: false });
  let onRun = async () => undefined;
  haft.register({
    name: "nothing",
    kind: "readonly",
    description: "Does nothing.",
    async: true,
    parameters: [
      { name: "path", type: "string" },
      { name: "text", type: "string" },
    ],
    run: async () => (await onRun()) ?? "nothing",
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
    work: (reported) => ((onRun = reported), haft.jobs.work({ concurrency })),
    async left() {
      const { queued, running } = await haft.jobs.counts();
      return queued + running;
    },
    runOne: async () => haft.jobs.wait(await submit()),
    async close() {
      await haft.shutdown();
      await queue.close();
      await store.close();
    },
  };
}

async function openBare() {
  const { createPostgresBackend, Queue, QueueEvents, Worker } = await import("bullmq");
  const { default: pg } = await import("pg");
  const given = backend === "redis" ? [] : [createPostgresBackend];
  const { hostname: host, port } = new URL(url);
  const connection =
    backend === "redis"
      ? { host, port: Number(port), maxRetriesPerRequest: null }
      : { connectionString: url, migrate: true };
  const queue = new Queue(namespace, { connection }, ...given);
  await queue.waitUntilReady();
  const rows = await openRows(new pg.Pool({ connectionString: storeUrl, max: 10 }));
  const data = JSON.stringify({ input, caller: { session: "bench" }, verdict: { decision: "allow", reason: "…" } });
  const submit = async () => queue.add("nothing", await rows.insert(data), { removeOnComplete: true });
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
      const run = async ({ data: id }) => {
        await rows.take(id);
        await rows.claim(id);
        const result = (await reported()) ?? "nothing";
        await rows.end(id, result);
        return result;
      };
      opened.push(new Worker(namespace, run, { connection, concurrency }, ...given));
    },
    async left() {
      const { waiting = 0, active = 0, prioritized = 0 } = await queue.getJobCounts();
      return waiting + active + prioritized;
    },
    runOne: async () => (await submit()).waitUntilFinished(events),
    async close() {
      await Promise.all(opened.map((each) => each.close()));
      await rows.close();
    },
  };
}

/** What an application would write about each job beside the queue. */
async function openRows(pool) {
  await pool.query(
    "CREATE TABLE IF NOT EXISTS bare (id BIGSERIAL PRIMARY KEY, state TEXT NOT NULL, worker TEXT, data TEXT NOT NULL, result TEXT)",
  );
  await pool.query(
    "CREATE TABLE IF NOT EXISTS bare_audit (seq BIGSERIAL PRIMARY KEY, kind TEXT NOT NULL, data TEXT NOT NULL)",
  );
  const query = (text, values) => pool.query({ name: text.slice(0, 60), text, values });
  return {
    async insert(data) {
      const { rows } = await query(
        "WITH made AS (INSERT INTO bare (state, data) VALUES ('queued', $1) RETURNING id), " +
          "entry AS (INSERT INTO bare_audit (kind, data) VALUES ('call_waiting', $1)) SELECT id FROM made",
        [data],
      );
      return rows[0].id;
    },
    take: (id) => query("UPDATE bare SET worker = 'me' WHERE id = $1", [id]),
    claim: (id) => query("UPDATE bare SET state = 'running' WHERE id = $1", [id]),
    end: (id, result) =>
      query(
        "WITH entry AS (INSERT INTO bare_audit (kind, data) VALUES ('call_ended', $2)) " +
          "UPDATE bare SET state = 'completed', result = $2 WHERE id = $1",
        [id, JSON.stringify({ result, input })],
      ),
    close: () => pool.end(),
  };
}
