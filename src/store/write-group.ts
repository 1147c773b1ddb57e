import type { MaybePromise } from "../core/stage.ts";
import { after } from "./after.ts";
import type { SqlDatabase, SqlTransaction } from "./sql-database.ts";

interface Write {
  work(tx: SqlTransaction): MaybePromise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * Writes that come in one turn of the event loop are one transaction: a commit costs as much for a hundred as for one. They
 * are resolved when it is committed, and rejected together where it cannot be; so what one of them finds wrong it returns.
 */
export class WriteGroup {
  readonly #database: SqlDatabase;
  readonly #begin: (tx: SqlTransaction) => MaybePromise<unknown>;
  #waiting: Write[] = [];
  #underWay: Promise<void> | undefined;

  /** `begin`: what comes first in each transaction. */
  constructor(database: SqlDatabase, begin: (tx: SqlTransaction) => MaybePromise<unknown>) {
    this.#database = database;
    this.#begin = begin;
  }

  add<T>(work: (tx: SqlTransaction) => MaybePromise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as (value: unknown) => void, reject });
      this.#underWay ??= this.#flush();
    });
  }

  /** When everything that was added is written, or could not be. */
  async settle(): Promise<void> {
    while (this.#underWay) await this.#underWay;
  }

  async #flush(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const writes = this.#waiting;
      this.#waiting = [];
      try {
        const values: unknown[] = [];
        const committed = this.#database.transaction((tx) =>
          after(this.#begin(tx), () => each(writes, (write) => after(write.work(tx), (value) => values.push(value)))),
        );
        if (committed instanceof Promise) await committed;
        for (const [i, { resolve }] of writes.entries()) resolve(values[i]);
      } catch (error) {
        for (const { reject } of writes) reject(error);
      }
    }
    this.#underWay = undefined;
  }
}

/** One after the other, without a promise where none is needed: a transaction of SQLite must not wait. */
export function each<T>(items: readonly T[], work: (item: T) => MaybePromise<unknown>, from = 0): MaybePromise<void> {
  for (let i = from; i < items.length; i++) {
    const done = work(items[i]!);
    if (done instanceof Promise) return done.then(() => each(items, work, i + 1));
  }
  return undefined;
}
