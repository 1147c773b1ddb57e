import type { ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";

/** What is known of a call that was made before under the same key. */
export type JournalEntry =
  | { state: "running"; fingerprint: string }
  | { state: "done"; fingerprint: string; result: ToolResult }
  /** It had begun when the process ended: nobody knows whether it happened. */
  | { state: "unknown"; fingerprint: string };

/** Remembers calls by idempotency key, so that a repeated one is answered and not run again. */
export interface CallJournal {
  find(key: string): MaybePromise<JournalEntry | undefined>;
  begin(key: string, fingerprint: string): MaybePromise<void>;
  end(key: string, result: ToolResult): MaybePromise<void>;
  /** The call did not happen after all, or may be made again. */
  forget(key: string): MaybePromise<void>;
}

export class MemoryJournal implements CallJournal {
  readonly #entries = new Map<string, JournalEntry>();

  constructor(readonly capacity = 1000) {}

  find(key: string): JournalEntry | undefined {
    return this.#entries.get(key);
  }

  begin(key: string, fingerprint: string): void {
    this.#entries.set(key, { state: "running", fingerprint });
  }

  end(key: string, result: ToolResult): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    // To the end of the map: the oldest go first.
    this.#entries.delete(key);
    this.#entries.set(key, { state: "done", fingerprint: entry.fingerprint, result: structuredClone(result) });
    for (const [oldest, { state }] of this.#entries) {
      if (this.#entries.size <= this.capacity) break;
      if (state === "done") this.#entries.delete(oldest);
    }
  }

  forget(key: string): void {
    this.#entries.delete(key);
  }
}
