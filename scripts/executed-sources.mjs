// node scripts/executed-sources.mjs: how many source files the common commands load, and in how many of them a function runs
// (V8 coverage). Compiles the sources first, because the built command line is bundled.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { ROOT } from "./root.mjs";
import { findTool, runTool } from "./run-tool.mjs";

const COMMANDS = [
  ["--version"],
  ["config", "show"],
  ["audit", "query"],
  ["tools", "list"],
  ["tools", "call", "read", "path=a.txt"],
];

// In the checkout: the modules look for the packages and for package.json above them.
const modules = join(ROOT, "dist", `modules-${process.pid}`);
const work = mkdtempSync(join(tmpdir(), "haft-executed-"));
try {
  const code = runTool(findTool("typescript", "tsc"), ["-p", "tsconfig.build.json", "--outDir", modules]);
  if (code !== 0) process.exit(code);
  const folder = join(work, "workspace");
  mkdirSync(folder);
  writeFileSync(join(folder, "a.txt"), "one\n");
  // The store is created at the first use; every later use is measured.
  execute(["tools", "list"], folder, {});
  for (const words of COMMANDS) {
    const coverage = join(work, words.join("-").replaceAll(/[^\w-]/g, "_"));
    execute(words, folder, { NODE_V8_COVERAGE: coverage });
    const { loaded, executed, files } = count(coverage);
    process.stdout.write(`haft ${words.join(" ")}: a function ran in ${executed} source files; ${loaded} loaded\n`);
    if (process.argv.includes("--list")) process.stdout.write(files.map((file) => `  ${file}\n`).join(""));
  }
} finally {
  rmSync(modules, { recursive: true, force: true });
  rmSync(work, { recursive: true, force: true });
}

function execute(words, folder, variables) {
  const env = { ...process.env, HOME: work, HAFT_STATE_DIR: join(work, "state"), XDG_STATE_HOME: "", ...variables };
  const main = join(modules, "cli", "main.js");
  const { status, stderr } = spawnSync(process.execPath, [main, ...words], { cwd: folder, env, encoding: "utf8" });
  if (status !== 0) throw new Error(`haft ${words.join(" ")} ended with ${status}: ${stderr}`);
}

function count(folder) {
  const base = pathToFileURL(modules).href;
  const loaded = new Set();
  const executed = new Set();
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, name), "utf8"));
    for (const { url, functions } of result) {
      if (!url.startsWith(`${base}/`)) continue;
      const file = url.slice(base.length + 1);
      loaded.add(file);
      // The first function is the module itself.
      if (functions.slice(1).some(({ ranges }) => ranges[0].count > 0)) executed.add(file);
    }
  }
  return { loaded: loaded.size, executed: executed.size, files: [...executed].sort((a, b) => a.localeCompare(b)) };
}
