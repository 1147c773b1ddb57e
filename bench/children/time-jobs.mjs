// WHAT: haft | bare (so many jobs, submitted and run), submit | insert (a thousand at once), latency (one after the other).
// Bare is a table in the same database: a row with its result, and one chained audit entry, for each job.
import { hash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { DIST, importHaft, percentile, SMOKE } from "../harness.mjs";

const JOBS = SMOKE ? 100 : 3000;
const SUBMISSIONS = SMOKE ? 100 : 1000;
const LATENCIES = SMOKE ? 10 : 200;
const CONCURRENCY = 16;
const [, , what] = process.argv;

const { openStore } = await import(pathToFileURL(join(DIST, "store", "store.js")).href);
const folder = mkdtempSync(join(tmpdir(), "haft-bench-jobs-"));
const store = await openStore({ stateFolder: folder });
const { database } = store;
const input = {
  path: "src/folder/file.ts",
  text: "a line of a hundred characters or so, as tools are given ".repeat(2),
};
const measure = { haft: runHaft, bare: runBare, submit: submitHaft, insert: insertBare, latency: timeLatency }[what];
const measured = await measure();
await store.close();
rmSync(folder, { recursive: true, force: true });
process.stdout.write(JSON.stringify(measured));

/** Everything that a call leaves behind is written: the journal and the audit log too. */
async function openHaft(options) {
  const { createHaft } = await importHaft();
  const haft = createHaft({ log: store.audit, calls: store.calls, jobs: store.jobs, ...options });
  haft.register({
    name: "nothing",
    kind: "readonly",
    description: "Does nothing.",
    async: true,
    parameters: [
      { name: "path", type: "string" },
      { name: "text", type: "string" },
    ],
    run: () => "nothing",
  });
  return haft;
}

async function runHaft() {
  const haft = await openHaft({ worker: { concurrency: CONCURRENCY } });
  await runAll(haft, 300);
  const measured = await timed(JOBS, () => runAll(haft, JOBS));
  await haft.shutdown();
  return measured;
}

/** Throughput by the clock and by the CPU time of all threads. */
async function timed(jobs, work) {
  const cpu = process.cpuUsage();
  const begin = performance.now();
  await work();
  const ms = performance.now() - begin;
  const { user, system } = process.cpuUsage(cpu);
  const cpuMs = (user + system) / 1000;
  return { ms, cpuMs, perSecond: (jobs * 1000) / ms, perCpuSecond: (jobs * 1000) / cpuMs };
}

async function runAll(haft, jobs) {
  let left = jobs;
  const ended = new Promise((resolve) => {
    const stop = haft.on("tool_call_completed", () => {
      if (--left > 0) return;
      stop();
      resolve();
    });
  });
  const made = await Promise.all(Array.from({ length: jobs }, () => haft.execute("nothing", input)));
  if (made.some(({ status }) => status !== "pending")) throw new Error(`error: ${made[0].display}`);
  await ended;
}

async function prepareBare() {
  await database.run(
    "CREATE TABLE bare (id INTEGER PRIMARY KEY, state TEXT NOT NULL, priority INTEGER NOT NULL, data TEXT NOT NULL, result TEXT)",
  );
  await database.run("CREATE INDEX bare_queued ON bare (priority DESC, id) WHERE state = 'queued'");
  await database.run("CREATE TABLE bare_audit (seq INTEGER PRIMARY KEY, data TEXT NOT NULL, hash TEXT NOT NULL)");
  const data = JSON.stringify({ input, caller: { session: "bench" }, verdict: { decision: "allow", reason: "…" } });
  let last = "";
  const audit = (tx, entry) => {
    last = hash("sha256", last + entry);
    return tx.run("INSERT INTO bare_audit (data, hash) VALUES (?, ?)", [entry, last]);
  };
  const insert = (tx) => tx.run("INSERT INTO bare (state, priority, data) VALUES ('queued', 0, ?)", [data]);
  return { data, insert, audit };
}

async function runBare() {
  const { data, insert, audit } = await prepareBare();
  const all = async (jobs) => {
    for (let n = 0; n < jobs; n++) await insert(database);
    for (let n = 0; n < jobs; n++) {
      const [job] = await database.all(
        "UPDATE bare SET state = 'running' WHERE id = (SELECT id FROM bare WHERE state = 'queued' " +
          "ORDER BY priority DESC, id LIMIT 1) RETURNING id, data",
      );
      const result = JSON.stringify({ result: JSON.parse(job.data).input.path });
      await database.transaction(async (tx) => {
        await tx.run("UPDATE bare SET state = 'completed', result = ? WHERE id = ?", [result, job.id]);
        await audit(tx, data);
      });
    }
  };
  await all(300);
  return timed(JOBS, () => all(JOBS));
}

async function submitHaft() {
  const haft = await openHaft({ worker: false });
  const all = (jobs) => Promise.all(Array.from({ length: jobs }, () => haft.execute("nothing", input)));
  await all(300);
  const measured = await timed(SUBMISSIONS, () => all(SUBMISSIONS));
  await haft.shutdown();
  return measured;
}

async function insertBare() {
  const { data, insert, audit } = await prepareBare();
  const all = async (jobs) => {
    for (let n = 0; n < jobs; n++) {
      await database.transaction(async (tx) => {
        await insert(tx);
        await audit(tx, data);
      });
    }
  };
  await all(300);
  return timed(SUBMISSIONS, () => all(SUBMISSIONS));
}

async function timeLatency() {
  const haft = await openHaft({});
  const times = [];
  for (let n = 0; n < LATENCIES; n++) {
    const begin = performance.now();
    const { pending } = await haft.execute("nothing", input);
    await haft.jobs.wait(pending.id);
    if (n >= 20) times.push(performance.now() - begin);
  }
  await haft.shutdown();
  return { p50: percentile(times, 0.5) };
}
