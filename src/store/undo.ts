import { promisify } from "node:util";
import { deflateRaw, deflateRawSync, inflateRaw } from "node:zlib";
import type { MaybePromise } from "../core/stage.ts";
import {
  type ChangeFilter,
  DEFAULT_UNDO_LIMITS,
  type DiscardedChanges,
  type FileChange,
  type RecordedChange,
  rootCall,
  stateBefore,
  type UndoLimits,
  type UndoRun,
  type UndoStore,
} from "../io/files/undo-store.ts";
import type { SqlDatabase, SqlTransaction, SqlValue } from "./database.ts";
import type { Migrations } from "./migrations.ts";
import { after, type StoreModule } from "./table.ts";

/** An empty text stands for none: then one form of comparison holds for both databases. */
interface ChangeRow {
  workspace: string;
  seq: number;
  at: number;
  call_id: string;
  root_call: string;
  session: string;
  caller_user: string;
  caller_agent: string;
  tool: string;
  kind: string;
  path: string;
  to_path: string;
  old_state: string;
  next_state: string;
  /** Hashes of the contents that are kept for this change. */
  old_hash: string;
  next_hash: string;
  abandoned: number;
}

export const UNDO_MIGRATIONS: Migrations = {
  name: "undo",
  versions: [
    [
      `CREATE TABLE undo_state (workspace TEXT NOT NULL PRIMARY KEY, last_seq BIGINT NOT NULL, bytes BIGINT NOT NULL,
        given_up BIGINT NOT NULL, newest BIGINT NOT NULL)`,
      `CREATE TABLE undo_changes (workspace TEXT NOT NULL, seq BIGINT NOT NULL, at BIGINT NOT NULL,
        call_id TEXT NOT NULL, root_call TEXT NOT NULL, session TEXT NOT NULL, tool TEXT NOT NULL, kind TEXT NOT NULL,
        path TEXT NOT NULL, to_path TEXT NOT NULL, old_state TEXT NOT NULL, next_state TEXT NOT NULL,
        old_hash TEXT NOT NULL, next_hash TEXT NOT NULL, abandoned BIGINT NOT NULL, PRIMARY KEY (workspace, seq))`,
      "CREATE INDEX undo_changes_by_call ON undo_changes (workspace, root_call, seq)",
      "CREATE INDEX undo_changes_by_session ON undo_changes (workspace, session, seq)",
      `CREATE TABLE undo_contents (workspace TEXT NOT NULL, hash TEXT NOT NULL, uses BIGINT NOT NULL,
        size BIGINT NOT NULL, stored BIGINT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (workspace, hash))`,
      `CREATE TABLE undo_runs (workspace TEXT NOT NULL, seq BIGINT NOT NULL, id TEXT NOT NULL, at BIGINT NOT NULL,
        state TEXT NOT NULL, owner TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (workspace, id))`,
    ],
    [
      "ALTER TABLE undo_changes ADD COLUMN caller_user TEXT NOT NULL DEFAULT ''",
      "ALTER TABLE undo_changes ADD COLUMN caller_agent TEXT NOT NULL DEFAULT ''",
    ],
  ],
};

/** Each change also counts for itself, so that a million empty ones are bounded too. */
const CHANGE_BYTES = 256;

function rowOfChange(
  change: FileChange,
  { workspace, old, at }: { workspace: string; old: RecordedChange["old"]; at: number },
): Omit<ChangeRow, "seq"> {
  const { bytes, ...next } = change.next;
  return {
    workspace,
    at,
    call_id: change.callId ?? "",
    root_call: change.callId === undefined ? "" : rootCall(change.callId),
    session: change.session ?? "",
    caller_user: change.user ?? "",
    caller_agent: change.agent ?? "",
    tool: change.tool ?? "",
    kind: change.kind,
    path: change.path,
    to_path: change.to ?? "",
    old_state: JSON.stringify(old),
    next_state: JSON.stringify(next),
    old_hash: (change.old && hashIn(old)) ?? "",
    next_hash: (bytes && hashIn(next)) ?? "",
    abandoned: 0,
  };
}

function toChange(row: ChangeRow): RecordedChange {
  return {
    id: String(row.seq),
    order: row.seq,
    at: row.at,
    callId: row.call_id || undefined,
    session: row.session || undefined,
    user: row.caller_user || undefined,
    agent: row.caller_agent || undefined,
    tool: row.tool || undefined,
    kind: row.kind as RecordedChange["kind"],
    path: row.path,
    to: row.to_path || undefined,
    old: JSON.parse(row.old_state) as RecordedChange["old"],
    next: JSON.parse(row.next_state) as RecordedChange["next"],
    abandoned: row.abandoned === 1,
  };
}

function toRun(row: { id: string; state: UndoRun["state"]; owner: string; body: string }): UndoRun {
  const body = JSON.parse(row.body) as Omit<UndoRun, "id" | "state" | "owner">;
  return { ...body, id: row.id, state: row.state, owner: JSON.parse(row.owner) as UndoRun["owner"] };
}

function hashIn(state: RecordedChange["old"]): string | undefined {
  return state.kind === "file" ? state.hash : undefined;
}

interface Pruning {
  workspace: string;
  now: number;
  limits: UndoLimits;
  /** Besides size: looked at now and then. */
  checkAge: boolean;
}

interface State {
  bytes: number;
  /** The last change, not the last undo. */
  last: number;
}

/** Room is made for more than the one change, so that not every change has to make room. */
const PRUNE_TARGET = 0.9;

/** Gives up whole calls, the oldest first, never the last one: half a call could not be undone. */
async function pruneUndo(database: SqlDatabase, pruning: Pruning): Promise<void> {
  const { workspace, now, limits, checkAge } = pruning;
  const [seen] = await database.all<{ bytes: number }>("SELECT bytes FROM undo_state WHERE workspace = ?", [workspace]);
  if (!seen || (seen.bytes <= limits.maxBytes && !checkAge)) return;
  const target = seen.bytes > limits.maxBytes ? limits.maxBytes * PRUNE_TARGET : limits.maxBytes;
  await database.transaction(async (tx) => {
    await tx.run("UPDATE undo_state SET newest = newest WHERE workspace = ?", [workspace]);
    for (;;) {
      const [state] = await tx.all<State>(
        "SELECT bytes, (SELECT max(seq) FROM undo_changes WHERE workspace = ?) AS last FROM undo_state WHERE workspace = ?",
        [workspace, workspace],
      );
      const call = await oldestCall(tx, workspace);
      const oldest = call[0];
      if (!state || !oldest || call.some(({ seq }) => seq === state.last)) break;
      if (state.bytes <= target && oldest.at >= now - limits.maxAgeMs) break;
      await giveUp(tx, workspace, call);
    }
    await tx.run("DELETE FROM undo_runs WHERE workspace = ? AND at < ? AND state <> 'running'", [
      workspace,
      now - limits.maxAgeMs,
    ]);
  });
}

async function oldestCall(tx: SqlTransaction, workspace: string): Promise<ChangeRow[]> {
  const oldest = await tx.all<ChangeRow>("SELECT * FROM undo_changes WHERE workspace = ? ORDER BY seq LIMIT 1", [
    workspace,
  ]);
  if (!oldest[0] || oldest[0].root_call === "") return oldest;
  return await tx.all<ChangeRow>(
    "SELECT * FROM undo_changes WHERE workspace = ? AND root_call = ? AND session = ? AND caller_user = ? " +
      "AND caller_agent = ? ORDER BY seq",
    [workspace, oldest[0].root_call, oldest[0].session, oldest[0].caller_user, oldest[0].caller_agent],
  );
}

async function giveUp(tx: SqlTransaction, workspace: string, call: readonly ChangeRow[]): Promise<void> {
  let freed = 0;
  for (const { seq, old_hash, next_hash } of call) {
    for (const hash of [old_hash, next_hash]) {
      if (hash === "") continue;
      await tx.run("UPDATE undo_contents SET uses = uses - 1 WHERE workspace = ? AND hash = ?", [workspace, hash]);
      const gone = await tx.all<{ stored: number }>(
        "DELETE FROM undo_contents WHERE workspace = ? AND hash = ? AND uses <= 0 RETURNING stored",
        [workspace, hash],
      );
      freed += gone[0]?.stored ?? 0;
    }
    await tx.run("DELETE FROM undo_changes WHERE workspace = ? AND seq = ?", [workspace, seq]);
    freed += CHANGE_BYTES;
  }
  const newest = Math.max(...call.map(({ at }) => at));
  await tx.run(
    "UPDATE undo_state SET bytes = bytes - ?, given_up = given_up + ?, " +
      "newest = CASE WHEN newest > ? THEN newest ELSE ? END WHERE workspace = ?",
    [freed, call.length, newest, newest, workspace],
  );
}

const compress = promisify(deflateRaw);
const expand = promisify(inflateRaw);

/** Below this the way to the thread pool takes longer than the work. */
const SMALL_BYTES = 64 * 1024;
/** How often age is looked at; size is at each change. */
const PRUNE_EVERY = 256;

export interface SqlUndoOptions {
  /** Which folder's changes these are: several workspaces may share a database. */
  workspace: string;
  clock: () => number;
  limits?: Partial<UndoLimits>;
}

interface Content {
  hash: string;
  size: number;
  bytes: Uint8Array;
  /** Missing where the store is believed to have it. */
  packed?: Uint8Array;
}

/** A store serves several workspaces: it gives the journal of the one that is named. */
export const undoModule: StoreModule<(workspace: string, limits?: Partial<UndoLimits>) => UndoStore> = {
  migrations: UNDO_MIGRATIONS,
  open:
    ({ database, clock }) =>
    (workspace, limits) =>
      createSqlUndo(database, { workspace, clock: () => clock.now(), limits }),
};

/** Keeps each content once, compressed, however many changes it belongs to, and gives up the oldest calls beyond its limits. */
export function createSqlUndo(database: SqlDatabase, options: SqlUndoOptions): UndoStore {
  const { workspace, clock } = options;
  const limits = { ...DEFAULT_UNDO_LIMITS, ...options.limits };

  const pack = async ({ hash, bytes }: Omit<Content, "size">): Promise<Content> => {
    const known = await database.all("SELECT 1 AS known FROM undo_contents WHERE workspace = ? AND hash = ?", [
      workspace,
      hash,
    ]);
    const size = bytes.byteLength;
    if (known.length > 0) return { hash, size, bytes };
    const packed = size > SMALL_BYTES ? smaller(await compress(bytes, { level: 1 }), bytes) : packNow(bytes);
    return { hash, size, bytes, packed };
  };

  /** Answers how many bytes the store grew by. */
  const keep = (tx: SqlTransaction, { hash, size, bytes, packed }: Content): MaybePromise<number> => {
    const use = "UPDATE undo_contents SET uses = uses + 1 WHERE workspace = ? AND hash = ?";
    return after(tx.run(use, [workspace, hash]), ({ changes }) => {
      if (changes > 0) return 0;
      const stored = packed ?? packNow(bytes);
      const insert =
        "INSERT INTO undo_contents (workspace, hash, uses, size, stored, content) VALUES (?, ?, 1, ?, ?, ?)";
      return after(tx.run(insert, [workspace, hash, size, stored.byteLength, stored]), () => stored.byteLength);
    });
  };

  const write = (tx: SqlTransaction, row: Omit<ChangeRow, "seq">, contents: readonly Content[]) =>
    after(nextNumber(tx, workspace), (seq) => {
      let grown: MaybePromise<number> = CHANGE_BYTES;
      for (const content of contents) grown = after(grown, (sum) => after(keep(tx, content), (more) => sum + more));
      return after(grown, (bytes) =>
        after(tx.run("UPDATE undo_state SET bytes = bytes + ? WHERE workspace = ?", [bytes, workspace]), () => {
          const columns = Object.entries({ ...row, seq });
          const marks = columns.map(() => "?").join(", ");
          const insert = `INSERT INTO undo_changes (${columns.map(([name]) => name).join(", ")}) VALUES (${marks})`;
          return after(
            tx.run(
              insert,
              columns.map(([, value]) => value as SqlValue),
            ),
            () => seq,
          );
        }),
      );
    });

  return {
    async before(change) {
      const old = stateBefore(change);
      const contents = await Promise.all(contentsOf(change, old).map(pack));
      const row = rowOfChange(change, { workspace, old, at: clock() });
      const seq = await database.transaction((tx) => write(tx, row, contents));
      // A change is not lost because an old one could not be given up: the next tries again.
      await pruneUndo(database, { workspace, now: clock(), limits, checkAge: seq % PRUNE_EVERY === 1 }).catch(() => {});
      return String(seq);
    },
    async abandoned(id) {
      await database.run("UPDATE undo_changes SET abandoned = 1 WHERE workspace = ? AND seq = ?", [
        workspace,
        Number(id),
      ]);
    },
    list(filter = {}) {
      const { where, params } = conditionOf(workspace, filter);
      const limit = filter.limit === undefined ? "" : ` LIMIT ${Math.max(0, Math.trunc(filter.limit))}`;
      const sql = `SELECT * FROM undo_changes WHERE ${where} ORDER BY seq DESC${limit}`;
      return after(database.all<ChangeRow>(sql, params), (rows): RecordedChange[] => rows.map(toChange));
    },
    content(hash) {
      const sql = "SELECT size, content FROM undo_contents WHERE workspace = ? AND hash = ?";
      return after(database.all<{ size: number; content: Uint8Array }>(sql, [workspace, hash]), async ([row]) => {
        if (!row) return undefined;
        // Damage shows as another hash: whoever uses it compares.
        const stored = Buffer.from(row.content.buffer, row.content.byteOffset, row.content.byteLength);
        return stored.byteLength === row.size ? stored : await expand(stored).catch(() => undefined);
      });
    },
    beginUndo: (run) =>
      database.transaction(
        (tx) =>
          after(nextNumber(tx, workspace), (seq) =>
            after(tx.all("SELECT id FROM undo_runs WHERE workspace = ? AND state = 'running'", [workspace]), (rows) => {
              if (rows.length > 0) return false;
              const { id, owner, ...body } = run;
              const insert =
                "INSERT INTO undo_runs (workspace, seq, id, at, state, owner, body) VALUES (?, ?, ?, ?, 'running', ?, ?)";
              const values = [workspace, seq, id, run.at, JSON.stringify(owner), JSON.stringify(body)];
              return after(tx.run(insert, values), () => true);
            }),
          ),
        { synced: true },
      ),
    endUndo: (id, state) =>
      after(
        database.run("UPDATE undo_runs SET state = ? WHERE workspace = ? AND id = ?", [state, workspace, id]),
        () => undefined,
      ),
    adoptUndo: (id, from, to) =>
      after(
        database.run(
          "UPDATE undo_runs SET owner = ? WHERE workspace = ? AND id = ? AND state = 'running' AND owner = ?",
          [JSON.stringify(to), workspace, id, JSON.stringify(from)],
        ),
        ({ changes }) => changes > 0,
      ),
    undos: () =>
      after(
        database.all<{ id: string; state: UndoRun["state"]; owner: string; body: string }>(
          "SELECT id, state, owner, body FROM undo_runs WHERE workspace = ? ORDER BY seq",
          [workspace],
        ),
        (rows) => rows.map(toRun),
      ),
    discardedChanges: () =>
      after(
        database.all<DiscardedChanges>("SELECT given_up AS changes, newest FROM undo_state WHERE workspace = ?", [
          workspace,
        ]),
        ([lost]) => (lost && lost.changes > 0 ? lost : undefined),
      ),
  };
}

/** Also holds everybody else off who changes this workspace's journal, until the transaction ends. */
function nextNumber(tx: SqlTransaction, workspace: string): MaybePromise<number> {
  const count =
    "INSERT INTO undo_state (workspace, last_seq, bytes, given_up, newest) VALUES (?, 1, 0, 0, 0) " +
    "ON CONFLICT (workspace) DO UPDATE SET last_seq = undo_state.last_seq + 1 RETURNING last_seq";
  return after(tx.all<{ last_seq: number }>(count, [workspace]), ([row]) => row?.last_seq ?? 1);
}

function contentsOf(change: FileChange, old: RecordedChange["old"]): { hash: string; bytes: Uint8Array }[] {
  const contents: { hash: string; bytes: Uint8Array }[] = [];
  if (old.kind === "file" && old.hash !== undefined && change.old) contents.push({ hash: old.hash, bytes: change.old });
  const { next } = change;
  if (next.kind === "file" && next.hash !== undefined && next.bytes)
    contents.push({ hash: next.hash, bytes: next.bytes });
  return contents;
}

function packNow(bytes: Uint8Array): Uint8Array {
  return smaller(deflateRawSync(bytes, { level: 1 }), bytes);
}

/** As long as the content itself means: not compressed. */
function smaller(packed: Uint8Array, bytes: Uint8Array): Uint8Array {
  return packed.byteLength < bytes.byteLength ? packed : bytes;
}

function conditionOf(workspace: string, { session, user, agent, callId, path, since }: ChangeFilter) {
  const parts = ["workspace = ?"];
  const params: SqlValue[] = [workspace];
  const add = (sql: string, ...values: SqlValue[]): void => {
    parts.push(sql);
    params.push(...values);
  };
  if (session !== undefined) add("session = ?", session);
  if (user !== undefined) add("caller_user = ?", user);
  if (agent !== undefined) add("caller_agent = ?", agent);
  if (since !== undefined) add("at >= ?", since);
  if (callId !== undefined) {
    // The first narrows by the index to calls that begin alike; what a call makes in turn has its id and a number.
    const root = rootCall(callId);
    const below = `${callId}/`;
    add("(root_call = ? OR substr(root_call, 1, ?) = ?)", root, `${root}/`.length, `${root}/`);
    add("(call_id = ? OR substr(call_id, 1, ?) = ?)", callId, below.length, below);
  }
  if (path !== undefined) {
    const below = path === "/" ? path : `${path}/`;
    const at = (column: string) => `${column} = ? OR substr(${column}, 1, ?) = ?`;
    add(`(${at("path")} OR ${at("to_path")})`, path, below.length, below, path, below.length, below);
  }
  return { where: parts.join(" AND "), params };
}
