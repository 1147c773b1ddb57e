import type { AuditEntry, AuditPage, CallFacets, CallFilter, CallTree } from "../../gate/audit-log.ts";
import type { SqlDatabase, SqlValue } from "../database.ts";
import { placeholders } from "../table.ts";
import { audit, type AuditRow, column, toEntry } from "./audit-chain.ts";
import type { AuditIndex } from "./audit-index.ts";
import { type AuditReader, largest } from "./audit-query.ts";
import { type AuditWords, type CallClass, classWord, outcomeExpression, wordsOf } from "./audit-words.ts";
import { RARE_KINDS } from "./index-tables.ts";

const MAX_PAGE_SIZE = 1000;
/** The newest entries with a text: only their calls are listed. */
const MAX_HITS = 5000;
/** The newest calls that facets count. */
const MAX_COUNTED = 5000;
/** Running and waiting calls in a list. */
const MAX_OPEN = 1000;
const MAX_TREE = 500;
const MAX_TREE_DEPTH = 50;

/** The last entry of a call has one of these kinds. `call_known` repeats an earlier end. */
const LATER = "('call_begun', 'call_ended', 'call_refused', 'call_waiting', 'call_lost', 'call_corrected')";
const IS_LAST =
  "NOT EXISTS (SELECT 1 FROM audit AS later WHERE later.call_id = audit.call_id AND later.seq > audit.seq " +
  `AND later.kind IN ${LATER} ` +
  // Two callers may use the same id.
  `${["session", "agent", "caller_user"].map((name) => `AND later.${name} IS NOT DISTINCT FROM audit.${name}`).join(" ")})`;
/** The beginning of a call is its last entry only while it runs; a question, until the call goes on. */
const IS_SHOWN =
  `call_id IS NOT NULL AND (kind IN ${LATER} OR kind = 'approval_asked') ` +
  `AND (kind <> 'call_begun' OR seq IN (SELECT seq FROM audit_running)) AND ${IS_LAST}`;
/** Few: an index has the questions, and a table the running calls. */
const IS_OPEN = `(seq IN (SELECT seq FROM audit_running) OR seq IN (SELECT seq FROM audit WHERE kind = 'approval_asked' AND ${RARE_KINDS}))`;

type Status = NonNullable<CallFilter["status"]>[number];

/** Whether the question of the entry was answered. */
const IS_ANSWERED =
  "EXISTS (SELECT 1 FROM audit AS answer WHERE answer.call_id = audit.call_id AND answer.seq > audit.seq AND answer.kind = 'approval_answered')";

/**
 * The state of a call by its last entry, for lists and counts alike. `waiting`: for a person. `asking`: ids of running calls
 * that wait for one too.
 */
function stateOf(
  words: AuditWords,
  asking: readonly string[],
): readonly [expression: string, values: readonly string[]] {
  const asks = asking.length === 0 ? "1 = 0" : `audit.call_id IN (${placeholders(asking)})`;
  const isForPerson = `${words.field("pending.kind")} IN ('approval', 'question')`;
  const expression =
    `CASE WHEN audit.kind = 'call_begun' THEN CASE WHEN ${asks} THEN 'waiting' ELSE 'running' END ` +
    `WHEN audit.kind = 'approval_asked' OR (audit.status = 'pending' AND ${isForPerson}) ` +
    `THEN CASE WHEN ${IS_ANSWERED} THEN 'pending' ELSE 'waiting' END ELSE ${outcomeExpression(words)} END`;
  return [expression, asking.map((id) => column(id))];
}

/** The outcomes that the index knows: what was denied, and what nobody knows, it has as failed. */
const ENDED: Readonly<Partial<Record<Status, string>>> = {
  waiting: "pending",
  completed: "completed",
  failed: "failed",
  denied: "failed",
  unknown: "failed",
  pending: "pending",
};
const OPEN: ReadonlySet<string> = new Set<Status>(["waiting", "running", "pending"]);

/** What calls match: conditions in SQL, and the words that the index has of them. */
class CallConditions {
  readonly texts: string[] = [];
  readonly values: SqlValue[] = [];
  readonly classes: string[][] = [];

  add(text: string, ...values: SqlValue[]): void {
    this.texts.push(text);
    this.values.push(...values);
  }

  equal(name: CallClass, columnName: string, value: string | undefined): void {
    if (value === undefined) return;
    this.add(`${columnName} = ?`, column(value));
    this.classes.push([classWord(name, column(value))]);
  }

  oneOf(name: CallClass, expression: string, values: readonly string[] | undefined): void {
    if (!values || values.length === 0) return;
    this.add(`${expression} IN (${placeholders(values)})`, ...values);
    this.classes.push(values.map((value) => classWord(name, value)));
  }
}

/** Calls of all processes: the last entry of each. Its queries run on the thread of the database, and so delay no call. */
export class CallReader {
  readonly #database: SqlDatabase;
  readonly #index: AuditIndex;
  readonly #reader: AuditReader;

  constructor(database: SqlDatabase, index: AuditIndex, reader: AuditReader) {
    this.#database = database;
    this.#index = index;
    this.#reader = reader;
  }

  /** Newest first. The entry of an end has the input of its beginning. */
  async list({ limit = 50, cursor, ...filter }: CallFilter & { limit?: number; cursor?: string }): Promise<AuditPage> {
    const before = cursor === undefined ? undefined : Number(cursor);
    if (before !== undefined && !Number.isSafeInteger(before))
      throw new RangeError(`"${cursor}" is not a cursor of this log.`);
    const count = Math.min(Math.max(Math.trunc(limit) || 1, 1), MAX_PAGE_SIZE);
    const conditions = await this.#conditionsOf(filter, before);
    const page: AuditPage = { entries: [] };
    const unsearched = await this.#search(filter.text, conditions);
    if (unsearched > 0) page.unsearched = unsearched;
    const rows: AuditRow[] = [];
    for (const { from, where, values, order = "audit.seq" } of await this.#sourcesOf(filter, conditions)) {
      const sql = `SELECT ${audit.list()} FROM ${from} WHERE ${where} ORDER BY ${order} DESC LIMIT ${count + 1}`;
      rows.push(...(audit.read(audit.keys, await this.#database.reader.all(sql, values)) as AuditRow[]));
    }
    rows.sort((a, b) => b.seq - a.seq);
    page.entries = await this.withInputs(rows.slice(0, count).map(toEntry));
    const last = page.entries.at(-1);
    if (rows.length > count && last) page.cursor = String(last.seq);
    return page;
  }

  /** The end of a call that changes something has no input: its beginning has it. */
  async withInputs(entries: readonly AuditEntry[]): Promise<AuditEntry[]> {
    const without = entries.filter(({ data }) => !("input" in data) && !("subject" in data));
    const ids = [...new Set(without.flatMap(({ callId }) => callId ?? []))];
    if (ids.length === 0) return [...entries];
    const sql = `SELECT ${audit.list()} FROM audit WHERE call_id IN (${placeholders(ids)}) AND kind = 'call_begun'`;
    const begun = audit.read(
      audit.keys,
      await this.#database.reader.all(
        sql,
        ids.map((id) => column(id)),
      ),
    ) as AuditRow[];
    const inputs = new Map(begun.map((row) => [callKey(toEntry(row)), toEntry(row).data["input"]]));
    return entries.map((entry) => {
      const input = "input" in entry.data ? undefined : inputs.get(callKey(entry));
      return input === undefined ? entry : { ...entry, data: { ...entry.data, input } };
    });
  }

  /** Tools and outcomes by the counters if they have them; the rest from the newest calls. */
  async facets(filter: CallFilter): Promise<CallFacets> {
    const conditions = await this.#conditionsOf(filter, undefined);
    await this.#search(filter.text, conditions);
    const { words } = this.#index;
    const risk = riskExpression(words.field("risk"), words.field("toolKind"));
    const [state, asking] = stateOf(words, filter.asking ?? []);
    const columns =
      `tool, session, agent, caller_user, ${state} AS state, ${risk} AS risk, ` + `${words.field("toolKind")} AS kind`;
    const groups: FacetGroup[] = [];
    for (const { from, where, values, order = "audit.seq" } of await this.#sourcesOf(filter, conditions)) {
      const newest = `SELECT ${columns} FROM ${from} WHERE ${where} ORDER BY ${order} DESC LIMIT ${MAX_COUNTED + 1}`;
      const sql =
        "SELECT tool, session, agent, caller_user, state, risk, kind, COUNT(*) AS count " +
        `FROM (${newest}) AS newest GROUP BY tool, session, agent, caller_user, state, risk, kind`;
      groups.push(...(await this.#database.reader.all<FacetGroup>(sql, [...asking, ...values])));
    }
    const sampled = countGroups(groups);
    const isPartial = sampled.counted > MAX_COUNTED;
    const facets: CallFacets = { ...sampled, isPartial, isToolWhole: !isPartial };
    const { tool, since, until, status, asking: _asking, ...others } = filter;
    if (!isPartial || status?.length || Object.values(others).some((value) => value !== undefined && value.length > 0))
      return facets;
    const ended = await this.#reader.facets({
      tool,
      since,
      until,
      kind: ["call_ended", "call_refused", "call_lost"],
    });
    // Calls that have not ended are few, and so they are in the sample.
    const open = sampled.status.filter(({ value }) => OPEN.has(value));
    const closed = ended.status.filter(({ value }) => !OPEN.has(value));
    const counts = new Map([...open, ...closed].map(({ value, count }) => [value, count]));
    return { ...facets, tool: ended.tool, status: largest(counts), isToolWhole: true };
  }

  async tree(
    callId: string,
    { user, maxCalls = MAX_TREE }: { user?: string; maxCalls?: number } = {},
  ): Promise<CallTree | undefined> {
    const found = await this.#callsOf([callId]);
    const first = found.findLast(({ entries }) => entries[0]?.caller?.user === user) ?? found.at(-1);
    if (!first) return undefined;
    const root = await this.#rootOf(first);
    const calls = new Map([[keyOfCall(root), { ...root, parentId: undefined as string | undefined }]]);
    let isPartial = false;
    for (let level = [root]; level.length > 0;) {
      const next: TreeCall[] = [];
      for (const child of await this.#childrenOf(level)) {
        if (calls.has(keyOfCall(child))) continue;
        if (calls.size >= maxCalls) {
          isPartial = true;
          break;
        }
        calls.set(keyOfCall(child), child);
        next.push(child);
      }
      level = isPartial ? [] : next;
    }
    return { root: root.callId, calls: [...calls.values()], isPartial };
  }

  async #rootOf(call: TreeCall): Promise<TreeCall> {
    let root = call;
    const seen = new Set([root.callId]);
    for (let depth = 0; depth < MAX_TREE_DEPTH; depth++) {
      const { session, user } = root.entries[0]?.caller ?? {};
      const spawned = session?.lastIndexOf("/") ?? -1;
      const parentId = root.parentId ?? (spawned > 0 ? session?.slice(spawned + 1) : undefined);
      if (parentId === undefined || seen.has(parentId)) return root;
      seen.add(parentId);
      const inSession = root.parentId === undefined ? session?.slice(0, spawned) : session;
      const parents = await this.#callsOf([parentId]);
      const parent = parents.findLast(({ entries }) => {
        const { caller } = entries[0] ?? {};
        return caller?.user === user && (root.parentId !== undefined || caller?.session === inSession);
      });
      if (!parent) return root;
      root = parent;
    }
    return root;
  }

  /** Calls that these calls made, and the calls of the sessions that they started. */
  async #childrenOf(parents: readonly TreeCall[]): Promise<TreeCall[]> {
    const ids = parents.map(({ callId }) => column(callId));
    const spawned = new Map<string, string>();
    for (const { callId, entries } of parents) {
      const session = entries[0]?.caller?.session;
      if (session !== undefined) spawned.set(`${session}/${callId}`, callId);
    }
    const sessions = [...spawned.keys()].map((session) => column(session));
    const ofSessions =
      sessions.length === 0
        ? ""
        : ` UNION SELECT call_id FROM audit WHERE session IN (${placeholders(sessions)}) AND parent_id IS NULL`;
    const made = await this.#database.reader.all<{ call_id: string | null }>(
      `SELECT call_id FROM audit WHERE parent_id IN (${placeholders(ids)})${ofSessions} LIMIT ${2 * MAX_TREE}`,
      [...ids, ...sessions],
    );
    const found = await this.#callsOf([...new Set(made.flatMap(({ call_id }) => call_id ?? []))]);
    // Two users may use the same id.
    const known = new Set(parents.map(({ callId, entries }) => JSON.stringify([callId, entries[0]?.caller?.user])));
    return found.flatMap((child) => {
      const { session = "", user } = child.entries[0]?.caller ?? {};
      const parentId = child.parentId ?? spawned.get(session);
      return known.has(JSON.stringify([parentId, user])) ? [{ ...child, parentId }] : [];
    });
  }

  async #callsOf(ids: readonly string[]): Promise<TreeCall[]> {
    const calls = new Map<string, TreeCall>();
    for (let from = 0; from < ids.length; from += 200) {
      const some = ids.slice(from, from + 200).map((id) => column(id));
      const sql = `SELECT ${audit.list()} FROM audit WHERE call_id IN (${placeholders(some)}) ORDER BY seq`;
      for (const row of audit.read(audit.keys, await this.#database.reader.all(sql, some)) as AuditRow[]) {
        const entry = toEntry(row);
        const key = callKey(entry);
        const call = calls.get(key) ?? { callId: entry.callId ?? "", parentId: undefined, entries: [] };
        call.parentId ??= entry.parentId;
        call.entries.push(entry);
        calls.set(key, call);
      }
    }
    return [...calls.values()];
  }

  async #conditionsOf(filter: CallFilter, before: number | undefined): Promise<CallConditions> {
    const { words } = this.#index;
    const conditions = new CallConditions();
    conditions.equal("tool", "tool", filter.tool);
    conditions.equal("session", "session", filter.session);
    conditions.equal("user", "caller_user", filter.user);
    conditions.equal("agent", "agent", filter.agent);
    const kind = words.field("toolKind");
    conditions.oneOf("risk", riskExpression(words.field("risk"), kind), filter.risk);
    conditions.oneOf("kind", kind, filter.kind);
    if (filter.parentId !== undefined) conditions.add("parent_id = ?", column(filter.parentId));
    if (filter.status && filter.status.length > 0) {
      const [state, values] = stateOf(words, filter.asking ?? []);
      conditions.add(`${state} IN (${placeholders(filter.status)})`, ...values, ...filter.status);
    }
    if (filter.since !== undefined) conditions.add("at >= ?", filter.since);
    if (filter.until !== undefined) conditions.add("at <= ?", filter.until);
    const { first, last } = await this.#reader.seqRange(filter.since, filter.until);
    if (first > 0) conditions.add("audit.seq >= ?", first);
    if (before !== undefined) conditions.add("audit.seq < ?", before);
    else if (filter.until !== undefined) conditions.add("audit.seq <= ?", last);
    return conditions;
  }

  /** Returns the number of entries that were not searched. */
  async #search(text: string | undefined, conditions: CallConditions): Promise<number> {
    const words = wordsOf(text?.slice(0, 1000) ?? "");
    if (words.length === 0) return 0;
    const [head] = await this.#database.all<{ count: number }>("SELECT count FROM audit_head WHERE id = 1");
    const last = head?.count ?? 0;
    const unsearched = Math.max(0, last - (await this.#index.reach(last)));
    const { from, condition, value, order } = this.#index.words.search(words);
    const hits = `SELECT call_id FROM ${from} WHERE ${condition} ORDER BY ${order} DESC LIMIT ${MAX_HITS}`;
    conditions.add(`call_id IN (${hits})`, value);
    return unsearched;
  }

  /** Where matching calls are: in the whole log, or the open ones, those that the index has and those that it has not yet. */
  async #sourcesOf(filter: CallFilter, { texts, values, classes }: CallConditions): Promise<Source[]> {
    const isIndexed = filter.text === undefined && filter.parentId === undefined;
    const statuses = filter.status ?? [];
    const ended = [...new Set(statuses.flatMap((status) => ENDED[status] ?? []))];
    const hasOpen = statuses.some((status) => OPEN.has(status));
    if (!isIndexed || (classes.length === 0 && statuses.length === 0)) {
      return [{ from: "audit", where: [...texts, IS_SHOWN].join(" AND "), values }];
    }
    const sources: Source[] = [];
    if (hasOpen || statuses.length === 0) {
      const open = `audit.seq IN (SELECT seq FROM audit WHERE ${IS_OPEN} ORDER BY seq DESC LIMIT ${MAX_OPEN})`;
      sources.push({ from: "audit", where: [open, ...texts, IS_SHOWN].join(" AND "), values });
    }
    if (ended.length === 0 && statuses.length > 0) return sources;
    const isAnswered = `status IS NOT NULL AND call_id IS NOT NULL AND kind <> 'call_known' AND ${IS_LAST}`;
    const position = await this.#indexedUpTo();
    const later = [`audit.seq > ${position}`, ...texts, isAnswered].join(" AND ");
    sources.push({ from: "audit", where: later, values });
    const outcomes = ended.length > 0 ? [ended.map((status) => classWord("outcome", status))] : [];
    const { from, condition, value, order } = this.#index.words.search([], [...classes, ...outcomes]);
    const earlier = [condition, `audit.seq <= ${position}`, ...texts, isAnswered].join(" AND ");
    sources.push({ from, where: earlier, values: [value, ...values], order });
    return sources;
  }

  /** A few new entries are read one by one: the index need not be brought up to date for each query. */
  async #indexedUpTo(): Promise<number> {
    const [head] = await this.#database.all<{ count: number }>("SELECT count FROM audit_head WHERE id = 1");
    const last = head?.count ?? 0;
    const position = await this.#index.position();
    return last - position > MAX_UNINDEXED ? this.#index.reach(last) : position;
  }
}

/** Entries that are read without the index. */
const MAX_UNINDEXED = 1000;

interface Source {
  from: string;
  where: string;
  values: readonly SqlValue[];
  order?: string;
}

interface TreeCall {
  callId: string;
  parentId: string | undefined;
  entries: AuditEntry[];
}

/** Two callers may use the same id. */
function callKey({ callId, caller }: AuditEntry): string {
  return JSON.stringify([callId, caller?.session, caller?.agent, caller?.user]);
}

function keyOfCall({ callId, entries: [first] }: TreeCall): string {
  return first ? callKey(first) : callId;
}

/** The entry of a call that only reads has no risk: it is low. */
function riskExpression(risk: string, kind: string): string {
  return `COALESCE(${risk}, CASE ${kind} WHEN 'readonly' THEN 'low' END)`;
}

interface FacetGroup {
  tool: string | null;
  session: string | null;
  agent: string | null;
  caller_user: string | null;
  state: string;
  risk: string | null;
  kind: string | null;
  count: number;
}

function countGroups(groups: readonly FacetGroup[]): Omit<CallFacets, "isPartial" | "isToolWhole"> {
  const countBy = (valueOf: (group: FacetGroup) => string | null) => {
    const counts = new Map<string, number>();
    for (const group of groups) {
      const value = valueOf(group);
      if (value) counts.set(value, (counts.get(value) ?? 0) + Number(group.count));
    }
    return largest(counts);
  };
  return {
    tool: countBy(({ tool }) => tool),
    status: countBy(({ state }) => state),
    session: countBy(({ session }) => session),
    user: countBy((group) => group.caller_user),
    agent: countBy(({ agent }) => agent),
    kind: countBy(({ kind }) => kind),
    risk: countBy(({ risk }) => risk),
    counted: groups.reduce((sum, { count }) => sum + Number(count), 0),
  };
}
