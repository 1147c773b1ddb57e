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
  end(key: string, result: ToolResult): MaybePromise<void>;
  /** The call did not happen after all, or may be made again. */
  forget(key: string): MaybePromise<void>;
}

export class MemoryJournal implements CallJournal {
  readonly #entries = new Map<string, { fingerprint: string; result: ToolResult | undefined }>();

  constructor(readonly capacity = 1000) {}

  find(key: string, fingerprint?: string): JournalEntry | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (fingerprint !== undefined && entry.fingerprint !== fingerprint) return { state: "other" };
    return entry.result ? { state: "done", result: entry.result } : { state: "running" };
  }

  begin(key: string, fingerprint: string, { again = false } = {}): JournalEntry | undefined {
    const known = this.find(key, fingerprint);
    if (known && !(again && known.state === "running")) return known;
    this.#entries.set(key, { fingerprint, result: undefined });
    return undefined;
  }

  end(key: string, result: ToolResult): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    // To the end of the map: the oldest go first.
    this.#entries.delete(key);
    this.#entries.set(key, { fingerprint: entry.fingerprint, result: structuredClone(result) });
    // Many at once: a Map steps over everything that was deleted at its beginning, each time.
    if (this.#entries.size < this.capacity * 1.5) return;
    for (const [oldest, { result: known }] of this.#entries) {
      if (this.#entries.size <= this.capacity) break;
      if (known) this.#entries.delete(oldest);
    }
  }

  forget(key: string): void {
    this.#entries.delete(key);
  }
}
