import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { bucketOf } from "../../core/clock.ts";
import type { SqlDatabase, SqlValue, Statement } from "../database.ts";
import type { AuditWords, IndexedRow } from "./audit-words.ts";
import { snakeCase } from "../table.ts";
import { ALL, auditCallers, auditCounts, auditIndex, DAY, HOUR, MINUTE } from "./index-tables.ts";

/** Entries that are indexed in one transaction. Writers of calls wait for its end. */
const SLICE = 250;
/** How long a query waits for the index. */
const MAX_WAIT_MS = 2000;
/** How long after the last look the index is brought up to date, if nobody asks for it. */
const IDLE_MS = 500;
/** A log that grows by one entry now and then is not worth a look each time. */
const MAX_IDLE_MS = 8000;

/** The figures of a group of entries, as they are stored. */
interface Sums {
  count: number;
  micros: number;
  bytes: number;
  durations: string;
  firstSeq: number;
  lastSeq: number;
  waited: number;
}
const SUMS = ["count", "micros", "bytes", "durations", "firstSeq", "lastSeq", "waited"] as const;

/** Figures of entries that have the same key. */
class Tally {
  #count = 0;
  #micros = 0;
  #bytes = 0;
  #waited = 0;
  readonly #durations = new Map<number, number>();
  #firstSeq = Number.MAX_SAFE_INTEGER;
  #lastSeq = 0;

  constructor(readonly key: CountKey) {}

  add({ seq, ms, waited, bytes, status }: IndexedRow): void {
    this.#count++;
    this.#firstSeq = Math.min(this.#firstSeq, seq);
    this.#lastSeq = Math.max(this.#lastSeq, seq);
    if (status === null) return;
    const durationMs = Number(ms) || 0;
    this.#micros += Math.round(durationMs * 1000);
    this.#waited += Math.round(Number(waited) || 0);
    this.#bytes += Math.round(Number(bytes) || 0);
    const bucket = bucketOf(durationMs);
    this.#durations.set(bucket, (this.#durations.get(bucket) ?? 0) + 1);
  }

  /** Adds what is stored already. */
  merge(stored: Sums): void {
    this.#count += stored.count;
    this.#micros += stored.micros;
    this.#waited += stored.waited;
    this.#bytes += stored.bytes;
    this.#firstSeq = Math.min(this.#firstSeq, stored.firstSeq);
    this.#lastSeq = Math.max(this.#lastSeq, stored.lastSeq);
    for (const [bucket, count] of readDurations(stored.durations)) {
      this.#durations.set(bucket, (this.#durations.get(bucket) ?? 0) + count);
    }
  }

  get sums(): Sums {
    let durations = "";
    for (const [bucket, times] of this.#durations) durations += `${durations && " "}${bucket}:${times}`;
    return {
      count: this.#count,
      micros: this.#micros,
      bytes: this.#bytes,
      durations,
      firstSeq: this.#firstSeq,
      lastSeq: this.#lastSeq,
      waited: this.#waited,
    };
  }
}

/** Bucket and count of `bucketOf`, as the counters store them. */
export function* readDurations(text: string): Generator<[bucket: number, count: number]> {
  for (const pair of text.split(" ")) {
    const [bucket, count] = pair.split(":");
    if (count !== undefined) yield [Number(bucket), Number(count)];
  }
}

/** Counters and words of the log, updated behind it in slices that processes claim: when idle, and for queries. */
export class AuditIndex {
  readonly words: AuditWords;
  readonly #database: SqlDatabase;
  readonly #lastSeq: () => Promise<number>;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #idleMs = IDLE_MS;
  #isClosed = false;

  /** `lastSeq`: the number of the last entry of the log. */
  constructor(database: SqlDatabase, lastSeq: () => Promise<number>) {
    this.#database = database;
    this.#lastSeq = lastSeq;
    this.words = database.words;
  }

  /** From now on the index follows the log while the process runs. */
  start(): void {
    this.#timer ??= setTimeout(() => void this.#whenIdle(), this.#idleMs);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** Number of the last indexed entry: all entries up to `to` if that takes at most two seconds. */
  async reach(to: number): Promise<number> {
    const until = performance.now() + MAX_WAIT_MS;
    for (;;) {
      const seq = await this.position();
      if (seq >= to || performance.now() > until || this.#isClosed) return seq;
      await this.#advance();
      // The log may have lost its end: then there is nothing to index.
      if ((await this.position()) === seq) return seq;
    }
  }

  async position(): Promise<number> {
    const [row] = await auditIndex.select(this.#database, ["seq"], "WHERE id = 1");
    return row?.seq ?? 0;
  }

  async #whenIdle(): Promise<void> {
    try {
      const [last, position] = [await this.#lastSeq(), await this.position()];
      this.#idleMs = last > position ? IDLE_MS : Math.min(this.#idleMs * 2, MAX_IDLE_MS);
      // Other work of the process and of the thread gets its turn after each slice.
      for (let seq = position; seq < last && !this.#isClosed; await nextTurn()) {
        await this.#advance();
        const reached = await this.position();
        if (reached === seq) break;
        seq = reached;
      }
    } catch {
      // Locked or full: the next look tries again.
    }
    this.#timer = undefined;
    if (!this.#isClosed) this.start();
  }

  #advance(): Promise<void> {
    return (this.#running ??= this.#slice().finally(() => void (this.#running = undefined)));
  }

  async #slice(): Promise<void> {
    const { reader } = this.#database;
    const [at] = await auditIndex.select(this.#database, ["seq", "counted"], "WHERE id = 1");
    if (!at) return;
    const from = at.seq;
    const rows = await reader.all<IndexedRow>(this.words.read, [from, SLICE]);
    const last = rows.at(-1);
    if (!last) return;
    for (const row of rows) this.words.complete(row);
    const counted = rows.filter(({ seq }) => seq > at.counted);
    const tallies = await Promise.all(
      COUNTERS.map(async (counters) => ({ counters, tallied: await counters.tally(reader, counted) })),
    );
    const claim = randomUUID();
    const isMine: Statement = ["EXISTS (SELECT 1 FROM audit_index WHERE id = 1 AND claim = ?)", [claim]];
    await reader.write([
      ["UPDATE audit_index SET seq = ?, claim = ? WHERE id = 1 AND seq = ?", [last.seq, claim, from]],
      ...this.words.insert(rows, isMine),
      ...tallies.flatMap(({ counters, tallied }) => [...counters.upserts(tallied, isMine)]),
    ]);
  }
}

/** What is deleted together with the entries up to a number. Their counters stay, without those of minutes. */
export function forgetting({ words }: SqlDatabase, seq: number): Statement[] {
  return [
    [words.forget, [seq]],
    ...COUNTERS.map(({ name }): Statement => [`DELETE FROM ${name} WHERE span = ${MINUTE} AND last_seq <= ?`, [seq]]),
  ];
}

type CountKey = Readonly<Record<string, string | number>> & { span: number; at: number };

/** Rows in one statement. */
const ROWS_AT_ONCE = 25;

interface CountersOptions {
  name: string;
  spans: readonly number[];
  /** Names of the columns that identify a row, after `span` and `at`, with their values. Undefined: the entry is not counted. */
  keys: readonly string[];
  keyOf(row: IndexedRow): readonly string[] | undefined;
  select(reader: Pick<SqlDatabase, "all">, where: string, values: readonly SqlValue[]): Promise<(Sums & CountKey)[]>;
}

/** One table of counters. */
class Counters {
  readonly #options: CountersOptions;
  readonly #columns: readonly string[];
  readonly #values: string;
  readonly #conflict: string;

  constructor(options: CountersOptions) {
    this.#options = options;
    const { keys } = options;
    this.#columns = ["span", "at", ...keys, ...SUMS];
    const texts = new Set<string>([...keys, "durations"]);
    // With casts: PostgreSQL takes a parameter of VALUES for text.
    const cast = (name: string): string => `CAST(? AS ${texts.has(name) ? "TEXT" : "BIGINT"})`;
    this.#values = `(${this.#columns.map(cast).join(", ")})`;
    const replaced = SUMS.map(snakeCase).map((name) => `${name} = excluded.${name}`);
    this.#conflict = `ON CONFLICT (${["span", "at", ...keys].join(", ")}) DO UPDATE SET ${replaced.join(", ")}`;
  }

  get name(): string {
    return this.#options.name;
  }

  /** The entries and what is stored of their groups. Nobody changes that without moving the position, and then the claim fails. */
  async tally(reader: Pick<SqlDatabase, "all">, rows: readonly IndexedRow[]): Promise<readonly Tally[]> {
    const tallies = new Map<string, Tally>();
    for (const row of rows) {
      const values = this.#options.keyOf(row);
      if (!values) continue;
      for (const span of this.#options.spans) {
        const at = span === ALL ? 0 : Math.floor(row.at / span) * span;
        const text = JSON.stringify([span, at, ...values]);
        let found = tallies.get(text);
        if (!found) {
          const named = Object.fromEntries(this.#options.keys.map((name, index) => [name, values[index] ?? ""]));
          tallies.set(text, (found = new Tally({ ...named, span, at })));
        }
        found.add(row);
      }
    }
    for (const stored of await this.#stored(reader, [...tallies.values()])) {
      tallies.get(JSON.stringify(["span", "at", ...this.#options.keys].map((name) => stored[name])))?.merge(stored);
    }
    return [...tallies.values()];
  }

  async #stored(reader: Pick<SqlDatabase, "all">, tallies: readonly Tally[]): Promise<(Sums & CountKey)[]> {
    const times = new Map(tallies.map(({ key: { span, at } }) => [`${span} ${at}`, [span, at]]));
    if (times.size === 0) return [];
    const where = [...times.values()].map(() => "(span = ? AND at = ?)").join(" OR ");
    return this.#options.select(reader, `WHERE ${where}`, [...times.values()].flat());
  }

  *upserts(tallies: readonly Tally[], guard: Statement): Generator<Statement> {
    let from = 0;
    for (; from + ROWS_AT_ONCE <= tallies.length; from += ROWS_AT_ONCE)
      yield this.#upsert(tallies.slice(from, from + ROWS_AT_ONCE), guard);
    // Few different statements, so they stay prepared.
    for (; from < tallies.length; from++) yield this.#upsert(tallies.slice(from, from + 1), guard);
  }

  #upsert(tallies: readonly Tally[], [guard, values]: Statement): Statement {
    const list = tallies.map(() => this.#values).join(", ");
    const columns = this.#columns.map(snakeCase).join(", ");
    const rows = tallies.flatMap(({ key, sums }) => {
      const row: Record<string, string | number> = { ...key, ...sums };
      return this.#columns.map((name): SqlValue => row[name] ?? "");
    });
    return [
      `INSERT INTO ${this.name} (${columns}) SELECT * FROM (VALUES ${list}) AS added WHERE ${guard} ${this.#conflict}`,
      [...rows, ...values],
    ];
  }
}

const COUNTERS: readonly Counters[] = [
  new Counters({
    name: auditCounts.name,
    spans: [MINUTE, HOUR, DAY, ALL],
    keys: ["kind", "tool", "status", "verdict", "code"],
    keyOf: ({ kind, tool, status, verdict, code }) => [kind, tool ?? "", status ?? "", verdict ?? "", code ?? ""],
    select: (reader, where, values) => auditCounts.select(reader, auditCounts.keys, where, values),
  }),
  new Counters({
    name: auditCallers.name,
    spans: [MINUTE, HOUR],
    keys: ["caller", "status", "code"],
    keyOf: ({ kind, agent, caller_user, status, code }) =>
      kind === "call_ended" || kind === "call_refused" || kind === "call_lost"
        ? [agent ?? caller_user ?? "", status ?? "", code ?? ""]
        : undefined,
    select: (reader, where, values) => auditCallers.select(reader, auditCallers.keys, where, values),
  }),
];
