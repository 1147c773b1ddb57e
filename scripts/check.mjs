// Runs the checks that are not tests: all of them with a table at the end, or those named (`node scripts/check.mjs lint`).
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { build } from "./build.mjs";
import { ensureInstalled, runNpm } from "./ensure-installed.mjs";
import { ROOT } from "./root.mjs";
import { findTool, runTool } from "./run-tool.mjs";

/** Every check returns an exit code; its own output says what to do. */
const CHECKS = {
  types: () =>
    firstFailure(
      () => compileTypes("tsconfig.json"),
      () => compileTypes("scripts/tsconfig.json"),
      () => compileTypes("console/tsconfig.json"),
    ),
  lint: () => runTool(findTool("oxlint"), ["--type-aware", "--deny-warnings", "--report-unused-disable-directives"]),
  format: () => runTool(findTool("oxfmt"), ["--check"]),
  unused: () => runTool(findTool("knip"), ["--no-config-hints"]),
  package: () => firstFailure(build, checkPackage),
  docs: () => firstFailure(build, () => runTool(join(ROOT, "scripts", "docs", "check.mjs"), [])),
};

function compileTypes(project) {
  return runTool(findTool("typescript", "tsc"), ["-p", project, "--noEmit"]);
}

/** Checks the package as npm packs it. `test/release/archive.test.ts` lists its files. */
async function checkPackage() {
  const folder = mkdtempSync(join(tmpdir(), "haft-package-"));
  try {
    const packed = runNpm(["pack", "--json", "--ignore-scripts", "--pack-destination", folder], ROOT);
    if (packed.status !== 0) {
      process.stderr.write(`${packed.stdout}${packed.stderr}`);
      return packed.status ?? 1;
    }
    const [{ filename, entryCount, size }] = JSON.parse(packed.stdout);
    process.stdout.write(`${filename}: ${entryCount} files, ${Math.ceil(size / 1024)} KiB packed\n`);
    const copies = countCopies(join(ROOT, "dist", "cli"));
    if (copies !== 1)
      process.stderr.write(`dist/cli holds ${copies} copies of ToolError: errors would not be known again\n`);
    const archive = join(folder, filename);
    return await firstFailure(
      () => (copies === 1 ? 0 : 1),
      () => runTool(findTool("publint"), ["run", archive, "--strict"]),
      () =>
        runTool(findTool("@arethetypeswrong/cli", "attw"), [archive, "--profile", "esm-only", "--no-definitely-typed"]),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A bundle made of bundles holds its modules twice, and `instanceof` fails between the two. */
function countCopies(folder) {
  const bundled = [
    join(folder, "main.js"),
    ...readdirSync(join(folder, "chunks")).map((name) => join(folder, "chunks", name)),
  ];
  const texts = bundled.map((file) => readFileSync(file, "utf8"));
  return texts.reduce((sum, text) => sum + text.split(/\bToolError ?= ?class|class ToolError extends/).length - 1, 0);
}

async function firstFailure(...steps) {
  for (const step of steps) {
    const code = await step();
    if (code !== 0) return code;
  }
  return 0;
}

async function runChecks(names) {
  const rows = [];
  for (const name of names) {
    process.stdout.write(`\n> ${name}\n`);
    const started = Date.now();
    const code = await CHECKS[name]();
    rows.push({ name, code, seconds: ((Date.now() - started) / 1000).toFixed(1) });
  }
  if (rows.length > 1) {
    process.stdout.write("\ncheck     result  seconds\n");
    for (const { name, code, seconds } of rows) {
      process.stdout.write(`${name.padEnd(9)} ${(code === 0 ? "ok" : "FAILED").padEnd(7)} ${seconds.padStart(7)}\n`);
    }
  }
  return rows.every(({ code }) => code === 0) ? 0 : 1;
}

const requested = process.argv.slice(2);
const unknown = requested.filter((name) => !Object.hasOwn(CHECKS, name));
if (unknown.length > 0) {
  process.stderr.write(`No check is named ${unknown.join(", ")}. There are: ${Object.keys(CHECKS).join(", ")}.\n`);
  process.exitCode = 2;
} else {
  ensureInstalled(ROOT);
  process.exitCode = await runChecks(requested.length > 0 ? requested : Object.keys(CHECKS));
}
