import { promisify } from "node:util";
import { deflateRaw, deflateRawSync, inflateRaw } from "node:zlib";
import type { MaybePromise } from "../core/stage.ts";
import { type FileChange, stateBefore } from "../files/undo-journal.ts";
import {
  type ChangeFilter,
  DEFAULT_UNDO_LIMITS,
  type DiscardedChanges,
  type RecordedChange,
  rootCall,
  type UndoLimits,
  type UndoRun,
  type UndoStore,
} from "../files/undo-store.ts";
import { after } from "./after.ts";
import { pruneUndo } from "./prune-undo.ts";
import type { SqlDatabase, SqlTransaction, SqlValue } from "./sql-database.ts";
import type { StoreModule } from "./store-part.ts";
import { CHANGE_BYTES, type ChangeRow, rowOfChange, toChange, toRun, UNDO_MIGRATIONS } from "./undo-row.ts";

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
