// A process that runs commands in views and prints what each was refused: `program WORKSPACE HOME COMMANDS`, as JSON.
import { spawnSync } from "node:child_process";
import { createFiles } from "../../src/io/files/files.ts";
import { createPathPolicy } from "../../src/io/files/path-policy.ts";
import { openSandbox } from "../../src/io/sandbox/sandbox.ts";

const [, , cwd = "", home = "", commands = "[]"] = process.argv;
const files = createFiles(createPathPolicy({ workspace: cwd, denyGlobs: ["private"] }));
const sandbox = openSandbox({ files, home });

async function run(command: string): Promise<object> {
  const view = await sandbox.openView(["/bin/bash", "-c", command], { cwd, terminal: false });
  if ("why" in view) throw new Error(view.why);
  const [file = "", ...args] = view.command;
  const began = process.hrtime.bigint();
  const env = { ...process.env, HOME: home, ...view.env };
  const result = spawnSync(file, args, { cwd, encoding: "utf8", env, timeout: 100_000, input: "" });
  const ms = Number(process.hrtime.bigint() - began) / 1e6;
  const output = result.stdout + result.stderr;
  // Only what the kernel says, unless the command asks for more.
  const report = view.refusals(command.startsWith(": text") ? output : "");
  await view.close();
  return { command, refusals: report?.refusals, output, status: result.status, ms };
}

const runs: object[] = [];
for (const command of JSON.parse(commands) as string[]) runs.push(await run(command));
process.stdout.write(JSON.stringify({ reporting: sandbox.refusalReporting, runs }));
sandbox.close();
