import { hash as hashText } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ChangeEntry } from "../calls/call-store.ts";
import type { Call } from "../core/call.ts";
import { definitionHash } from "../core/definition.ts";
import { type RedactLimits, redactSecrets, secretNames } from "../core/mask-secrets.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";
import type {
  AuditEntry,
  AuditFacets,
  AuditFact,
  AuditHead,
  AuditKind,
  AuditLog,
  AuditPage,
  AuditQuery,
  AuditReport,
  CallHistory,
  CallRecord,
} from "../gate/audit-log.ts";
import {
  audit,
  AUDIT_MIGRATIONS,
  type AuditDraft,
  auditHead,
  auditOpen,
  type AuditRow,
  column,
  hashOfRow,
  toDraft,
  toEntry,
  verifyAudit,
} from "./audit-chain.ts";
import { countFacets, queryAudit, toCallRecord } from "./audit-query.ts";
import type { SqlDatabase, SqlTransaction } from "./database.ts";
import { placeholders, type RowOf, type StoreContext, type StoreModule } from "./table.ts";

/** Rows per INSERT: one round trip for many on PostgreSQL, few statements to prepare on SQLite. */
const ROWS_AT_ONCE = 50;

/** A draft, and its effect on the list of running calls. */
interface AuditWrite {
  draft: AuditDraft;
  opens?: string;
  closes?: string;
}

/** Appends entries to the chain. Holds the lock until the transaction ends, so all processes write one chain. */
async function appendAudit(tx: SqlTransaction, facts: readonly AuditWrite[]): Promise<AuditRow[]> {
  await tx.lock("audit");
  const end = await readEnd(tx);
  let { seq, hash } = end;
  const writes = end.isMissing && facts[0] ? [headless(facts[0].draft, seq), ...facts] : facts;
  const rows = writes.map(({ draft }) => {
    const row: AuditRow = { seq: ++seq, ...draft, previous: hash, hash: "" };
    row.hash = hash = hashOfRow(row);
    return row;
  });
  for (const some of chunks(rows)) await audit.insertMany(tx, some);
  await tx.run("UPDATE audit_head SET count = ?, hash = ? WHERE id = 1", [seq, hash]);
  await keepOpen(tx, writes, rows);
  return rows;
}

/** Appends entries in the transaction of what they record: both are written, or neither. */
export async function appendFacts(
  tx: SqlTransaction,
  facts: readonly AuditFact[],
  { at, owner }: { at: number; owner: string },
): Promise<void> {
  await appendAudit(
    tx,
    facts.map((fact) => ({ draft: toDraft(fact, at, owner) })),
  );
}

async function readEnd(tx: SqlTransaction): Promise<{ seq: number; hash: string; isMissing: boolean }> {
  const [head] = await tx.all<{ count: number; hash: string; last: number | null }>(
    "SELECT count, hash, (SELECT MAX(seq) FROM audit) AS last FROM audit_head WHERE id = 1",
  );
  // Entries beyond the head were inserted by somebody; they stay, and `verify` reports them.
  if (head) return { seq: Math.max(head.count, head.last ?? 0), hash: head.hash, isMissing: false };
  const [last] = await tx.all<{ seq: number; hash: string }>("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1");
  await tx.run("INSERT INTO audit_head (id, count, hash) VALUES (1, 0, '')");
  return { seq: last?.seq ?? 0, hash: last?.hash ?? "", isMissing: true };
}

/** The head was removed, and with it the proof of where the chain ended. */
function headless({ at, owner }: AuditDraft, seq: number): AuditWrite {
  const reason = `The log's head was missing: entries after ${seq}, if there were any, were cut off.`;
  return { draft: toDraft({ kind: "gap", data: { reason } }, at, owner) };
}

/** A call that begins and ends in one group is not added to the list. */
async function keepOpen(tx: SqlTransaction, writes: readonly AuditWrite[], rows: readonly AuditRow[]): Promise<void> {
  const opened = new Map<string, RowOf<typeof auditOpen>>();
  const closed: string[] = [];
  for (const [at, { owner, seq }] of rows.entries()) {
    const { opens, closes } = writes[at] ?? {};
    if (opens !== undefined) opened.set(opens, { run: opens, owner, seq });
    if (closes !== undefined && !opened.delete(closes)) closed.push(closes);
  }
  for (const some of chunks([...opened.values()])) await auditOpen.insertMany(tx, some);
  for (const some of chunks(closed)) {
    await tx.run(`DELETE FROM audit_open WHERE run IN (${placeholders(some)})`, some);
  }
}

function* chunks<T>(items: readonly T[]): Generator<T[]> {
  for (let from = 0; from < items.length; from += ROWS_AT_ONCE) yield items.slice(from, from + ROWS_AT_ONCE);
}

/** How long an entry may wait for others to be committed with it, if no caller waits. */
const GROUP_MS = 5;
/** While the store cannot be written: how many entries are kept in memory, and how often writing is retried. */
const MAX_KEPT = 10_000;
const RETRY_MS = 500;
const MAX_BATCH_SIZE = 1000;
/** A caller whose calls never wait lets no timer fire. From this many waiting entries on, its next call waits for them. */
const MAX_WAITING = 1000;

/** A change that an entry records. The entry is written only if it changes something. */
type ApplyChange = (tx: SqlTransaction) => Promise<boolean>;

interface Waiting extends AuditWrite {
  apply?: ApplyChange;
  /** It records something that has happened, so it must be written later if it cannot be written now. */
  isKept: boolean;
  synced: boolean;
  settle?: (error?: unknown, isApplied?: boolean) => void;
}

/** Entries that could not be kept in memory either. */
interface Gap {
  count: number;
  since: number;
  until: number;
  reason: string;
}

export interface WriteOptions {
  opens?: string | undefined;
  closes?: string | undefined;
  isKept?: boolean;
  synced?: boolean;
}

/** Commits entries in groups: all waiting entries go into one transaction. */
class AuditWriter {
  readonly #database: SqlDatabase;
  readonly #owner: string;
  readonly #now: () => number;
  #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isDueNext = false;
  #flushing: Promise<void> | undefined;
  #failure: Error | undefined;
  #isClosed = false;
  #dropped: Gap | undefined;

  constructor(database: SqlDatabase, owner: string, now: () => number) {
    this.#database = database;
    this.#owner = owner;
    this.#now = now;
  }

  /** Why the last group could not be written; undefined after a success. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Writes within milliseconds, together with others. Nobody waits for it; it is kept until it can be written. */
  add(fact: AuditFact, options: WriteOptions = {}): void {
    this.#push(fact, { ...options, isKept: true });
    this.#flushLater(this.#failure ? RETRY_MS : GROUP_MS);
  }

  /** Writes the waiting entries if they are many. While the store cannot be written, `MAX_KEPT` is the limit. */
  relieve(): Promise<void> | undefined {
    if (this.#waiting.length < MAX_WAITING || this.#failure) return undefined;
    return this.flush().catch(() => undefined);
  }

  /** Writes at the end of this turn of the event loop, with all entries that wait then. */
  async commit(fact: AuditFact, options: WriteOptions = {}): Promise<void> {
    await this.commitWith(fact, options);
  }

  /** The same, together with a change. False if it changed nothing: then the entry is not written. */
  commitWith(fact: AuditFact, options: WriteOptions & { apply?: ApplyChange } = {}): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const settle: Waiting["settle"] = (error, isApplied = true) =>
        error === undefined ? resolve(isApplied) : reject(error as Error);
      if (!this.#push(fact, options, settle)) return reject(this.#failure);
      if (this.#isDueNext) return;
      this.#isDueNext = true;
      setImmediate(() => {
        this.#isDueNext = false;
        this.flush().catch(() => undefined);
      });
    });
  }

  /** Rejects if a waiting entry could not be written. */
  async flush(): Promise<void> {
    while (this.#flushing) await this.#flushing.catch(() => undefined);
    if (this.#waiting.length === 0 && !this.#dropped) return;
    this.#flushing = this.#writeAll().finally(() => void (this.#flushing = undefined));
    await this.#flushing;
  }

  /** Writes waiting entries, without later retries. */
  async close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      this.#isClosed = true;
      clearTimeout(this.#timer);
    }
  }

  #push(
    fact: AuditFact,
    { opens, closes, isKept = false, synced = false, apply }: WriteOptions & { apply?: ApplyChange },
    settle?: Waiting["settle"],
  ) {
    const at = this.#now();
    if (isKept && this.#waiting.length >= MAX_KEPT && this.#failure) {
      this.#dropped ??= { count: 0, since: at, until: at, reason: this.#failure.message };
      this.#dropped.count++;
      this.#dropped.until = at;
      return false;
    }
    this.#waiting.push({
      draft: toDraft(fact, at, this.#owner),
      opens,
      closes,
      isKept,
      synced,
      apply,
      settle,
    });
    return true;
  }

  async #writeAll(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#waiting.length > 0 || this.#dropped) {
      const group = this.#waiting.slice(0, MAX_BATCH_SIZE);
      const isLast = group.length === this.#waiting.length;
      this.#waiting = this.#waiting.slice(group.length);
      const gap = isLast ? this.#dropped : undefined;
      if (gap) this.#dropped = undefined;
      let unapplied: ReadonlySet<AuditWrite>;
      try {
        unapplied = await this.#write(
          gap ? [...group, this.#gapOf(gap)] : group,
          group.some(({ synced }) => synced),
        );
      } catch (error) {
        // Entries are dropped only after a failure, so this is the first part of one gap.
        if (gap) this.#dropped = { ...gap, count: gap.count + (this.#dropped?.count ?? 0) };
        this.#keep(group, error instanceof Error ? error : new Error(String(error)));
        throw error;
      }
      this.#failure = undefined;
      for (const waiting of group) waiting.settle?.(undefined, !unapplied.has(waiting));
    }
  }

  /** Returns the entries that were not written, because their changes did not apply. */
  #write(writes: readonly (AuditWrite & { apply?: ApplyChange })[], synced: boolean): Promise<ReadonlySet<AuditWrite>> {
    return this.#database.transaction(
      async (tx) => {
        const unapplied = new Set<AuditWrite>();
        for (const write of writes) if (write.apply && !(await write.apply(tx))) unapplied.add(write);
        const applied = writes.filter((write) => !unapplied.has(write));
        if (applied.length > 0) await appendAudit(tx, applied);
        return unapplied;
      },
      { synced },
    );
  }

  #keep(group: readonly Waiting[], error: Error): void {
    this.#failure = error;
    const kept = group.filter(({ isKept }) => isKept);
    for (const { settle } of group) settle?.(error);
    // The waiting callers have got the error; the entries are still to be written.
    for (const waiting of kept) delete waiting.settle;
    this.#waiting = [...kept, ...this.#waiting];
    if (this.#waiting.length > 0) {
      // A full disk must not keep the process alive; `close` reports what was not written.
      this.#flushLater(RETRY_MS)?.unref();
    }
  }

  /** In real time, not by the injected clock. Keeps the process alive, so no entry is lost. */
  #flushLater(ms: number): NodeJS.Timeout | undefined {
    if (this.#isClosed) return undefined;
    return (this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.flush().catch(() => undefined);
    }, ms));
  }

  #gapOf(gap: Gap): AuditWrite {
    return { draft: toDraft({ kind: "gap", data: { ...gap } }, this.#now(), this.#owner) };
  }
}

export const auditModule: StoreModule<SqlAuditLog> = {
  migrations: AUDIT_MIGRATIONS,
  async open(context) {
    const log = new SqlAuditLog(context);
    const lost = await log.lost();
    if (lost.length > 0) context.warn(describeLost(lost));
    return log;
  },
  close: (log) => log.close(),
};

const PAGE = 500;
const FOLLOW_MS = 250;

export class SqlAuditLog implements AuditLog {
  readonly #context: StoreContext;
  readonly #writer: AuditWriter;
  readonly #redact: Redact;
  /** Running calls, with a unique name for the run: callers may use a call id twice. */
  readonly #runs = new WeakMap<Call, string>();
  /** Calls whose end was written together with their state. */
  readonly #writtenEnds = new WeakSet<Call>();
  readonly #writtenCorrections = new WeakSet<Call>();
  #nextRun = 1;

  constructor(context: StoreContext) {
    this.#context = context;
    const names = secretNames(context.secretNames ?? []);
    this.#redact = (value, limits) => redactSecrets(value, { ...limits, names });
    this.#writer = new AuditWriter(context.database, context.owners.id, () => context.clock.now());
  }

  begun(call: Call): MaybePromise<void> {
    const run = `${this.#context.owners.id}/${this.#nextRun++}`;
    const fact = describeBegun(call, this.#redact);
    if (!call.tool?.isReadOnly) {
      return this.#writer.commit(fact, { opens: run }).then(() => void this.#runs.set(call, run));
    }
    this.#runs.set(call, run);
    this.#writer.add(fact, { opens: run });
    const { failure } = this.#writer;
    if (failure) throw new Error(`${failure.message} The entry is kept in memory until the store can be written.`);
  }

  closed(call: Call, result: ToolResult): MaybePromise<void> {
    if (this.#writtenEnds.has(call)) return;
    const run = this.#runs.get(call);
    const fact = describeAnswer(call, result, { began: run !== undefined, redact: this.#redact });
    const options = { closes: run, isKept: true };
    // A call that may have changed something returns after its end is written.
    if (run !== undefined && !call.tool?.isReadOnly) return this.#writer.commit(fact, options);
    this.#writer.add(fact, options);
    return this.#writer.relieve();
  }

  endEntry(call: Call, result: ToolResult, isLate: boolean): ChangeEntry {
    const run = isLate ? undefined : this.#runs.get(call);
    const written = isLate ? this.#writtenCorrections : this.#writtenEnds;
    return {
      commitWith: async (apply) => {
        const fact = describeAnswer(call, this.#timed(call, result), {
          began: isLate || run !== undefined,
          redact: this.#redact,
        });
        const isWritten = await this.#writer.commitWith(isLate ? { ...fact, kind: "call_corrected" } : fact, {
          closes: run,
          apply: apply as ApplyChange,
        });
        if (isWritten) written.add(call);
        return isWritten;
      },
    };
  }

  async corrected(call: Call, result: ToolResult): Promise<void> {
    if (this.#writtenCorrections.has(call)) return;
    const fact = describeAnswer(call, result, { began: true, redact: this.#redact });
    await this.#writer.commit({ ...fact, kind: "call_corrected" }, { isKept: true });
  }

  /** The gate measures a call when it leaves the last stage. This entry is written before that. */
  #timed(call: Call, result: ToolResult): ToolResult {
    if (result.durationMs !== undefined) return result;
    const durationMs = this.#context.clock.monotonic() - call.startedMonotonic;
    return { ...result, durationMs, completedAt: call.startedAt + Math.round(durationMs) };
  }

  append(fact: AuditFact, { synced = false } = {}): Promise<void> {
    const data = this.#redact(fact.data ?? {}) as Record<string, unknown>;
    return this.#writer.commit({ ...fact, data }, { synced });
  }

  async recent(limit = 1000): Promise<readonly CallRecord[]> {
    await this.#settle();
    const newest = "WHERE status IS NOT NULL AND kind LIKE 'call%' ORDER BY seq DESC LIMIT ?";
    const rows = await audit.select(this.#context.database, audit.keys, newest, [limit]);
    const corrected = new Set(rows.flatMap(({ kind, callId }) => (kind === "call_corrected" ? (callId ?? []) : [])));
    const entries = rows.map(toEntry).filter((entry) => !isReplaced(entry, corrected));
    return entries.map(toCallRecord).reverse();
  }

  async query(filter?: AuditQuery & { limit?: number; cursor?: string }): Promise<AuditPage> {
    await this.#settle();
    return queryAudit(this.#context.database, filter);
  }

  async facets(filter?: AuditQuery): Promise<AuditFacets> {
    await this.#settle();
    return countFacets(this.#context.database, filter);
  }

  async call(callId: string): Promise<CallHistory | undefined> {
    await this.#settle();
    const { database } = this.#context;
    const rows = await audit.select(database, audit.keys, "WHERE call_id = ? ORDER BY seq", [column(callId)]);
    if (rows.length === 0) return undefined;
    const nested = await database.all<{ call_id: string }>(
      "SELECT call_id FROM audit WHERE parent_id = ? AND call_id IS NOT NULL GROUP BY call_id ORDER BY MIN(seq)",
      [column(callId)],
    );
    return { callId, entries: rows.map(toEntry), nested: nested.map(({ call_id }) => call_id) };
  }

  async *entries({
    after = 0,
    follow = false,
    signal,
  }: Parameters<AuditLog["entries"]>[0] = {}): AsyncGenerator<AuditEntry> {
    const { database } = this.#context;
    let position = after;
    while (!signal?.aborted) {
      await this.#settle();
      const rows = await audit.select(database, audit.keys, `WHERE seq > ? ORDER BY seq LIMIT ${PAGE}`, [position]);
      for (const row of rows) {
        position = row.seq;
        yield toEntry(row);
      }
      if (rows.length > 0) continue;
      if (!follow) return;
      await sleep(FOLLOW_MS, undefined, signal ? { signal } : {}).catch(() => undefined);
    }
  }

  async head(): Promise<AuditHead> {
    await this.#settle();
    const [head] = await auditHead.select(this.#context.database, ["count", "hash"], "WHERE id = 1");
    return head ?? { count: 0, hash: "" };
  }

  async verify(anchor?: AuditHead): Promise<AuditReport> {
    await this.#settle();
    return verifyAudit(this.#context.database, anchor);
  }

  lost(): Promise<AuditEntry[]> {
    return findLost(this.#context);
  }

  flush(): Promise<void> {
    return this.#writer.flush();
  }

  close(): Promise<void> {
    return this.#writer.close();
  }

  /** Readers see all entries that were added before, except those that cannot be written now. */
  async #settle(): Promise<void> {
    await this.#writer.flush().catch(() => undefined);
  }
}

/** Whether the entry is an unknown outcome that a later entry corrects. */
function isReplaced({ kind, callId = "", data }: AuditEntry, corrected: ReadonlySet<string>): boolean {
  const { error } = data as { error?: { code?: string } };
  return kind === "call_ended" && corrected.has(callId) && error?.code === "unknown_outcome";
}

function describeLost(lost: readonly AuditEntry[]): string {
  const names = lost.slice(0, 5).map(({ toolName, callId }) => `${toolName ?? "a tool"} (${callId ?? "no id"})`);
  const more = lost.length > names.length ? ` and ${lost.length - names.length} more` : "";
  return (
    `${lost.length === 1 ? "A call was" : `${lost.length} calls were`} running when an earlier process ended: ` +
    `${names.join(", ")}${more}. Whether they took effect is unknown; check before you repeat them.`
  );
}

/** `redactSecrets` with the secret names of the store. */
type Redact = (value: unknown, limits?: RedactLimits) => unknown;

/** What is recorded of a call before its effect. */
function describeBegun(call: Call, redact: Redact = redactSecrets): AuditFact {
  const data = { ...toolData(call, redact), ...inputData(call, redact), ...verdictData(call, redact) };
  return { ...describe(call, "call_begun"), data };
}

/** What is recorded of a result. The input is in the entry of the beginning, if there is one. */
function describeAnswer(
  call: Call,
  result: ToolResult,
  { began, redact = redactSecrets }: { began: boolean; redact?: Redact },
): AuditFact {
  return {
    ...describe(call, kindOf(result, began)),
    status: result.status,
    data: {
      ...toolData(call, redact),
      ...(began ? {} : inputData(call, redact)),
      ...verdictData(call, redact),
      startedAt: call.startedAt,
      ...(result.completedAt === undefined ? {} : { completedAt: result.completedAt }),
      ...(result.durationMs === undefined ? {} : { durationMs: Math.round(result.durationMs * 1000) / 1000 }),
      ...(result.status === "pending" ? { pending: result.pending } : {}),
      ...(result.status === "failed"
        ? { error: { code: result.error.code, message: redact(result.error.message, { maxTextLength: 1000 }) } }
        : {}),
      summary: redact(result.display, { maxTextLength: 500 }),
      contentBytes: result.content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0),
      ...(result.metadata.spill ? { spill: result.metadata.spill } : {}),
      ...(Object.keys(result.metadata).length > 0
        ? { metadata: redact(result.metadata, { maxTextLength: 300, maxTotalLength: 2000 }) }
        : {}),
    },
  };
}

function kindOf(result: ToolResult, began: boolean): AuditKind {
  if (result.status === "pending") return "call_waiting";
  if (began) return "call_ended";
  return result.metadata.known === undefined ? "call_refused" : "call_known";
}

function describe(call: Call, kind: AuditKind): AuditFact {
  return {
    kind,
    callId: call.id,
    parentId: call.parent?.id,
    toolName: call.tool?.name ?? call.requestedName,
    caller: call.caller,
    verdict: call.verdict?.decision,
  };
}

function toolData({ tool, requestedName }: Call, redact: Redact): Record<string, unknown> {
  if (!tool) return { requestedName: redact(requestedName, { maxTextLength: 200 }) };
  return {
    toolVersion: tool.version,
    toolKind: tool.kind,
    definition: definitionHash(tool, (text) => hashText("sha256", text)),
  };
}

function inputData(call: Call, redact: Redact): Record<string, unknown> {
  return { input: redact(call.accepted ?? call.input) };
}

function verdictData({ verdict }: Call, redact: Redact): Record<string, unknown> {
  if (!verdict) return {};
  const { decision: _decision, ...why } = verdict;
  return { verdict: redact(why, { maxTextLength: 500 }) };
}

/** Writes `call_lost` for every running call of a process that is gone. Calls of live processes are not changed. */
async function findLost({ database, owners, clock }: StoreContext): Promise<AuditEntry[]> {
  const holders = await database.all<{ owner: string }>("SELECT DISTINCT owner FROM audit_open");
  const lost: AuditEntry[] = [];
  for (const { owner } of holders) {
    if (await owners.isAlive(owner)) continue;
    const rows = await database.transaction(async (tx) => {
      // The process that deletes the rows reports them; another that starts at the same time finds none.
      const open = await tx.all<{ seq: number }>("DELETE FROM audit_open WHERE owner = ? RETURNING seq", [owner]);
      const begun = await readBegun(tx, open);
      const writes = begun.map((entry) => ({ draft: toDraft(lostOf(entry), clock.now(), owners.id) }));
      return writes.length === 0 ? [] : appendAudit(tx, writes);
    });
    lost.push(...rows.map(toEntry));
  }
  return lost;
}

async function readBegun(tx: SqlTransaction, open: readonly { seq: number }[]): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for (const { seq } of [...open].sort((a, b) => a.seq - b.seq)) {
    const [row] = await audit.select(tx, audit.keys, "WHERE seq = ?", [seq]);
    if (row) entries.push(toEntry(row));
  }
  return entries;
}

function lostOf({ callId, parentId, toolName, caller, seq, at, owner }: AuditEntry) {
  const data = { begunSeq: seq, begunAt: at, begunBy: owner };
  return { kind: "call_lost", status: "unknown", callId, parentId, toolName, caller, data } as const;
}
