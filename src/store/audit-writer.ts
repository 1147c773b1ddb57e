import type { AuditFact } from "../executor/audit-log.ts";
import { appendAudit, type AuditWrite } from "./append-audit.ts";
import { type AuditRow, toDraft } from "./audit-row.ts";
import type { SqlDatabase } from "./sql-database.ts";

/** How long an entry that nobody waits for may wait for others to be committed with it. */
const GROUP_MS = 5;
/** While the store cannot be written: entries that are kept until it can, and how often that is tried. */
const MAX_KEPT = 10_000;
const RETRY_MS = 500;
const MAX_BATCH_SIZE = 1000;

interface Waiting extends AuditWrite {
  /** Something has happened already, so that it must be written later if it cannot be written now. */
  isKept: boolean;
  synced: boolean;
  settle?: (error?: unknown) => void;
}

/** Entries that were not even kept. */
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

/** Commits entries in groups: whatever is waiting goes into one transaction. */
export class AuditWriter {
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

  /** Why the last group could not be written; undefined once one could. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** In a few milliseconds, together with others; nobody waits for it, and it is kept until it can be written. */
  add(fact: AuditFact, options: WriteOptions = {}): void {
    this.#push(fact, { ...options, isKept: true });
    this.#flushLater(this.#failure ? RETRY_MS : GROUP_MS);
  }

  /** As soon as this turn of the event loop is over, with everything that waits then. */
  commit(fact: AuditFact, options: WriteOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: unknown): void => (error === undefined ? resolve() : reject(error as Error));
      if (!this.#push(fact, options, settle)) return reject(this.#failure);
      if (this.#isDueNext) return;
      this.#isDueNext = true;
      setImmediate(() => {
        this.#isDueNext = false;
        this.flush().catch(() => undefined);
      });
    });
  }

  /** Rejects where something that waits could not be written. */
  async flush(): Promise<void> {
    while (this.#flushing) await this.#flushing.catch(() => undefined);
    if (this.#waiting.length === 0 && !this.#dropped) return;
    this.#flushing = this.#writeAll().finally(() => void (this.#flushing = undefined));
    await this.#flushing;
  }

  /** Writes what waits, and does not try again later. */
  async close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      this.#isClosed = true;
      clearTimeout(this.#timer);
    }
  }

  #push(fact: AuditFact, { opens, closes, isKept = false, synced = false }: WriteOptions, settle?: Waiting["settle"]) {
    const at = this.#now();
    if (isKept && this.#waiting.length >= MAX_KEPT && this.#failure) {
      this.#dropped ??= { count: 0, since: at, until: at, reason: this.#failure.message };
      this.#dropped.count++;
      this.#dropped.until = at;
      return false;
    }
    this.#waiting.push({
      draft: toDraft(fact, at, this.#owner),
      ...(opens === undefined ? {} : { opens }),
      ...(closes === undefined ? {} : { closes }),
      isKept,
      synced,
      ...(settle ? { settle } : {}),
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
      try {
        await this.#write(
          gap ? [...group, this.#gapOf(gap)] : group,
          group.some(({ synced }) => synced),
        );
      } catch (error) {
        // Nothing is dropped unless the store has failed before, so that this is the earlier part of one gap.
        if (gap) this.#dropped = { ...gap, count: gap.count + (this.#dropped?.count ?? 0) };
        this.#keep(group, error instanceof Error ? error : new Error(String(error)));
        throw error;
      }
      this.#failure = undefined;
      for (const { settle } of group) settle?.();
    }
  }

  async #write(writes: readonly AuditWrite[], synced: boolean): Promise<AuditRow[]> {
    return await this.#database.transaction((tx) => appendAudit(tx, writes), { synced });
  }

  #keep(group: readonly Waiting[], error: Error): void {
    this.#failure = error;
    const kept = group.filter(({ isKept }) => isKept);
    for (const { settle } of group) settle?.(error);
    // Who waited has been told; what has happened is still to be written.
    for (const waiting of kept) delete waiting.settle;
    this.#waiting = [...kept, ...this.#waiting];
    if (this.#waiting.length > 0) {
      // A store that stays full must not keep a program from ending; `close` says what was not written.
      this.#flushLater(RETRY_MS)?.unref();
    }
  }

  /** In real time, whatever the clock says: nothing expires here. It holds the process, so that no entry is left behind. */
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
