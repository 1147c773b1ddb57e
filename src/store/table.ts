import type { Clock } from "../core/clock.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { SqlDatabase, SqlList, SqlRunner, SqlValue } from "./database.ts";
import type { GroupWriter } from "./group-writer.ts";
import type { Migrations } from "./migrations.ts";
import type { Owners } from "./process-owners.ts";

/** How one column is declared in SQL and converted to and from a property of the row object. */
export interface Column<Value> {
  /** Type and constraints: `TEXT NOT NULL`. */
  readonly sql: string;
  /** The version of the owner's migrations that adds it. */
  readonly since: number;
  toSql(value: Value): SqlValue;
  fromSql(value: SqlValue): Value;
}

type Columns = Readonly<Record<string, Column<unknown>>>;
type ValueOf<C> = C extends Column<infer Value> ? Value : never;
type OptionalKey<C extends Columns> = { [K in keyof C]: undefined extends ValueOf<C[K]> ? K : never }[keyof C];

/** The row object of a table: `RowOf<typeof approvals>`. */
export type RowOf<T> = T extends Table<infer C> ? Row<C> : never;
type Row<C extends Columns> = Flat<
  { [K in Exclude<keyof C, OptionalKey<C>>]: ValueOf<C[K]> } & { [K in OptionalKey<C>]?: ValueOf<C[K]> }
>;
type Flat<T> = { [K in keyof T]: T[K] };
type Picked<C extends Columns, K extends keyof C> = Pick<Row<C>, K & keyof Row<C>>;

// The only casts between SQL values and row types: the declaration of the table is the promise that they hold.
function asIs<Value extends SqlValue>(type: string, constraint: string): Column<Value> {
  return { sql: `${type} ${constraint}`.trim(), since: 1, toSql: (value) => value, fromSql: (value) => value as Value };
}

/** Text without NUL, which PostgreSQL's TEXT cannot hold; text from outside is `json`. */
export function text<Value extends string = string>(constraint = "NOT NULL"): Column<Value> {
  return asIs("TEXT", constraint);
}

export function integer(constraint = "NOT NULL"): Column<number> {
  return asIs("BIGINT", constraint);
}

/** On SQLite this is the number of the row itself and needs no further index. */
export function rowNumber(): Column<number> {
  return asIs("INTEGER", "PRIMARY KEY");
}

export function bytes(constraint = "NOT NULL"): Column<Uint8Array> {
  return asIs("BLOB", constraint);
}

export function flag(constraint = "NOT NULL"): Column<boolean> {
  return {
    sql: `BIGINT ${constraint}`,
    since: 1,
    toSql: (value) => (value ? 1 : 0),
    fromSql: (value) => value === 1,
  };
}

/** Anything that JSON can hold. As JSON, text may contain NUL. */
export function json<Value>(constraint = "NOT NULL"): Column<Value> {
  return {
    sql: `TEXT ${constraint}`.trim(),
    since: 1,
    toSql: (value) => JSON.stringify(value),
    fromSql: (value) => JSON.parse(String(value)) as Value,
  };
}

/** NULL if undefined. */
export function optional<Value>(column: Column<Value>): Column<Value | undefined> {
  return {
    sql: column.sql.replace(/ NOT NULL$/, ""),
    since: column.since,
    toSql: (value) => (value === undefined ? null : column.toSql(value)),
    fromSql: (value) => (value === null ? undefined : column.fromSql(value)),
  };
}

/** Undefined if it cannot be read: one such row must not keep others from being read. */
export function lenient<Value>(column: Column<Value | undefined>): Column<Value | undefined> {
  return {
    ...column,
    fromSql(value) {
      try {
        return column.fromSql(value);
      } catch {
        return undefined;
      }
    },
  };
}

/** An empty text if undefined: unlike NULL it can be compared with `=` in both databases. */
export function textOrEmpty(constraint = "NOT NULL"): Column<string | undefined> {
  return {
    sql: `TEXT ${constraint}`,
    since: 1,
    toSql: (value) => value ?? "",
    fromSql: (value) => (value === "" ? undefined : String(value)),
  };
}

/** A column that a later version of the migrations adds. */
export function addedIn<Value>(version: number, column: Column<Value>): Column<Value> {
  return { ...column, since: version };
}

/** Declares a table once: its SQL, row type and conversion follow. Columns are the properties in snake_case. */
export function table<C extends Columns>(name: string, columns: C, constraint?: string): Table<C> {
  return new Table(name, columns, constraint);
}

export class Table<C extends Columns> {
  /** CREATE TABLE, with the columns of version 1. */
  readonly create: string;
  /** All properties of a row, in the order of the declaration. */
  readonly keys: readonly (keyof C)[];
  readonly #columns: readonly NamedColumn<C>[];
  readonly #byKey: ReadonlyMap<keyof C, NamedColumn<C>>;
  readonly #selects = new StatementCache<Selection<C>>();
  readonly #inserts = new StatementCache<string>();

  constructor(
    readonly name: string,
    columns: C,
    constraint?: string,
  ) {
    this.#columns = Object.entries(columns).map(([key, column]) => ({ key, name: snakeCase(key), column }));
    this.#byKey = new Map(this.#columns.map((column) => [column.key, column]));
    this.keys = this.#columns.map(({ key }) => key);
    const parts = this.#sqlSince(1);
    if (constraint !== undefined) parts.push(constraint);
    this.create = `CREATE TABLE ${name} (${parts.join(", ")})`;
  }

  /** The statements that add the columns of a later version. */
  addColumns(version: number): string[] {
    return this.#sqlSince(version).map((sql) => `ALTER TABLE ${this.name} ADD COLUMN ${sql}`);
  }

  /** Names of columns, for a statement of one's own: `RETURNING ${jobs.list(KEYS)}`. */
  list(keys: readonly (keyof C)[] = this.keys): string {
    return keys.map((key) => this.#find(key).name).join(", ");
  }

  /** A value as the column stores it: for the parameters of a condition. */
  toSql<K extends keyof C>(key: K, value: ValueOf<C[K]>): SqlValue {
    return this.#find(key).column.toSql(value);
  }

  /** `clause`: all that follows FROM, such as `WHERE id = ? LIMIT 1`. */
  async select<K extends keyof C>(
    db: Pick<SqlRunner, "all">,
    keys: readonly K[],
    clause = "",
    params: readonly SqlValue[] = [],
  ): Promise<Picked<C, K>[]> {
    let selection = this.#selects.get(clause);
    if (!selection || !isSameList(selection.keys, keys)) {
      const sql = `SELECT ${this.list(keys)} FROM ${this.name} ${clause}`;
      selection = this.#selects.set(clause, { keys, sql, columns: keys.map((key) => this.#find(key)) });
    }
    return this.#read(selection.columns, await db.all(selection.sql, params));
  }

  /** Converts rows of a statement of one's own that returns these columns. */
  read<K extends keyof C>(keys: readonly K[], rows: readonly object[]): Picked<C, K>[] {
    const columns = keys.map((key) => this.#find(key));
    return this.#read(columns, rows);
  }

  /** `clause`: what follows VALUES, such as `ON CONFLICT DO NOTHING`. */
  async insert(db: SqlRunner, row: Row<C>, clause = ""): Promise<{ changes: number }> {
    return db.run(this.#insertInto(1, clause), this.#values(row));
  }

  /** Inserts all of them with one statement. */
  async insertMany(db: SqlRunner, rows: readonly Row<C>[]): Promise<void> {
    if (db.allOfLists) {
      await db.allOfLists(this.insertSql(), this.lists(rows));
      return;
    }
    const values: SqlValue[] = [];
    for (const row of rows) values.push(...this.#values(row));
    await db.run(this.#insertInto(rows.length), values);
  }

  /** INSERT of `lists`. */
  insertSql(clause = ""): string {
    return `INSERT INTO ${this.name} (${this.list()}) SELECT * FROM ${this.unnest(this.keys)} ${clause}`;
  }

  /** `unnest(…) AS given (…)`: the rows of `lists`, for FROM. */
  unnest(keys: readonly (keyof C)[]): string {
    // As `toNativeTypes` of the engine has it: columns of numbers are 64 bits wide.
    const types = keys.map((key) => (this.#find(key).column.sql.startsWith("TEXT") ? "TEXT" : "BIGINT"));
    return `unnest(${types.map((type) => `CAST(? AS ${type}[])`).join(", ")}) AS given (${this.list(keys)})`;
  }

  /** The rows as one list for each column. */
  lists<K extends keyof C>(rows: readonly Picked<C, K>[], keys: readonly K[] = this.keys as readonly K[]): SqlList[] {
    return keys.map((key) => {
      const { column } = this.#find(key);
      return rows.map((row) => column.toSql(Reflect.get(row, key)));
    });
  }

  /** Inserts the row, or replaces all other values of the row that has the same `key`. */
  async upsert(db: SqlRunner, row: Row<C>, key: readonly (keyof C)[]): Promise<void> {
    const others = this.#columns.filter((column) => !key.includes(column.key));
    const set = others.map(({ name }) => `${name} = excluded.${name}`).join(", ");
    await this.insert(db, row, `ON CONFLICT (${this.list(key)}) DO UPDATE SET ${set}`);
  }

  #insertInto(rows: number, clause = ""): string {
    const cached = this.#inserts.get(rows === 1 ? clause : String(rows));
    if (cached !== undefined) return cached;
    const values = Array<string>(rows)
      .fill(`(${placeholders(this.keys)})`)
      .join(", ");
    const sql = `INSERT INTO ${this.name} (${this.list()}) VALUES ${values} ${clause}`;
    return this.#inserts.set(rows === 1 ? clause : String(rows), sql);
  }

  #values(row: Row<C>): SqlValue[] {
    return this.#columns.map(({ key, column }) => column.toSql(Reflect.get(row, key)));
  }

  #read<K extends keyof C>(columns: readonly NamedColumn<C>[], rows: readonly object[]): Picked<C, K>[] {
    return (rows as readonly Record<string, SqlValue>[]).map((row) => {
      const read: Partial<Record<keyof C, unknown>> = {};
      for (const { key, name, column } of columns) read[key] = column.fromSql(row[name] ?? null);
      return read as Picked<C, K>;
    });
  }

  #find(key: keyof C): NamedColumn<C> {
    const found = this.#byKey.get(key);
    if (!found) throw new Error(`The table ${this.name} has no column for "${String(key)}".`);
    return found;
  }

  #sqlSince(version: number): string[] {
    const columns = this.#columns.filter(({ column }) => column.since === version);
    return columns.map(({ name, column }) => `${name} ${column.sql}`);
  }
}

interface NamedColumn<C extends Columns> {
  key: keyof C;
  /** In SQL. */
  name: string;
  column: Column<unknown>;
}

interface Selection<C extends Columns> {
  keys: readonly (keyof C)[];
  sql: string;
  columns: readonly NamedColumn<C>[];
}

const MAX_STATEMENTS = 100;

/**
 * What was built from a clause. Without it every statement is a new string, which the engine has to hash before it finds
 * the prepared statement: a SELECT of one row then takes 29 µs instead of 20 (CPU, SQLite, Node 20).
 */
class StatementCache<Built> {
  readonly #built = new Map<string, Built>();

  get(clause: string): Built | undefined {
    return this.#built.get(clause);
  }

  set(clause: string, built: Built): Built {
    if (this.#built.size >= MAX_STATEMENTS) this.#built.clear();
    this.#built.set(clause, built);
    return built;
  }
}

function isSameList(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one === other || (one.length === other.length && one.every((value, at) => value === other[at]));
}

export function placeholders(values: readonly unknown[]): string {
  return values.map(() => "?").join(", ");
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** What every part of the store gets when it is opened. */
export interface StoreContext {
  database: SqlDatabase;
  /** Commits what this process writes. */
  writer: GroupWriter;
  clock: Clock;
  /** The processes that have the store open, and which of them still run. */
  owners: Owners;
  /** Names of secrets that the audit log masks, besides the built-in ones. */
  secretNames?: readonly string[];
  warn(message: string): void;
}

/** The tables of one part of the store and the object that works on them. */
export interface StoreModule<Value> {
  readonly migrations: Migrations;
  open(context: StoreContext): MaybePromise<Value>;
  /** Writes what is still waiting. Runs before the database closes. */
  close?(value: Value): MaybePromise<void>;
}
