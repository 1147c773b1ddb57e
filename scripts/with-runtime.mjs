// Runs the test suite on another runtime: `node scripts/with-runtime.mjs node24 [vitest parameters]`, or `bun`. The runtime
// comes from the npm registry into .runtimes/, once; the packages under test are those of node_modules.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import process from "node:process";
import { BUN_CANNOT_RUN } from "./bun-cannot-run.mjs";
import { runNpm } from "./ensure-installed.mjs";
import { ROOT } from "./root.mjs";
import { findTool, runTool } from "./run-tool.mjs";

const NODE_PLATFORMS = { linux: "linux", darwin: "darwin", win32: "win" };
const windowsEnding = process.platform === "win32" ? ".exe" : "";

/** The platform's own package where there is one: those need no install script. */
const RUNTIMES = {
  node24: {
    version: "24.21.0",
    package: `node-${NODE_PLATFORMS[process.platform]}-${process.arch}`,
    binary: (modules) =>
      join(modules, `node-${NODE_PLATFORMS[process.platform]}-${process.arch}`, "bin", `node${windowsEnding}`),
    excluded: [],
  },
  bun: {
    version: "1.4.4",
    package: "bun",
    binary: (modules) => findBun(join(modules, "@oven")),
    excluded: BUN_CANNOT_RUN,
  },
};

/** npm installs those platform packages of Bun that suit the machine; the first that starts is it. */
function findBun(folder) {
  const candidates = readdirSync(folder).map((name) => join(folder, name, "bin", `bun${windowsEnding}`));
  return candidates.find((file) => existsSync(file) && spawnSync(file, ["--version"]).status === 0);
}

function provide(name) {
  const { version, package: packageName, binary } = RUNTIMES[name];
  const folder = join(ROOT, ".runtimes", `${name}-${version}`);
  const modules = join(folder, "node_modules");
  if (!existsSync(modules)) {
    process.stderr.write(`Installing ${packageName}@${version} into .runtimes/ ...\n`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), `${JSON.stringify({ private: true })}\n`);
    const wish = [
      "install",
      `${packageName}@${version}`,
      "--no-save",
      "--no-package-lock",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
    ];
    const { status, stdout, stderr } = runNpm([...wish, "--loglevel=error"], folder);
    if (status !== 0) {
      process.stderr.write(`${stdout}${stderr}`);
      fail(`${packageName}@${version} could not be installed; npm's own words are above.`);
    }
  }
  const file = binary(modules);
  const answer = file === undefined ? undefined : spawnSync(file, ["--version"], { encoding: "utf8" }).stdout?.trim();
  if (answer?.replace(/^v/, "") !== version) {
    fail(`${file ?? packageName} does not answer as version ${version}. Remove ${folder} and try again.`);
  }
  return file;
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

const [name = "", ...parameters] = process.argv.slice(2);
if (!Object.hasOwn(RUNTIMES, name)) fail(`Name a runtime: ${Object.keys(RUNTIMES).join(" or ")}.`);

const runtime = provide(name);
const { version, excluded } = RUNTIMES[name];
process.stdout.write(`The suite on ${name === "bun" ? "Bun" : "Node"} ${version}\n`);
if (excluded.length > 0) process.stdout.write("Left out, because this runtime cannot run it:\n");
for (const { files, tests, reason } of excluded) process.stdout.write(`  ${files ?? `"${tests}"`}: ${reason}\n`);

// First on the PATH, so that a test which starts "node" (or "bun") by name meets this one.
const env = { ...process.env, PATH: `${dirname(runtime)}${delimiter}${process.env.PATH ?? ""}` };
process.exitCode = runTool(findTool("vitest"), ["run", ...toExclusions(excluded), ...parameters], { runtime, env });

function toExclusions(entries) {
  const files = entries.flatMap((entry) => (entry.files === undefined ? [] : ["--exclude", entry.files]));
  const names = entries.flatMap(({ tests }) => (tests === undefined ? [] : [tests.replace(/[^\w ]/g, "\\$&")]));
  return names.length === 0 ? files : [...files, "--testNamePattern", `^(?!(?:${names.join("|")}))`];
}
