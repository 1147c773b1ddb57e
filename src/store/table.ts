import type { Clock } from "../core/clock.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { SqlDatabase } from "./database.ts";
import type { Migrations } from "./migrations.ts";
import type { Owners } from "./process-owners.ts";

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

/** Goes on with a value, at once where it is there already. */
export function after<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
