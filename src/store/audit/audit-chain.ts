import { hash } from "node:crypto";
import type { AuditEntry, AuditFact, AuditKind, AuditStatus } from "../../gate/audit-log.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { SqlRunner, SqlTransaction } from "../database.ts";
import type { AuditWrite } from "../group-writer.ts";
import type { Migrations } from "../migrations.ts";
import { CLASSES_MIGRATION, INDEX_MIGRATION } from "./index-tables.ts";
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

/** The last entry that was pruned, as the tables say: the chain is verified from there on. See `findPruning`. */
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
    INDEX_MIGRATION,
    CLASSES_MIGRATION,
  ],
};

/** The hash covers all other columns and the hash of the entry before: that makes the chain. */
export function hashOfRow(row: AuditRow, previous: string, encoding: "hex" | "base64url"): string {
  const { seq, at, kind, callId, parentId, tool, session, agent, callerUser, task, depth, verdict, status } = row;
  const caller = [session, agent, callerUser, task, depth] as const;
  // In the order of the columns. A missing value is hashed as null.
  const values = [seq, at, kind, callId, parentId, tool, ...caller, verdict, status, row.owner, row.data, previous];
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
  if (value === undefined || (value.length <= 500 && value.isWellFormed() && !value.includes("\0"))) return value;
  return value.slice(0, 500).replace(/\0|\p{Surrogate}/gu, "\uFFFD");
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

/** Appends entries to the chain, at the end of a transaction. It holds the lock "audit", so all processes write one chain. */
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
  const statements: (() => Promise<unknown>)[] = [
    ...chunks(rows).map((some) => () => audit.insertMany(tx, some)),
    () => tx.run("UPDATE audit_head SET count = ?, hash = ? WHERE id = 1", [end.seq, end.hash]),
    ...chunks([...opened.values()]).map((some) => () => auditRunning.insertMany(tx, some)),
    ...chunks(closed).map(
      (some) => () => tx.run(`DELETE FROM audit_running WHERE seq IN (${placeholders(some)})`, some),
    ),
  ];
  // None of them needs the answer to another one: a server gets them at once. SQLite ends the transaction if one of them finds
  // the disk full, and a later one would be committed by itself.
  if (tx.last) tx.last(Promise.all(statements.map((run) => run())));
  else for (const run of statements) await run();
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

function chunks<T>(items: readonly T[]): T[][] {
  const count = Math.ceil(items.length / ROWS_AT_ONCE);
  return Array.from({ length: count }, (_, at) => items.slice(at * ROWS_AT_ONCE, (at + 1) * ROWS_AT_ONCE));
}
