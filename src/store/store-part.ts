import type { Clock } from "../core/clock.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { Migrations } from "./migration.ts";
import type { Owners } from "./owners.ts";
import type { SqlDatabase } from "./sql-database.ts";

/** What every part of the store is made from. */
export interface StoreContext {
  database: SqlDatabase;
  clock: Clock;
  /** Who has the store open, and which of them still run. */
  owners: Owners;
  /** Besides those that are known everywhere: hidden in the audit log. */
  secretNames?: readonly string[];
  warn(message: string): void;
}

/** One owner's tables and what works on them: the store is a list of these. */
export interface StoreModule<Value> {
  readonly migrations: Migrations;
  open(context: StoreContext): MaybePromise<Value>;
  /** What is still to be written is; before the database closes. */
  close?(value: Value): MaybePromise<void>;
}
