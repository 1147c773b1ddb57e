import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { canRun } from "../../test/setup/requirements.ts";
import { freePort } from "../../test/setup/free-port.ts";
import { killChild } from "../../test/setup/child-end.ts";

/** A real Redis server, with what it accepted on the disk before it says so. */
export interface TestRedis {
  /** Of an empty database; there are sixteen. */
  createDatabase(): string;
  stop(): Promise<void>;
}

/** Whether one is installed. If not, its tests are skipped, or fail if HAFT_REQUIRE lists redis. */
export const hasRedis = ((): boolean => {
  try {
    execFileSync("redis-server", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return canRun("redis", "redis-server is not installed.");
  }
})();

export async function startRedis(): Promise<TestRedis> {
  const folder = mkdtempSync(join(tmpdir(), "haft-redis-"));
  const port = await freePort();
  const flags = { port, bind: "127.0.0.1", dir: folder, save: "", appendonly: "yes", appendfsync: "always" };
  const given = Object.entries({ ...flags, databases: 256 }).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server = spawn("redis-server", given, { stdio: ["ignore", "pipe", "ignore"] });
  await ready(server);
  let count = 0;
  return {
    createDatabase: () => `redis://127.0.0.1:${port}/${count++}`,
    async stop() {
      await killChild(server);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function ready(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("exit", () => reject(new Error("redis-server ended.")));
    createInterface(server.stdout!).on("line", (line) => line.includes("Ready to accept") && resolve());
  });
}
