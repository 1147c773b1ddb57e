import type { FileChange } from "../files/undo-journal.ts";
import { type RecordedChange, rootCall, type UndoRun } from "../files/undo-store.ts";
import type { Migrations } from "./migration.ts";

/** An empty text stands for none: then one form of comparison holds for both databases. */
export interface ChangeRow {
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
export const CHANGE_BYTES = 256;

export function rowOfChange(
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

export function toChange(row: ChangeRow): RecordedChange {
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

export function toRun(row: { id: string; state: UndoRun["state"]; owner: string; body: string }): UndoRun {
  const body = JSON.parse(row.body) as Omit<UndoRun, "id" | "state" | "owner">;
  return { ...body, id: row.id, state: row.state, owner: JSON.parse(row.owner) as UndoRun["owner"] };
}

function hashIn(state: RecordedChange["old"]): string | undefined {
  return state.kind === "file" ? state.hash : undefined;
}
