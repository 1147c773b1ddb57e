// Starts the command-line tools that the development packages bring, by their file: no shell, no PATH, any platform.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { ROOT } from "./root.mjs";

/** The script behind a package's command, as its package.json names it. */
export function findTool(packageName, command = packageName) {
  const folder = join(ROOT, "node_modules", packageName);
  const { bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return join(folder, typeof bin === "string" ? bin : bin[command]);
}

/** Runs a tool with its output shown, and returns its exit code. */
export function runTool(script, parameters, options = {}) {
  const { runtime = process.execPath, env = process.env, cwd = ROOT } = options;
  const { status, error } = spawnSync(runtime, [script, ...parameters], {
    cwd,
    env,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (error) process.stderr.write(`${script}: ${error.message}\n`);
  return status ?? 1;
}
