import { inject } from "vitest";
import { createDatabase, launchPostgres } from "../../../test/setup/launch-postgres.ts";

/** A real PostgreSQL server. */
export interface TestPostgres {
  /** The URL of a new, empty database. */
  createDatabase(): Promise<string>;
  stop(): Promise<void>;
}

/** One of a test file's own, which may be restarted. */
export interface OwnPostgres extends TestPostgres {
  /** As a crash or an upgrade would: connections break, and the data stays. */
  restart(): Promise<void>;
}

/** The server that all test files of a run share, since starting one takes seconds. */
export async function startPostgres(): Promise<TestPostgres> {
  const response = await fetch(inject("postgresAddress"));
  const answer = await response.text();
  if (!response.ok) throw new Error(`PostgreSQL could not be started: ${answer}`);
  const port = Number(answer);
  const names: string[] = [];
  return {
    createDatabase: () => createDatabase(port, names),
    // Dropped there, in the background: that can take long on a busy machine.
    stop: async () =>
      void (await fetch(inject("postgresAddress"), { method: "DELETE", body: names.splice(0).join(" ") })),
  };
}

/** For a test that restarts it. */
export async function startOwnPostgres(): Promise<OwnPostgres> {
  const { port, restart, stop } = await launchPostgres();
  return { createDatabase: () => createDatabase(port), restart, stop };
}
