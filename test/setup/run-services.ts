// Runs once, in vitest's own process, for all test files of a run.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestProject } from "vitest/node";
import type { LaunchedPostgres } from "./launch-postgres.ts";
import { watchForHangs } from "./watch-for-hangs.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Answers with the port of a PostgreSQL server, which is started with the first request. */
    postgresAddress: string;
  }
}

export default async function startServices(project: TestProject): Promise<() => Promise<void>> {
  // What the root provides is there for all projects.
  if (!project.isRootProject()) return async () => undefined;
  let postgres: Promise<LaunchedPostgres> | undefined;
  const server = createServer((_request, response) => {
    postgres ??= import("./launch-postgres.ts").then(({ launchPostgres }) => launchPostgres());
    postgres.then(
      ({ port }) => response.end(String(port)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  project.provide("postgresAddress", `http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const stopWatching = watchForHangs(project.vitest);
  return async () => {
    stopWatching();
    server.closeAllConnections();
    server.close();
    await postgres?.then(
      ({ stop }) => stop(),
      () => undefined,
    );
  };
}
