import { callKey } from "../../calls/calls.ts";
import type { StoredCall } from "../../calls/stored-call.ts";
import { storedResult } from "../../calls/stored-result.ts";
import type { AuditEntry } from "../../gate/audit-log.ts";
import type { SqlTransaction } from "../database.ts";
import type { GroupTransaction } from "../group-writer.ts";
import type { StoreContext } from "../table.ts";
import { appendAudit, audit, column, toDraft, toEntry } from "./audit-chain.ts";

/** Writes `call_lost` for every running call of a process that is gone. Calls of live processes are not changed. */
export async function findLost({ database, owners, clock }: StoreContext): Promise<AuditEntry[]> {
  const holders = await database.all<{ owner: string }>("SELECT DISTINCT owner FROM audit_running");
  const lost: AuditEntry[] = [];
  for (const { owner } of holders) {
    if (await owners.isAlive(owner)) continue;
    const rows = await database.transaction(async (tx) => {
      await tx.lock("audit");
      // The process that deletes the rows reports them; another that starts at the same time finds none.
      const open = await tx.all<{ seq: number }>("DELETE FROM audit_running WHERE owner = ? RETURNING seq", [owner]);
      const begun = await readBegun(tx, open);
      const drafts = begun.map((entry) => toDraft(lostOf(entry), clock.now(), owners.id));
      return appendAudit(
        tx,
        drafts.map((draft) => ({ draft: () => draft })),
      );
    });
    lost.push(...rows.map(toEntry));
  }
  return lost;
}

async function readBegun(tx: SqlTransaction, open: readonly { seq: number }[]): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for (const { seq } of [...open].sort((a, b) => a.seq - b.seq)) {
    const [row] = await audit.select(tx, audit.keys, "WHERE seq = ?", [seq]);
    if (row) entries.push(toEntry(row));
  }
  return entries;
}

function lostOf({ callId, parentId, toolName, caller, seq, at, owner }: AuditEntry) {
  const data = { begunSeq: seq, begunAt: at, begunBy: owner };
  return { kind: "call_lost", status: "unknown", callId, parentId, toolName, caller, data } as const;
}

/**
 * Says what became of a call that `lose` took from a process that is gone, and of the calls that it made: `call_lost`, or
 * `call_waiting` if it runs again. In the transaction of the row, which has the lock of the log.
 */
export async function closeLost(
  { writer }: Pick<StoreContext, "writer">,
  tx: GroupTransaction,
  { owner, row }: { owner: string; row: StoredCall },
): Promise<void> {
  const { session, agent, user } = row.caller;
  const key = callKey({ session: column(session), agent: column(agent), user: column(user) }, "");
  const result = storedResult(row);
  const closed = new Set<number>();
  const close = async (by: "call_id" | "parent_id", id: string): Promise<void> => {
    const where = `WHERE ${by} = ? AND seq IN (SELECT seq FROM audit_running WHERE owner = ?) ORDER BY seq`;
    for (const entry of (await audit.select(tx, audit.keys, where, [column(id), owner])).map(toEntry)) {
      if (closed.has(entry.seq) || (by === "call_id" && callKey(entry.caller ?? {}, "") !== key)) continue;
      closed.add(entry.seq);
      const lost = lostOf(entry);
      const waits = by === "call_id" && result.status === "pending";
      const data = waits ? { ...lost.data, pending: result.pending } : lost.data;
      const draft = writer.draft({ ...lost, data, ...(waits && { kind: "call_waiting", status: "pending" }) });
      tx.append({ closes: { seq: entry.seq }, draft: () => draft });
      await close("parent_id", entry.callId ?? id);
    }
  };
  await close("call_id", row.callId);
}
