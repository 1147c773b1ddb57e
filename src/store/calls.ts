import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import process from "node:process";
import {
  type CallStore,
  type ChangeEntry,
  type InsertedCall,
  type InsertOptions,
  isReplaced,
  lostOwner,
  MAX_KEPT_WHOLES,
  type OpenLimits,
  type QuestionQuery,
  type RowChange,
  type WithChange,
} from "../calls/call-store.ts";
import { type Charge, chargeOf, type Grant, isLimitCharge, settlementOf } from "../calls/grants.ts";
import { jobNewsOf } from "../calls/job.ts";
import type { DueJobs } from "../calls/job-rows.ts";
import type { WholePreview } from "../calls/shown-question.ts";
import type { Answer, CallOutcome, CallState, Question, QueuedJob, StoredCall } from "../calls/stored-call.ts";
import { type CallData, type Caller, readCallData } from "../core/call.ts";
import { redactSecrets, secretNames } from "../core/secrets/mask-secrets.ts";
import type { ToolResult } from "../core/result.ts";
import type { AuditFact } from "../gate/audit-log.ts";
import { closeLost } from "./audit/lost-calls.ts";
import type { SqlRunner, SqlTransaction, SqlValue } from "./database.ts";
import type { GroupTransaction } from "./group-writer.ts";
import { failPoint } from "./fail-point.ts";
import { GRANT_TABLES, LIMIT_TABLES, SqlGrantRows } from "./grants.ts";
import { NOT_HELD } from "./store-hold.ts";
import { type JobLimits, SqlJobRows } from "./jobs.ts";
import {
  addedIn,
  flag,
  integer,
  json,
  lenient,
  optional,
  placeholders,
  type RowOf,
  type StoreContext,
  type StoreModule,
  table,
  text,
} from "./table.ts";

const MAX_RESULT_BYTES = 1024 * 1024;

export const calls = table("calls", {
  id: text("NOT NULL PRIMARY KEY"),
  callId: json<string>(),
  key: optional(text()),
  fingerprint: text(),
  toolName: json<string>(),
  caller: json<Caller>(),
  /** Of the caller, as JSON: for the limits of pending questions. */
  userSession: text(),
  callerUser: text(),
  state: text<CallState>(),
  outcome: optional(text<CallOutcome>()),
  question: optional(json<Question>()),
  answer: optional(json<Answer>()),
  holder: optional(text()),
  holdUntil: optional(integer()),
  owner: optional(text()),
  epoch: integer(),
  lost: integer(),
  deadline: optional(integer()),
  repeatable: flag(),
  note: optional(json<string>()),
  result: lenient(optional<ToolResult>({ ...json<ToolResult>(), toSql: (result) => fitResult(result) })),
  createdAt: integer(),
  answeredAt: optional(integer()),
  begunAt: optional(integer()),
  endedAt: optional(integer()),
  /** Grows with each change: an update that has read an older one does nothing. */
  version: integer(),
  /** Of background calls. What workers and lists look for has columns of its own. */
  request: addedIn(2, lenient(optional(json<CallData>()))),
  job: addedIn(2, lenient(optional(json<QueuedJob>()))),
  jobId: addedIn(2, optional(text())),
  jobSeq: addedIn(2, optional(integer())),
  jobSession: addedIn(2, optional(text())),
  priority: addedIn(2, optional(integer())),
  runAt: addedIn(2, optional(integer())),
  /** Written with the log lines. */
  progress: addedIn(2, lenient(optional(json<NonNullable<QueuedJob["progress"]>>()))),
  /** The number of its last change, and who made it: others find changes by it. */
  jobChange: addedIn(2, optional(integer())),
  changedBy: addedIn(2, optional(text())),
  charges: addedIn(5, optional(json<readonly Charge[]>())),
});

/** What open questions do not show. Apart: lists of questions do not read it. */
const wholes = table("call_previews", {
  id: text("NOT NULL PRIMARY KEY"),
  characters: integer(),
  whole: json<WholePreview>(),
});

type JobColumns = Partial<Pick<RowOf<typeof calls>, "jobId" | "jobSeq" | "priority" | "runAt">>;
type CallRow = StoredCall & JobColumns & { version: number; progress?: QueuedJob["progress"] };

export const callsModule: StoreModule<SqlCalls> = {
  migrations: {
    name: "calls",
    versions: [
      [
        calls.create,
        "CREATE UNIQUE INDEX calls_by_key ON calls (key) WHERE key IS NOT NULL",
        "CREATE INDEX calls_open ON calls (state) WHERE state <> 'ended'",
        "CREATE INDEX calls_questions ON calls (created_at) WHERE question IS NOT NULL",
        "CREATE INDEX calls_ended ON calls (ended_at) WHERE state = 'ended'",
      ],
      [
        ...calls.addColumns(2),
        "CREATE UNIQUE INDEX calls_by_job ON calls (job_id) WHERE job_id IS NOT NULL",
        "CREATE INDEX calls_queued ON calls (priority DESC, job_seq) WHERE job_id IS NOT NULL AND state = 'approved'",
        "CREATE INDEX calls_job_seq ON calls (job_seq) WHERE job_seq IS NOT NULL",
        "CREATE INDEX calls_job_change ON calls (job_change) WHERE job_change IS NOT NULL",
      ],
      [wholes.create],
      [
        // With thousands of questions, a page of them and the limit of one more read only these.
        "CREATE INDEX calls_waiting ON calls (created_at, id) WHERE question IS NOT NULL AND state = 'waiting'",
        "CREATE INDEX calls_waiting_of ON calls (caller_user, user_session) WHERE question IS NOT NULL AND state = 'waiting'",
      ],
      [...calls.addColumns(5), ...GRANT_TABLES],
      LIMIT_TABLES,
    ],
  },
  open: callsIn,
  close: (opened) => opened.jobs.close(),
};

const OPENED = new WeakMap<StoreContext, SqlCalls>();

/** One object for all parts of a store: it reports its own changes. */
export function callsIn(context: StoreContext): SqlCalls {
  const opened = OPENED.get(context) ?? new SqlCalls(context);
  OPENED.set(context, opened);
  return opened;
}

const MAX_TRIES = 100;
/** As a condition. Undefined: all. */
function questionsThat(isOpen: boolean | undefined): string {
  if (isOpen === undefined) return "question IS NOT NULL";
  return `question IS NOT NULL AND state ${isOpen ? "=" : "<>"} 'waiting'`;
}

const PRUNED_AT_ONCE = 200;
/** Without it SQLite does not use the index of open calls, and reads all. */
const NOT_ENDED = "state <> 'ended'";
const COLUMNS = calls.keys;
type ChangedColumn = Exclude<keyof ReturnType<typeof toRow>, "id">;
/** Others are not written with a change of the row. */
const CHANGED_COLUMNS = COLUMNS.filter(
  (key): key is ChangedColumn => !["id", "progress", "jobChange", "changedBy"].includes(key),
);

/** Calls in a database that several processes share. */
export class SqlCalls implements CallStore {
  readonly processId: string;
  readonly pollMs: number;
  readonly jobs: SqlJobRows;
  readonly grants: SqlGrantRows;
  readonly #context: StoreContext;
  readonly #listeners: ((id: string) => void)[] = [];
  readonly #redact: (value: unknown) => unknown;
  /** Rows that this process runs or has taken, as last seen: their next change needs no read if they are unchanged. */
  readonly #own = new Map<string, ReadCall>();
  /** Whether the last search for due jobs found as many as it wanted. */
  #leftDue = false;
  readonly #batches = new WeakMap<SqlTransaction, Map<string, RowBatch>>();
  /** Their ids by the ids of their jobs. */
  readonly #ownJobs = new Map<string, string>();

  constructor(context: StoreContext, limits?: Partial<JobLimits>) {
    this.#context = context;
    this.grants = new SqlGrantRows(context);
    const access = {
      read: (where: string, values: readonly SqlValue[]) => readCalls(context.database, where, values),
      readToChange: async (where: string, values: readonly SqlValue[]) => {
        const rows = await this.#select(where, values);
        for (const read of rows) this.#own.set(read.call.id, read);
        return rows.map(({ call }) => call);
      },
      held: (jobId: string) => this.#own.get(this.#ownJobs.get(jobId) ?? "")?.call,
    };
    this.jobs = new SqlJobRows(context, access, limits);
    this.processId = context.owners.id;
    this.pollMs = context.database.pollMs.max;
    const names = secretNames(context.secretNames ?? []);
    this.#redact = (value) => redactSecrets(value, { names });
  }

  /** Keys and fingerprints contain the whole input, secrets included, and may be megabytes long. */
  digest(text: string): string {
    return hash("sha256", text);
  }

  watch(listener: () => void): () => void {
    return this.#context.database.watch(listener);
  }

  onChange(listener: (id: string) => void): void {
    this.#listeners.push(listener);
  }

  async insert(row: StoredCall, { limits, entry, synced }: InsertOptions = {}): Promise<InsertedCall> {
    if (row.job) return this.#insertJob(row);
    if (!row.question) return this.#insertKeyed(row, entry, synced);
    const inserted = await this.#context.writer.write<InsertedCall>(async (tx) => {
      const known = row.key === undefined ? undefined : await findByKey(tx, row.key);
      if (known) return { outcome: "known", row: known };
      const full = limits && (await countFull(tx, row, limits));
      if (full !== undefined) return { outcome: "full", open: full };
      await this.#insertQuestion(tx, row);
      return { outcome: "inserted", row };
    });
    if (inserted.outcome === "inserted") failPoint("asked");
    return inserted;
  }

  async get(id: string): Promise<StoredCall | undefined> {
    return (await this.#read(id))?.call;
  }

  find(key: string): Promise<StoredCall | undefined> {
    return findByKey(this.#context.database, key);
  }

  async change(id: string, transition: RowChange, together: WithChange = {}): Promise<StoredCall | undefined> {
    const own = this.#own.get(id);
    this.#disown(id);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const isOwn = own !== undefined && tries === 0;
      const read = isOwn ? own : await this.#read(id);
      const changes = read && transition(read.call);
      if (!changes && isOwn) continue;
      if (!changes) return undefined;
      failPoint(`before ${nameOf(read.call, changes)}`);
      const changed: CallRow = { ...read.call, ...changes, version: read.version + 1 };
      // Whoever reads the ended job finds its whole log.
      if (changed.job && changed.state === "ended") await this.jobs.flush();
      if (await this.#update(read, changed, together)) {
        failPoint(`after ${nameOf(read.call, changes)}`);
        const call = this.#afterChange(read, changed);
        if (together.next?.job) this.jobs.changed(together.next, undefined);
        return call;
      }
      // Another process changed the row since it was read.
    }
    throw new Error(`Call "${id}" changed ${MAX_TRIES} times while it was written.`);
  }

  async takeDue({ tools, at, max }: DueJobs, transition: RowChange): Promise<StoredCall[]> {
    const where = `WHERE job_id IS NOT NULL AND state = 'approved' AND holder IS NULL AND run_at <= ? AND ${NOT_HELD}
      AND tool_name IN (${placeholders(tools)})`;
    const values = [at, ...tools.map((tool) => JSON.stringify(tool))];
    // A transaction would wake every process that watches the store, also if it found nothing.
    // Without the order SQLite would read all jobs that ended, too.
    const inOrder = `${where} ORDER BY priority DESC, job_seq LIMIT`;
    const isFound = this.#leftDue || (await this.#context.database.all(`SELECT 1 FROM calls ${inOrder} 1`, values))[0];
    if (!isFound) return [];
    const search = `${inOrder} ? ${this.#context.database.lockFree}`;
    const takeFound = async (tx: GroupTransaction): Promise<[ReadCall, CallRow][]> => {
      const written: [ReadCall, CallRow][] = [];
      const writes: Promise<unknown>[] = [];
      for (const read of await select(tx, search, [...values, max])) {
        const changes = transition(read.call);
        if (!changes) continue;
        failPoint("before take");
        const changed: CallRow = { ...read.call, ...changes, version: read.version + 1 };
        const write = this.#write(tx, read, changed).then((isWritten) => isWritten && written.push([read, changed]));
        if (tx.allOfLists) writes.push(write);
        else await write;
      }
      await Promise.all(writes);
      return written;
    };
    const written = await this.#context.writer.write(takeFound, { appends: false, relaxed: true, quiet: true });
    this.#leftDue = written.length === max;
    if (written.length > 0) failPoint("after take");
    return written.map(([read, changed]) => this.#afterChange(read, changed));
  }

  async findCharged(callId: string, grant: string): Promise<StoredCall[]> {
    const where = "WHERE call_id = ? AND charges IS NOT NULL AND state = 'ended' ORDER BY created_at DESC";
    const rows = await this.#select(where, [calls.toSql("callId", callId)]);
    return rows.flatMap(({ call }) => (chargeOf(call, grant) ? call : []));
  }

  async remove(id: string, keepsLimits = false): Promise<void> {
    const { charges } = this.#own.get(id)?.call ?? {};
    this.#disown(id);
    const removed = [id] as const;
    const sql = "DELETE FROM calls WHERE id = ? AND question IS NULL AND state <> 'ended'";
    const settlement = settlementOf(charges, keepsLimits ? charges?.filter(isLimitCharge) : undefined);
    if (!settlement) return void (await this.#context.database.run(sql, removed));
    const removeCharged = async (tx: GroupTransaction): Promise<void> => {
      if ((await tx.run(sql, removed)).changes > 0) await this.grants.settle(tx, settlement);
    };
    await this.#context.writer.write(removeCharged);
  }

  async versions(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const versions = new Map(ids.map((id) => [id, 0]));
    for (let from = 0; from < ids.length; from += 500) {
      const some = ids.slice(from, from + 500);
      const sql = `SELECT id, version FROM calls WHERE id IN (${placeholders(some)})`;
      const rows = await this.#context.database.all<{ id: string; version: number }>(sql, some);
      for (const { id, version } of rows) versions.set(id, version);
    }
    return versions;
  }

  async questions({ isOpen, of, before, max }: QuestionQuery): Promise<StoredCall[]> {
    const ofSession = of ? " AND user_session = ?" : "";
    const older = before ? " AND created_at <= ? AND (created_at < ? OR id < ?)" : "";
    const where = `WHERE ${questionsThat(isOpen)}${ofSession}${older}`;
    const at = before ? [before.createdAt, before.createdAt, before.id] : [];
    const values = [...(of ? [userSessionOf(of)] : []), ...at, max];
    const rows = await this.#select(`${where} ORDER BY created_at DESC, id DESC LIMIT ?`, values);
    return rows.map(({ call }) => call).reverse();
  }

  async countQuestions({ isOpen }: Pick<QuestionQuery, "isOpen">): Promise<number> {
    const where = isOpen ? `${questionsThat(isOpen)} AND ${NOT_ENDED}` : questionsThat(isOpen);
    const sql = `SELECT count(*) AS count FROM calls WHERE ${where}`;
    return (await this.#context.database.all<{ count: number }>(sql))[0]?.count ?? 0;
  }

  async unfinished(): Promise<StoredCall[]> {
    // A call of this process whose caller has stopped waiting is nobody's.
    const isHeldHere = "holder = ? AND hold_until > ?";
    const isRunHere = "owner = ? AND state = 'running'";
    const where = `WHERE state <> 'ended' AND (holder IS NULL OR NOT (${isHeldHere})) AND (owner IS NULL OR NOT (${isRunHere}))
      AND (state <> 'approved' OR ${NOT_HELD})`;
    const rows = await this.#select(where, [this.processId, this.#context.clock.now(), this.processId]);
    return rows.map(({ call }) => call);
  }

  isAlive(processId: string): Promise<boolean> {
    return this.#context.owners.isAlive(processId);
  }

  async keepWhole(id: string, whole: WholePreview): Promise<boolean> {
    const characters = whole.text.length;
    return this.#context.database.transaction(async (tx) => {
      const [kept] = await tx.all<{ sum: number | null }>("SELECT sum(characters) AS sum FROM call_previews");
      if (Number(kept?.sum ?? 0) + characters > MAX_KEPT_WHOLES) return false;
      await wholes.insert(tx, { id, characters, whole }, "ON CONFLICT DO NOTHING");
      return true;
    });
  }

  async whole(id: string): Promise<WholePreview | undefined> {
    const [row] = await wholes.select(this.#context.database, ["whole"], "WHERE id = ?", [id]);
    return row?.whole;
  }

  async dropWhole(id: string): Promise<void> {
    await this.#context.database.run("DELETE FROM call_previews WHERE id = ?", [id]);
  }

  async prune({ questions, keys }: { questions: number; keys: number }): Promise<void> {
    await this.#prune("state = 'ended' AND question IS NULL AND ended_at < ?", keys);
    await this.#prune("state = 'ended' AND ended_at < ?", Math.min(questions, keys));
    await this.jobs.pruneLogs();
    await this.grants.limits.prune();
    const open = `SELECT id FROM calls WHERE question IS NOT NULL AND ${NOT_ENDED}`;
    await this.#context.database.run(`DELETE FROM call_previews WHERE id NOT IN (${open})`);
  }

  /** In slices: one statement for all would block the event loop. */
  async #prune(where: string, before: number): Promise<void> {
    const sql = `DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE ${where} LIMIT ${PRUNED_AT_ONCE})`;
    for (let changes = PRUNED_AT_ONCE; changes === PRUNED_AT_ONCE;) {
      ({ changes } = await this.#context.database.run(sql, [before]));
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  /** After a change by this process. */
  #keepOwn(written: ReadCall): void {
    const { id, state, owner, holder, job } = written.call;
    const isRunHere = state === "running" && owner === this.processId;
    const isTakenHere = state === "approved" && job !== undefined && holder === this.processId;
    if (!isRunHere && !isTakenHere) return;
    this.#own.set(id, written);
    if (job) this.#ownJobs.set(job.id, id);
  }

  #disown(id: string): void {
    const job = this.#own.get(id)?.call.job;
    this.#own.delete(id);
    if (job) this.#ownJobs.delete(job.id);
  }

  async #insertKeyed(row: StoredCall, entry: ChangeEntry | undefined, synced = false): Promise<InsertedCall> {
    const settlement = settlementOf(undefined, row.charges);
    let usedUp: Grant[] = [];
    const insert = async (tx: GroupTransaction): Promise<boolean> => {
      const { changes } = await calls.insert(tx, toRow(row, 1), "ON CONFLICT DO NOTHING");
      if (changes === 1 && settlement) usedUp = await this.grants.settle(tx, settlement);
      return changes === 1;
    };
    const exclusive = settlement !== undefined;
    for (;;) {
      const isInserted = entry
        ? await entry.commitWith((tx: GroupTransaction) => insert(tx), { synced, exclusive })
        : await this.#context.writer.write(insert, { appends: exclusive, synced });
      if (isInserted) {
        this.grants.announce(usedUp);
        this.#own.set(row.id, { call: row, version: 1 });
        failPoint("begun");
        return { outcome: "inserted", row };
      }
      const known = row.key === undefined ? undefined : await findByKey(this.#context.database, row.key);
      // If there is none, the earlier call was removed since: try again.
      if (known) return { outcome: "known", row: known };
    }
  }

  async #insertJob(row: StoredCall): Promise<InsertedCall> {
    const inserted = await this.jobs.write<InsertedCall | undefined>(async (tx) => {
      const own = await this.#addJob(tx, row);
      if (own) return { outcome: "inserted", row: own };
      const [known] = await readCalls(tx, "WHERE key = ? OR id = ?", [row.key ?? "", row.id]);
      return known && { outcome: "known", row: known };
    });
    // If there is none, the earlier call was removed since.
    if (!inserted) return this.#insertJob(row);
    if (inserted.outcome === "inserted") {
      failPoint("job submitted");
      this.jobs.changed(inserted.row, undefined);
    }
    return inserted;
  }

  /** Undefined if the key belongs to another call. */
  async #addJob(tx: SqlTransaction, row: StoredCall): Promise<StoredCall | undefined> {
    if (!row.job) return undefined;
    const { seq, change } = await this.jobs.nextNumber(tx);
    const own = { ...row, job: { ...row.job, seq: row.job.seq || seq } };
    const values = { ...toRow(own, 1), jobChange: change, changedBy: this.jobs.writer };
    const insert = tx.allOfLists
      ? this.#batchOf(tx, INSERTED, () => [calls.insertSql("ON CONFLICT DO NOTHING RETURNING id"), COLUMNS]).add(values)
      : calls.insert(tx, values, "ON CONFLICT DO NOTHING").then(({ changes }) => changes > 0);
    return (await insert) ? own : undefined;
  }

  async #insertQuestion(tx: GroupTransaction, row: StoredCall): Promise<void> {
    await calls.insert(tx, toRow(row, 1));
    this.#audit(tx, { kind: "approval_asked", ...factsOf(row) });
  }

  async #update(read: ReadCall, changed: CallRow, { next, entry, synced = false }: WithChange): Promise<boolean> {
    const isDecided = isDecision(read.call, changed);
    const unnumbered = changed.job?.seq === 0 ? changed.job : undefined;
    const settlement = settlementOf(read.call.charges, changed.charges);
    const lostBy = lostOwner(read.call, changed, this.processId);
    let usedUp: Grant[] = [];
    const writeAll = async (tx: GroupTransaction): Promise<boolean> => {
      if (unnumbered) changed.job = { ...unnumbered, seq: (await this.jobs.nextNumber(tx)).seq };
      if (!(await this.#write(tx, read, changed))) return false;
      if (settlement) usedUp = await this.grants.settle(tx, settlement);
      if (lostBy !== undefined) await closeLost(this.#context, tx, { owner: lostBy, row: changed });
      if (isDecided) this.#audit(tx, { kind: "approval_answered", ...factsOf(changed) });
      if (next && isReplaced(read.call, changed)) {
        // Otherwise the job would be gone: its first row is none any more.
        if (next.job && !(await this.#addJob(tx, next))) throw new Error(`Call "${next.id}" is there already.`);
        if (!next.job) await this.#insertQuestion(tx, next);
      }
      return true;
    };
    const exclusive = settlement !== undefined || lostBy !== undefined;
    const announced = (isWritten: boolean): boolean => {
      if (isWritten) this.grants.announce(usedUp);
      return isWritten;
    };
    if (entry) return entry.commitWith((tx: GroupTransaction) => writeAll(tx), { synced, exclusive }).then(announced);
    const appends = exclusive || isDecided || (next !== undefined && !next.job);
    // The job is taken, and its call not started.
    const relaxed = !appends && !next && changed.state === "approved" && changed.holder === this.processId;
    const quiet = relaxed || (!next && !!changed.job && changed.state === "running" && !changed.job.cancel);
    const options = { synced: synced || isDecided, appends, exclusive, relaxed, quiet };
    return this.#context.writer.write(writeAll, options).then(announced);
  }

  /** False if another process has changed the row since it was read. */
  async #write(tx: GroupTransaction, read: ReadCall, changed: CallRow): Promise<boolean> {
    const isNews = jobNewsOf(read.call, changed) !== undefined || changed.job?.cancel !== read.call.job?.cancel;
    const before = toRow(read.call, read.version);
    const row = toRow(changed, changed.version);
    // SQLite writes every index of a column that is set, also if its value stays the same.
    const set = CHANGED_COLUMNS.filter((key) => row[key] !== before[key]);
    const name = `${set.join()}${isNews ? "!" : ""}`;
    if (tx.allOfLists) {
      const batch = this.#batchOf(tx, name, () => this.#updateMany(set, isNews));
      return batch.add({ ...row, changedBy: this.jobs.writer });
    }
    const values = set.map((key): SqlValue => calls.toSql(key, row[key] as never));
    if (isNews) values.push((await this.jobs.nextNumber(tx)).change, this.jobs.writer);
    values.push(changed.id, read.version);
    return (await tx.run(updateOf(set, isNews), values)).changes === 1;
  }

  /** What the writes of a group do to rows in the same way is one statement. */
  #batchOf(tx: SqlTransaction, name: string, statement: () => BatchStatement): RowBatch {
    const batches = this.#batches.get(tx) ?? new Map<string, RowBatch>();
    this.#batches.set(tx, batches);
    const batch = batches.get(name) ?? new RowBatch(tx, statement());
    batches.set(name, batch);
    return batch;
  }

  #updateMany(set: readonly ChangedColumn[], isNews: boolean): BatchStatement {
    const keys: (keyof WrittenRow)[] = ["id", ...set, ...(isNews ? (["changedBy"] as const) : [])];
    const written = calls.list(keys.slice(1)).split(", ");
    const sets = written.map((name) => `${name} = given.${name}`);
    if (isNews) sets.push(`job_change = ${this.#context.database.changeNumbers?.own}`);
    const where = "calls.id = given.id AND calls.version = given.version - 1";
    return [`UPDATE calls SET ${sets.join(", ")} FROM ${calls.unnest(keys)} WHERE ${where} RETURNING calls.id`, keys];
  }

  /** After the commit. */
  #afterChange(read: ReadCall, changed: CallRow): StoredCall {
    const written = toCall(changed);
    const { call } = written;
    this.#keepOwn(written);
    if (call.job) this.jobs.changed(call, read.call);
    for (const listener of this.#listeners) listener(call.id);
    return call;
  }

  #audit(tx: GroupTransaction, fact: AuditFact): void {
    const data = this.#redact(fact.data ?? {}) as Record<string, unknown>;
    const draft = this.#context.writer.draft({ ...fact, data });
    tx.append({ draft: () => draft });
  }

  async #read(id: string): Promise<ReadCall | undefined> {
    const [read] = await this.#select("WHERE id = ?", [id]);
    return read;
  }

  #select(where: string, values: readonly SqlValue[]): Promise<ReadCall[]> {
    return select(this.#context.database, where, values);
  }
}

type WrittenRow = ReturnType<typeof toRow> & { jobChange?: number; changedBy?: string };
/** A statement of many rows that returns the ids of those that it wrote, and its columns. */
type BatchStatement = readonly [sql: string, keys: readonly (keyof RowOf<typeof calls>)[]];

const INSERTED = "insert";

/** Rows that one statement of a transaction writes: all that are added in one turn of the event loop. */
class RowBatch {
  readonly #tx: SqlTransaction;
  readonly #statement: BatchStatement;
  #rows = new Map<string, WrittenRow>();
  #written: Promise<ReadonlySet<string>> | undefined;

  constructor(tx: SqlTransaction, statement: BatchStatement) {
    this.#tx = tx;
    this.#statement = statement;
  }

  /** Whether it was written. Of two changes of one row only the first is. */
  async add(row: WrittenRow): Promise<boolean> {
    const isFirst = !this.#rows.has(row.id);
    if (isFirst) this.#rows.set(row.id, row);
    // After all promises that are settled now: each of them may add a row.
    this.#written ??= new Promise<void>((resolve) => process.nextTick(resolve)).then(() => this.#write());
    return (await this.#written).has(row.id) && isFirst;
  }

  async #write(): Promise<ReadonlySet<string>> {
    const rows = [...this.#rows.values()];
    this.#rows = new Map();
    this.#written = undefined;
    const [sql, keys] = this.#statement;
    const written = (await this.#tx.allOfLists?.<{ id: string }>(sql, calls.lists(rows, keys))) ?? [];
    return new Set(written.map(({ id }) => id));
  }
}

const updates = new Map<string, string>();

/** Statements are kept: each new text would be prepared again. */
function updateOf(set: readonly ChangedColumn[], isNews: boolean): string {
  const columns = `${set.join()}${isNews ? "!" : ""}`;
  let sql = updates.get(columns);
  if (sql === undefined) {
    const written = isNews ? [...set, "jobChange" as const, "changedBy" as const] : set;
    sql = `UPDATE calls SET ${written.map((key) => `${calls.list([key])} = ?`).join(", ")} WHERE id = ? AND version = ?`;
    updates.set(columns, sql);
  }
  return sql;
}

interface ReadCall {
  call: StoredCall;
  version: number;
}

async function findByKey(db: SqlRunner, key: string): Promise<StoredCall | undefined> {
  const [row] = await calls.select(db, COLUMNS, "WHERE key = ?", [key]);
  return row && toCall(row).call;
}

/** `where`: all that follows FROM. */
export async function readCalls(db: SqlRunner, where: string, values: readonly SqlValue[]): Promise<StoredCall[]> {
  return (await select(db, where, values)).map(({ call }) => call);
}

async function select(db: SqlRunner, where: string, values: readonly SqlValue[]): Promise<ReadCall[]> {
  return (await calls.select(db, COLUMNS, where, values)).map(toCall);
}

function toCall(row: CallRow): ReadCall {
  const { progress } = row;
  const job = row.job ?? unreadJob(row);
  const call: StoredCall = {
    id: row.id,
    callId: row.callId,
    key: row.key,
    fingerprint: row.fingerprint,
    toolName: row.toolName,
    caller: row.caller,
    state: row.state,
    outcome: row.outcome,
    question: row.question && readQuestion(row.question, row.toolName),
    answer: row.answer,
    holder: row.holder,
    holdUntil: row.holdUntil,
    owner: row.owner,
    epoch: row.epoch,
    lost: row.lost,
    deadline: row.deadline,
    repeatable: row.repeatable,
    note: row.note,
    result: row.result,
    createdAt: row.createdAt,
    answeredAt: row.answeredAt,
    begunAt: row.begunAt,
    endedAt: row.endedAt,
    charges: row.charges,
    // Without the rest of the job nobody knows whether it may still run.
    request: row.job ? row.request : undefined,
    job: job && progress ? { ...job, progress } : job,
  };
  return { call, version: row.version };
}

/** What is left of a job that cannot be read any more. */
function unreadJob({ jobId: id, jobSeq: seq = 0, priority = 0, runAt = 0 }: JobColumns): QueuedJob | undefined {
  return id === undefined ? undefined : { id, seq, priority, runAt, attempt: 0, attempts: 1, round: 1 };
}

/** With the call as data, as this version knows it. */
function readQuestion(question: Question, toolName: string): Question {
  const made = readCallData(question.made, { toolName, toolVersion: question.toolVersion });
  return made === question.made ? question : { ...question, made };
}

function userSessionOf({ user = null, session = null }: { user?: string | null; session?: string | null }): string {
  return JSON.stringify([user, session]);
}

/** Field by field: copying with a spread takes ten times longer. */
export function toRow(call: StoredCall, version: number) {
  const { caller, question, job } = call;
  const { session = null, user = null } = caller;
  return {
    id: call.id,
    callId: call.callId,
    key: call.key,
    fingerprint: call.fingerprint,
    toolName: call.toolName,
    caller,
    // Questions are counted by them.
    userSession: question ? userSessionOf({ user, session }) : "",
    callerUser: question ? JSON.stringify(user) : "",
    state: call.state,
    outcome: call.outcome,
    question,
    answer: call.answer,
    holder: call.holder,
    holdUntil: call.holdUntil,
    owner: call.owner,
    epoch: call.epoch,
    lost: call.lost,
    deadline: call.deadline,
    repeatable: call.repeatable,
    note: call.note,
    result: call.result,
    createdAt: call.createdAt,
    answeredAt: call.answeredAt,
    begunAt: call.begunAt,
    endedAt: call.endedAt,
    version,
    request: call.request,
    job,
    jobId: job?.id,
    jobSeq: job?.seq,
    jobSession: job && JSON.stringify(session),
    priority: job?.priority,
    runAt: job?.runAt,
    charges: call.charges,
  };
}

/** How many questions of the same user or session wait, if there is no room for another. */
async function countFull(tx: SqlRunner, row: StoredCall, limits: OpenLimits): Promise<number | undefined> {
  const { userSession, callerUser } = toRow(row, 1);
  const [counted] = await tx.all<{ of_user: number; of_session: number | null }>(
    `SELECT count(*) AS of_user, sum(CASE WHEN user_session = ? THEN 1 ELSE 0 END) AS of_session
      FROM calls WHERE ${questionsThat(true)} AND caller_user = ?`,
    [userSession, callerUser],
  );
  const ofSession = counted?.of_session ?? 0;
  const ofUser = counted?.of_user ?? 0;
  if (ofSession >= limits.maxOpenPerSession) return ofSession;
  return ofUser >= limits.maxOpenPerUser ? ofUser : undefined;
}

/** Whether the question was decided: answered, or over without an answer. */
function isDecision(before: StoredCall, { state, question }: StoredCall): boolean {
  if (!question || before.state === state) return false;
  return before.state === "waiting" || (before.state === "approved" && state === "ended");
}

/** The name of the transition, for tests that stop a process there. */
function nameOf(before: StoredCall, changes: Partial<StoredCall>): string {
  if (changes.state === "running") return "claim";
  if (changes.holder !== undefined && before.job) return "take";
  if (changes.state === "ended" && before.state === "running")
    return changes.outcome === "unknown" && !changes.result ? "lose" : "end";
  return changes.answer ? "answer" : (changes.outcome ?? "change");
}

function factsOf(row: StoredCall): Omit<AuditFact, "kind"> {
  const { id, callId, toolName, caller, state, outcome, question, answer, note } = row;
  const verdict = state === "approved" ? "allow" : state === "waiting" ? question?.verdict.decision : "deny";
  const { by: answeredBy, via: answeredVia, scope, rules, answers } = answer ?? {};
  const asked = question?.questions;
  return {
    callId,
    parentId: question?.parentId,
    toolName,
    caller,
    verdict,
    data: {
      // First, as in the entries of calls. The input is in a later entry, if the call runs.
      ...(state === "waiting" && question?.summary
        ? { risk: question.summary.risk.level, toolKind: question.toolKind, subject: question.summary.subject }
        : {}),
      approvalId: id,
      state: state === "waiting" ? "pending" : (outcome ?? state),
      hash: question?.hash,
      reason: question?.reason,
      note: note ?? answer?.reason,
      replaces: question?.replaces,
      ...{ answeredBy, answeredVia, scope, rules, questions: asked, answers },
    },
  };
}

/** A result as JSON of at most 1 MB: without details, then without content, if it is longer; a warning says so. */
function fitResult(result: ToolResult): string {
  const whole = JSON.stringify(result);
  if (Buffer.byteLength(whole) <= MAX_RESULT_BYTES) return whole;
  const warnings = [
    ...(result.metadata.warnings ?? []),
    "The whole result was too large to be kept for a repeated call.",
  ];
  const { details: _details, ...rest } = result;
  const short = JSON.stringify({ ...rest, metadata: { ...result.metadata, warnings } });
  if (Buffer.byteLength(short) <= MAX_RESULT_BYTES) return short;
  const { spill, known } = result.metadata;
  const text = `${result.display.slice(0, 1000)}\n[${Buffer.byteLength(whole)} bytes were too large to be kept for a repeated call]`;
  return JSON.stringify({
    ...rest,
    display: result.display.slice(0, 1000),
    content: [{ type: "text", text }],
    metadata: { warnings: warnings.slice(-1), spill, known },
    ...(result.status === "failed"
      ? { error: { ...result.error, message: result.error.message.slice(0, 1000), next: undefined, data: undefined } }
      : {}),
  });
}
