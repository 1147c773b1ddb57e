import { hash } from "node:crypto";
import type {
  AuditEntry,
  AuditFact,
  AuditHead,
  AuditKind,
  AuditProblem,
  AuditReport,
  AuditStatus,
} from "../../gate/audit-log.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { SqlDatabase, SqlRunner, SqlTransaction } from "../database.ts";
import type { AuditWrite } from "../group-writer.ts";
import type { Migrations } from "../migrations.ts";
import { integer, optional, placeholders, rowNumber, type RowOf, table, text } from "../table.ts";

/** In the order in which the columns are hashed. `data` stays text: JSON that is written again may have another hash. */
export const audit = table("audit", {
  seq: rowNumber(),
  at: integer(),
  kind: text<AuditKind>(),
  callId: optional(text()),
  parentId: optional(text()),
  tool: optional(text()),
  session: optional(text()),
  agent: optional(text()),
  callerUser: optional(text()),
  task: optional(text()),
  depth: optional(integer()),
  verdict: optional(text<NonNullable<AuditEntry["verdict"]>>()),
  status: optional(text<AuditStatus>()),
  owner: text(),
  data: text(),
  /** Empty since entries are hashed with the hash that the entry before them has. Earlier versions wrote it here too. */
  previous: text(),
  hash: text(),
});
/** One row: the number and hash of the last entry. */
export const auditHead = table("audit_head", { id: rowNumber(), count: integer(), hash: text() });
const earlierOpen = table("audit_open", { run: text("PRIMARY KEY"), owner: text(), seq: integer() });
/** The entries of calls that have begun and not ended. Not part of the chain; only used to find lost calls. */
const auditRunning = table("audit_running", { seq: rowNumber(), owner: text() });

/** Segments that were archived or pruned. */
export const auditSegments = table("audit_segments", {
  lastSeq: rowNumber(),
  firstSeq: integer(),
  /** The hash of the entry before, and of the last entry: the chain goes on from it. */
  previous: text(),
  hash: text(),
  lastAt: integer(),
  /** The file that has the entries. */
  archive: optional(text()),
  prunedAt: optional(integer()),
});

export type AuditSegment = RowOf<typeof auditSegments>;

export const SEGMENT_MIGRATIONS: Migrations = { name: "audit_segments", versions: [[auditSegments.create]] };

/** The last entry that was pruned: the chain is verified from there on. */
export async function readBase(database: SqlRunner): Promise<{ seq: number; hash: string }> {
  const last = "WHERE pruned_at IS NOT NULL ORDER BY last_seq DESC LIMIT 1";
  const [base] = await auditSegments.select(database, ["lastSeq", "hash"], last);
  return base ? { seq: base.lastSeq, hash: base.hash } : { seq: 0, hash: "" };
}

export type AuditRow = RowOf<typeof audit>;

export const AUDIT_MIGRATIONS: Migrations = {
  name: "audit",
  versions: [
    [
      audit.create,
      // Few indexes: each costs a page in every commit, and queries by time or tool read from the newest on anyway.
      "CREATE INDEX audit_call ON audit (call_id) WHERE call_id IS NOT NULL",
      "CREATE INDEX audit_parent ON audit (parent_id) WHERE parent_id IS NOT NULL",
      "CREATE INDEX audit_session ON audit (session) WHERE session IS NOT NULL",
      auditHead.create,
      "INSERT INTO audit_head (id, count, hash) VALUES (1, 0, '')",
      earlierOpen.create,
      "CREATE INDEX audit_open_owner ON audit_open (owner)",
    ],
    [
      // One tree instead of three: each costs a page in every commit.
      auditRunning.create,
      "INSERT INTO audit_running (seq, owner) SELECT seq, MAX(owner) FROM audit_open GROUP BY seq",
      "DROP TABLE audit_open",
      "CREATE INDEX audit_tool ON audit (tool, seq) WHERE status IS NOT NULL",
    ],
  ],
};

const HASHED_KEYS = audit.keys.filter((key) => key !== "hash");

/** The hash covers all other columns and the hash of the entry before: that makes the chain. */
function hashOfRow(row: AuditRow, previous: string, encoding: "hex" | "base64url"): string {
  // A missing value is hashed as null.
  const values = HASHED_KEYS.map((key) => (key === "previous" ? previous : row[key]));
  return hash("sha256", JSON.stringify(values), encoding);
}

/** A row without its place in the chain. */
export type AuditDraft = Omit<AuditRow, "seq" | "previous" | "hash">;

export function toDraft(fact: AuditFact, at: number, owner: string): AuditDraft {
  const { caller } = fact;
  return {
    at,
    kind: fact.kind,
    callId: column(fact.callId),
    parentId: column(fact.parentId),
    tool: column(fact.toolName),
    session: column(caller?.session),
    agent: column(caller?.agent),
    callerUser: column(caller?.user),
    task: column(caller?.task),
    depth: caller?.depth,
    verdict: fact.verdict,
    status: fact.status,
    owner,
    data: JSON.stringify(fact.data ?? {}),
  };
}

/** Limited to what a text column of both databases can hold and index, so it is read as it was hashed. */
export function column(value: string): string;
export function column(value: string | undefined): string | undefined;
export function column(value: string | undefined): string | undefined {
  return value?.slice(0, 500).replace(/\0|\p{Surrogate}/gu, "\uFFFD");
}

export function toEntry(row: AuditRow): AuditEntry {
  const { session, agent, callerUser: user, task, depth } = row;
  const caller = { session, agent, user, task, depth };
  return {
    seq: row.seq,
    at: row.at,
    kind: row.kind,
    callId: row.callId,
    parentId: row.parentId,
    toolName: row.tool,
    caller: Object.values(caller).some((value) => value !== undefined) ? caller : undefined,
    verdict: row.verdict,
    status: row.status,
    owner: row.owner,
    data: readData(row.data),
    hash: row.hash,
  };
}

/** It may have been altered: `verify` reports that, and the other entries stay readable. */
function readData(data: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(data);
    if (isObject(value)) return value;
  } catch {
    // Reported below.
  }
  return { unreadable: data };
}

/** Rows per INSERT: one round trip for many on PostgreSQL, few statements to prepare on SQLite. */
const ROWS_AT_ONCE = 50;

/** Appends entries to the chain. The transaction holds the lock "audit", so all processes write one chain. */
export async function appendAudit(tx: SqlTransaction, writes: readonly AuditWrite[]): Promise<AuditRow[]> {
  const [head] = await tx.all<{ count: number; hash: string; last: number | null }>(
    "SELECT count, hash, (SELECT MAX(seq) FROM audit) AS last FROM audit_head WHERE id = 1",
  );
  const rows: AuditRow[] = [];
  const opened = new Map<number, RowOf<typeof auditRunning>>();
  const closed: number[] = [];
  // Entries beyond the head were inserted by somebody; they stay, and `verify` reports them.
  let end = head ? { seq: Math.max(head.count, head.last ?? 0), hash: head.hash } : await readLast(tx);
  const add = (draft: AuditDraft): AuditRow => {
    const row: AuditRow = { seq: end.seq + 1, ...draft, previous: "", hash: "" };
    row.hash = hashOfRow(row, end.hash, "base64url");
    end = row;
    rows.push(row);
    return row;
  };
  for (const { draft: draftOf, opens, closes } of writes) {
    const draft = draftOf();
    if (!draft) continue;
    if (!head && rows.length === 0) add(headless(draft, end.seq));
    const { owner, seq } = add(draft);
    if (opens) opened.set((opens.seq = seq), { seq, owner });
    // A call that begins and ends in one group is not added to the list.
    if (closes?.seq !== undefined && !opened.delete(closes.seq)) closed.push(closes.seq);
  }
  if (rows.length === 0) return rows;
  for (const some of chunks(rows)) await audit.insertMany(tx, some);
  await tx.run("UPDATE audit_head SET count = ?, hash = ? WHERE id = 1", [end.seq, end.hash]);
  for (const some of chunks([...opened.values()])) await auditRunning.insertMany(tx, some);
  for (const some of chunks(closed)) {
    await tx.run(`DELETE FROM audit_running WHERE seq IN (${placeholders(some)})`, some);
  }
  return rows;
}

/** Without a head. */
async function readLast(tx: SqlTransaction): Promise<{ seq: number; hash: string }> {
  const [last] = await tx.all<{ seq: number; hash: string }>("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1");
  await tx.run("INSERT INTO audit_head (id, count, hash) VALUES (1, 0, '')");
  return last ?? { seq: 0, hash: "" };
}

/** The head was removed, and with it the proof of where the chain ended. */
function headless({ at, owner }: AuditDraft, seq: number): AuditDraft {
  const reason = `The log's head was missing: entries after ${seq}, if there were any, were cut off.`;
  return toDraft({ kind: "gap", data: { reason } }, at, owner);
}

function* chunks<T>(items: readonly T[]): Generator<T[]> {
  for (let from = 0; from < items.length; from += ROWS_AT_ONCE) yield items.slice(from, from + ROWS_AT_ONCE);
}

const PAGE = 500;
const MAX_PROBLEMS = 1000;
/** Earlier versions wrote hashes as hex. */
const HEX_LENGTH = 64;
/** Below every number that an entry can have. */
const BEFORE_ALL = -Number.MAX_SAFE_INTEGER;

/**
 * Checks the whole chain. Finds every entry that was altered, removed, inserted or moved, and an end that was cut off while
 * the head still knows it. Does not find a writer who recomputes all hashes up to the head, or who restores an older copy:
 * against that, note a head where such a writer has no access, and pass it as `anchor`.
 */
export async function verifyAudit(database: SqlDatabase, anchor?: AuditHead): Promise<AuditReport> {
  const problems: AuditProblem[] = [];
  const report = (seq: number, problem: AuditProblem["problem"], message: string): void => {
    if (problems.length < MAX_PROBLEMS) problems.push({ seq, problem, message });
  };
  const base = await readBase(database);
  let last = base;
  let position = base.seq || BEFORE_ALL;
  let count = 0;
  let anchored = anchor === undefined || anchor.count === 0 || (anchor.count === base.seq && anchor.hash === base.hash);
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
    // Other processes may have written since.
    const now = await readEnd(database);
    if (now.count === end.count && now.hash === end.hash) break;
    end = now;
  }
  checkEnd();
  return { ok: problems.length === 0, count, head: { count: end.count, hash: end.hash }, problems };

  /** Whether the row continues the chain. */
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
    const isFollowing = seq === last.seq + 1;
    const previous = row.previous || last.hash;
    if (hashOfRow(row, previous, row.hash.length === HEX_LENGTH ? "hex" : "base64url") !== row.hash) {
      // If the entry before is missing, its hash is not known.
      const which = row.previous ? "it" : `it, or entry ${seq - 1}`;
      if (isFollowing || row.previous)
        report(seq, "altered", `Entry ${seq} does not match its hash: ${which} was altered.`);
    } else if (previous !== last.hash && isFollowing) {
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
    if (anchor && !anchored) {
      report(
        anchor.count,
        "altered",
        `Entry ${anchor.count} is not the one whose hash was noted: the log was rewritten or cut.`,
      );
    }
  }
}

const NEWEST = 100;

/** Whether the newest entries match the head and each other: a look at each start. `verify` checks all. */
export async function findMismatch(database: SqlRunner): Promise<string | undefined> {
  const [head] = await auditHead.select(database, ["count", "hash"], "WHERE id = 1");
  const newest = (await audit.select(database, audit.keys, "ORDER BY seq DESC LIMIT ?", [NEWEST])).reverse();
  const last = newest.at(-1);
  const isLinked = newest.every((row, at) => {
    const before = newest[at - 1];
    const encoding = row.hash.length === HEX_LENGTH ? "hex" : "base64url";
    return !before || (row.seq === before.seq + 1 && hashOfRow(row, before.hash, encoding) === row.hash);
  });
  if (isLinked && (!last || (head?.count === last.seq && head.hash === last.hash))) return undefined;
  return "The end of the audit log does not match its head: entries were changed or removed. `haft audit verify` shows where.";
}

async function readEnd(database: SqlDatabase): Promise<AuditHead & { exists: boolean }> {
  const [head] = await auditHead.select(database, ["count", "hash"], "WHERE id = 1");
  return head ? { ...head, exists: true } : { count: 0, hash: "", exists: false };
}

async function readPage(database: SqlDatabase, position: number): Promise<AuditRow[]> {
  return audit.select(database, audit.keys, `WHERE seq > ? ORDER BY seq LIMIT ${PAGE}`, [position]);
}
