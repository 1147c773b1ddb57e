import { hash } from "node:crypto";
import type {
  AuditEntry,
  AuditFact,
  AuditHead,
  AuditKind,
  AuditProblem,
  AuditReport,
  AuditStatus,
} from "../gate/audit-log.ts";
import type { SqlDatabase, SqlValue } from "./database.ts";
import type { Migrations } from "./migrations.ts";

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
    session: row.session === null ? undefined : row.session,
    agent: row.agent === null ? undefined : row.agent,
    user: row.caller_user === null ? undefined : row.caller_user,
    task: row.task === null ? undefined : row.task,
    depth: row.depth === null ? undefined : row.depth,
  };
  return {
    seq: row.seq,
    at: row.at,
    kind: row.kind as AuditKind,
    callId: row.call_id === null ? undefined : row.call_id,
    parentId: row.parent_id === null ? undefined : row.parent_id,
    toolName: row.tool === null ? undefined : row.tool,
    caller: Object.keys(caller).length === 0 ? undefined : caller,
    verdict: row.verdict === null ? undefined : (row.verdict as NonNullable<AuditEntry["verdict"]>),
    status: row.status === null ? undefined : (row.status as AuditStatus),
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
