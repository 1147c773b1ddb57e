import type { ErrorCode } from "../../core/error.ts";
import type { AuditEntry, AuditFacets, AuditPage, AuditQuery, CallRecord, FacetCount } from "../../gate/audit-log.ts";
import { audit, column, toEntry } from "./audit-chain.ts";
import type { SqlDatabase, SqlValue } from "../database.ts";

const MAX_PAGE_SIZE = 1000;

export async function queryAudit(
  database: SqlDatabase,
  { limit = 50, cursor, ...filter }: AuditQuery & { limit?: number; cursor?: string } = {},
): Promise<AuditPage> {
  const { conditions, values } = conditionsOf(filter);
  const before = cursor === undefined ? undefined : Number(cursor);
  if (before !== undefined && !Number.isSafeInteger(before))
    throw new RangeError(`"${cursor}" is not a cursor of this log.`);
  if (before !== undefined) {
    conditions.push("seq < ?");
    values.push(before);
  }
  const count = Math.min(Math.max(Math.trunc(limit) || 1, 1), MAX_PAGE_SIZE);
  const page = `${whereOf(conditions)} ORDER BY seq DESC LIMIT ${count + 1}`;
  const rows = await audit.select(database, audit.keys, page, values);
  const entries = rows.slice(0, count).map(toEntry);
  const last = entries.at(-1);
  return { entries, cursor: rows.length > count && last ? String(last.seq) : undefined };
}

/** Counts results only: neither the entry of a call's beginning nor a correction is counted. */
export async function countFacets(database: SqlDatabase, filter: AuditQuery = {}): Promise<AuditFacets> {
  const { conditions, values } = conditionsOf(filter);
  const count = async (name: "tool" | "verdict" | "status"): Promise<FacetCount[]> =>
    await database.all<FacetCount>(
      `SELECT ${name} AS value, COUNT(*) AS count FROM audit${whereOf([...conditions, "status IS NOT NULL", "kind <> 'call_corrected'", `${name} IS NOT NULL`])} ` +
        `GROUP BY ${name} ORDER BY COUNT(*) DESC, ${name} LIMIT 100`,
      values,
    );
  return { tool: await count("tool"), verdict: await count("verdict"), status: await count("status") };
}

function conditionsOf(filter: AuditQuery): { conditions: string[]; values: SqlValue[] } {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  const equal = (name: string, value: string | undefined): void => {
    if (value === undefined) return;
    conditions.push(`${name} = ?`);
    values.push(column(value));
  };
  equal("tool", filter.tool);
  equal("session", filter.session);
  equal("agent", filter.agent);
  equal("caller_user", filter.user);
  equal("verdict", filter.verdict);
  equal("status", filter.status);
  equal("call_id", filter.callId);
  const kinds = filter.kind === undefined ? [] : [filter.kind].flat();
  if (kinds.length > 0) {
    conditions.push(`kind IN (${kinds.map(() => "?").join(", ")})`);
    values.push(...kinds);
  }
  if (filter.since !== undefined) {
    conditions.push("at >= ?");
    values.push(filter.since);
  }
  if (filter.until !== undefined) {
    conditions.push("at <= ?");
    values.push(filter.until);
  }
  if (filter.text) {
    // As it is in the JSON, with its escapes; %, _ and the escape character itself are literal.
    const inJson = JSON.stringify(filter.text.slice(0, 1000)).slice(1, -1).replace(/[!%_]/g, "!$&");
    const plain = column(filter.text).replace(/[!%_]/g, "!$&");
    conditions.push(
      "(LOWER(data) LIKE LOWER(?) ESCAPE '!' OR LOWER(tool) LIKE LOWER(?) ESCAPE '!' OR LOWER(call_id) LIKE LOWER(?) ESCAPE '!')",
    );
    values.push(`%${inJson}%`, `%${plain}%`, `%${plain}%`);
  }
  return { conditions, values };
}

function whereOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
}

interface AnswerData {
  startedAt?: number;
  durationMs?: number;
  error?: { code: ErrorCode };
  metadata?: Record<string, unknown>;
}

/** The entry of a result as every log of calls reports it. A lost call is reported as failed. */
export function toCallRecord({ callId, parentId, toolName, caller, status, at, data }: AuditEntry): CallRecord {
  const { startedAt, durationMs, error, metadata } = data as AnswerData;
  const isLost = status === "unknown";
  return {
    callId: callId ?? "",
    parentId,
    toolName: toolName ?? "",
    caller: { ...caller, depth: caller?.depth ?? 0 },
    startedAt: startedAt ?? at,
    status: isLost ? "failed" : (status ?? "completed"),
    durationMs,
    errorCode: isLost ? "unknown_outcome" : error?.code,
    metadata,
  };
}
