// npm run docs:run -- [FILES]: runs the documents, or those named, against the packed package.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import process from "node:process";
import { build } from "../build.mjs";
import { installArchive } from "../install-archive.mjs";
import { ROOT } from "../root.mjs";
import { stopOnSignals } from "./processes.mjs";
import { readDocuments } from "./read-document.mjs";
import { runDocument } from "./run-document.mjs";
import { openWorkshop } from "./scratch.mjs";
import { originalOf } from "./translation.mjs";

const MAX_AT_ONCE = 2;

const named = process.argv.slice(2).map((file) => relative(ROOT, resolve(file)).split(sep).join("/"));
const documents = readDocuments(ROOT, named.length > 0 ? named : undefined);
const workshop = openWorkshop(await packOnce());
process.on("exit", () => workshop.close());
stopOnSignals();
/** The PostgreSQL server of this run, which the first document that needs it starts. */
let postgres;
const queue = documents.filter((document) => originalOf(document, documents) === undefined);
let failed = 0;
await Promise.all(Array.from({ length: MAX_AT_ONCE }, runNext));
await (await postgres?.catch(() => undefined))?.stop();
process.stdout.write(`${documents.length} documents, ${failed} failed\n`);
// The package of the PostgreSQL server sets the code to 0 when nothing is left to do.
process.exit(failed === 0 ? 0 : 1);

async function runNext() {
  for (let document = queue.shift(); document !== undefined; document = queue.shift()) {
    const started = Date.now();
    const { executed, problems: found, skipped } = await runDocument(document, workshop, { createDatabase });
    const problems = [...document.problems, ...found];
    const seconds = ((Date.now() - started) / 1000).toFixed(1);
    if (problems.length > 0) failed += 1;
    const state = problems.length > 0 ? "FAILED" : skipped ? `skipped (${skipped})` : "ok";
    process.stdout.write(`${state.padEnd(7)} ${document.file}: ${executed} blocks, ${seconds} s\n`);
    for (const { line, message, details } of problems) {
      process.stdout.write(`  ${document.file}:${line} ${message}\n`);
      if (details) process.stdout.write(`${details.replaceAll(/^/gm, "    ")}\n`);
    }
  }
}

async function createDatabase() {
  await import("./typescript-hooks.mjs");
  const launcher = await import("../../test/setup/launch-postgres.ts");
  postgres ??= launcher.launchPostgres();
  return launcher.createDatabase((await postgres).port);
}

/** Packing takes seconds, so the archive is kept until the build or the package's description changes. */
async function packOnce() {
  const code = await build();
  if (code !== 0) process.exit(code);
  const cache = join(ROOT, "node_modules", ".cache", "haft");
  const folder = join(cache, "docs-archive");
  const stamp = join(folder, "stamp");
  const inputs = [join(cache, "build.json"), join(ROOT, "package.json")].map((file) => readFileSync(file, "utf8"));
  const digest = createHash("sha256").update(inputs.join("\0")).digest("hex");
  const installed = join(folder, "node_modules", "haft");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return installed;
  const fresh = `${folder}-${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  await installArchive(fresh);
  writeFileSync(join(fresh, "stamp"), digest);
  rmSync(folder, { recursive: true, force: true });
  renameSync(fresh, folder);
  return installed;
}
