import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Child, ChildEvents, Launch } from "./child.ts";
import { explainSpawnFailure } from "./explain-spawn-failure.ts";
import { withTerminalsCovered } from "./terminal-descriptors.ts";

export async function spawnOnPipes(launch: Launch, events: ChildEvents): Promise<Child> {
  const child = await spawned(launch);
  const { stdin, stdout, stderr } = child;
  // After the start only a failed kill reports here, and whoever kills looks at the process itself.
  child.on("error", () => undefined);
  child.once("exit", (code, signal) => events.exit(code, signal));
  child.once("close", () => events.closed());
  stdout?.on("data", (chunk: Buffer) => events.data(chunk, "stdout"));
  stderr?.on("data", (chunk: Buffer) => events.data(chunk, "stderr"));
  // A pipe that breaks has ended: `close` follows. A child that stopped reading is no failure of the writer.
  for (const stream of [stdin, stdout, stderr]) stream?.on("error", () => undefined);

  return {
    pid: child.pid as number,
    terminal: false,
    write(data) {
      if (!stdin?.writable) return false;
      stdin.write(data);
      return true;
    },
    pendingInput: () => stdin?.writableLength ?? 0,
    endInput: () => stdin?.end(),
    resize: () => undefined,
    pause() {
      stdout?.pause();
      stderr?.pause();
    },
    resume() {
      stdout?.resume();
      stderr?.resume();
    },
    detach() {
      stdin?.destroy();
      stdout?.destroy();
      stderr?.destroy();
      child.unref();
    },
  };
}

async function spawned(launch: Launch): Promise<ChildProcess> {
  const { file, args, cwd, env, stdin } = launch;
  let child: ChildProcess;
  try {
    child = withTerminalsCovered((covers) =>
      spawn(file, args, {
        cwd,
        env,
        // Its own session and group, so that all of it can be ended at once. On Windows it would open a console window.
        detached: process.platform !== "win32",
        stdio: [stdin === "pipe" ? "pipe" : "ignore", "pipe", "pipe", ...covers],
        windowsHide: true,
        windowsVerbatimArguments: launch.verbatimArguments ?? false,
      }),
    );
  } catch (cause) {
    throw explainSpawnFailure(cause, launch);
  }
  if (child.pid !== undefined) return child;
  const [cause] = (await once(child, "error").catch((error: unknown) => [error])) as [unknown];
  throw explainSpawnFailure(cause, launch);
}
