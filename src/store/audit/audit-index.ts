import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { bucketOf } from "../../core/clock.ts";
import type { SqlDatabase, SqlValue } from "../database.ts";
import { type AuditWords, auditWordsOf, type IndexedRow } from "./audit-words.ts";
import { ALL, type AuditCount, auditCounts, auditIndex, DAY, HOUR, MINUTE } from "./index-tables.ts";

type Statement = readonly [sql: string, params: readonly SqlValue[]];

/** Entries that are indexed in one transaction. Writers of calls wait for its end. */
const SLICE = 250;
/** How long a query waits for the index. */
const MAX_WAIT_MS = 2000;
/** How long after the last look the index is brought up to date, if nobody asks for it. */
const IDLE_MS = 500;
/** A log that grows by one entry now and then is not worth a look each time. */
const MAX_IDLE_MS = 8000;

/** Has the counts as they are stored, without the values that identify them. */
const KEY = ["span", "at", "kind", "tool", "status", "verdict", "code"] as const;
const SUMS = ["count", "micros", "bytes", "durations", "firstSeq", "lastSeq"] as const;

/** Figures of entries that have the same key. */
class Tally {
  count = 0;
  micros = 0;
  bytes = 0;
  readonly durations = new Map<number, number>();
  firstSeq = Number.MAX_SAFE_INTEGER;
  lastSeq = 0;

  constructor(readonly key: Pick<AuditCount, (typeof KEY)[number]>) {}

  add({ seq, ms, bytes, status }: IndexedRow): void {
    this.count++;
    this.firstSeq = Math.min(this.firstSeq, seq);
    this.lastSeq = Math.max(this.lastSeq, seq);
    if (status === null) return;
    const durationMs = Number(ms) || 0;
    this.micros += Math.round(durationMs * 1000);
    this.bytes += Math.round(Number(bytes) || 0);
    const bucket = bucketOf(durationMs);
    this.durations.set(bucket, (this.durations.get(bucket) ?? 0) + 1);
  }

  /** Adds what is stored already. */
  merge(stored: AuditCount): void {
    this.count += stored.count;
    this.micros += stored.micros;
    this.bytes += stored.bytes;
    this.firstSeq = Math.min(this.firstSeq, stored.firstSeq);
    this.lastSeq = Math.max(this.lastSeq, stored.lastSeq);
    for (const [bucket, count] of readDurations(stored.durations)) {
      this.durations.set(bucket, (this.durations.get(bucket) ?? 0) + count);
    }
  }

  toRow(): AuditCount {
    const { key, count, micros, bytes, firstSeq, lastSeq } = this;
    let durations = "";
    for (const [bucket, times] of this.durations) durations += `${durations && " "}${bucket}:${times}`;
    return { ...key, count, micros, bytes, durations, firstSeq, lastSeq };
  }
}

/** Bucket and count of `bucketOf`, as the counters store them. */
export function* readDurations(text: string): Generator<[bucket: number, count: number]> {
  for (const pair of text.split(" ")) {
    const [bucket, count] = pair.split(":");
    if (count !== undefined) yield [Number(bucket), Number(count)];
  }
}

/**
 * Counters and words of the log. They are kept behind the log, never in the transaction of a call: in slices, when the
 * process is idle and before a query that needs them. Several processes may do it: each slice is claimed.
 */
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
    this.words = auditWordsOf(database.engine);
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
    const from = await this.position();
    const rows = await reader.all<IndexedRow>(this.words.read, [from, SLICE]);
    const last = rows.at(-1);
    if (!last) return;
    for (const row of rows) this.words.complete(row);
    const tallies = tally(rows);
    // Nobody changes the counters without moving the position, and then the claim fails.
    for (const stored of await this.#stored(tallies)) tallies.get(keyOf(stored))?.merge(stored);
    const claim = randomUUID();
    const isMine: Statement = ["EXISTS (SELECT 1 FROM audit_index WHERE id = 1 AND claim = ?)", [claim]];
    await reader.write([
      ["UPDATE audit_index SET seq = ?, claim = ? WHERE id = 1 AND seq = ?", [last.seq, claim, from]],
      ...this.words.insert(rows, isMine),
      ...upserts(
        Array.from(tallies.values(), (each) => each.toRow()),
        isMine,
      ),
    ]);
  }

  async #stored(tallies: ReadonlyMap<string, Tally>): Promise<AuditCount[]> {
    const times = new Map([...tallies.values()].map(({ key: { span, at } }) => [`${span} ${at}`, { span, at }]));
    const where = [...times.values()].map(() => "(span = ? AND at = ?)").join(" OR ");
    const values = [...times.values()].flatMap(({ span, at }) => [span, at]);
    return auditCounts.select(this.#database.reader, auditCounts.keys, `WHERE ${where}`, values);
  }
}

/** What is deleted together with the entries up to a number. Their counters stay, without those of minutes. */
export function forgetting(engine: string, seq: number): Statement[] {
  return [
    [auditWordsOf(engine).forget, [seq]],
    [`DELETE FROM audit_counts WHERE span = ${MINUTE} AND last_seq <= ?`, [seq]],
  ];
}

function tally(rows: readonly IndexedRow[]): Map<string, Tally> {
  const tallies = new Map<string, Tally>();
  for (const row of rows) {
    for (const span of [MINUTE, HOUR, DAY, ALL]) {
      const key = {
        span,
        at: span === ALL ? 0 : Math.floor(row.at / span) * span,
        kind: row.kind,
        tool: row.tool ?? "",
        status: row.status ?? "",
        verdict: row.verdict ?? "",
        code: row.code ?? "",
      };
      const text = keyOf(key);
      let found = tallies.get(text);
      if (!found) tallies.set(text, (found = new Tally(key)));
      found.add(row);
    }
  }
  return tallies;
}

function keyOf(key: Pick<AuditCount, (typeof KEY)[number]>): string {
  return JSON.stringify(KEY.map((name) => key[name]));
}

/** Rows in one statement. */
const ROWS_AT_ONCE = 25;

function* upserts(rows: readonly AuditCount[], guard: Statement): Generator<Statement> {
  let from = 0;
  for (; from + ROWS_AT_ONCE <= rows.length; from += ROWS_AT_ONCE)
    yield upsert(rows.slice(from, from + ROWS_AT_ONCE), guard);
  // Few different statements, so they stay prepared.
  for (; from < rows.length; from++) yield upsert(rows.slice(from, from + 1), guard);
}

const UPSERTED = [...KEY, ...SUMS];
const TEXTS = new Set<string>(["kind", "tool", "status", "verdict", "code", "durations"]);
/** With casts: PostgreSQL takes a parameter of VALUES for text. */
const VALUES = `(${UPSERTED.map((key) => `CAST(? AS ${TEXTS.has(key) ? "TEXT" : "BIGINT"})`).join(", ")})`;
const REPLACED = SUMS.map((key) => auditCounts.list([key])).map((name) => `${name} = excluded.${name}`);

function upsert(rows: readonly AuditCount[], [guard, values]: Statement): Statement {
  const list = rows.map(() => VALUES).join(", ");
  return [
    `INSERT INTO audit_counts (${auditCounts.list(UPSERTED)}) SELECT * FROM (VALUES ${list}) AS added WHERE ${guard} ` +
      `ON CONFLICT (${auditCounts.list(KEY)}) DO UPDATE SET ${REPLACED.join(", ")}`,
    [...rows.flatMap((row) => UPSERTED.map((key) => row[key])), ...values],
  ];
}
