import type { StoreBackup, StoreReport } from "../contracts/store.ts";
import type { Clock } from "../core/clock.ts";
import type { CloseStack } from "../core/close-stack.ts";
import { errorMessage, toolError } from "../core/error.ts";
import { placeOf, type SqlDatabase } from "./database.ts";

/** In a state folder (an absolute path, see `stateFolderOf`), or on a database server by its address. */
export type StoreLocation = { stateFolder: string } | { url: string };

export interface OpeningStore {
  clock: Clock;
  /** Runs before the database closes. */
  closing: CloseStack;
  warn(message: string): void;
}

export interface OpenedDatabase {
  database: SqlDatabase;
  /** Where archives are written. Default: as the caller of `openStore` says. */
  archiveFolder?: string;
  /** Called when the tables are up to date. */
  onReady?(): void;
  /** How many entries of its audit log are known to be lost. */
  lostEntries?: number | undefined;
}

export interface RestoreOptions {
  /** A backup to use. If omitted, the sound rows of the damaged store are copied. */
  backup?: string;
  /** Begins with an empty store. */
  isEmpty?: boolean;
  now?: number;
}

export interface RestoreResult {
  file: string;
  /** Where the old store is now, with its WAL beside it. */
  kept?: string;
  /** Rows that were copied, by table. */
  tables: SavedTable[];
}

export interface SavedTable {
  name: string;
  rows: number;
  /** Whether some rows could not be read. */
  isIncomplete: boolean;
}

/** A store engine: how a store is opened and looked after. What an open one does is in `SqlDatabase`. */
export interface StoreEngine {
  /** As `SqlDatabase.engine`. */
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** Of its addresses. None if it keeps a store in a state folder. */
  readonly schemes: readonly string[];
  /** `place`: the state folder or the address. */
  open(place: string, opening: OpeningStore): Promise<OpenedDatabase>;
  /** Works for stores that cannot be opened, too. */
  check(place: string): Promise<Omit<StoreReport, "engine">>;
  /** Or the program with which people do that. */
  readonly backUp: string | ((place: string, target?: string) => Promise<StoreBackup>);
  readonly restore: string | ((place: string, options: RestoreOptions) => Promise<RestoreResult>);
}

/** Another engine is one entry here. */
export const STORE_ENGINES: readonly StoreEngine[] = [
  {
    name: "sqlite",
    title: "SQLite",
    schemes: [],
    open: async (place, opening) => (await import("./sqlite/sqlite-file.ts")).openStoreFile(place, opening),
    async check(place) {
      const [{ storeFileOf }, { checkStoreFile }] = await Promise.all([
        import("./sqlite/sqlite-file.ts"),
        import("./sqlite/store-check.ts"),
      ]);
      const { file, ...found } = await checkStoreFile(storeFileOf(place));
      return { place: file, ...found };
    },
    backUp: async (place, target) => (await import("./sqlite/store-restore.ts")).backUpStore(place, target),
    restore: async (place, options) => (await import("./sqlite/store-restore.ts")).restoreStore(place, options),
  },
  {
    name: "postgres",
    title: "PostgreSQL",
    schemes: ["postgres", "postgresql"],
    open: async (url) => ({ database: await (await import("./postgres/postgres.ts")).openPostgres(url) }),
    async check(url) {
      const { openPostgres } = await import("./postgres/postgres.ts");
      const opened = openPostgres(url).then((database) => database.close());
      const problems = await opened.then(
        () => [],
        (error: unknown) => [errorMessage(error)],
      );
      return { place: placeOf(url), problems, tables: [] };
    },
    backUp: "pg_dump",
    restore: "pg_restore",
  },
];

/** Undefined if only another version has it. */
export function engineNamed(name: string): StoreEngine | undefined {
  return STORE_ENGINES.find((engine) => engine.name === name);
}

/** The engine of a store, and its place: by the scheme of its address. Throws if there is none; the message does not contain the address. */
export function engineOf(location: StoreLocation): { engine: StoreEngine; place: string } {
  const scheme = "url" in location ? /^([a-z][a-z0-9+.-]*):/i.exec(location.url)?.[1]?.toLowerCase() : undefined;
  const isHere = ({ schemes }: StoreEngine): boolean =>
    "url" in location ? scheme !== undefined && schemes.includes(scheme) : schemes.length === 0;
  const engine = STORE_ENGINES.find(isHere);
  if (engine) return { engine, place: "url" in location ? location.url : location.stateFolder };
  const what = scheme === undefined ? "store.url is not a valid URL" : `store.url begins with "${scheme}:"`;
  throw toolError("invalid_input", `${what}, and there is no engine for it`, {
    next: "Write it as postgres://user:password@host:5432/database, or remove it to use a file.",
  });
}
