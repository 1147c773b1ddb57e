import { toolError } from "../core/error.ts";
import type { BullEngine, EngineOptions } from "./bullmq/engine.ts";
import type { SqlDatabase } from "./database.ts";

/** An engine of a store that is not a file: a server that `store.url` names. */
export interface UrlEngine {
  /** As `SqlDatabase.engine`. */
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** Of its addresses. */
  readonly schemes: readonly string[];
  /** The programs with which people back it up and restore it. */
  readonly tools: { readonly backUp: string; readonly restore: string };
  open(url: string): Promise<SqlDatabase>;
  /** The queue of jobs in the same database. Without it jobs need `jobs.redisUrl`. */
  openQueue?(url: string, options?: EngineOptions): Promise<BullEngine>;
}

/** Another engine is one entry here. */
const URL_ENGINES: readonly UrlEngine[] = [
  {
    name: "postgres",
    title: "PostgreSQL",
    schemes: ["postgres", "postgresql"],
    tools: { backUp: "pg_dump", restore: "pg_restore" },
    open: async (url) => (await import("./postgres.ts")).openPostgres(url),
    openQueue: async (url, options) => (await import("./bullmq/engine.ts")).openPostgresEngine(url, options),
  },
];

/** The engine of a `store.url`, by its scheme. Throws if there is none; the message does not contain the address. */
export function urlEngineOf(url: string): UrlEngine {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  const found = URL_ENGINES.find(({ schemes }) => scheme !== undefined && schemes.includes(scheme));
  if (found) return found;
  const what = scheme === undefined ? "store.url is not a valid URL" : `store.url begins with "${scheme}:"`;
  throw toolError("invalid_input", `${what}, and there is no engine for it`, {
    next: "Write it as postgres://user:password@host:5432/database, or remove it to use a file.",
  });
}

/** The address without user and password. */
export function placeOf(url: string): string {
  if (!URL.canParse(url)) return "the configured database";
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}
