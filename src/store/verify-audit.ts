import type { AuditHead, AuditProblem, AuditReport } from "../executor/audit-log.ts";
import { AUDIT_SELECT, type AuditRow, hashOfRow } from "./audit-row.ts";
import type { SqlDatabase } from "./sql-database.ts";

const PAGE = 500;
const MAX_PROBLEMS = 1000;
/** Below every number that an entry may have been given. */
const BEFORE_ALL = -Number.MAX_SAFE_INTEGER;

/**
 * Reads the whole chain again. Found is every entry that was altered, removed, put in or moved, and an end that was cut off
 * while the head still knows of it. Not found by itself: somebody who may write to the store and recomputes all hashes from
 * a change to the end, head included, or sets everything back to an older copy. Against that a head must be noted where
 * he cannot write, and given here.
 */
export async function verifyAudit(database: SqlDatabase, anchor?: AuditHead): Promise<AuditReport> {
  const problems: AuditProblem[] = [];
  const report = (seq: number, problem: AuditProblem["problem"], message: string): void => {
    if (problems.length < MAX_PROBLEMS) problems.push({ seq, problem, message });
  };
  let last = { seq: 0, hash: "" };
  let position = BEFORE_ALL;
  let count = 0;
  let anchored = anchor === undefined || anchor.count === 0;
  let end = await readEnd(database);
  for (;;) {
    for (let rows = await readPage(database, position); rows.length > 0; rows = await readPage(database, position)) {
      for (const row of rows) {
        if (check(row)) last = { seq: row.seq, hash: row.hash };
        count++;
        position = row.seq;
        if (anchor?.count === row.seq) anchored = anchor.hash === row.hash;
      }
    }
    // Others may have written meanwhile.
    const now = await readEnd(database);
    if (now.count === end.count && now.hash === end.hash) break;
    end = now;
  }
  checkEnd();
  return { ok: problems.length === 0, count, head: { count: end.count, hash: end.hash }, problems };

  /** Whether the chain goes on from here. */
  function check(row: AuditRow): boolean {
    const { seq } = row;
    if (!Number.isSafeInteger(seq) || seq <= last.seq) {
      report(seq, "inserted", `Entry ${seq} was put in: no entry has this number.`);
      return false;
    }
    if (seq > last.seq + 1) {
      const first = last.seq + 1;
      report(
        first,
        "missing",
        first === seq - 1 ? `Entry ${first} is missing.` : `Entries ${first} to ${seq - 1} are missing.`,
      );
    }
    if (hashOfRow(row) !== row.hash) {
      report(seq, "altered", `Entry ${seq} was altered: it does not match its hash.`);
    } else if (row.previous !== last.hash && seq === last.seq + 1) {
      report(seq, "unlinked", `Entry ${seq} does not continue entry ${seq - 1}: one of the two was replaced.`);
    }
    return true;
  }

  function checkEnd(): void {
    if (!end.exists) report(last.seq, "head", "The head is missing: whether the end was cut off cannot be told.");
    else if (last.seq < end.count) {
      report(last.seq + 1, "missing", `Entries ${last.seq + 1} to ${end.count} are missing: the end was cut off.`);
    } else if (last.seq > end.count) {
      report(end.count + 1, "inserted", `Entries from ${end.count + 1} on were put in: the head does not know them.`);
    } else if (last.hash !== end.hash) {
      report(last.seq, "head", "The head does not match the last entry: one of the two was altered.");
    }
    if (!anchored) {
      report(
        anchor!.count,
        "altered",
        `Entry ${anchor!.count} is not the one whose hash was noted: the log was rewritten or cut.`,
      );
    }
  }
}

async function readEnd(database: SqlDatabase): Promise<AuditHead & { exists: boolean }> {
  const [head] = await database.all<AuditHead>("SELECT count, hash FROM audit_head WHERE id = 1");
  return head ? { ...head, exists: true } : { count: 0, hash: "", exists: false };
}

async function readPage(database: SqlDatabase, position: number): Promise<AuditRow[]> {
  return await database.all<AuditRow>(`${AUDIT_SELECT} WHERE seq > ? ORDER BY seq LIMIT ${PAGE}`, [position]);
}
