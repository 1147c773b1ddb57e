import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll } from "vitest";
import type { SqlDatabase } from "./database.ts";
import { migrate, type Migrations } from "./migrations.ts";
import { openPostgres } from "./postgres/postgres.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { startPostgres } from "./postgres/start-postgres.fixture.ts";
import { openStore, type Store, type StoreLocation } from "./store.ts";

/** A store engine as tests use it. */
interface TestEngine {
  readonly name: string;
  start(): Promise<RunningEngine>;
}

interface RunningEngine {
  /** A new, empty place for a store. */
  createLocation(): Promise<StoreLocation>;
  /** A new, empty database. Opens another connection to it each time. */
  createDatabase(): Promise<() => Promise<SqlDatabase>>;
  stop(): Promise<void>;
}

/** Another engine is one entry here: every test of the store then runs on it. */
export const ENGINES: readonly TestEngine[] = [
  {
    name: "SQLite",
    async start() {
      const folder = mkdtempSync(join(tmpdir(), "haft-sqlite-"));
      let count = 0;
      return {
        createLocation: async () => ({ stateFolder: mkdtempSync(join(folder, "state-")) }),
        async createDatabase() {
          const file = join(folder, `${++count}.db`);
          return () => openSqlite(file);
        },
        stop: async () => rmSync(folder, { recursive: true, force: true }),
      };
    },
  },
  {
    name: "PostgreSQL",
    async start() {
      const server = await startPostgres();
      return {
        createLocation: async () => ({ url: await server.createDatabase() }),
        async createDatabase() {
          const url = await server.createDatabase();
          return () => openPostgres(url);
        },
        stop: () => server.stop(),
      };
    },
  },
];

export interface EngineUnderTest {
  /** A store of its own; or another process's view of the same one. Closed after the test. */
  openStore(location?: StoreLocation): Promise<Store>;
  createLocation(): Promise<StoreLocation>;
  /** A database with these tables, for all tests of the block. */
  sharedDatabase(migrations: readonly Migrations[]): Promise<SqlDatabase>;
  /** A database of its own. Opens another connection to it each time; all are closed after the test. */
  createDatabase(): Promise<() => Promise<SqlDatabase>>;
}

/** Starts an engine for the tests of a `describe` block. */
export function useEngine(engine: TestEngine): EngineUnderTest {
  let running: Promise<RunningEngine> | undefined;
  let shared: Promise<SqlDatabase> | undefined;
  const opened: { close(): unknown }[] = [];
  const keep = <T extends { close(): unknown }>(value: T): T => (opened.push(value), value);
  const start = (): Promise<RunningEngine> => (running ??= engine.start());

  beforeAll(async () => void (await start()), 120_000);
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one.close();
  });
  afterAll(async () => {
    await (await shared)?.close();
    await (await start()).stop();
  });

  async function openShared(): Promise<SqlDatabase> {
    const open = await (await start()).createDatabase();
    return open();
  }

  return {
    createLocation: async () => (await start()).createLocation(),
    openStore: async (location) => keep(await openStore(location ?? (await (await start()).createLocation()))),
    async sharedDatabase(migrations) {
      const database = await (shared ??= openShared());
      await migrate(database, migrations, 1);
      return database;
    },
    async createDatabase() {
      const open = await (await start()).createDatabase();
      return async () => keep(await open());
    },
  };
}
