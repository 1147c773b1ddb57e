import type { Caller } from "../core/call.ts";
import type { MaybePromise } from "../core/stage.ts";
import { chargeOf, type GrantRows, isLimitCharge, MemoryGrantRows, settlementOf } from "./grants.ts";
import { type DueJobs, type JobRows, MemoryJobRows } from "./job-rows.ts";
import type { WholePreview } from "./shown-question.ts";
import type { QueuedJob, StoredCall } from "./stored-call.ts";

/** How many questions may wait. Counted per user and session, so one caller cannot lock out others. */
export interface OpenLimits {
  maxOpenPerSession: number;
  maxOpenPerUser: number;
}

export type InsertedCall =
  | { outcome: "inserted"; row: StoredCall }
  /** The key belongs to an earlier call. */
  | { outcome: "known"; row: StoredCall }
  | { outcome: "full"; open: number };

/** The changes of a row; undefined if there are none. May be called several times. */
export type RowChange = (row: StoredCall) => Partial<StoredCall> | undefined;

/** An entry of the audit log about a change. Both are written in one transaction, or neither. */
export interface ChangeEntry {
  /** Writes the entry if `apply` has changed something; resolves with what `apply` returned. */
  commitWith(
    apply: (transaction: never) => Promise<boolean>,
    options?: { synced?: boolean; exclusive?: boolean },
  ): Promise<boolean>;
}

export interface InsertOptions {
  limits?: OpenLimits;
  entry?: ChangeEntry;
  /** The disk has it before the promise resolves: an effect follows. */
  synced?: boolean;
}

/**
 * The newest `max` questions. `isOpen`: only those that wait for an answer, or only the others. `of`: only of calls of this
 * user in this session.
 */
export interface QuestionQuery {
  isOpen?: boolean;
  of?: Pick<Caller, "user" | "session">;
  /** Only older ones than this row. */
  before?: Pick<StoredCall, "createdAt" | "id">;
  max: number;
}

/** What is written together with a change of a row. */
export interface WithChange {
  /** Inserted if the row ends as `changed`, or if its job is now another call. */
  next?: StoredCall;
  entry?: ChangeEntry;
  /** See `InsertOptions`. */
  synced?: boolean;
}

/**
 * Stores calls. Several processes may share one store: each method is atomic among all of them. Every implementation passes
 * `call-store.suite.ts`. What `charges` of a row say is counted in its grants in the same transaction; if a grant refuses a new
 * charge, nothing is written and the method throws.
 */
export interface CallStore {
  /** Of this process, as holder and owner. */
  readonly processId: string;
  /** How often a waiting process looks for changes of other processes; undefined if there are none. */
  readonly pollMs: number | undefined;
  /** Calls the listener after commits of other processes. They may be missed, so `pollMs` counts too. */
  watch?(listener: () => void): () => void;
  /** Background calls. */
  readonly jobs: JobRows;
  /** What people allowed beyond one call. */
  readonly grants: GrantRows;
  /** Calls the listener after each change that is made through this object. */
  onChange(listener: (id: string) => void): void;
  /** A digest of keys and fingerprints, which contain whole inputs. A store in memory needs none. */
  digest(text: string): string;
  /** `limits` apply to a row with a question. The entry is written if the row is inserted. */
  insert(row: StoredCall, options?: InsertOptions): MaybePromise<InsertedCall>;
  /** By the id of the row. */
  get(id: string): MaybePromise<StoredCall | undefined>;
  /** By the digest of its key. */
  find(key: string): MaybePromise<StoredCall | undefined>;
  /** Changes the row if the transition applies to it; otherwise undefined. `together` is part of the same transaction. */
  change(id: string, transition: RowChange, together?: WithChange): MaybePromise<StoredCall | undefined>;
  /** Changes jobs in the transaction that finds them. Skips those that another process takes at the same moment. */
  takeDue(due: DueJobs, transition: RowChange): MaybePromise<StoredCall[]>;
  /** The ended calls with this id that have a charge of the grant, the newest first: ids are unique in one conversation only. */
  findCharged(callId: string, grant: string): MaybePromise<StoredCall[]>;
  /** For a call that did not happen and has no question. `keepsLimits`: what it took from limits stays. */
  remove(id: string, keepsLimits?: boolean): MaybePromise<void>;
  /** A number for each row that grows with each of its changes. */
  versions(ids: readonly string[]): MaybePromise<ReadonlyMap<string, number>>;
  /** Rows with a question, the newest `max`, oldest first. */
  questions(query: QuestionQuery): MaybePromise<StoredCall[]>;
  /** How many rows with a question there are. */
  countQuestions(query: Pick<QuestionQuery, "isOpen">): MaybePromise<number>;
  /** Rows that a host takes care of: not ended, and not held by `processId`. */
  unfinished(): MaybePromise<StoredCall[]>;
  /** Whether the process still runs. */
  isAlive(processId: string): MaybePromise<boolean>;
  /** Keeps what an open question does not show; false if there is no room. */
  keepWhole(id: string, whole: WholePreview): MaybePromise<boolean>;
  /** What was kept for the question. */
  whole(id: string): MaybePromise<WholePreview | undefined>;
  /** Deletes what was kept for the question. */
  dropWhole(id: string): MaybePromise<void>;
  /** Deletes ended calls. */
  prune(before: { questions: number; keys: number }): MaybePromise<void>;
}

/** In characters. A caller must not fill the memory or the disk with what it asks about. */
export const MAX_KEPT_WHOLES = 512 * 1024 * 1024;

/** Whether a new row replaces this one. */
export function isReplaced(before: StoredCall, after: StoredCall): boolean {
  return after.outcome === "changed" || (before.job !== undefined && after.job === undefined);
}

/** The process that is gone, if the change is `lose`: all others of a running call are made by its owner. */
export function lostOwner(before: StoredCall, after: StoredCall, me: string): string | undefined {
  return before.state === "running" && after.state !== "running" && before.owner !== me ? before.owner : undefined;
}

/** Ended calls, deleted as a whole: deleting the first entries of a Map one by one is slow. */
class Generation {
  readonly byId = new Map<string, StoredCall>();
  readonly byKey = new Map<string, StoredCall>();

  add(row: StoredCall): void {
    this.byId.set(row.id, row);
    if (row.key !== undefined) this.byKey.set(row.key, row);
  }
}

/** Lost with the process. */
export class MemoryCallStore implements CallStore {
  readonly processId = "this process";
  readonly pollMs = undefined;
  readonly jobs = new MemoryJobRows();
  readonly grants: MemoryGrantRows;
  readonly #listeners: ((id: string) => void)[] = [];
  readonly #capacity: number;
  readonly #now: () => number;
  readonly #open = new Map<string, StoredCall>();
  readonly #openByKey = new Map<string, StoredCall>();
  readonly #versions = new Map<string, number>();
  readonly #wholes = new Map<string, WholePreview>();
  #ended = new Generation();
  #older = new Generation();

  /** Keeps at least `capacity` ended calls, at most twice as many. */
  constructor(capacity = 1000, now = () => Date.now()) {
    this.#capacity = capacity;
    this.#now = now;
    this.grants = new MemoryGrantRows(now);
  }

  digest(text: string): string {
    return text;
  }

  onChange(listener: (id: string) => void): void {
    this.#listeners.push(listener);
  }

  insert(row: StoredCall, { limits }: InsertOptions = {}): InsertedCall {
    const known = row.key === undefined ? undefined : this.#findByKey(row.key);
    if (known) return { outcome: "known", row: known };
    const full = limits && countFull(row, this.#open.values(), limits);
    if (full !== undefined) return { outcome: "full", open: full };
    if (row.job) row = { ...row, job: this.#numbered(row.job) };
    this.#settle(undefined, row);
    const own = row.question || row.job ? copyData(row) : row;
    this.#put(own);
    if (own.job) this.jobs.changed(own, undefined);
    return { outcome: "inserted", row };
  }

  get(id: string): StoredCall | undefined {
    const row = this.#open.get(id) ?? this.#ended.byId.get(id) ?? this.#older.byId.get(id);
    return row && copy(row);
  }

  find(key: string): StoredCall | undefined {
    return this.#findByKey(key);
  }

  #findByKey(key: string): StoredCall | undefined {
    const row = this.#openByKey.get(key) ?? this.#ended.byKey.get(key) ?? this.#older.byKey.get(key);
    // Another call may have released it since.
    return row?.key === key ? copy(row) : undefined;
  }

  change(id: string, transition: RowChange, { next }: WithChange = {}): StoredCall | undefined {
    const row = this.#open.get(id) ?? this.#ended.byId.get(id) ?? this.#older.byId.get(id);
    const changes = row && transition(row);
    if (!changes) return undefined;
    const own = changes.job ? { ...changes, job: this.#numbered(changes.job) } : changes;
    this.#settle(row, { charges: row.charges, ...changes });
    const changed = { ...row, ...copyData(own) };
    this.#drop(row);
    this.#put(changed);
    if (changed.job) this.jobs.changed(changed, row);
    if (next && isReplaced(row, changed)) this.insert(next);
    for (const listener of this.#listeners) listener(id);
    // The caller's own changes need no second copy.
    return { ...copy(row), ...own };
  }

  takeDue(due: DueJobs, transition: RowChange): StoredCall[] {
    return this.jobs.due(due).flatMap(({ id }) => this.change(id, transition) ?? []);
  }

  #numbered(job: QueuedJob): QueuedJob {
    return job.seq === 0 ? { ...job, seq: this.jobs.nextSeq() } : job;
  }

  findCharged(callId: string, grant: string): StoredCall[] {
    const ended = [...this.#older.byId.values(), ...this.#ended.byId.values()].reverse();
    return ended.filter((row) => row.callId === callId && chargeOf(row, grant));
  }

  remove(id: string, keepsLimits = false): void {
    const row = this.#open.get(id);
    if (!row) return;
    this.#settle(row, { charges: keepsLimits ? row.charges?.filter(isLimitCharge) : undefined });
    this.#drop(row);
  }

  versions(ids: readonly string[]): ReadonlyMap<string, number> {
    return new Map(ids.map((id) => [id, this.#versions.get(id) ?? 0]));
  }

  questions({ isOpen, of, before, max }: QuestionQuery): StoredCall[] {
    const ended = isOpen ? [] : [...this.#older.byId.values(), ...this.#ended.byId.values()];
    const all = [...ended, ...this.#open.values()].sort((one, other) => one.createdAt - other.createdAt);
    // Of the same moment: as they were inserted. If the last one of a page is gone, by its time.
    const last = before ? all.findIndex(({ id }) => id === before.id) : all.length;
    const older = last < 0 ? all.filter(({ createdAt }) => createdAt < (before?.createdAt ?? 0)) : all.slice(0, last);
    const rows = older.filter(({ question, state, caller }) => {
      if (of && (caller.user !== of.user || caller.session !== of.session)) return false;
      return question !== undefined && (isOpen === undefined || isOpen === (state === "waiting"));
    });
    return rows.slice(-max).map(copy);
  }

  countQuestions({ isOpen }: Pick<QuestionQuery, "isOpen">): number {
    return this.questions({ isOpen, max: Number.MAX_SAFE_INTEGER }).length;
  }

  unfinished(): StoredCall[] {
    return [];
  }

  isAlive(): boolean {
    return true;
  }

  keepWhole(id: string, whole: WholePreview): boolean {
    let kept = whole.text.length;
    for (const { text } of this.#wholes.values()) kept += text.length;
    if (kept > MAX_KEPT_WHOLES) return false;
    this.#wholes.set(id, whole);
    return true;
  }

  whole(id: string): WholePreview | undefined {
    return this.#wholes.get(id);
  }

  dropWhole(id: string): void {
    this.#wholes.delete(id);
  }

  prune(): void {
    // Bounded by its capacity.
  }

  #settle(before: Pick<StoredCall, "charges"> | undefined, { charges }: Pick<StoredCall, "charges">): void {
    const settlement = settlementOf(before?.charges, charges);
    if (settlement) this.grants.settle(settlement, this.#now());
  }

  #put(row: StoredCall): void {
    if (row.question || row.job) this.#versions.set(row.id, (this.#versions.get(row.id) ?? 0) + 1);
    if (row.state !== "ended") {
      this.#open.set(row.id, row);
      if (row.key !== undefined) this.#openByKey.set(row.key, row);
      return;
    }
    if (this.#ended.byId.size >= this.#capacity) {
      for (const [id, old] of this.#older.byId) {
        this.#versions.delete(id);
        this.jobs.forget(old);
      }
      this.#older = this.#ended;
      this.#ended = new Generation();
    }
    this.#ended.add(row);
  }

  #drop(row: StoredCall): void {
    const { id, key } = row;
    if (this.#open.delete(id)) {
      if (key !== undefined && this.#openByKey.get(key) === row) this.#openByKey.delete(key);
      return;
    }
    for (const { byId, byKey } of [this.#ended, this.#older]) {
      byId.delete(id);
      if (key !== undefined && byKey.get(key) === row) byKey.delete(key);
    }
  }
}

function copy(row: StoredCall): StoredCall {
  return row.question || row.job || row.result ? copyData(row) : { ...row };
}

/** Deeper data is rare, and may be a cycle. */
const MAX_COPIED_DEPTH = 32;

/** As `structuredClone`, but ten times faster for lists and plain objects, which rows consist of. */
function copyData<T>(value: T, depth?: number): T;
function copyData(value: unknown, depth = 0): unknown {
  if (typeof value === "function" || typeof value === "symbol") return structuredClone(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_COPIED_DEPTH) return structuredClone(value);
  if (Array.isArray(value)) return value.map((item) => copyData(item, depth + 1));
  if (Object.getPrototypeOf(value) !== Object.prototype) return structuredClone(value);
  const copied: Record<string, unknown> = { ...value };
  for (const key in copied) copied[key] = copyData(copied[key], depth + 1);
  return copied;
}

/** How many questions of the same user or session wait, if there is no room for another. */
function countFull(row: StoredCall, rows: Iterable<StoredCall>, limits: OpenLimits): number | undefined {
  const { user, session } = row.caller;
  let ofUser = 0;
  let ofSession = 0;
  for (const { state, caller, question } of rows) {
    if (state !== "waiting" || !question || caller.user !== user) continue;
    ofUser++;
    if (caller.session === session) ofSession++;
  }
  if (ofSession >= limits.maxOpenPerSession) return ofSession;
  return ofUser >= limits.maxOpenPerUser ? ofUser : undefined;
}
