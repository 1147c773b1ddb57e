// WHAT IN_FLIGHT: makes calls of one kind for five seconds on a store of its own, and prints how many a second were answered.
import { mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { DIST, importHaft, SMOKE } from "../harness.mjs";

const SECONDS = SMOKE ? 1 : 5;
const [, , what, inFlight] = process.argv;

const { openStore } = await import(pathToFileURL(join(DIST, "store", "store.js")).href);
const folder = mkdtempSync(join(tmpdir(), "haft-bench-audit-"));
const store = await openStore({ stateFolder: folder });
const call = what === "bare" ? await bareInsert() : what === "sync" ? await bareSync() : await haftCall(what);

// Until the code is compiled. A session runs one write at a time, so each lane has its own.
const WARM_UP = SMOKE ? 100 : 3000;
await Promise.all(
  Array.from({ length: 20 }, async (_, lane) => {
    for (let n = 0; n < WARM_UP / 20; n++) await call(`warm-${lane}-${n}`, `warm-${lane}`);
  }),
);
const seconds = Array(SECONDS).fill(0);
const begin = performance.now();
const cpuBefore = process.cpuUsage();
let next = 0;
const lane = async (_, number) => {
  for (;;) {
    await call(`call-${next++}`, `lane-${number}`);
    const second = Math.floor((performance.now() - begin) / 1000);
    if (second >= SECONDS) return;
    seconds[second]++;
  }
};
await Promise.all(Array.from({ length: Number(inFlight) }, lane));
const { user, system } = process.cpuUsage(cpuBefore);

const verified = what === "bare" || what === "sync" ? { ok: true } : await store.audit.verify();
await store.close();
rmSync(folder, { recursive: true, force: true });
if (!verified.ok) throw new Error(`error: the chain is broken: ${JSON.stringify(verified.problems[0])}`);
const total = seconds.reduce((sum, count) => sum + count, 0);
const cpuMicroseconds = (user + system) / next;
process.stdout.write(
  JSON.stringify({ perSecond: total / SECONDS, slowestSecond: Math.min(...seconds), cpuMicroseconds }),
);

/** Every call has an id of its own, as those of models do, so that the journal writes too. */
async function haftCall(kind) {
  const { createHaft, createTool } = await importHaft();
  const tool = createTool({
    name: "touch",
    kind,
    description: "Touches nothing.",
    parameters: [
      { name: "path", type: "string" },
      { name: "text", type: "string" },
    ],
    needsApproval: false,
    run: ({ path }) => `touched ${path}`,
  });
  const concurrency = { maxConcurrent: 1000 };
  const haft = createHaft({ log: store.audit, calls: store.calls, tools: [tool], concurrency });
  return async (id, session) => {
    const input = {
      path: `src/folder/${id}.ts`,
      text: "a line of a hundred characters or so, as tools are given in their input ".repeat(2),
    };
    const result = await haft.execute("touch", input, { id, caller: { session, user: "bench" } });
    if (!result.success) throw new Error(`error: ${result.display}`);
  };
}

/** What the disk takes for it, after an append of one page. */
async function bareSync() {
  const file = await open(join(folder, "sync"), "w");
  const page = Buffer.alloc(4096);
  return async () => {
    await file.write(page);
    await file.datasync();
  };
}

async function bareInsert() {
  await store.database.run("CREATE TABLE bare (id TEXT PRIMARY KEY, data TEXT)");
  const data = "x".repeat(600);
  return async (id) => await store.database.run("INSERT INTO bare (id, data) VALUES (?, ?)", [id, data]);
}
