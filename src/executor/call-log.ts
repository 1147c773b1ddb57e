import type { Call, Caller } from "../core/call.ts";
import type { ErrorCode } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";

/** Where calls are remembered. */
export interface CallLog {
  /**
   * Everything that stands before the effect has been passed: the tool runs next. A log that cannot write rejects, and a
   * tool that changes things does not run.
   */
  begun(call: Call): MaybePromise<void>;
  /** The call was answered; without `begun` before, it was refused or waits. */
  closed(call: Call, result: ToolResult): MaybePromise<void>;
  /** Newest last. */
  recent(limit?: number): MaybePromise<readonly CallRecord[]>;
}

export interface CallRecord {
  callId: string;
  parentId?: string | undefined;
  toolName: string;
  caller: Caller;
  startedAt: number;
  status: ToolResult["status"];
  durationMs?: number | undefined;
  errorCode?: ErrorCode | undefined;
  metadata?: Record<string, unknown> | undefined;
}

/** Remembers the last calls in memory, without their content. */
export class MemoryCallLog implements CallLog {
  readonly #records: CallRecord[] = [];
  #next = 0;

  constructor(readonly capacity = 1000) {}

  /** Nothing outlives this process, so that a call which never ends need not be found again. */
  begun(): void {}

  closed(call: Call, result: ToolResult): void {
    // A new object each time: filling an old one makes the garbage collector remember every field of it.
    this.#records[this.#next] = {
      callId: call.id,
      parentId: call.parent?.id,
      toolName: result.toolName,
      caller: call.caller,
      startedAt: call.startedAt,
      status: result.status,
      durationMs: result.durationMs,
      errorCode: result.status === "failed" ? result.error.code : undefined,
      metadata: call.facts,
    };
    this.#next = this.#next + 1 === this.capacity ? 0 : this.#next + 1;
  }

  recent(limit = this.capacity): readonly CallRecord[] {
    return [...this.#records.slice(this.#next), ...this.#records.slice(0, this.#next)].slice(-limit);
  }
}
