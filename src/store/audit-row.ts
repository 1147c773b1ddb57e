import { hash } from "node:crypto";
import type { AuditEntry, AuditFact, AuditKind, AuditStatus } from "../executor/audit-log.ts";
import type { Migrations } from "./migration.ts";
import type { SqlValue } from "./sql-database.ts";

export const AUDIT_MIGRATIONS: Migrations = {
  name: "audit",
  versions: [
    [
      "CREATE TABLE audit (seq INTEGER PRIMARY KEY, at BIGINT NOT NULL, kind TEXT NOT NULL, call_id TEXT, parent_id TEXT, " +
        "tool TEXT, session TEXT, agent TEXT, caller_user TEXT, task TEXT, depth BIGINT, verdict TEXT, status TEXT, " +
        "owner TEXT NOT NULL, data TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL)",
      // Few: each is a page more in every commit, and whoever asks by time or tool reads from the newest on anyway.
      "CREATE INDEX audit_call ON audit (call_id) WHERE call_id IS NOT NULL",
      "CREATE INDEX audit_parent ON audit (parent_id) WHERE parent_id IS NOT NULL",
      "CREATE INDEX audit_session ON audit (session) WHERE session IS NOT NULL",
      "CREATE TABLE audit_head (id INTEGER PRIMARY KEY, count BIGINT NOT NULL, hash TEXT NOT NULL)",
      "INSERT INTO audit_head (id, count, hash) VALUES (1, 0, '')",
      // Calls that have begun and not ended; a part of nothing that is proved, only the way to find the lost.
      "CREATE TABLE audit_open (run TEXT PRIMARY KEY, owner TEXT NOT NULL, seq BIGINT NOT NULL)",
      "CREATE INDEX audit_open_owner ON audit_open (owner)",
    ],
  ],
};

export interface AuditRow {
  seq: number;
  at: number;
  kind: string;
  call_id: string | null;
  parent_id: string | null;
  tool: string | null;
  session: string | null;
  agent: string | null;
  caller_user: string | null;
  task: string | null;
  depth: number | null;
  verdict: string | null;
  status: string | null;
  owner: string;
  data: string;
  previous: string;
  hash: string;
}

/** In the order of the table, which is the order in which they are hashed. */
export const AUDIT_COLUMNS = [
  "seq",
  "at",
  "kind",
  "call_id",
  "parent_id",
  "tool",
  "session",
  "agent",
  "caller_user",
  "task",
  "depth",
  "verdict",
  "status",
  "owner",
  "data",
  "previous",
  "hash",
] as const satisfies readonly (keyof AuditRow)[];

export const AUDIT_SELECT = `SELECT ${AUDIT_COLUMNS.join(", ")} FROM audit`;

/** The hash of the entry before is among them, which makes the chain. */
const HASHED_COLUMNS = AUDIT_COLUMNS.filter((column) => column !== "hash");

export function hashOfRow(row: AuditRow): string {
  const content = HASHED_COLUMNS.map((column) => row[column]);
  return hash("sha256", JSON.stringify(content));
}

export function valuesOf(row: AuditRow): SqlValue[] {
  return AUDIT_COLUMNS.map((column) => row[column]);
}

/** A row without its place in the chain. */
export type AuditDraft = Omit<AuditRow, "seq" | "previous" | "hash">;

export function toDraft(fact: AuditFact, at: number, owner: string): AuditDraft {
  const { caller } = fact;
  return {
    at,
    kind: fact.kind,
    call_id: column(fact.callId),
    parent_id: column(fact.parentId),
    tool: column(fact.toolName),
    session: column(caller?.session),
    agent: column(caller?.agent),
    caller_user: column(caller?.user),
    task: column(caller?.task),
    depth: caller?.depth ?? null,
    verdict: column(fact.verdict),
    status: column(fact.status),
    owner,
    data: JSON.stringify(fact.data ?? {}),
  };
}

/** What a text column of both databases holds and indexes, so that it is read again as it was hashed. */
export function column(text: string | undefined): string | null {
  return text === undefined ? null : text.slice(0, 500).replace(/\0|\p{Surrogate}/gu, "\uFFFD");
}

export function toEntry(row: AuditRow): AuditEntry {
  const caller = {
    ...(row.session === null ? {} : { session: row.session }),
    ...(row.agent === null ? {} : { agent: row.agent }),
    ...(row.caller_user === null ? {} : { user: row.caller_user }),
    ...(row.task === null ? {} : { task: row.task }),
    ...(row.depth === null ? {} : { depth: row.depth }),
  };
  return {
    seq: row.seq,
    at: row.at,
    kind: row.kind as AuditKind,
    ...(row.call_id === null ? {} : { callId: row.call_id }),
    ...(row.parent_id === null ? {} : { parentId: row.parent_id }),
    ...(row.tool === null ? {} : { toolName: row.tool }),
    ...(Object.keys(caller).length === 0 ? {} : { caller }),
    ...(row.verdict === null ? {} : { verdict: row.verdict as NonNullable<AuditEntry["verdict"]> }),
    ...(row.status === null ? {} : { status: row.status as AuditStatus }),
    owner: row.owner,
    data: readData(row.data),
    previous: row.previous,
    hash: row.hash,
  };
}

/** Somebody may have changed it: `verify` says so, and the rest stays readable. */
function readData(data: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(data);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  return { unreadable: data };
}
