// WHAT: haft | bare (so many jobs, submitted and run), submit | insert (a thousand at once), latency (one after the other).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { DIST, importHaft, percentile } from "../harness.mjs";

const JOBS = 3000;
const SUBMISSIONS = 1000;
const LATENCIES = 200;
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
  const begin = performance.now();
  await runAll(haft, JOBS);
  const perSecond = (JOBS * 1000) / (performance.now() - begin);
  await haft.shutdown();
  return { perSecond };
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
  const data = JSON.stringify({ input, caller: { session: "bench" }, verdict: { decision: "allow", reason: "…" } });
  return () => database.run("INSERT INTO bare (state, priority, data) VALUES ('queued', 0, ?)", [data]);
}

async function runBare() {
  const insert = await prepareBare();
  const all = async (jobs) => {
    for (let n = 0; n < jobs; n++) await insert();
    for (let n = 0; n < jobs; n++) {
      const [job] = await database.all(
        "UPDATE bare SET state = 'running' WHERE id = (SELECT id FROM bare WHERE state = 'queued' " +
          "ORDER BY priority DESC, id LIMIT 1) RETURNING id, data",
      );
      const result = JSON.stringify({ result: JSON.parse(job.data).input.path });
      await database.run("UPDATE bare SET state = 'completed', result = ? WHERE id = ?", [result, job.id]);
    }
  };
  await all(300);
  const begin = performance.now();
  await all(JOBS);
  return { perSecond: (JOBS * 1000) / (performance.now() - begin) };
}

async function submitHaft() {
  const haft = await openHaft({ worker: false });
  const all = (jobs) => Promise.all(Array.from({ length: jobs }, () => haft.execute("nothing", input)));
  await all(300);
  const begin = performance.now();
  await all(SUBMISSIONS);
  const ms = performance.now() - begin;
  await haft.shutdown();
  return { ms };
}

async function insertBare() {
  const insert = await prepareBare();
  for (let n = 0; n < 300; n++) await insert();
  const begin = performance.now();
  for (let n = 0; n < SUBMISSIONS; n++) await insert();
  return { ms: performance.now() - begin };
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
