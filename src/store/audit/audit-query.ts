import type { ErrorCode } from "../../core/error.ts";
import type {
  AuditCounts,
  AuditEntry,
  AuditFacets,
  AuditKind,
  AuditPage,
  AuditQuery,
  AuditStatus,
  CallerCounts,
  CallRecord,
  FacetCount,
} from "../../gate/audit-log.ts";
import { middleOf } from "../../core/clock.ts";
import type { SqlDatabase, SqlValue } from "../database.ts";
import { audit, type AuditRow, column, toEntry } from "./audit-chain.ts";
import { type AuditIndex, readDurations } from "./audit-index.ts";
import { outcomeExpression, wordsOf } from "./audit-words.ts";
import { ALL, type AuditCount, auditCallers, auditCounts, DAY, HOUR, MINUTE, RARE_KINDS } from "./index-tables.ts";

const MAX_PAGE_SIZE = 1000;
/** Entries that are counted for facets if the counters do not have the answer. */
const MAX_COUNTED = 5000;
/** The newest entries, which a search for text without any word looks at. */
const MAX_SCANNED = 100_000;
const ANSWERED = "status IS NOT NULL AND kind <> 'call_corrected'";

/** A condition in SQL, with its parameters. */
class Conditions {
  readonly texts: string[] = [];
  readonly values: SqlValue[] = [];

  add(text: string, ...values: SqlValue[]): void {
    this.texts.push(text);
    this.values.push(...values);
  }

  equal(name: string, value: string | undefined): void {
    if (value !== undefined) this.add(`${name} = ?`, column(value));
  }

  get where(): string {
    return this.texts.length === 0 ? "" : ` WHERE ${this.texts.join(" AND ")}`;
  }
}

/** Where matching entries are, and what they match. */
interface Selection {
  from: string;
  order: string;
  conditions: Conditions;
  unsearched: number;
}

/** Queries of the log. They run on the thread of the database, and so delay no call. */
export class AuditReader {
  readonly #database: SqlDatabase;
  readonly #index: AuditIndex;

  constructor(database: SqlDatabase, index: AuditIndex) {
    this.#database = database;
    this.#index = index;
  }

  async query({
    limit = 50,
    cursor,
    ...filter
  }: AuditQuery & { limit?: number; cursor?: string } = {}): Promise<AuditPage> {
    const before = cursor === undefined ? undefined : Number(cursor);
    if (before !== undefined && !Number.isSafeInteger(before))
      throw new RangeError(`"${cursor}" is not a cursor of this log.`);
    const count = Math.min(Math.max(Math.trunc(limit) || 1, 1), MAX_PAGE_SIZE);
    const { from, order, conditions, unsearched } = await this.#select(filter, before);
    const sql = `SELECT ${audit.list()} FROM ${from}${conditions.where} ORDER BY ${order} DESC LIMIT ${count + 1}`;
    // An index has the few of these, so no thread is needed: a host looks for them when it opens.
    const runner = isRare(filter) ? this.#database : this.#database.reader;
    const rows = audit.read(audit.keys, await runner.all(sql, conditions.values)) as AuditRow[];
    const entries = rows.slice(0, count).map(toEntry);
    const last = entries.at(-1);
    const page: AuditPage = { entries };
    if (rows.length > count && last) page.cursor = String(last.seq);
    if (unsearched > 0) page.unsearched = unsearched;
    return page;
  }

  /** Counts results only: neither the entry of a call's beginning nor a correction is counted. */
  async facets(filter: AuditQuery = {}): Promise<AuditFacets> {
    const groups = new Facets();
    const { session, agent, user, callId, parentId, text } = filter;
    if ([session, agent, user, callId, parentId, text || undefined].every((value) => value === undefined)) {
      await this.#countByCounters(filter, groups);
    } else {
      await this.#countRows(await this.#select(filter), groups);
    }
    return groups.read();
  }

  async counts({ since, until, by }: { since: number; until: number; by: "minute" | "hour" }): Promise<AuditCounts[]> {
    await this.#index.reach(await this.#lastSeq());
    const where = "WHERE span = ? AND at >= ? AND at <= ? ORDER BY at";
    const values = [by === "hour" ? HOUR : MINUTE, since, until];
    const rows = await auditCounts.select(this.#database.reader, auditCounts.keys, where, values);
    return rows.map((row) => ({ ...toCounts(row), kind: row.kind as AuditKind, toolName: row.tool }));
  }

  async callerCounts({ since, until, by }: Parameters<AuditReader["counts"]>[0]): Promise<CallerCounts[]> {
    await this.#index.reach(await this.#lastSeq());
    const where = "WHERE span = ? AND at >= ? AND at <= ? ORDER BY at";
    const values = [by === "hour" ? HOUR : MINUTE, since, until];
    const rows = await auditCallers.select(this.#database.reader, auditCallers.keys, where, values);
    return rows.map((row) => ({ ...toCounts(row), caller: row.caller }));
  }

  /** The numbers that entries of this time can have. */
  async seqRange(since: number | undefined, until: number | undefined): Promise<{ first: number; last: number }> {
    const last = await this.#lastSeq();
    if (since === undefined && until === undefined) return { first: 0, last };
    const position = await this.#index.reach(last);
    const counted = new Conditions();
    addCounters(counted, Edges.wholeHours(since ?? 0, until ?? LATEST));
    const [found] = await this.#database.reader.all<{ first: number | null; last: number | null }>(
      `SELECT MIN(first_seq) AS first, MAX(last_seq) AS last FROM audit_counts${counted.where}`,
      counted.values,
    );
    // Entries that are not indexed may match too.
    const first = Math.min(found?.first ?? position + 1, position + 1);
    return { first, last: position < last ? last : (found?.last ?? 0) };
  }

  async #select(filter: AuditQuery, before?: number): Promise<Selection> {
    const conditions = equalConditions(filter, this.#outcome);
    if (before !== undefined) conditions.add("seq < ?", before);
    if (filter.since !== undefined) conditions.add("at >= ?", filter.since);
    if (filter.until !== undefined) conditions.add("at <= ?", filter.until);
    const selection: Selection = { from: "audit", order: "seq", conditions, unsearched: 0 };
    if (isRare(filter)) conditions.add(RARE_KINDS);
    else if (hasCounters(filter)) await this.#narrow(filter, conditions);
    if (filter.text) await this.#search(filter.text, selection);
    return selection;
  }

  /** The numbers that matching entries can have, by the counters. Without it a rare status is sought in the whole log. */
  async #narrow(filter: AuditQuery, conditions: Conditions): Promise<void> {
    const last = await this.#lastSeq();
    const position = await this.#index.reach(last);
    const counted = countConditions(filter, outcomeExpression(this.#index.words, "code"));
    const isTimed = filter.since !== undefined || filter.until !== undefined;
    addCounters(counted, isTimed ? Edges.wholeHours(filter.since ?? 0, filter.until ?? LATEST) : Edges.all());
    const [found] = await this.#database.reader.all<{ first: number | null; last: number | null }>(
      `SELECT MIN(first_seq) AS first, MAX(last_seq) AS last FROM audit_counts${counted.where}`,
      counted.values,
    );
    // With a sign, so the database uses its index of tools and not the number.
    const seq = filter.tool !== undefined && filter.status !== undefined ? "+seq" : "seq";
    conditions.add(`${seq} >= ?`, Math.min(found?.first ?? position + 1, position + 1));
    // Entries that are not indexed may match too.
    if (position >= last) conditions.add(`${seq} <= ?`, found?.last ?? 0);
  }

  get #outcome(): string {
    return outcomeExpression(this.#index.words);
  }

  async #lastSeq(): Promise<number> {
    const [head] = await this.#database.all<{ count: number }>("SELECT count FROM audit_head WHERE id = 1");
    return head?.count ?? 0;
  }

  async #search(text: string, selection: Selection): Promise<void> {
    const { conditions } = selection;
    const words = wordsOf(text.slice(0, 1000));
    const last = await this.#lastSeq();
    if (words.length === 0) {
      selection.unsearched = Math.max(0, last - MAX_SCANNED);
      conditions.add("seq > ?", selection.unsearched);
    } else {
      selection.unsearched = Math.max(0, last - (await this.#index.reach(last)));
      const { from, condition, value, order } = this.#index.words.search(words);
      Object.assign(selection, { from, order });
      conditions.add(condition, value);
    }
    if (/^[\p{L}\p{N}\s]*$/u.test(text)) return;
    // As it is in the JSON, with its escapes; %, _ and the escape character itself are literal.
    const inJson = JSON.stringify(text.slice(0, 1000)).slice(1, -1).replace(/[!%_]/g, "!$&");
    const plain = column(text).replace(/[!%_]/g, "!$&");
    conditions.add(
      "(LOWER(data) LIKE LOWER(?) ESCAPE '!' OR LOWER(tool) LIKE LOWER(?) ESCAPE '!' OR LOWER(call_id) LIKE LOWER(?) ESCAPE '!')",
      `%${inJson}%`,
      `%${plain}%`,
      `%${plain}%`,
    );
  }

  async #countRows({ from, order, conditions }: Selection, groups: Facets): Promise<void> {
    conditions.add(ANSWERED);
    const rows = await this.#database.reader.all<CountedGroup>(
      `SELECT tool, verdict, outcome, COUNT(*) AS count FROM (SELECT tool, verdict, ${this.#outcome} AS outcome ` +
        `FROM ${from}${conditions.where} ORDER BY ${order} DESC LIMIT ${MAX_COUNTED + 1}) AS newest ` +
        "GROUP BY tool, verdict, outcome",
      conditions.values,
    );
    groups.addAll(rows);
    groups.isPartial = rows.reduce((sum, { count }) => sum + count, 0) > MAX_COUNTED;
  }

  /** Whole days, hours and minutes from the counters; the entries of the first and last minute, and those not indexed, one by one. */
  async #countByCounters(filter: AuditQuery, groups: Facets): Promise<void> {
    const position = await this.#index.reach(await this.#lastSeq());
    const { since = 0, until = LATEST } = filter;
    const isTimed = filter.since !== undefined || filter.until !== undefined;
    const edges = isTimed ? Edges.of(since, until) : Edges.all();
    const counted = countConditions(filter, outcomeExpression(this.#index.words, "code"));
    addCounters(counted, edges);
    counted.add(`status <> '' AND kind <> 'call_corrected'`);
    groups.addAll(
      await this.#database.reader.all<CountedGroup>(
        `SELECT tool, verdict, ${outcomeExpression(this.#index.words, "code")} AS outcome, SUM(count) AS count ` +
          `FROM audit_counts${counted.where} GROUP BY 1, 2, 3`,
        counted.values,
      ),
    );
    for (const [from, to] of edges.minutes) {
      const [range] = await this.#database.reader.all<{ first: number | null; last: number | null }>(
        `SELECT MIN(first_seq) AS first, MAX(last_seq) AS last FROM audit_counts WHERE span = ${MINUTE} AND at = ?`,
        [Math.floor(from / MINUTE) * MINUTE],
      );
      if (range?.first == null || range.last === null) continue;
      const conditions = equalConditions(filter, this.#outcome);
      conditions.add("at >= ? AND at < ? AND seq >= ? AND seq <= ?", from, to, range.first, range.last);
      await this.#addAnswered(conditions, groups);
    }
    const conditions = equalConditions(filter, this.#outcome);
    conditions.add("seq > ? AND at >= ? AND at <= ?", position, since, until);
    await this.#addAnswered(conditions, groups);
  }

  async #addAnswered(conditions: Conditions, groups: Facets): Promise<void> {
    conditions.add(ANSWERED);
    groups.addAll(
      await this.#database.reader.all<CountedGroup>(
        `SELECT tool, verdict, ${this.#outcome} AS outcome, COUNT(*) AS count FROM audit${conditions.where} GROUP BY 1, 2, 3`,
        conditions.values,
      ),
    );
  }
}

function toCounts({ at, status, code, count, micros, waited, bytes, durations }: StoredCounts) {
  return {
    at,
    status: (status || undefined) as AuditStatus | undefined,
    errorCode: (code || undefined) as ErrorCode | undefined,
    count,
    durationMs: micros / 1000,
    waitedMs: waited,
    bytes,
    durations: Array.from(readDurations(durations), ([bucket, times]) => [middleOf(bucket), times] as const),
  };
}

type StoredCounts = Pick<AuditCount, "at" | "status" | "code" | "count" | "micros" | "waited" | "bytes" | "durations">;

/** Later than any entry. */
const LATEST = 8.64e15;

/** A time as whole days, hours and minutes, and what is left of its first and last minute. */
class Edges {
  readonly counters: { span: number; from: number; to: number }[] = [];
  /** The second of the two times is not included. */
  readonly minutes: [from: number, to: number][] = [];

  static all(): Edges {
    const edges = new Edges();
    edges.counters.push({ span: ALL, from: 0, to: 1 });
    return edges;
  }

  /** The hours that the time is in, from the first to the last. */
  static wholeHours(since: number, until: number): Edges {
    const edges = new Edges();
    const end = (Math.floor(until / HOUR) + 1) * HOUR;
    edges.#cover(Math.floor(since / HOUR) * HOUR, end, [DAY, HOUR]);
    return edges;
  }

  static of(since: number, until: number): Edges {
    const edges = new Edges();
    const end = until + 1;
    if (since >= end) return edges;
    const firstMinute = Math.ceil(since / MINUTE) * MINUTE;
    const lastMinute = Math.floor(end / MINUTE) * MINUTE;
    if (firstMinute > lastMinute) {
      edges.minutes.push([since, end]);
      return edges;
    }
    if (since < firstMinute) edges.minutes.push([since, firstMinute]);
    if (lastMinute < end && until !== LATEST) edges.minutes.push([lastMinute, end]);
    edges.#cover(firstMinute, lastMinute, [DAY, HOUR, MINUTE]);
    return edges;
  }

  /** With as few counters as possible: days, and hours and minutes around them. */
  #cover(from: number, to: number, [span = MINUTE, ...smaller]: readonly number[]): void {
    const first = Math.ceil(from / span) * span;
    const last = Math.floor(to / span) * span;
    if (first < last) this.counters.push({ span, from: first, to: last });
    if (smaller.length === 0) return;
    if (first >= last) return this.#cover(from, to, smaller);
    this.#cover(from, first, smaller);
    this.#cover(last, to, smaller);
  }
}

interface CountedGroup {
  tool: string | null;
  verdict: string | null;
  outcome: string | null;
  count: number;
}

const MAX_VALUES = 100;

class Facets {
  isPartial = false;
  readonly #counts = {
    tool: new Map<string, number>(),
    verdict: new Map<string, number>(),
    outcome: new Map<string, number>(),
  };

  addAll(groups: readonly CountedGroup[]): void {
    for (const group of groups) {
      for (const [name, counts] of Object.entries(this.#counts)) {
        const value = group[name as "tool" | "verdict" | "outcome"];
        if (value) counts.set(value, (counts.get(value) ?? 0) + group.count);
      }
    }
  }

  read(): AuditFacets {
    const { tool, verdict, outcome } = this.#counts;
    const facets: AuditFacets = { tool: largest(tool), verdict: largest(verdict), status: largest(outcome) };
    if (this.isPartial) facets.isPartial = true;
    return facets;
  }
}

export function largest(counts: ReadonlyMap<string, number>): FacetCount[] {
  const all = Array.from(counts, ([value, count]) => ({ value, count }));
  return all.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1)).slice(0, MAX_VALUES);
}

function kindsOf({ kind }: AuditQuery): readonly AuditKind[] {
  return kind === undefined ? [] : [kind].flat();
}

/** Whether only kinds are requested of which there are few. */
function isRare(filter: AuditQuery): boolean {
  const kinds = kindsOf(filter);
  return kinds.length > 0 && !filter.text && kinds.every((kind) => !kind.startsWith("call_"));
}

/** Whether the counters know where matching entries are. */
function hasCounters({ tool, kind, verdict, status, errorCode, since, until }: AuditQuery): boolean {
  return [tool, kind, verdict, status, errorCode, since, until].some((value) => value !== undefined);
}

function equalConditions(filter: AuditQuery, outcome: string): Conditions {
  const conditions = new Conditions();
  conditions.equal("tool", filter.tool);
  conditions.equal("session", filter.session);
  conditions.equal("agent", filter.agent);
  conditions.equal("caller_user", filter.user);
  conditions.equal("verdict", filter.verdict);
  addStatus(filter, outcome, conditions);
  conditions.equal("call_id", filter.callId);
  conditions.equal("parent_id", filter.parentId);
  addKinds(filter, conditions);
  if (filter.errorCode !== undefined) {
    conditions.add(
      "status = 'failed' AND data LIKE ?",
      `%"error":{"code":"${filter.errorCode.replace(/[^a-z]/g, "_")}"%`,
    );
  }
  return conditions;
}

/** The same for the counters. */
function countConditions(filter: AuditQuery, outcome: string): Conditions {
  const conditions = new Conditions();
  conditions.equal("tool", filter.tool);
  conditions.equal("verdict", filter.verdict);
  addStatus(filter, outcome, conditions);
  conditions.equal("code", filter.errorCode);
  addKinds(filter, conditions);
  return conditions;
}

function addCounters(conditions: Conditions, { counters }: Edges): void {
  const values = counters.flatMap(({ span, from, to }) => [span, from, to]);
  conditions.add(`(${counters.map(() => "(span = ? AND at >= ? AND at < ?)").join(" OR ") || "1 = 0"})`, ...values);
}

/** As lists show it: what was denied, and what nobody knows, is stored as failed. */
function addStatus({ status }: AuditQuery, outcome: string, conditions: Conditions): void {
  if (status === "unknown") conditions.add("status IN ('failed', 'unknown')");
  else conditions.equal("status", status === "denied" ? "failed" : status);
  if (status === "failed" || status === "denied" || status === "unknown") conditions.add(`${outcome} = ?`, status);
}

function addKinds(filter: AuditQuery, conditions: Conditions): void {
  const kinds = kindsOf(filter);
  if (kinds.length > 0) conditions.add(`kind IN (${kinds.map(() => "?").join(", ")})`, ...kinds);
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
