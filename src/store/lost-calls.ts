import type { AuditEntry } from "../executor/audit-log.ts";
import { appendAudit } from "./append-audit.ts";
import { type AuditRow, AUDIT_SELECT, toDraft, toEntry } from "./audit-row.ts";
import type { SqlTransaction } from "./sql-database.ts";
import type { StoreContext } from "./store-part.ts";

/** Writes `call_lost` for every call that had begun in a process which is gone; those of live processes are left alone. */
export async function findLost({ database, owners, clock }: StoreContext): Promise<AuditEntry[]> {
  const holders = await database.all<{ owner: string }>("SELECT DISTINCT owner FROM audit_open");
  const lost: AuditEntry[] = [];
  for (const { owner } of holders) {
    if (await owners.isAlive(owner)) continue;
    const rows = await database.transaction(async (tx) => {
      // Whoever takes the rows says it; of two processes that start at once the other finds none.
      const open = await tx.all<{ seq: number }>("DELETE FROM audit_open WHERE owner = ? RETURNING seq", [owner]);
      const begun = await readBegun(tx, open);
      const writes = begun.map((entry) => ({ draft: toDraft(lostOf(entry), clock.now(), owners.id) }));
      return writes.length === 0 ? [] : appendAudit(tx, writes);
    });
    lost.push(...rows.map(toEntry));
  }
  return lost;
}

async function readBegun(tx: SqlTransaction, open: readonly { seq: number }[]): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for (const { seq } of [...open].sort((a, b) => a.seq - b.seq)) {
    const [row] = await tx.all<AuditRow>(`${AUDIT_SELECT} WHERE seq = ?`, [seq]);
    if (row) entries.push(toEntry(row));
  }
  return entries;
}

function lostOf({ callId, parentId, toolName, caller, seq, at, owner }: AuditEntry) {
  const data = { begunSeq: seq, begunAt: at, begunBy: owner };
  return { kind: "call_lost", status: "unknown", callId, parentId, toolName, caller, data } as const;
}
