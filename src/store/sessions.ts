import { randomUUID } from "node:crypto";
import type {
  AppendOptions,
  EntryDraft,
  HistoryQuery,
  Incoming,
  Lease,
  Session,
  SessionEntry,
  SessionQuery,
  SessionStore,
  TurnEnd,
} from "../models/agent/session-store.ts";
import type { MaybePromise } from "../core/stage.ts";
import { after, type StoreContext, type StoreModule } from "./table.ts";
import { failPoint } from "./fail-point.ts";
import type { Migrations } from "./migrations.ts";
import type { SqlDatabase, SqlRunner, SqlTransaction, SqlValue } from "./database.ts";

const SESSION_MIGRATIONS: Migrations = {
  name: "sessions",
  versions: [
    [
      `CREATE TABLE sessions (
         key TEXT NOT NULL PRIMARY KEY,
         label TEXT,
         parent TEXT,
         root TEXT NOT NULL,
         state TEXT NOT NULL,
         updated_at BIGINT NOT NULL,
         last_seq BIGINT NOT NULL,
         is_open BIGINT NOT NULL,
         stop BIGINT NOT NULL,
         owner TEXT,
         lease TEXT,
         record TEXT NOT NULL
       )`,
      "CREATE INDEX sessions_by_change ON sessions (updated_at)",
      "CREATE INDEX sessions_by_root ON sessions (root)",
      `CREATE TABLE session_entries (
         session TEXT NOT NULL,
         seq BIGINT NOT NULL,
         turn BIGINT NOT NULL,
         item TEXT,
         is_end BIGINT NOT NULL,
         record TEXT NOT NULL,
         PRIMARY KEY (session, seq)
       )`,
      "CREATE UNIQUE INDEX session_entries_by_item ON session_entries (session, item) WHERE item IS NOT NULL",
      `CREATE TABLE session_inbox (
         session TEXT NOT NULL,
         item TEXT NOT NULL,
         place BIGINT NOT NULL,
         record TEXT NOT NULL,
         PRIMARY KEY (session, item)
       )`,
    ],
  ],
};

export const sessionsModule: StoreModule<SessionStore> = {
  migrations: SESSION_MIGRATIONS,
  open: (context) => new SqlSessions(context),
};

interface Row {
  record: string;
}

interface SessionRow extends Row {
  last_seq: number;
  is_open: number;
}

export interface SessionsContext extends Pick<StoreContext, "database" | "clock"> {
  owners: { readonly id: string } & Pick<StoreContext["owners"], "isAlive">;
}

/** Conversations in a database that several processes may share. Keys and ids are kept as JSON: TEXT holds no NUL. */
export class SqlSessions implements SessionStore {
  readonly shared = true;
  readonly #db: SqlDatabase;
  readonly #clock: StoreContext["clock"];
  readonly #owners: SessionsContext["owners"];

  constructor({ database, clock, owners }: SessionsContext) {
    this.#db = database;
    this.#clock = clock;
    this.#owners = owners;
  }

  add(session: Session, first?: Incoming): MaybePromise<boolean> {
    const { key, label, parent, root, state, updatedAt } = session;
    return this.#db.transaction((tx) => {
      const added = tx.run(
        `INSERT INTO sessions (key, label, parent, root, state, updated_at, last_seq, is_open, stop, record)
         VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, ?) ON CONFLICT (key) DO NOTHING`,
        [name(key), name(label), name(parent), name(root), state, updatedAt, JSON.stringify(session)],
      );
      return after(added, ({ changes }) => {
        if (changes === 0) return false;
        return first ? after(insertItem(tx, key, first), () => true) : true;
      });
    });
  }

  get(key: string): MaybePromise<Session | undefined> {
    const rows = this.#db.all<Row>("SELECT record FROM sessions WHERE key = ?", [name(key)]);
    return after(rows, ([row]) => row && read<Session>(row));
  }

  list({ parent, root, label, state, limit = 100 }: SessionQuery = {}): MaybePromise<Session[]> {
    const wanted: [string, SqlValue][] = [];
    for (const [column, value] of Object.entries({ parent, root, label })) {
      if (value !== undefined) wanted.push([`${column} = ?`, name(value)]);
    }
    if (state !== undefined) wanted.push(["state = ?", state]);
    const where = wanted.length === 0 ? "" : `WHERE ${wanted.map(([sql]) => sql).join(" AND ")}`;
    const rows = this.#db.all<Row>(`SELECT record FROM sessions ${where} ORDER BY updated_at DESC, key DESC LIMIT ?`, [
      ...wanted.map(([, value]) => value),
      limit,
    ]);
    return after(rows, (all) => all.map((row) => read<Session>(row)));
  }

  push(key: string, item: Incoming, max: number): MaybePromise<"added" | "known" | "full" | "missing"> {
    return this.#db.transaction((tx) =>
      this.#locked(tx, key, () =>
        after(tx.all("SELECT 1 AS one FROM sessions WHERE key = ?", [name(key)]), ([session]) => {
          if (!session) return "missing";
          return after(isKnown(tx, key, item.id), (known) => {
            if (known) return "known";
            return after(countInbox(tx, key), (count) => {
              if (count >= max) return "full";
              return after(insertItem(tx, key, item), () => "added" as const);
            });
          });
        }),
      ),
    );
  }

  drop(key: string, id: string): MaybePromise<void> {
    const dropped = this.#db.run("DELETE FROM session_inbox WHERE session = ? AND item = ?", [name(key), name(id)]);
    return after(dropped, () => undefined);
  }

  waiting(key: string): MaybePromise<number> {
    return countInbox(this.#db, key);
  }

  claim(key: string): MaybePromise<Lease | undefined> {
    const rows = this.#db.all<{ owner: string | null; lease: string | null }>(
      "SELECT owner, lease FROM sessions WHERE key = ?",
      [name(key)],
    );
    return after(rows, ([row]) => {
      if (!row) return undefined;
      return after(row.owner === null ? false : this.#owners.isAlive(row.owner), (isHeld) => {
        if (isHeld) return undefined;
        const id = randomUUID();
        // Of two who saw the same, the second finds another lease.
        const taken = this.#db.run(
          "UPDATE sessions SET owner = ?, lease = ? WHERE key = ? AND COALESCE(lease, '') = ?",
          [this.#owners.id, id, name(key), row.lease ?? ""],
        );
        return after(taken, ({ changes }) => (changes === 1 ? { key, id } : undefined));
      });
    });
  }

  take(lease: Lease, toEntry: (item: Incoming) => EntryDraft): MaybePromise<SessionEntry[] | undefined> {
    return this.#db.transaction((tx) =>
      this.#held(tx, lease, (row) => {
        const rows = tx.all<Row>("SELECT record FROM session_inbox WHERE session = ? ORDER BY place, item", [
          name(lease.key),
        ]);
        return after(rows, (items) => {
          if (items.length === 0) return [];
          const session = read<Session>(row);
          session.state = "running";
          if (row.is_open === 0) session.turns++;
          const drafts = items.map((item) => toEntry(read<Incoming>(item)));
          return this.#write(tx, { session, seq: row.last_seq }, drafts);
        });
      }),
    );
  }

  append(
    lease: Lease,
    drafts: readonly EntryDraft[],
    { changes = {}, announce }: AppendOptions = {},
  ): MaybePromise<SessionEntry[] | undefined> {
    const isEnd = drafts.some(({ end }) => end);
    if (isEnd) failPoint("before turn end");
    const written = this.#db.transaction((tx) =>
      this.#held(tx, lease, (row) => {
        const session: Session = { ...read<Session>(row), ...(changes as Partial<Session>) };
        return after(this.#write(tx, { session, seq: row.last_seq }, drafts), (entries) => {
          if (!announce) return entries;
          return after(this.#announce(tx, announce.to, announce.item), () => entries);
        });
      }),
    );
    return after(written, (entries) => {
      failPoint(
        isEnd ? "turn ended" : drafts.some(({ message }) => message?.role === "tool") ? "results kept" : "said",
      );
      return entries;
    });
  }

  release(lease: Lease, anyway = false): MaybePromise<boolean> {
    return this.#db.transaction((tx) =>
      this.#locked(tx, lease.key, () =>
        after(anyway ? 0 : countInbox(tx, lease.key), (count) => {
          if (count > 0) return false;
          const freed = tx.run("UPDATE sessions SET owner = NULL, lease = NULL, stop = 0 WHERE key = ? AND lease = ?", [
            name(lease.key),
            lease.id,
          ]);
          return after(freed, () => true);
        }),
      ),
    );
  }

  requestStop(key: string): MaybePromise<boolean> {
    const requested = this.#db.run("UPDATE sessions SET stop = 1 WHERE key = ?", [name(key)]);
    return after(requested, ({ changes }) => changes === 1);
  }

  isStopRequested(key: string): MaybePromise<boolean> {
    const rows = this.#db.all<{ stop: number }>("SELECT stop FROM sessions WHERE key = ?", [name(key)]);
    return after(rows, ([row]) => row?.stop === 1);
  }

  history(key: string, { after: from = 0, last, limit }: HistoryQuery = {}): MaybePromise<SessionEntry[]> {
    const order = last === undefined ? "ASC" : "DESC";
    const rows = this.#db.all<Row>(
      `SELECT record FROM session_entries WHERE session = ? AND seq > ? ORDER BY seq ${order} LIMIT ?`,
      [name(key), from, last ?? limit ?? Number.MAX_SAFE_INTEGER],
    );
    return after(rows, (all) => {
      const entries = all.map((row) => read<SessionEntry>(row));
      if (last === undefined) return entries;
      entries.reverse();
      return limit === undefined ? entries : entries.slice(0, limit);
    });
  }

  endOf(key: string, id: string): MaybePromise<TurnEnd | undefined> {
    const rows = this.#db.all<Row>(
      `SELECT ended.record AS record FROM session_entries AS taken
         JOIN session_entries AS ended ON ended.session = taken.session AND ended.turn = taken.turn AND ended.is_end = 1
        WHERE taken.session = ? AND taken.item = ?`,
      [name(key), name(id)],
    );
    return after(rows, ([row]) => row && read<SessionEntry>(row).end);
  }

  async due(): Promise<string[]> {
    const rows = await this.#db.all<{ key: string; owner: string | null }>(
      `SELECT key, owner FROM sessions
        WHERE is_open = 1 OR EXISTS (SELECT 1 FROM session_inbox WHERE session = sessions.key)`,
    );
    const keys: string[] = [];
    for (const { key, owner } of rows) {
      if (owner === null || !(await this.#owners.isAlive(owner))) keys.push(JSON.parse(key) as string);
    }
    return keys;
  }

  /** SQLite has one writer at a time; PostgreSQL is told whom to wait for. */
  #locked<T>(tx: SqlTransaction, key: string, work: () => MaybePromise<T>): MaybePromise<T> {
    return after(tx.lock(`session ${name(key)}`), work);
  }

  #held<T>(
    tx: SqlTransaction,
    { key, id }: Lease,
    work: (row: SessionRow) => MaybePromise<T>,
  ): MaybePromise<T | undefined> {
    return this.#locked(tx, key, () => {
      const rows = tx.all<SessionRow>("SELECT record, last_seq, is_open FROM sessions WHERE key = ? AND lease = ?", [
        name(key),
        id,
      ]);
      return after(rows, ([row]) => {
        return row && work(row);
      });
    });
  }

  #write(
    tx: SqlTransaction,
    { session, seq }: { session: Session; seq: number },
    drafts: readonly EntryDraft[],
  ): MaybePromise<SessionEntry[]> {
    const at = this.#clock.now();
    const entries = drafts.map((draft, i) => ({ ...draft, seq: seq + i + 1, turn: session.turns, at }));
    const kept: Session = { ...session, updatedAt: at };
    const last = entries.at(-1);
    const updated = tx.run(
      `UPDATE sessions SET label = ?, state = ?, updated_at = ?, last_seq = ?, record = ?
         ${last ? `, is_open = ${last.end ? 0 : 1}` : ""} WHERE key = ?`,
      [name(kept.label), kept.state, at, seq + entries.length, JSON.stringify(kept), name(kept.key)],
    );
    return after(updated, () => after(insertEach(tx, kept.key, entries), () => entries));
  }

  #announce(tx: SqlTransaction, to: string, item: Incoming): MaybePromise<unknown> {
    return after(tx.all("SELECT 1 AS one FROM sessions WHERE key = ?", [name(to)]), ([session]) => {
      if (!session) return undefined;
      return after(isKnown(tx, to, item.id), (known) => (known ? undefined : insertItem(tx, to, item)));
    });
  }
}

function insertEach(tx: SqlRunner, key: string, entries: readonly SessionEntry[]): MaybePromise<unknown> {
  const [entry, ...others] = entries;
  if (!entry) return undefined;
  const { incoming } = entry;
  const taken = incoming
    ? tx.run("DELETE FROM session_inbox WHERE session = ? AND item = ?", [name(key), name(incoming.id)])
    : undefined;
  const insert = (): MaybePromise<unknown> =>
    tx.run("INSERT INTO session_entries (session, seq, turn, item, is_end, record) VALUES (?, ?, ?, ?, ?, ?)", [
      name(key),
      entry.seq,
      entry.turn,
      name(incoming?.id),
      entry.end ? 1 : 0,
      JSON.stringify(entry),
    ]);
  return after(after(taken, insert), () => insertEach(tx, key, others));
}

function insertItem(tx: SqlRunner, key: string, item: Incoming): MaybePromise<unknown> {
  return tx.run(
    `INSERT INTO session_inbox (session, item, place, record)
     SELECT CAST(? AS TEXT), CAST(? AS TEXT),
            (SELECT COALESCE(MAX(place), 0) + 1 FROM session_inbox WHERE session = ?), CAST(? AS TEXT)
     ON CONFLICT (session, item) DO NOTHING`,
    [name(key), name(item.id), name(key), JSON.stringify(item)],
  );
}

function isKnown(tx: SqlRunner, key: string, id: string): MaybePromise<boolean> {
  const rows = tx.all(
    `SELECT 1 AS one FROM session_inbox WHERE session = ? AND item = ?
      UNION ALL SELECT 1 AS one FROM session_entries WHERE session = ? AND item = ?`,
    [name(key), name(id), name(key), name(id)],
  );
  return after(rows, (found) => found.length > 0);
}

function countInbox(db: SqlRunner, key: string): MaybePromise<number> {
  const rows = db.all<{ count: number }>("SELECT count(*) AS count FROM session_inbox WHERE session = ?", [name(key)]);
  return after(rows, ([row]) => row?.count ?? 0);
}

function name(value: string): string;
function name(value: string | undefined): string | null;
function name(value: string | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

/** As PostgreSQL's TEXT: JSON writes a NUL as an escape. */
function read<T>({ record }: Row): T {
  return JSON.parse(record) as T;
}
