// What every case measures with: rounds in turns, medians, fresh processes.
//
// Times are CPU times of the process unless a name says "wall": on a machine that does other work too, wall time
// measures the neighbours. Helper threads (garbage collection, compilation) count, so nothing hides in them.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ROOT } from "../scripts/root.mjs";

export const BENCH = fileURLToPath(new URL(".", import.meta.url)).replace(/[\\/]$/, "");
/** The build that is measured; `--dist` names another one, to compare with. */
export const DIST = process.env["HAFT_BENCH_DIST"] ?? join(ROOT, "dist");

/** Whether it matters only that a case runs. */
export const SMOKE = process.env["HAFT_BENCH_SMOKE"] === "1";

/** The package as its users get it. */
export function importHaft() {
  return import(pathToFileURL(join(DIST, "index.js")).href);
}

export function importWorkspace() {
  return import(pathToFileURL(join(DIST, "workspace.js")).href);
}

/** How long one run of `work` takes, in CPU milliseconds. */
export async function timed(work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * Runs every subject once a round, in an order that rotates, and returns what each round gave: `{ name: [a, b, …] }`.
 * What disturbs the machine for a while disturbs all of them alike.
 */
export async function interleave(subjects, rounds) {
  const names = Object.keys(subjects);
  const turns = SMOKE ? 1 : rounds;
  const taken = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < turns; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + turn) % names.length];
      taken[name].push(await subjects[name]());
    }
  }
  return taken;
}

export function median(values) {
  return percentile(values, 0.5);
}

/** The value below which `share` of the values lie, interpolated. */
export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)];
  return below + (sorted[Math.ceil(place)] - below) * (place % 1);
}

/** How many times `base` a subject takes: the median of the rounds' own quotients. */
export function medianRatio(values, base) {
  return median(values.map((value, round) => value / base[round]));
}

/** Runs one of children/ in a fresh Node and returns the JSON that it prints. */
export async function runChild(script, parameters = [], nodeOptions = []) {
  const file = join(BENCH, "children", script);
  return JSON.parse(await runNode([...nodeOptions, file, ...parameters.map(String)]));
}

/** Runs Node in the folder where the peers are installed, and returns what it prints. */
export function runNode(parameters, { cwd = BENCH } = {}) {
  return new Promise((resolve, reject) => {
    const options = { cwd, env: childEnvironment(), maxBuffer: 64 * 1024 * 1024 };
    execFile(process.execPath, parameters, options, (error, stdout, stderr) => {
      if (error) reject(new Error(firstErrorLine(`${stderr}\n${stdout}`) ?? error.message, { cause: error }));
      else resolve(stdout);
    });
  });
}

/** Without the settings of whoever started the benchmark: loaders and tracing would be measured too. */
export function childEnvironment() {
  const { NODE_OPTIONS: _, NODE_V8_COVERAGE: __, ...env } = process.env;
  return { ...env, HAFT_BENCH_DIST: DIST, AI_SDK_LOG_WARNINGS: "false", OPENAI_AGENTS_DISABLE_TRACING: "1" };
}

function firstErrorLine(text) {
  return text
    .split("\n")
    .find((line) => /(error|cannot find)/i.test(line))
    ?.trim();
}

/** The peers and their versions, as they are installed. */
export function installedPeers() {
  const read = (file) => JSON.parse(readFileSync(file, "utf8"));
  const names = Object.keys(read(join(BENCH, "package.json")).dependencies);
  return names.map((name) => `${name} ${read(join(BENCH, "node_modules", name, "package.json")).version}`);
}
