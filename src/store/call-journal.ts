import { withDefaults } from "../core/with-defaults.ts";
import { hash } from "node:crypto";
import type { CallJournal, JournalEntry } from "../calls/call-journal.ts";
import type { ToolResult } from "../core/result.ts";
import { integer, json, optional, type RowOf, type StoreContext, type StoreModule, table, text } from "./table.ts";

const journal = table("journal", {
  // Hashes: keys and fingerprints contain the whole input, secrets included, and may be megabytes long.
  keyHash: text("PRIMARY KEY"),
  fingerprint: text(),
  owner: text(),
  begunAt: integer(),
  endedAt: optional(integer()),
  result: optional(json<ToolResult>()),
});

type JournalRow = Pick<RowOf<typeof journal>, "fingerprint" | "owner" | "result">;

export const journalModule: StoreModule<SqlJournal> = {
  migrations: { name: "journal", versions: [[journal.create]] },
  open: (context) => new SqlJournal(context),
};

export interface JournalLimits {
  /** Of a stored result, as JSON. */
  maxResultBytes: number;
  /** How long a result is kept. Calls that began and never ended are kept for ever. */
  retentionMs: number;
  maxEntries: number;
}

const DEFAULT_LIMITS: JournalLimits = {
  maxResultBytes: 1024 * 1024,
  retentionMs: 7 * 24 * 60 * 60 * 1000,
  maxEntries: 20_000,
};
const ENDS_BETWEEN_PRUNINGS = 500;

export class SqlJournal implements CallJournal {
  readonly #context: StoreContext;
  readonly #limits: JournalLimits;
  /** Calls that this object began and has not ended. */
  readonly #running = new Set<string>();
  #endsUntilPruning = 1;

  constructor(context: StoreContext, limits: Partial<JournalLimits> = {}) {
    this.#context = context;
    this.#limits = withDefaults(DEFAULT_LIMITS, limits);
  }

  async find(key: string, fingerprint?: string): Promise<JournalEntry | undefined> {
    const row = await this.#row(key);
    return row && this.#read(key, fingerprint, row);
  }

  async begin(key: string, fingerprint: string, { again = false } = {}): Promise<JournalEntry | undefined> {
    const { database, owners, clock } = this.#context;
    const inserted = await journal.insert(
      database,
      { keyHash: hashOf(key), fingerprint: hashOf(fingerprint), owner: owners.id, begunAt: clock.now() },
      "ON CONFLICT (key_hash) DO NOTHING",
    );
    if (inserted.changes === 1) return this.#began(key);
    const row = await this.#row(key);
    // Forgotten since: try again.
    if (!row) return this.begin(key, fingerprint, { again });
    const entry = await this.#read(key, fingerprint, row);
    const isOrphaned = entry.state === "unknown" || (entry.state === "running" && !entry.elsewhere);
    return again && isOrphaned ? this.#takeOver(key, fingerprint, row) : entry;
  }

  async end(key: string, result: ToolResult): Promise<void> {
    const { database, clock } = this.#context;
    const values = [fitResult(result, this.#limits.maxResultBytes), clock.now(), hashOf(key)];
    try {
      await database.run("UPDATE journal SET result = ?, ended_at = ? WHERE key_hash = ?", values);
    } finally {
      // Also if that fails: then the outcome stays unknown.
      this.#running.delete(key);
    }
    if (--this.#endsUntilPruning > 0) return;
    this.#endsUntilPruning = ENDS_BETWEEN_PRUNINGS;
    await this.prune();
  }

  async forget(key: string): Promise<void> {
    try {
      await this.#context.database.run("DELETE FROM journal WHERE key_hash = ?", [hashOf(key)]);
    } finally {
      this.#running.delete(key);
    }
  }

  /** Deletes old and surplus results. A call without a result stays, because it must not run again unasked. */
  async prune(): Promise<void> {
    const { database, clock } = this.#context;
    const { retentionMs, maxEntries } = this.#limits;
    await database.run("DELETE FROM journal WHERE ended_at < ?", [clock.now() - retentionMs]);
    await database.run(
      "DELETE FROM journal WHERE ended_at < (SELECT ended_at FROM journal WHERE ended_at IS NOT NULL " +
        "ORDER BY ended_at DESC LIMIT 1 OFFSET ?)",
      [maxEntries - 1],
    );
  }

  /** If several processes take it over, the first change wins. */
  async #takeOver(key: string, fingerprint: string, seen: JournalRow): Promise<JournalEntry | undefined> {
    const { database, owners, clock } = this.#context;
    const { changes } = await database.run(
      "UPDATE journal SET owner = ?, begun_at = ? WHERE key_hash = ? AND owner = ? AND result IS NULL",
      [owners.id, clock.now(), hashOf(key), seen.owner],
    );
    return changes === 1 ? this.#began(key) : this.begin(key, fingerprint);
  }

  #began(key: string): undefined {
    this.#running.add(key);
    return undefined;
  }

  async #row(key: string): Promise<JournalRow | undefined> {
    const { database } = this.#context;
    const [row] = await journal.select(database, ["fingerprint", "owner", "result"], "WHERE key_hash = ?", [
      hashOf(key),
    ]);
    return row;
  }

  async #read(key: string, fingerprint: string | undefined, row: JournalRow): Promise<JournalEntry> {
    if (fingerprint !== undefined && row.fingerprint !== hashOf(fingerprint)) return { state: "other" };
    if (row.result !== undefined) return { state: "done", result: row.result };
    const { owners } = this.#context;
    // Of this process, but another runtime on this store began it, or its end could not be written.
    if (row.owner === owners.id) {
      return this.#running.has(key) ? { state: "running", elsewhere: true } : { state: "running" };
    }
    return (await owners.isAlive(row.owner)) ? { state: "running", elsewhere: true } : { state: "unknown" };
  }
}

function hashOf(text: string): string {
  return hash("sha256", text);
}

/** A result as JSON of at most `maxBytes`: without details, then without content, if it is longer; a warning says so. */
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
