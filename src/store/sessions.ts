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
import type { Clock } from "../core/clock.ts";
import type { TodoItem, TodoStore } from "../tools/conversation/todo.ts";
import type { SqlDatabase, SqlRunner, SqlTransaction, SqlValue } from "./database.ts";
import { failPoint } from "./fail-point.ts";
import type { LiveOwners } from "./process-owners.ts";
import {
  flag,
  integer,
  json,
  optional,
  type RowOf,
  type StoreContext,
  type StoreModule,
  table,
  text,
} from "./table.ts";

const sessions = table("sessions", {
  key: json<string>("NOT NULL PRIMARY KEY"),
  label: optional(json<string>()),
  parent: optional(json<string>()),
  root: json<string>(),
  state: text<Session["state"]>(),
  updatedAt: integer(),
  lastSeq: integer(),
  /** Whether a turn has begun and not ended. */
  isOpen: flag(),
  stop: flag(),
  owner: optional(text()),
  lease: optional(text()),
  record: json<Session>(),
});
const entries = table(
  "session_entries",
  {
    session: json<string>(),
    seq: integer(),
    turn: integer(),
    item: optional(json<string>()),
    isEnd: flag(),
    record: json<SessionEntry>(),
  },
  "PRIMARY KEY (session, seq)",
);
const inbox = table(
  "session_inbox",
  { session: json<string>(), item: json<string>(), place: integer(), record: json<Incoming>() },
  "PRIMARY KEY (session, item)",
);

export const sessionsModule: StoreModule<SessionStore> = {
  migrations: {
    name: "sessions",
    versions: [
      [
        sessions.create,
        "CREATE INDEX sessions_by_change ON sessions (updated_at)",
        "CREATE INDEX sessions_by_root ON sessions (root)",
        entries.create,
        "CREATE UNIQUE INDEX session_entries_by_item ON session_entries (session, item) WHERE item IS NOT NULL",
        inbox.create,
      ],
    ],
  },
  open: (context) => new SqlSessions(context),
};

type HeldSession = Pick<RowOf<typeof sessions>, "record" | "lastSeq" | "isOpen">;

interface SessionsContext {
  database: SqlDatabase;
  clock: Pick<Clock, "now">;
  owners: LiveOwners;
}

/** Conversations in a database that several processes may share. */
export class SqlSessions implements SessionStore {
  readonly shared = true;
  readonly #db: SqlDatabase;
  readonly #clock: SessionsContext["clock"];
  readonly #owners: LiveOwners;

  constructor({ database, clock, owners }: SessionsContext) {
    this.#db = database;
    this.#clock = clock;
    this.#owners = owners;
  }

  async add(session: Session, first?: Incoming): Promise<boolean> {
    const { key, label, parent, root, state, updatedAt } = session;
    const row = { key, label, parent, root, state, updatedAt, lastSeq: 0, isOpen: false, stop: false, record: session };
    return this.#db.transaction(async (tx) => {
      const { changes } = await sessions.insert(tx, row, "ON CONFLICT (key) DO NOTHING");
      if (changes === 0) return false;
      if (first) await insertItem(tx, key, first);
      return true;
    });
  }

  async get(key: string): Promise<Session | undefined> {
    const [row] = await sessions.select(this.#db, ["record"], "WHERE key = ?", [name(key)]);
    return row?.record;
  }

  async list({ parent, root, label, state, limit = 100 }: SessionQuery = {}): Promise<Session[]> {
    const conditions: string[] = [];
    const values: SqlValue[] = [];
    for (const [column, value] of Object.entries({ parent, root, label })) {
      if (value === undefined) continue;
      conditions.push(`${column} = ?`);
      values.push(name(value));
    }
    if (state !== undefined) {
      conditions.push("state = ?");
      values.push(state);
    }
    const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
    const newest = `${where} ORDER BY updated_at DESC, key DESC LIMIT ?`;
    const rows = await sessions.select(this.#db, ["record"], newest, [...values, limit]);
    return rows.map(({ record }) => record);
  }

  async push(key: string, item: Incoming, max: number): Promise<"added" | "known" | "full" | "missing"> {
    return this.#db.transaction(async (tx) => {
      await lock(tx, key);
      if (!(await exists(tx, key))) return "missing";
      if (await isKnown(tx, key, item.id)) return "known";
      if ((await countInbox(tx, key)) >= max) return "full";
      await insertItem(tx, key, item);
      return "added";
    });
  }

  async drop(key: string, id: string): Promise<void> {
    await this.#db.run("DELETE FROM session_inbox WHERE session = ? AND item = ?", [name(key), name(id)]);
  }

  waiting(key: string): Promise<number> {
    return countInbox(this.#db, key);
  }

  async claim(key: string): Promise<Lease | undefined> {
    const [row] = await sessions.select(this.#db, ["owner", "lease"], "WHERE key = ?", [name(key)]);
    if (!row || (row.owner !== undefined && (await this.#owners.isAlive(row.owner)))) return undefined;
    const id = randomUUID();
    // If two processes saw the same lease, the second finds another one here.
    const { changes } = await this.#db.run(
      "UPDATE sessions SET owner = ?, lease = ? WHERE key = ? AND COALESCE(lease, '') = ?",
      [this.#owners.id, id, name(key), row.lease ?? ""],
    );
    return changes === 1 ? { key, id } : undefined;
  }

  async take(lease: Lease, toEntry: (item: Incoming) => EntryDraft): Promise<SessionEntry[] | undefined> {
    return this.#db.transaction(async (tx) => {
      const held = await readHeld(tx, lease);
      if (!held) return undefined;
      const items = await inbox.select(tx, ["record"], "WHERE session = ? ORDER BY place, item", [name(lease.key)]);
      if (items.length === 0) return [];
      const session = held.record;
      session.state = "running";
      if (!held.isOpen) session.turns++;
      const drafts = items.map(({ record }) => toEntry(record));
      return this.#write(tx, { session, seq: held.lastSeq }, drafts);
    });
  }

  async append(
    lease: Lease,
    drafts: readonly EntryDraft[],
    { changes = {}, announce }: AppendOptions = {},
  ): Promise<SessionEntry[] | undefined> {
    const isEnd = drafts.some(({ end }) => end);
    if (isEnd) failPoint("before turn end");
    const written = await this.#db.transaction(async (tx) => {
      const held = await readHeld(tx, lease);
      if (!held) return undefined;
      const session: Session = { ...held.record, ...(changes as Partial<Session>) };
      const added = await this.#write(tx, { session, seq: held.lastSeq }, drafts);
      if (announce) await announceTo(tx, announce.to, announce.item);
      return added;
    });
    failPoint(isEnd ? "turn ended" : drafts.some(({ message }) => message?.role === "tool") ? "results kept" : "said");
    return written;
  }

  async release(lease: Lease, anyway = false): Promise<boolean> {
    return this.#db.transaction(async (tx) => {
      await lock(tx, lease.key);
      if (!anyway && (await countInbox(tx, lease.key)) > 0) return false;
      await tx.run("UPDATE sessions SET owner = NULL, lease = NULL, stop = 0 WHERE key = ? AND lease = ?", [
        name(lease.key),
        lease.id,
      ]);
      return true;
    });
  }

  async requestStop(key: string): Promise<boolean> {
    return (await this.#db.run("UPDATE sessions SET stop = 1 WHERE key = ?", [name(key)])).changes === 1;
  }

  async isStopRequested(key: string): Promise<boolean> {
    const [row] = await sessions.select(this.#db, ["stop"], "WHERE key = ?", [name(key)]);
    return row?.stop ?? false;
  }

  async history(key: string, { after = 0, last, limit }: HistoryQuery = {}): Promise<SessionEntry[]> {
    const order = last === undefined ? "ASC" : "DESC";
    const rows = await entries.select(
      this.#db,
      ["record"],
      `WHERE session = ? AND seq > ? ORDER BY seq ${order} LIMIT ?`,
      [name(key), after, last ?? limit ?? Number.MAX_SAFE_INTEGER],
    );
    const found = rows.map(({ record }) => record);
    if (last === undefined) return found;
    found.reverse();
    return limit === undefined ? found : found.slice(0, limit);
  }

  async endOf(key: string, id: string): Promise<TurnEnd | undefined> {
    const rows = await this.#db.all(
      `SELECT ended.record AS record FROM session_entries AS taken
         JOIN session_entries AS ended ON ended.session = taken.session AND ended.turn = taken.turn AND ended.is_end = 1
        WHERE taken.session = ? AND taken.item = ?`,
      [name(key), name(id)],
    );
    return entries.read(["record"], rows)[0]?.record.end;
  }

  async due(): Promise<string[]> {
    const rows = await sessions.select(
      this.#db,
      ["key", "owner"],
      "WHERE is_open = 1 OR EXISTS (SELECT 1 FROM session_inbox WHERE session = sessions.key)",
    );
    const keys: string[] = [];
    for (const { key, owner } of rows) {
      if (owner === undefined || !(await this.#owners.isAlive(owner))) keys.push(key);
    }
    return keys;
  }

  async #write(
    tx: SqlTransaction,
    { session, seq }: { session: Session; seq: number },
    drafts: readonly EntryDraft[],
  ): Promise<SessionEntry[]> {
    const at = this.#clock.now();
    const added = drafts.map((draft, i) => ({ ...draft, seq: seq + i + 1, turn: session.turns, at }));
    const updated: Session = { ...session, updatedAt: at };
    const last = added.at(-1);
    await tx.run(
      `UPDATE sessions SET label = ?, state = ?, updated_at = ?, last_seq = ?, record = ?
         ${last ? `, is_open = ${last.end ? 0 : 1}` : ""} WHERE key = ?`,
      [
        sessions.toSql("label", updated.label),
        updated.state,
        at,
        seq + added.length,
        sessions.toSql("record", updated),
        name(updated.key),
      ],
    );
    for (const entry of added) await insertEntry(tx, session.key, entry);
    return added;
  }
}

/** SQLite has one writer at a time; PostgreSQL must be told what to wait for. */
async function lock(tx: SqlTransaction, key: string): Promise<void> {
  await tx.lock(`session ${String(name(key))}`);
}

/** The session, if the lease is still the current one. */
async function readHeld(tx: SqlTransaction, { key, id }: Lease): Promise<HeldSession | undefined> {
  await lock(tx, key);
  const [row] = await sessions.select(tx, ["record", "lastSeq", "isOpen"], "WHERE key = ? AND lease = ?", [
    name(key),
    id,
  ]);
  return row;
}

async function insertEntry(tx: SqlRunner, session: string, entry: SessionEntry): Promise<void> {
  const { incoming, seq, turn } = entry;
  if (incoming) {
    await tx.run("DELETE FROM session_inbox WHERE session = ? AND item = ?", [name(session), name(incoming.id)]);
  }
  await entries.insert(tx, { session, seq, turn, item: incoming?.id, isEnd: Boolean(entry.end), record: entry });
}

async function announceTo(tx: SqlTransaction, key: string, item: Incoming): Promise<void> {
  if ((await exists(tx, key)) && !(await isKnown(tx, key, item.id))) await insertItem(tx, key, item);
}

async function insertItem(tx: SqlRunner, key: string, item: Incoming): Promise<void> {
  await tx.run(
    `INSERT INTO session_inbox (session, item, place, record)
     SELECT CAST(? AS TEXT), CAST(? AS TEXT),
            (SELECT COALESCE(MAX(place), 0) + 1 FROM session_inbox WHERE session = ?), CAST(? AS TEXT)
     ON CONFLICT (session, item) DO NOTHING`,
    [name(key), name(item.id), name(key), inbox.toSql("record", item)],
  );
}

async function exists(tx: SqlRunner, key: string): Promise<boolean> {
  return (await tx.all("SELECT 1 AS one FROM sessions WHERE key = ?", [name(key)])).length > 0;
}

async function isKnown(tx: SqlRunner, key: string, id: string): Promise<boolean> {
  const rows = await tx.all(
    `SELECT 1 AS one FROM session_inbox WHERE session = ? AND item = ?
      UNION ALL SELECT 1 AS one FROM session_entries WHERE session = ? AND item = ?`,
    [name(key), name(id), name(key), name(id)],
  );
  return rows.length > 0;
}

async function countInbox(db: SqlRunner, key: string): Promise<number> {
  const [row] = await db.all<{ count: number }>("SELECT count(*) AS count FROM session_inbox WHERE session = ?", [
    name(key),
  ]);
  return row?.count ?? 0;
}

/** Keys and ids are stored as JSON: TEXT cannot hold NUL. */
function name(value: string): SqlValue {
  return sessions.toSql("key", value);
}

const todos = table("todos", {
  owner: json<string>("NOT NULL PRIMARY KEY"),
  items: json<readonly TodoItem[]>(),
  changedAt: integer(),
});

const TODO_RETENTION_MS = 30 * 24 * 60 * 60_000;

/** To-do lists, also of callers whose conversation is kept elsewhere, such as MCP clients. */
export const todosModule: StoreModule<TodoStore> = {
  migrations: { name: "todos", versions: [[todos.create]] },
  async open(context) {
    const { database, clock } = context;
    await database.run("DELETE FROM todos WHERE changed_at < ?", [clock.now() - TODO_RETENTION_MS]);
    return new SqlTodos(context);
  },
};

class SqlTodos implements TodoStore {
  readonly #context: StoreContext;

  constructor(context: StoreContext) {
    this.#context = context;
  }

  async get(owner: string): Promise<readonly TodoItem[]> {
    const { database } = this.#context;
    const [row] = await todos.select(database, ["items"], "WHERE owner = ?", [todos.toSql("owner", owner)]);
    return row?.items ?? [];
  }

  async set(owner: string, items: readonly TodoItem[]): Promise<void> {
    const { database, clock } = this.#context;
    if (items.length > 0) return todos.upsert(database, { owner, items, changedAt: clock.now() }, ["owner"]);
    await database.run("DELETE FROM todos WHERE owner = ?", [todos.toSql("owner", owner)]);
  }
}
