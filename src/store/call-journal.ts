import { hash } from "node:crypto";
import type { CallJournal, JournalEntry } from "../calls/call-journal.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { Migrations } from "./migrations.ts";
import { after, type StoreContext, type StoreModule } from "./table.ts";

const MIGRATIONS: Migrations = {
  name: "journal",
  versions: [
    [
      // Key and fingerprint as hashes: they hold the whole input, secrets included, and no index takes a megabyte.
      "CREATE TABLE journal (key_hash TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, owner TEXT NOT NULL, " +
        "begun_at BIGINT NOT NULL, ended_at BIGINT, result TEXT)",
    ],
  ],
};

export const journalModule: StoreModule<SqlJournal> = {
  migrations: MIGRATIONS,
  open: (context) => new SqlJournal(context),
};

export interface JournalLimits {
  /** Of the result that is kept, as JSON. */
  maxResultBytes: number;
  /** How long a result can be asked for again. What was begun and never ended is kept for ever. */
  retentionMs: number;
  maxEntries: number;
}

const DEFAULT_LIMITS: JournalLimits = {
  maxResultBytes: 1024 * 1024,
  retentionMs: 7 * 24 * 60 * 60 * 1000,
  maxEntries: 20_000,
};
const ENDS_BETWEEN_PRUNINGS = 500;

interface JournalRow {
  fingerprint: string;
  owner: string;
  result: string | null;
}

export class SqlJournal implements CallJournal {
  readonly #context: StoreContext;
  readonly #limits: JournalLimits;
  /** What this process began and can still end. */
  readonly #running = new Set<string>();
  #endsUntilPruning = 1;

  constructor(context: StoreContext, limits: Partial<JournalLimits> = {}) {
    this.#context = context;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
  }

  find(key: string, fingerprint?: string): MaybePromise<JournalEntry | undefined> {
    return after(this.#row(key), (row) => row && this.#read(key, fingerprint, row));
  }

  begin(key: string, fingerprint: string, { again = false } = {}): MaybePromise<JournalEntry | undefined> {
    const { database, owners, clock } = this.#context;
    const inserted = database.run(
      "INSERT INTO journal (key_hash, fingerprint, owner, begun_at) VALUES (?, ?, ?, ?) ON CONFLICT (key_hash) DO NOTHING",
      [hashOf(key), hashOf(fingerprint), owners.id, clock.now()],
    );
    return after(inserted, ({ changes }) => {
      if (changes === 1) return this.#began(key);
      return after(this.#row(key), (row) => {
        // Forgotten in between: the place is free.
        if (!row) return this.begin(key, fingerprint, { again });
        return after(this.#read(key, fingerprint, row), (entry) => {
          const isOrphaned = entry.state === "unknown" || (entry.state === "running" && !entry.elsewhere);
          return again && isOrphaned ? this.#takeOver(key, fingerprint, row) : entry;
        });
      });
    });
  }

  end(key: string, result: ToolResult): MaybePromise<void> {
    const { database, clock } = this.#context;
    const values = [fitResult(result, this.#limits.maxResultBytes), clock.now(), hashOf(key)];
    const written = this.#markStopped(key, () =>
      database.run("UPDATE journal SET result = ?, ended_at = ? WHERE key_hash = ?", values),
    );
    return after(written, () => {
      if (--this.#endsUntilPruning > 0) return undefined;
      this.#endsUntilPruning = ENDS_BETWEEN_PRUNINGS;
      return this.prune();
    });
  }

  forget(key: string): MaybePromise<void> {
    const { database } = this.#context;
    const forget = () => database.run("DELETE FROM journal WHERE key_hash = ?", [hashOf(key)]);
    return after(this.#markStopped(key, forget), () => undefined);
  }

  /** Drops results that are old or too many; what has no result stays, because it must not be run again unasked. */
  prune(): MaybePromise<void> {
    const { database, clock } = this.#context;
    const { retentionMs, maxEntries } = this.#limits;
    const old = database.run("DELETE FROM journal WHERE ended_at < ?", [clock.now() - retentionMs]);
    return after(old, () =>
      after(
        database.run(
          "DELETE FROM journal WHERE ended_at < (SELECT ended_at FROM journal WHERE ended_at IS NOT NULL " +
            "ORDER BY ended_at DESC LIMIT 1 OFFSET ?)",
          [maxEntries - 1],
        ),
        () => undefined,
      ),
    );
  }

  /** Of several who would take it over, the one whose change is the first. */
  #takeOver(key: string, fingerprint: string, seen: JournalRow): MaybePromise<JournalEntry | undefined> {
    const { database, owners, clock } = this.#context;
    const taken = database.run(
      "UPDATE journal SET owner = ?, begun_at = ? WHERE key_hash = ? AND owner = ? AND result IS NULL",
      [owners.id, clock.now(), hashOf(key), seen.owner],
    );
    return after(taken, ({ changes }) => (changes === 1 ? this.#began(key) : this.begin(key, fingerprint)));
  }

  /** Also where that cannot be written: then nobody is left who could say how it ended. */
  #markStopped<T>(key: string, write: () => MaybePromise<T>): MaybePromise<T> {
    let written: MaybePromise<T> | undefined;
    try {
      return (written = write());
    } finally {
      if (written instanceof Promise) {
        const done = () => void this.#running.delete(key);
        written.then(done, done);
      } else this.#running.delete(key);
    }
  }

  #began(key: string): undefined {
    this.#running.add(key);
    return undefined;
  }

  #row(key: string): MaybePromise<JournalRow | undefined> {
    const rows = this.#context.database.all<JournalRow>(
      "SELECT fingerprint, owner, result FROM journal WHERE key_hash = ?",
      [hashOf(key)],
    );
    return after(rows, ([row]) => row);
  }

  #read(key: string, fingerprint: string | undefined, row: JournalRow): MaybePromise<JournalEntry> {
    if (fingerprint !== undefined && row.fingerprint !== hashOf(fingerprint)) return { state: "other" };
    if (row.result !== null) return { state: "done", result: JSON.parse(row.result) as ToolResult };
    const { owners } = this.#context;
    // By another runtime on this store, or its end could not be written.
    if (row.owner === owners.id) {
      return this.#running.has(key) ? { state: "running", elsewhere: true } : { state: "running" };
    }
    return after(owners.isAlive(row.owner), (isAlive) =>
      isAlive ? { state: "running", elsewhere: true } : { state: "unknown" },
    );
  }
}

function hashOf(text: string): string {
  return hash("sha256", text);
}

/** A result as JSON of at most so many bytes: first its details go, then its content; what is missing is said. */
export function fitResult(result: ToolResult, maxBytes: number): string {
  const whole = JSON.stringify(result);
  if (Buffer.byteLength(whole) <= maxBytes) return whole;
  const warnings = [
    ...(result.metadata.warnings ?? []),
    "The whole result was too large to be kept for a repeated call.",
  ];
  const { details: _details, ...rest } = result;
  const short = JSON.stringify({ ...rest, metadata: { ...result.metadata, warnings } });
  if (Buffer.byteLength(short) <= maxBytes) return short;
  const { spill, known } = result.metadata;
  const text = `${result.display.slice(0, 1000)}\n[${Buffer.byteLength(whole)} bytes were too large to be kept for a repeated call]`;
  return JSON.stringify({
    ...rest,
    display: result.display.slice(0, 1000),
    content: [{ type: "text", text }],
    metadata: { warnings: warnings.slice(-1), spill, known },
    ...(result.status === "failed"
      ? { error: { ...result.error, message: result.error.message.slice(0, 1000), data: undefined } }
      : {}),
  });
}
