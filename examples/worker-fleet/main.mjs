// Two workers share the jobs of one PostgreSQL database. One worker is killed while it works, and no job is lost.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openHaft, trust } from "haft/host";
import pg from "pg";

const folder = import.meta.dirname;
const scratch = mkdtempSync(join(tmpdir(), "worker-fleet-"));
// HAFT_STORE_URL names a database of yours. Without it a server is started for this run.
const postgres = process.env.HAFT_STORE_URL
  ? { url: process.env.HAFT_STORE_URL, stop: () => undefined }
  : await (await import("./postgres.mjs")).startPostgres(scratch);
process.env.HAFT_STORE_URL = postgres.url;
console.log("PostgreSQL is ready.");

const database = new pg.Client(postgres.url);
await database.connect();
await database.query("DROP TABLE IF EXISTS sent_invoices");
await database.query("CREATE TABLE sent_invoices (number integer PRIMARY KEY)");

// A folder's plugins are loaded after `haft trust`. Here the trust is kept with this run, not in your home folder.
process.env.XDG_CONFIG_HOME = join(scratch, "config");
process.env.HAFT_STATE_DIR = join(scratch, "state");
await trust(folder);

// What your server does: it accepts calls and runs no jobs itself.
const server = await openHaft(folder, { runsJobs: false });
const { jobs } = server.haft;
const ids = [];
for (let number = 1; number <= 12; number++) {
  const { status, pending, display } = await server.haft.execute("send_invoice", { number });
  if (status !== "pending") throw new Error(display);
  ids.push(pending.id);
}
console.log(`${ids.length} jobs wait.`);

// The `haft` of the installed package; after `npm link` the command is just "haft".
const haft = join(dirname(fileURLToPath(import.meta.resolve("haft/package.json"))), "dist/cli/main.js");
const workers = ["worker-1", "worker-2"].map((name) => {
  const words = ["worker", "--name", name, "--concurrency", "2", "--folder", folder, "--quiet"];
  return spawn(process.execPath, [haft, ...words], { stdio: ["ignore", "ignore", "inherit"] });
});

let running = [];
while (running.length === 0) {
  await setTimeout(50);
  running = (await jobs.list()).filter(({ state, worker }) => state === "running" && worker.startsWith("worker-2/"));
}
workers[1].kill("SIGKILL");
console.log(
  `Killed worker-2 (kill -9). It was running invoice ${running.map(({ call }) => call.input.number).join(" and ")}.`,
);

const results = await Promise.all(ids.map((id) => jobs.wait(id)));
const ended = await jobs.list();
console.table(
  results.map(({ status, display }, at) => {
    const { worker, lost } = ended.find(({ id }) => id === ids[at]);
    return { result: display, status, worker: worker.split("/")[0], "workers lost": lost };
  }),
);
const { rowCount } = await database.query("SELECT number FROM sent_invoices");
console.log(`${rowCount} invoices were sent, each once.`);

workers[0].kill(); // SIGTERM: it takes no more jobs and ends
await once(workers[0], "exit");
await server.close();
await database.end();
await postgres.stop();
rmSync(scratch, { recursive: true, force: true });
