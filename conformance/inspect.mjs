// Lets the MCP Inspector's command line talk to a Haft over pipes: lists, calls, and its own check of portability.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { ensureInstalled } from "../scripts/ensure-installed.mjs";
import { ROOT } from "../scripts/root.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));
ensureInstalled(HERE);
const work = join(ROOT, "node_modules", ".cache", "haft", `inspect-${process.pid}`);
process.on("exit", () => rmSync(work, { recursive: true, force: true }));
mkdirSync(work, { recursive: true });
const { rolldown } = await import("rolldown");
const bundled = await rolldown({
  input: join(ROOT, "test", "mcp", "stdio-program.ts"),
  platform: "node",
  external: (id) => !id.startsWith(".") && !isAbsolute(id),
  logLevel: "silent",
});
const program = join(work, "program.mjs");
await bundled.write({ file: program, format: "esm", codeSplitting: false });
await bundled.close();

const runs = [
  { says: '"echo"', parameters: ["--method", "tools/list"] },
  { says: "hello", parameters: ["--method", "tools/call", "--tool-name", "echo", "--tool-arg", "text=hello"] },
  { says: "haft://tools", parameters: ["--method", "resources/list"] },
  { says: '"echo"', parameters: ["--method", "tools/list", "--strict"] },
];
const node = join(HERE, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");
const inspector = join(HERE, "node_modules", ".bin", "mcp-inspector");
for (const { says, parameters } of runs) {
  const all = [inspector, "--cli", process.execPath, program, ...parameters];
  const { status, stdout, stderr } = spawnSync(node, all, { encoding: "utf8", cwd: HERE });
  const isGood = status === 0 && stdout.includes(says);
  process.stdout.write(`${isGood ? "✓" : "✗"} ${parameters.join(" ")}\n`);
  if (isGood) continue;
  process.stderr.write(`exit code ${status}\n${stdout}\n${stderr}\n`);
  process.exitCode = 1;
}
