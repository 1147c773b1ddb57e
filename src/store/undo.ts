import { withDefaults } from "../core/options.ts";
import { promisify } from "node:util";
import { deflateRaw, deflateRawSync, inflateRaw } from "node:zlib";
import {
  type ChangeFilter,
  type ChangeGroup,
  type ChangeMaker,
  DEFAULT_UNDO_LIMITS,
  type DiscardedChanges,
  type EntryState,
  type FileChange,
  foldersOf,
  type GroupEnd,
  type ProcessOwner,
  type RecordedChange,
  rootCall,
  stateBefore,
  type UndoLimits,
  type UndoRun,
  type UndoStore,
} from "../io/files/undo-store.ts";
import type { SqlDatabase, SqlTransaction, SqlValue } from "./database.ts";
import {
  addedIn,
  bytes,
  flag,
  integer,
  json,
  type RowOf,
  type StoreModule,
  table,
  text,
  textOrEmpty,
} from "./table.ts";

const states = table("undo_state", {
  workspace: text("NOT NULL PRIMARY KEY"),
  lastSeq: integer(),
  bytes: integer(),
  /** How many changes were deleted to stay within the limits, and when the newest of them was made. */
  givenUp: integer(),
  newest: integer(),
  /** Killed writers have left nothing in the folders of changes up to this one. */
  cleanedSeq: addedIn(3, integer("NOT NULL DEFAULT 0")),
});
const changes = table(
  "undo_changes",
  {
    workspace: text(),
    seq: integer(),
    at: integer(),
    callId: textOrEmpty(),
    rootCall: textOrEmpty(),
    session: textOrEmpty(),
    tool: textOrEmpty(),
    kind: text<FileChange["kind"]>(),
    path: text(),
    toPath: textOrEmpty(),
    oldState: json<EntryState>(),
    nextState: json<EntryState>(),
    /** Hashes of the contents that are stored for this change. */
    oldHash: textOrEmpty(),
    nextHash: textOrEmpty(),
    abandoned: flag(),
    callerUser: addedIn(2, textOrEmpty("NOT NULL DEFAULT ''")),
    callerAgent: addedIn(2, textOrEmpty("NOT NULL DEFAULT ''")),
    groupId: addedIn(3, textOrEmpty("NOT NULL DEFAULT ''")),
  },
  "PRIMARY KEY (workspace, seq)",
);
const contents = table(
  "undo_contents",
  { workspace: text(), hash: text(), uses: integer(), size: integer(), stored: integer(), content: bytes() },
  "PRIMARY KEY (workspace, hash)",
);
const runs = table(
  "undo_runs",
  {
    workspace: text(),
    seq: integer(),
    id: text(),
    at: integer(),
    state: text<UndoRun["state"]>(),
    owner: json<UndoRun["owner"]>(),
    body: json<Omit<UndoRun, "id" | "state" | "owner">>(),
  },
  "PRIMARY KEY (workspace, id)",
);

const groups = table(
  "undo_groups",
  { workspace: text(), id: text(), at: integer(), owner: json<ProcessOwner>(), maker: json<ChangeMaker>() },
  "PRIMARY KEY (workspace, id)",
);

type ChangeRow = RowOf<typeof changes>;

/** A store serves several workspaces: this opens the journal of one of them. */
export const undoModule: StoreModule<(workspace: string, limits?: Partial<UndoLimits>) => UndoStore> = {
  migrations: {
    name: "undo",
    versions: [
      [
        states.create,
        changes.create,
        "CREATE INDEX undo_changes_by_call ON undo_changes (workspace, root_call, seq)",
        "CREATE INDEX undo_changes_by_session ON undo_changes (workspace, session, seq)",
        contents.create,
        runs.create,
      ],
      changes.addColumns(2),
      [...changes.addColumns(3), ...states.addColumns(3), groups.create],
    ],
  },
  open:
    ({ database, clock, warn }) =>
    (workspace, limits) =>
      new SqlUndo(database, { workspace, clock: () => clock.now(), limits, warn }),
};

/** Each change also counts with this many bytes, so a million empty ones are limited too. */
const CHANGE_BYTES = 256;
/** Pruning frees more than one change needs, so not every change has to prune. */
const PRUNE_TARGET = 0.9;
/** Below this size the thread pool costs more than the compression. */
const SMALL_BYTES = 64 * 1024;
/** How many changes pass between two checks of the age; the size is checked at each. */
const PRUNE_EVERY = 256;

/** How many of the last changes are looked at for temporary files of killed writers. */
const MAX_UNCLEAN_CHANGES = 500;

const compress = promisify(deflateRaw);
const expand = promisify(inflateRaw);

export interface SqlUndoOptions {
  /** The folder whose changes these are: several workspaces may share a database. */
  workspace: string;
  clock: () => number;
  limits?: Partial<UndoLimits>;
  /** Called when a group of a killed process was rolled back, or could not be. */
  warn?: (warning: string) => void;
}

interface Content {
  hash: string;
  size: number;
  bytes: Uint8Array;
  /** Undefined if the store seems to have it already. */
  packed?: Uint8Array;
}

/** Stores each content once, compressed, however many changes use it. Beyond its limits the oldest calls are deleted. */
export class SqlUndo implements UndoStore {
  readonly #db: SqlDatabase;
  readonly #workspace: string;
  readonly #clock: () => number;
  readonly #limits: UndoLimits;
  readonly #warn: (warning: string) => void;

  constructor(database: SqlDatabase, { workspace, clock, limits, warn = () => {} }: SqlUndoOptions) {
    this.#db = database;
    this.#workspace = workspace;
    this.#clock = clock;
    this.#limits = withDefaults(DEFAULT_UNDO_LIMITS, limits);
    this.#warn = warn;
  }

  async before(change: FileChange): Promise<string> {
    const old = stateBefore(change);
    const packed = await Promise.all(contentsOf(change, old).map((content) => this.#pack(content)));
    const seq = await this.#db.transaction((tx) => this.#write(tx, { change, old, packed }));
    // A failed pruning must not fail the change: the next change tries again.
    await this.#prune(seq % PRUNE_EVERY === 1).catch(() => undefined);
    return String(seq);
  }

  async abandoned(id: string): Promise<void> {
    await this.#db.run("UPDATE undo_changes SET abandoned = 1 WHERE workspace = ? AND seq = ?", [
      this.#workspace,
      Number(id),
    ]);
  }

  async list(filter: ChangeFilter = {}): Promise<RecordedChange[]> {
    const { where, params } = conditionOf(this.#workspace, filter);
    const limit = filter.limit === undefined ? "" : ` LIMIT ${Math.max(0, Math.trunc(filter.limit))}`;
    const rows = await changes.select(this.#db, changes.keys, `WHERE ${where} ORDER BY seq DESC${limit}`, params);
    return rows.map(toChange);
  }

  async content(hash: string): Promise<Buffer | undefined> {
    const [row] = await contents.select(this.#db, ["size", "content"], "WHERE workspace = ? AND hash = ?", [
      this.#workspace,
      hash,
    ]);
    if (!row) return undefined;
    // Damage gives another hash: the caller compares it.
    const stored = Buffer.from(row.content.buffer, row.content.byteOffset, row.content.byteLength);
    return stored.byteLength === row.size ? stored : await expand(stored).catch(() => undefined);
  }

  async beginUndo({ id, owner, ...body }: Omit<UndoRun, "state">): Promise<boolean> {
    const workspace = this.#workspace;
    return this.#db.transaction(
      async (tx) => {
        const seq = await nextNumber(tx, workspace);
        const running = await runs.select(tx, ["id"], "WHERE workspace = ? AND state = 'running'", [workspace]);
        if (running.length > 0) return false;
        await runs.insert(tx, { workspace, seq, id, at: body.at, state: "running", owner, body });
        return true;
      },
      { synced: true },
    );
  }

  async endUndo(id: string, state: UndoRun["state"]): Promise<void> {
    await this.#db.run("UPDATE undo_runs SET state = ? WHERE workspace = ? AND id = ?", [state, this.#workspace, id]);
  }

  async adoptUndo(id: string, from: UndoRun["owner"], to: UndoRun["owner"]): Promise<boolean> {
    const adopted = await this.#db.run(
      "UPDATE undo_runs SET owner = ? WHERE workspace = ? AND id = ? AND state = 'running' AND owner = ?",
      [runs.toSql("owner", to), this.#workspace, id, runs.toSql("owner", from)],
    );
    return adopted.changes > 0;
  }

  async undos(): Promise<UndoRun[]> {
    const rows = await runs.select(this.#db, ["id", "state", "owner", "body"], "WHERE workspace = ? ORDER BY seq", [
      this.#workspace,
    ]);
    return rows.map(({ body, ...row }) => ({ ...body, ...row }));
  }

  async discardedChanges(): Promise<DiscardedChanges | undefined> {
    const [row] = await states.select(this.#db, ["givenUp", "newest"], "WHERE workspace = ?", [this.#workspace]);
    return row && row.givenUp > 0 ? { changes: row.givenUp, newest: row.newest } : undefined;
  }

  async beginGroup({ id, at, owner, ...maker }: ChangeGroup): Promise<void> {
    await groups.insert(this.#db, { workspace: this.#workspace, id, at, owner, maker });
  }

  async endGroup(id: string, end: GroupEnd): Promise<void> {
    const key = [this.#workspace, id];
    if (end.state === "done") {
      await this.#db.run("DELETE FROM undo_groups WHERE workspace = ? AND id = ?", key);
      return;
    }
    const [group] = await groups.select(this.#db, ["maker"], "WHERE workspace = ? AND id = ?", key);
    await this.#db.transaction(async (tx) => {
      await tx.run("DELETE FROM undo_groups WHERE workspace = ? AND id = ?", key);
      if (end.state === "rolled_back") {
        await tx.run("UPDATE undo_changes SET abandoned = 1 WHERE workspace = ? AND group_id = ?", key);
      }
    });
    const { tool = "a change of files", callId } = group?.maker ?? {};
    const name = callId === undefined ? tool : `${tool} (call ${callId})`;
    const result =
      end.state === "stuck" ? `could not be rolled back: ${end.why.replace(/\.$/, "")}` : "was rolled back";
    this.#warn(`A process was killed while ${name} was changing files. What it had changed ${result}.`);
  }

  async groups(): Promise<ChangeGroup[]> {
    const rows = await groups.select(this.#db, ["id", "at", "owner", "maker"], "WHERE workspace = ? ORDER BY at", [
      this.#workspace,
    ]);
    return rows.map(({ maker, ...row }) => ({ ...maker, ...row }));
  }

  async adoptGroup(id: string, from: ProcessOwner, to: ProcessOwner): Promise<boolean> {
    const adopted = await this.#db.run(
      "UPDATE undo_groups SET owner = ? WHERE workspace = ? AND id = ? AND owner = ?",
      [groups.toSql("owner", to), this.#workspace, id, groups.toSql("owner", from)],
    );
    return adopted.changes > 0;
  }

  async uncleanFolders(): Promise<{ folders: string[]; upTo: number }> {
    const workspace = this.#workspace;
    const [state] = await states.select(this.#db, ["lastSeq", "cleanedSeq"], "WHERE workspace = ?", [workspace]);
    if (!state || state.lastSeq === state.cleanedSeq) return { folders: [], upTo: 0 };
    const rows = await changes.select(
      this.#db,
      ["path", "toPath"],
      `WHERE workspace = ? AND seq > ? ORDER BY seq DESC LIMIT ${MAX_UNCLEAN_CHANGES}`,
      [workspace, state.cleanedSeq],
    );
    return { folders: foldersOf(rows.map(({ path, toPath }) => ({ path, to: toPath }))), upTo: state.lastSeq };
  }

  async cleaned(upTo: number): Promise<void> {
    await this.#db.run("UPDATE undo_state SET cleaned_seq = ? WHERE workspace = ? AND cleaned_seq < ?", [
      upTo,
      this.#workspace,
      upTo,
    ]);
  }

  async #pack({ hash, bytes: content }: Pick<Content, "hash" | "bytes">): Promise<Content> {
    const known = await contents.select(this.#db, ["hash"], "WHERE workspace = ? AND hash = ?", [
      this.#workspace,
      hash,
    ]);
    const size = content.byteLength;
    if (known.length > 0) return { hash, size, bytes: content };
    const packed = size > SMALL_BYTES ? smaller(await compress(content, { level: 1 }), content) : packNow(content);
    return { hash, size, bytes: content, packed };
  }

  async #write(
    tx: SqlTransaction,
    { change, old, packed }: { change: FileChange; old: EntryState; packed: readonly Content[] },
  ): Promise<number> {
    const workspace = this.#workspace;
    const seq = await nextNumber(tx, workspace);
    let grown = CHANGE_BYTES;
    for (const content of packed) grown += await this.#store(tx, content);
    await tx.run("UPDATE undo_state SET bytes = bytes + ? WHERE workspace = ?", [grown, workspace]);
    await changes.insert(tx, { workspace, seq, at: this.#clock(), ...rowOfChange(change, old) });
    return seq;
  }

  /** Returns how many bytes the store grew by. */
  async #store(tx: SqlTransaction, { hash, size, bytes: content, packed }: Content): Promise<number> {
    const workspace = this.#workspace;
    const use = "UPDATE undo_contents SET uses = uses + 1 WHERE workspace = ? AND hash = ?";
    if ((await tx.run(use, [workspace, hash])).changes > 0) return 0;
    const stored = packed ?? packNow(content);
    await contents.insert(tx, { workspace, hash, uses: 1, size, stored: stored.byteLength, content: stored });
    return stored.byteLength;
  }

  /** Deletes whole calls, oldest first, never the last one: half a call could not be undone. */
  async #prune(checkAge: boolean): Promise<void> {
    const workspace = this.#workspace;
    const { maxBytes, maxAgeMs } = this.#limits;
    const [seen] = await states.select(this.#db, ["bytes"], "WHERE workspace = ?", [workspace]);
    if (!seen || (seen.bytes <= maxBytes && !checkAge)) return;
    const target = seen.bytes > maxBytes ? maxBytes * PRUNE_TARGET : maxBytes;
    const oldestKept = this.#clock() - maxAgeMs;
    await this.#db.transaction(async (tx) => {
      // Locks the workspace's row on PostgreSQL.
      await tx.run("UPDATE undo_state SET newest = newest WHERE workspace = ?", [workspace]);
      for (;;) {
        const [state] = await tx.all<{ bytes: number; last: number }>(
          "SELECT bytes, (SELECT max(seq) FROM undo_changes WHERE workspace = ?) AS last FROM undo_state WHERE workspace = ?",
          [workspace, workspace],
        );
        const call = await oldestCall(tx, workspace);
        const oldest = call[0];
        if (!state || !oldest || call.some(({ seq }) => seq === state.last)) break;
        if (state.bytes <= target && oldest.at >= oldestKept) break;
        await discard(tx, workspace, call);
      }
      await tx.run("DELETE FROM undo_runs WHERE workspace = ? AND at < ? AND state <> 'running'", [
        workspace,
        oldestKept,
      ]);
    });
  }
}

function rowOfChange(change: FileChange, old: EntryState): Omit<ChangeRow, "workspace" | "seq" | "at"> {
  const { bytes: nextBytes, ...next } = change.next;
  return {
    callId: change.callId,
    rootCall: change.callId === undefined ? undefined : rootCall(change.callId),
    session: change.session,
    callerUser: change.user,
    callerAgent: change.agent,
    tool: change.tool,
    groupId: change.group,
    kind: change.kind,
    path: change.path,
    toPath: change.to,
    oldState: old,
    nextState: next,
    oldHash: change.old ? hashIn(old) : undefined,
    nextHash: nextBytes ? hashIn(next) : undefined,
    abandoned: false,
  };
}

function toChange(row: ChangeRow): RecordedChange {
  return {
    id: String(row.seq),
    order: row.seq,
    at: row.at,
    callId: row.callId,
    session: row.session,
    user: row.callerUser,
    agent: row.callerAgent,
    tool: row.tool,
    kind: row.kind,
    path: row.path,
    to: row.toPath,
    old: row.oldState,
    next: row.nextState,
    abandoned: row.abandoned,
  };
}

function hashIn(state: EntryState): string | undefined {
  return state.kind === "file" ? state.hash : undefined;
}

async function oldestCall(tx: SqlTransaction, workspace: string): Promise<ChangeRow[]> {
  const first = await changes.select(tx, changes.keys, "WHERE workspace = ? ORDER BY seq LIMIT 1", [workspace]);
  const oldest = first[0];
  if (oldest?.rootCall === undefined) return first;
  return changes.select(
    tx,
    changes.keys,
    "WHERE workspace = ? AND root_call = ? AND session = ? AND caller_user = ? AND caller_agent = ? ORDER BY seq",
    [workspace, oldest.rootCall, oldest.session ?? "", oldest.callerUser ?? "", oldest.callerAgent ?? ""],
  );
}

async function discard(tx: SqlTransaction, workspace: string, call: readonly ChangeRow[]): Promise<void> {
  let freed = 0;
  for (const { seq, oldHash, nextHash } of call) {
    for (const hash of [oldHash, nextHash]) {
      if (hash === undefined) continue;
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

/** Also locks this workspace's journal until the transaction ends. */
async function nextNumber(tx: SqlTransaction, workspace: string): Promise<number> {
  const [row] = await tx.all<{ last_seq: number }>(
    "INSERT INTO undo_state (workspace, last_seq, bytes, given_up, newest) VALUES (?, 1, 0, 0, 0) " +
      "ON CONFLICT (workspace) DO UPDATE SET last_seq = undo_state.last_seq + 1 RETURNING last_seq",
    [workspace],
  );
  return row?.last_seq ?? 1;
}

function contentsOf(change: FileChange, old: RecordedChange["old"]): { hash: string; bytes: Uint8Array }[] {
  const found: { hash: string; bytes: Uint8Array }[] = [];
  if (old.kind === "file" && old.hash !== undefined && change.old) found.push({ hash: old.hash, bytes: change.old });
  const { next } = change;
  if (next.kind === "file" && next.hash !== undefined && next.bytes) found.push({ hash: next.hash, bytes: next.bytes });
  return found;
}

function packNow(bytes: Uint8Array): Uint8Array {
  return smaller(deflateRawSync(bytes, { level: 1 }), bytes);
}

/** A stored content that is as long as the original is not compressed. */
function smaller(packed: Uint8Array, bytes: Uint8Array): Uint8Array {
  return packed.byteLength < bytes.byteLength ? packed : bytes;
}

function conditionOf(workspace: string, { session, user, agent, callId, group, path, since }: ChangeFilter) {
  const parts = ["workspace = ?"];
  const params: SqlValue[] = [workspace];
  const add = (sql: string, ...values: SqlValue[]): void => {
    parts.push(sql);
    params.push(...values);
  };
  if (session !== undefined) add("session = ?", session);
  if (user !== undefined) add("caller_user = ?", user);
  if (agent !== undefined) add("caller_agent = ?", agent);
  if (group !== undefined) add("group_id = ?", group);
  if (since !== undefined) add("at >= ?", since);
  if (callId !== undefined) {
    // The first condition uses the index; nested calls have the id of their parent and a number.
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
