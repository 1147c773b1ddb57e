// npm run bench [-- --only NAME] [--json] [--no-peers] [--dist FOLDER] [--data FOLDER] [--runs FOLDER] [--update]
// Measures Haft and its peers in one run. Says whether goals are met; fails only when a case cannot be measured.
// With --update, the figures of this run replace those of docs/benchmarks.md. --smoke only shows that every case runs.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, rmSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { ROOT } from "../scripts/root.mjs";
import { useTemporaryState } from "../scripts/temporary-state.mjs";

const { values: options } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    json: { type: "boolean", default: false },
    "no-peers": { type: "boolean", default: false },
    dist: { type: "string" },
    // Labelled sets for tool-search.
    data: { type: "string" },
    // Recorded runs of models, for provenance.
    runs: { type: "string" },
    update: { type: "boolean", default: false },
    smoke: { type: "boolean", default: false },
  },
});
if (options.smoke) Object.assign(process.env, { HAFT_BENCH_SMOKE: "1", HAFT_BENCH_CALLS: "2000" });
if (options.update && (options.only || options["no-peers"] || options.dist)) {
  stop("The page has the figures of one whole run: --update takes neither --only nor --no-peers nor --dist.");
}
/** A case that takes longer has stopped. The first run of some writes a long history. */
const MAX_CASE_MS = 20 * 60_000;
const begun = performance.now();
process.env["HAFT_BENCH_DIST"] = options.dist === undefined ? await buildHaft() : resolve(options.dist);
useTemporaryState();

// After the environment is set: the harness reads it.
const { BENCH, DIST, installedPeers } = await import("./harness.mjs");
const { createReport } = await import("./report.mjs");

const cases = await loadCases(options.only);
if (!existsSync(join(DIST, "index.js"))) stop(`There is no build in ${DIST}. Run \`npm run build\` and try again.`);

const withoutPeers = options["no-peers"] ? "--no-peers was given" : installPeers();
const report = createReport({ json: options.json });
const machine = `Node ${process.version}, ${process.platform} ${process.arch}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), load ${loadavg()[0].toFixed(1)}`;
const peers = withoutPeers ?? installedPeers().join(", ");
report.begin([`${machine}.`, `Peers: ${peers}.`]);

for (const { name, run } of cases) {
  const rows = report.bench(name);
  const started = performance.now();
  try {
    await inTime(
      run({
        ...rows,
        withoutPeers,
        data: options.data && resolve(options.data),
        runs: options.runs && resolve(options.runs),
      }),
    );
  } catch (error) {
    rows.notMeasured("this case", error.message);
    process.stderr.write(`${error.stack}\n`);
    process.exitCode = 1;
  }
  report.caseEnded((performance.now() - started) / 1000);
}
const minutes = (performance.now() - begun) / 60_000;
report.end(minutes);
if (options.update) {
  const { updatePage } = await import("./update-page.mjs");
  updatePage(report.rows, { machine, peers, minutes });
}
// A case that has stopped would keep the process alive.
process.exit();

function inTime(run) {
  const late = new Promise((_resolve, reject) =>
    setTimeout(() => reject(new Error(`it did not end within ${MAX_CASE_MS / 60_000} min`)), MAX_CASE_MS).unref(),
  );
  return Promise.race([run, late]);
}

async function loadCases(only) {
  const files = readdirSync(join(BENCH, "cases")).filter((file) => file.endsWith(".mjs"));
  const known = files.map((file) => file.slice(0, -".mjs".length)).sort();
  const wanted = only ?? known;
  const missing = wanted.filter((name) => !known.includes(name));
  if (missing.length > 0) stop(`No case is named ${missing.join(", ")}. There are: ${known.join(", ")}.`);
  return Promise.all(wanted.map((name) => import(pathToFileURL(join(BENCH, "cases", `${name}.mjs`)).href)));
}

/** A copy of the build, so that all rounds measure the same one, whoever builds meanwhile. Beside the dependencies. */
async function buildHaft() {
  const { build } = await import("../scripts/build.mjs");
  if ((await build()) !== 0) process.exit(1);
  const copy = join(ROOT, "node_modules", ".cache", "haft", `bench-${process.pid}`);
  process.on("exit", () => rmSync(copy, { recursive: true, force: true }));
  cpSync(join(ROOT, "dist"), join(copy, "dist"), { recursive: true });
  cpSync(join(ROOT, "package.json"), join(copy, "package.json"));
  return join(copy, "dist");
}

/** The reason why peers are left out, or undefined when they are there. */
function installPeers() {
  const { status } = spawnSync(process.execPath, [join(BENCH, "install-peers.mjs")], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return status === 0 ? undefined : "the peers could not be installed";
}

function stop(message) {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
