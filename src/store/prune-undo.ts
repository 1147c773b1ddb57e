import type { UndoLimits } from "../files/undo-store.ts";
import type { SqlDatabase, SqlTransaction } from "./sql-database.ts";
import { CHANGE_BYTES, type ChangeRow } from "./undo-row.ts";

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
export async function pruneUndo(database: SqlDatabase, pruning: Pruning): Promise<void> {
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
