import type { ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";

/** What is known of a call that was made before under the same key. */
export type JournalEntry =
  /** Begun and not ended; `elsewhere`: by somebody else who is alive, and whose result will be found here. */
  | { state: "running"; elsewhere?: boolean }
  | { state: "done"; result: ToolResult }
  /** It had begun when the process ended: nobody knows whether it happened. */
  | { state: "unknown" }
  /** The key stands for another call: its fingerprint is not this one's. */
  | { state: "other" };

/**
 * Remembers calls by idempotency key, so that a repeated one is answered and not run again. A fingerprint holds the whole
 * input: a journal that outlives the process keeps a hash of it.
 */
export interface CallJournal {
  /** Without a fingerprint: whichever call the key stands for. */
  find(key: string, fingerprint?: string): MaybePromise<JournalEntry | undefined>;
  /**
   * Atomic among all who share the journal: of two with one key, one begins and is told nothing, the other is told what
   * stands there. `again` also takes what began and will never end, for calls that may be made twice.
   */
  begin(key: string, fingerprint: string, options?: { again?: boolean }): MaybePromise<JournalEntry | undefined>;
  /** Saves the result of a call that began. */
  end(key: string, result: ToolResult): MaybePromise<void>;
  /** The call did not happen after all, or may be made again. */
  forget(key: string): MaybePromise<void>;
}

interface Ended {
  fingerprint: string;
  result: string;
}

export class MemoryJournal implements CallJournal {
  /** Begun and not ended: their fingerprints. Never forgotten for want of room. */
  readonly #running = new Map<string, string>();
  /** Results as text: cheaper than a copy, and nobody changes them. */
  #ended = new Map<string, Ended>();
  /** Those before; thrown away all at once, because a Map steps over everything that was deleted at its beginning. */
  #older = new Map<string, Ended>();

  /** So many results are known for certain, and up to twice as many. */
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
