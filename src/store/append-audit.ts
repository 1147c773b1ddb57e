import { type AuditDraft, AUDIT_COLUMNS, type AuditRow, hashOfRow, toDraft, valuesOf } from "./audit-row.ts";
import type { SqlTransaction, SqlValue } from "./sql-database.ts";

/** Rows of one INSERT: PostgreSQL is asked once for many, SQLite has few statements to prepare. */
const ROWS_AT_ONCE = 50;

/** A draft, and what it does to the list of calls that are under way. */
export interface AuditWrite {
  draft: AuditDraft;
  opens?: string;
  closes?: string;
}

/**
 * Puts entries at the end of the chain. Whoever appends has the lock for the rest of the transaction, so that the chain is
 * one, however many processes write to it.
 */
export async function appendAudit(tx: SqlTransaction, facts: readonly AuditWrite[]): Promise<AuditRow[]> {
  await tx.lock("audit");
  const end = await readEnd(tx);
  let { seq, hash } = end;
  const writes = end.isMissing && facts[0] ? [headless(facts[0].draft, seq), ...facts] : facts;
  const rows = writes.map(({ draft }) => {
    const row: AuditRow = { seq: ++seq, ...draft, previous: hash, hash: "" };
    row.hash = hash = hashOfRow(row);
    return row;
  });
  for (const some of chunks(rows)) {
    await tx.run(insertInto("audit", AUDIT_COLUMNS, some.length), some.flatMap(valuesOf));
  }
  await tx.run("UPDATE audit_head SET count = ?, hash = ? WHERE id = 1", [seq, hash]);
  await keepOpen(tx, writes, rows);
  return rows;
}

async function readEnd(tx: SqlTransaction): Promise<{ seq: number; hash: string; isMissing: boolean }> {
  const [head] = await tx.all<{ count: number; hash: string; last: number | null }>(
    "SELECT count, hash, (SELECT MAX(seq) FROM audit) AS last FROM audit_head WHERE id = 1",
  );
  // Beyond the head lies only what somebody put there; it stays where it is, and `verify` names it.
  if (head) return { seq: Math.max(head.count, head.last ?? 0), hash: head.hash, isMissing: false };
  const [last] = await tx.all<{ seq: number; hash: string }>("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1");
  await tx.run("INSERT INTO audit_head (id, count, hash) VALUES (1, 0, '')");
  return { seq: last?.seq ?? 0, hash: last?.hash ?? "", isMissing: true };
}

/** Somebody removed the head, and with it the proof of where the chain ended. */
function headless({ at, owner }: AuditDraft, seq: number): AuditWrite {
  const reason = `The log's head was missing: what stood after entry ${seq}, if anything, was cut off.`;
  return { draft: toDraft({ kind: "gap", data: { reason } }, at, owner) };
}

/** A call that begins and ends in one group is never on the list. */
async function keepOpen(tx: SqlTransaction, writes: readonly AuditWrite[], rows: readonly AuditRow[]): Promise<void> {
  const opened = new Map<string, AuditRow>();
  const closed: string[] = [];
  for (const [at, { opens, closes }] of writes.entries()) {
    if (opens !== undefined) opened.set(opens, rows[at]!);
    if (closes !== undefined && !opened.delete(closes)) closed.push(closes);
  }
  for (const some of chunks([...opened])) {
    const values = some.flatMap(([run, { owner, seq }]): SqlValue[] => [run, owner, seq]);
    await tx.run(insertInto("audit_open", ["run", "owner", "seq"], some.length), values);
  }
  for (const some of chunks(closed)) {
    await tx.run(`DELETE FROM audit_open WHERE run IN (${some.map(() => "?").join(", ")})`, some);
  }
}

function* chunks<T>(items: readonly T[]): Generator<T[]> {
  for (let from = 0; from < items.length; from += ROWS_AT_ONCE) yield items.slice(from, from + ROWS_AT_ONCE);
}

function insertInto(table: string, columns: readonly string[], rows: number): string {
  const one = `(${columns.map(() => "?").join(", ")})`;
  return `INSERT INTO ${table} (${columns.join(", ")}) VALUES ${Array<string>(rows).fill(one).join(", ")}`;
}
