import type { ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";

/** What is known of an earlier call with the same key. */
export type JournalEntry =
  /** Started and not ended. `elsewhere`: in another live process or runtime, whose result will be stored here. */
  | { state: "running"; elsewhere?: boolean }
  | { state: "done"; result: ToolResult }
  /** It had started when its process ended: whether it took effect is unknown. */
  | { state: "unknown" }
  /** The key belongs to another call, with another fingerprint. */
  | { state: "other" };

/**
 * Remembers calls by idempotency key: a repeated call gets the stored result and does not run again. A fingerprint contains
 * the whole input; a journal on disk stores a hash of it.
 */
export interface CallJournal {
  /** If the fingerprint is omitted, any call with this key matches. */
  find(key: string, fingerprint?: string): MaybePromise<JournalEntry | undefined>;
  /**
   * Atomic among all processes that share the journal: if two begin the same key, one gets undefined and runs the call, the
   * other gets the entry. `again` also takes over a call that will never end, for calls that may run twice.
   */
  begin(key: string, fingerprint: string, options?: { again?: boolean }): MaybePromise<JournalEntry | undefined>;
  /** Saves the result of a call that began. */
  end(key: string, result: ToolResult): MaybePromise<void>;
  /** Call if the call did not happen, or may run again. */
  forget(key: string): MaybePromise<void>;
}

interface Ended {
  fingerprint: string;
  result: string;
}

export class MemoryJournal implements CallJournal {
  /** Fingerprints of started calls. Never dropped to save space. */
  readonly #running = new Map<string, string>();
  /** Results as text: cheaper than a copy, and immutable. */
  #ended = new Map<string, Ended>();
  /** The generation before. Dropped as a whole, because deleting the first entries of a Map one by one is slow. */
  #older = new Map<string, Ended>();

  /** Keeps at least `capacity` results, at most twice as many. */
  constructor(readonly capacity = 1000) {}

  find(key: string, fingerprint?: string): JournalEntry | undefined {
    const ended = this.#ended.get(key) ?? this.#older.get(key);
    const known = ended?.fingerprint ?? this.#running.get(key);
    if (known === undefined) return undefined;
    if (fingerprint !== undefined && known !== fingerprint) return { state: "other" };
    return ended ? { state: "done", result: JSON.parse(ended.result) as ToolResult } : { state: "running" };
  }

  begin(key: string, fingerprint: string, { again = false } = {}): JournalEntry | undefined {
    const known = this.find(key, fingerprint);
    if (known && !(again && known.state === "running")) return known;
    this.#running.set(key, fingerprint);
    return undefined;
  }

  end(key: string, result: ToolResult): void {
    const fingerprint = this.#running.get(key);
    if (fingerprint === undefined) return;
    this.#running.delete(key);
    if (this.#ended.size >= this.capacity) {
      this.#older = this.#ended;
      this.#ended = new Map();
    }
    this.#ended.set(key, { fingerprint, result: JSON.stringify(result) });
  }

  forget(key: string): void {
    this.#running.delete(key);
    this.#ended.delete(key);
    this.#older.delete(key);
  }
}
