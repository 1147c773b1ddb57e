import { toFailure } from "../core/error.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { AuditFact } from "../gate/audit-log.ts";
import { appendAudit, type AuditDraft, toDraft } from "./audit/audit-chain.ts";
import type { SqlDatabase, SqlTransaction } from "./database.ts";

/** An entry of the audit log that waits to be written, and its effect on the list of running calls. */
export interface AuditWrite {
  /** Undefined if the entry is not needed any more. */
  draft(): AuditDraft | undefined;
  opens?: RunningCall | undefined;
  closes?: RunningCall | undefined;
}

/** A call in the list of running calls. */
export interface RunningCall {
  /** Of the entry of its beginning, once that is written. */
  seq: number | undefined;
}

/** A transaction that also appends to the audit log: at its end, after the entries of others in the same group. */
export interface GroupTransaction extends SqlTransaction {
  append(write: AuditWrite): void;
}

export interface WriteOptions {
  /** Commits to the disk: for decisions of a person, and for starts of calls with an effect. */
  synced?: boolean;
  /** A server need not sync it: if it is lost, nothing has happened. A later synced commit syncs it too. */
  relaxed?: boolean;
  /** Other processes may notice it later. */
  quiet?: boolean;
  /** False if nothing is appended to the audit log: then others need not wait for its lock. */
  appends?: boolean;
  /** False if it decides nothing by rows that others may insert: then the lock of the audit log is taken after it. Default: true. */
  exclusive?: boolean;
}

interface QueuedWrite extends Required<WriteOptions> {
  /** Returns what settles the promise of the caller once the group is committed. */
  run(tx: GroupTransaction): Promise<() => void>;
  reject(error: unknown): void;
}

/** How long an entry may wait for others to be committed with it, if no caller waits. */
const GROUP_MS = 5;
/** While the store cannot be written: how many entries are kept in memory, and how often writing is retried. */
const MAX_KEPT = 10_000;
const RETRY_MS = 500;
/** A larger group would block the event loop for longer. */
const MAX_GROUP = 200;
/** On a server. A larger group would hold its rows for longer; it syncs the commits of several groups together. */
const MAX_ROWS_GROUP = 50;
const MAX_ROWS_RUNS = 4;
/** A caller whose calls never wait lets no timer fire. From this many waiting entries on, its next call waits for them. */
const MAX_WAITING = 200;

/** Entries that could not be kept in memory either. */
interface Gap {
  count: number;
  since: number;
  until: number;
  reason: string;
}

interface GroupWriterOptions {
  database: SqlDatabase;
  /** The name of this process, in its entries. */
  owner: string;
  now: () => number;
}

/** Writes that wait, and the runs that commit them group by group. */
interface Lane {
  readonly maxGroup: number;
  readonly maxRuns: number;
  readonly queue: QueuedWrite[];
  readonly runs: Set<Promise<void>>;
}

/** The writer of a process: what arrives in one turn of the event loop is one commit. */
export class GroupWriter {
  readonly #database: SqlDatabase;
  readonly #owner: string;
  readonly #now: () => number;
  readonly #main: Lane = { maxGroup: MAX_GROUP, maxRuns: 1, queue: [], runs: new Set() };
  /** On a server, what is not appended to the audit log: it does not wait for the lock of the log. */
  readonly #rows: Lane = { maxGroup: MAX_ROWS_GROUP, maxRuns: MAX_ROWS_RUNS, queue: [], runs: new Set() };
  /** Entries about what has happened. They are written later if they cannot be written now. */
  #kept: AuditWrite[] = [];
  #timer: NodeJS.Timeout | undefined;
  #failure: Error | undefined;
  #dropped: Gap | undefined;
  #isClosed = false;

  constructor({ database, owner, now }: GroupWriterOptions) {
    this.#database = database;
    this.#owner = owner;
    this.#now = now;
  }

  /** Why the last group could not be written; undefined after a success. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  draft(fact: AuditFact, at = this.#now()): AuditDraft {
    return toDraft(fact, at, this.#owner);
  }

  /** Commits at the end of this turn of the event loop. `work` awaits only `tx`, and may run twice if a group fails. */
  write<T>(work: (tx: GroupTransaction) => MaybePromise<T>, options: WriteOptions = {}): Promise<T> {
    const { synced = false, appends = true, exclusive = appends, relaxed = false, quiet = false } = options;
    const lane = appends || this.#database.hasOneWriter ? this.#main : this.#rows;
    return new Promise<T>((resolve, reject) => {
      const run = async (tx: GroupTransaction): Promise<() => void> => {
        const value = await work(tx);
        return () => resolve(value);
      };
      lane.queue.push({ run, reject, synced, appends, exclusive, relaxed, quiet });
      this.#start(lane);
    });
  }

  /** Writes within milliseconds, together with others. Nobody waits for it; it is kept until it can be written. False if there is no room. */
  keep(write: AuditWrite): boolean {
    if (this.#kept.length >= MAX_KEPT && this.#failure) return this.#drop(write, this.#failure);
    this.#kept.push(write);
    this.#writeLater(this.#failure ? RETRY_MS : GROUP_MS);
    return true;
  }

  /** The same, for a caller that waits. If it rejects, the entry is written later. */
  async commit(write: AuditWrite): Promise<void> {
    this.keep(write);
    await this.write(() => undefined, { exclusive: false });
  }

  /** Writes the waiting entries if they are many. While the store cannot be written, `MAX_KEPT` is the limit. */
  relieve(): Promise<void> | undefined {
    if (this.#kept.length < MAX_WAITING || this.#failure) return undefined;
    return this.flush().catch(() => undefined);
  }

  /** Rejects if a waiting entry could not be written. */
  async flush(): Promise<void> {
    while (this.#main.runs.size > 0) await Promise.all(this.#main.runs);
    while (this.#kept.length > 0 || this.#dropped) await this.write(() => undefined);
  }

  /** Writes what waits, without later retries. */
  async close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      this.#isClosed = true;
      clearTimeout(this.#timer);
    }
  }

  #start(lane: Lane): void {
    if (lane.runs.size >= lane.maxRuns) return;
    const run = this.#run(lane).finally(() => {
      lane.runs.delete(run);
      if (lane.queue.length > 0) this.#start(lane);
    });
    lane.runs.add(run);
  }

  async #run(lane: Lane): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (lane.queue.length > 0) {
      const group = lane.queue.splice(0, lane.maxGroup);
      try {
        await this.#commit(group, lane);
      } catch (error) {
        if (group.length === 1 || (isStoreFailure(error) && !this.#isDeadlock(error)))
          for (const { reject } of group) reject(error);
        else await this.#commitOneByOne(group, lane);
      }
    }
  }

  /** Two groups waited for each other, and the database ended this one. */
  #isDeadlock(error: unknown): boolean {
    return !this.#database.hasOneWriter && toFailure(error).code === "busy";
  }

  /** One of them failed by itself. The others are not affected. */
  async #commitOneByOne(group: readonly QueuedWrite[], lane: Lane): Promise<void> {
    for (const write of group) await this.#commit([write], lane).catch(write.reject);
  }

  async #commit(group: readonly QueuedWrite[], lane: Lane): Promise<void> {
    const kept = lane === this.#main ? this.#kept.slice(0, MAX_GROUP) : [];
    const gap = lane === this.#main && kept.length === this.#kept.length ? this.#dropped : undefined;
    if (gap) this.#dropped = undefined;
    const appends = kept.length > 0 || gap !== undefined || group.some((write) => write.appends);
    try {
      const isSynced = group.some(({ synced }) => synced);
      const { settle, last } = await this.#database.transaction(
        (tx) => this.#write(tx, { group, kept, gap, appends }),
        {
          synced: isSynced && !this.#database.sync,
          relaxed: kept.length === 0 && group.every(({ relaxed }) => relaxed),
          quiet: kept.length === 0 && group.every(({ quiet }) => quiet),
        },
      );
      if (lane === this.#main) this.#failure = undefined;
      this.#kept = this.#kept.slice(kept.length);
      if (this.#kept.length > 0) this.#writeLater(0);
      if (last !== undefined) this.#database.noteEnd?.(last);
      // The next group need not wait for the disk: all that is committed until the next sync shares it.
      const onDisk = isSynced ? this.#database.sync?.() : undefined;
      for (const [at, resolve] of settle.entries()) {
        const write = group[at];
        if (onDisk && write?.synced) onDisk.then(resolve, write.reject);
        else resolve();
      }
    } catch (error) {
      // Entries are dropped only after a failure, so this is the first part of one gap.
      if (gap) this.#dropped = { ...gap, count: gap.count + (this.#dropped?.count ?? 0) };
      if (kept.length > 0 || isStoreFailure(error))
        this.#fail(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  }

  async #write(
    tx: SqlTransaction,
    group: { group: readonly QueuedWrite[]; kept: readonly AuditWrite[]; gap: Gap | undefined; appends: boolean },
  ): Promise<{ settle: (() => void)[]; last: number | undefined }> {
    // As late as possible: until the commit no other process can append.
    const locksFirst = group.group.some(({ exclusive }) => exclusive);
    if (locksFirst) await tx.lock("audit");
    const entries = [...group.kept];
    const appending: GroupTransaction = { ...tx, append: (write) => void entries.push(write) };
    const settle = locksFirst || this.#database.hasOneWriter ? [] : await runTogether(group.group, appending);
    if (settle.length === 0) for (const write of group.group) settle.push(await write.run(appending));
    const locked = group.appends && !locksFirst ? tx.lock("audit") : undefined;
    const { gap } = group;
    if (gap) entries.push({ draft: () => this.draft({ kind: "gap", data: { ...gap } }) });
    // A server gets the lock and the statement after it at once.
    const [rows] = await Promise.all([entries.length > 0 ? appendAudit(tx, entries) : undefined, locked]);
    return { settle, last: rows?.at(-1)?.seq };
  }

  #fail(error: Error): void {
    this.#failure = error;
    if (this.#kept.length === 0) return;
    // A full disk must not keep the process alive; `close` reports what was not written.
    this.#writeLater(RETRY_MS)?.unref();
  }

  #drop({ opens }: AuditWrite, { message: reason }: Error): false {
    // A call is counted at its end.
    if (opens !== undefined) return false;
    const at = this.#now();
    const { count = 0, since = at } = this.#dropped ?? {};
    this.#dropped = { count: count + 1, since, until: at, reason: this.#dropped?.reason ?? reason };
    return false;
  }

  /** In real time, not by the injected clock. Keeps the process alive, so no entry is lost. */
  #writeLater(ms: number): NodeJS.Timeout | undefined {
    if (this.#isClosed) return undefined;
    return (this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.flush().catch(() => undefined);
    }, ms));
  }
}

/** Decides nothing by the rows of the others: what they write in one turn of the event loop can be one statement. */
async function runTogether(group: readonly QueuedWrite[], tx: GroupTransaction): Promise<(() => void)[]> {
  const runs = group.map((write) => write.run(tx));
  // The transaction goes on while one of them does.
  await Promise.allSettled(runs);
  return Promise.all(runs);
}

/** Of the store as a whole, not of one write. */
function isStoreFailure(error: unknown): boolean {
  return ["io_error", "unavailable", "busy"].includes(toFailure(error).code);
}
