// A process that runs commands which nobody has approved, and prints how each ended: `program WORKSPACE [PROFILE COMMAND]...`.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createFiles } from "../../src/io/files/files.ts";
import { createPathPolicy } from "../../src/io/files/path-policy.ts";
import { openSandbox } from "../../src/io/sandbox/sandbox.ts";
import { tableFolderPath } from "../../src/io/sandbox/self-test.ts";
import { startProcess } from "../../src/io/shell/run-process.ts";

const [, , cwd = "", ...commands] = process.argv;
const files = createFiles(createPathPolicy({ workspace: cwd }));
const sandbox = openSandbox({ files, processes: 60, memoryBytes: 400_000_000 });

async function run(profile: string, command: string): Promise<object> {
  const [argv, options] = [["/bin/sh", "-c", command], { cwd, terminal: false }];
  const confined =
    profile === "view" ? await sandbox.openView(argv, options) : await sandbox.confine("look", argv, options);
  if ("why" in confined) throw new Error(confined.why);
  const started = await startProcess({
    argv: confined.command,
    cwd,
    env: { PATH: "/usr/bin:/bin", ...confined.env },
    limits: confined.limits,
    timeoutMs: 20_000,
    isSupervised: true,
    leftBehind: "kill",
  });
  if (command.includes("KILLED")) {
    await sleep(300);
    process.kill(process.pid, "SIGKILL");
  }
  const { reason, hint, survivors } = await started.wait();
  if ("close" in confined) await confined.close();
  return { reason, hint, survivors, output: started.output.snapshot().head.trim() };
}

const runs: object[] = [];
for (let at = 0; at < commands.length; at += 2) runs.push(await run(commands[at] ?? "", commands[at + 1] ?? ""));
sandbox.close();
const left = readdirSync(join(tableFolderPath(), "views"));
process.stdout.write(JSON.stringify({ uid: process.geteuid?.(), runs, left }));
