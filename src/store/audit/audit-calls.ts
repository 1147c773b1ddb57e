import type { AuditPage, CallFilter } from "../../gate/audit-log.ts";
import type { SqlDatabase, SqlValue } from "../database.ts";
import { audit, type AuditRow, column, toEntry } from "./audit-chain.ts";
import type { AuditIndex } from "./audit-index.ts";
import { wordsOf } from "./audit-words.ts";

const MAX_PAGE_SIZE = 1000;
/** The newest entries with a text: only their calls are listed. */
const MAX_HITS = 5000;

/** The last entry of a call has one of these kinds. `call_known` repeats an earlier end. */
const LATER = "('call_begun', 'call_ended', 'call_refused', 'call_waiting', 'call_lost', 'call_corrected')";
/** The beginning of a call is its last entry only while it runs; a question, until the call goes on. */
const IS_SHOWN =
  `call_id IS NOT NULL AND (kind IN ${LATER} OR kind = 'approval_asked') ` +
  "AND (kind <> 'call_begun' OR seq IN (SELECT seq FROM audit_running)) " +
  "AND NOT EXISTS (SELECT 1 FROM audit AS later WHERE later.call_id = audit.call_id AND later.seq > audit.seq " +
  `AND later.kind IN ${LATER} ` +
  // Two callers may use the same id.
  `${["session", "agent", "caller_user"].map((name) => `AND later.${name} IS NOT DISTINCT FROM audit.${name}`).join(" ")})`;

const STATUS: Readonly<Record<NonNullable<CallFilter["status"]>[number], string>> = {
  waiting: "kind = 'approval_asked'",
  running: "kind = 'call_begun'",
  completed: "status = 'completed'",
  failed: "status IN ('failed', 'unknown')",
  pending: "status = 'pending'",
};

/** The last entry of each call, newest first. */
export async function listCalls(
  database: SqlDatabase,
  index: AuditIndex,
  { limit = 50, cursor, ...filter }: CallFilter & { limit?: number; cursor?: string },
): Promise<AuditPage> {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  const add = (condition: string, ...added: SqlValue[]): void => {
    conditions.push(condition);
    values.push(...added);
  };
  const equal = { tool: filter.tool, session: filter.session, caller_user: filter.user, parent_id: filter.parentId };
  for (const [name, value] of Object.entries(equal)) if (value !== undefined) add(`${name} = ?`, column(value));
  if (filter.status && filter.status.length > 0) add(`(${filter.status.map((each) => STATUS[each]).join(" OR ")})`);
  if (filter.status?.every((each) => each === "running")) add("seq IN (SELECT seq FROM audit_running)");
  if (filter.since !== undefined) add("at >= ?", filter.since);
  if (filter.until !== undefined) add("at <= ?", filter.until);
  const before = cursor === undefined ? undefined : Number(cursor);
  if (before !== undefined && !Number.isSafeInteger(before))
    throw new RangeError(`"${cursor}" is not a cursor of this log.`);
  if (before !== undefined) add("seq < ?", before);
  const page: AuditPage = { entries: [] };
  const words = wordsOf(filter.text?.slice(0, 1000) ?? "");
  if (words.length > 0) {
    const [head] = await database.all<{ count: number }>("SELECT count FROM audit_head WHERE id = 1");
    const last = head?.count ?? 0;
    const unsearched = last - (await index.reach(last));
    if (unsearched > 0) page.unsearched = unsearched;
    const { from, condition, value, order } = index.words.search(words);
    add(`call_id IN (SELECT call_id FROM ${from} WHERE ${condition} ORDER BY ${order} DESC LIMIT ${MAX_HITS})`, value);
  }
  const count = Math.min(Math.max(Math.trunc(limit) || 1, 1), MAX_PAGE_SIZE);
  const where = [...conditions, IS_SHOWN].join(" AND ");
  const sql = `SELECT ${audit.list()} FROM audit WHERE ${where} ORDER BY seq DESC LIMIT ${count + 1}`;
  const rows = audit.read(audit.keys, await database.reader.all(sql, values)) as AuditRow[];
  page.entries = rows.slice(0, count).map(toEntry);
  const last = page.entries.at(-1);
  if (rows.length > count && last) page.cursor = String(last.seq);
  return page;
}
