import type { Call, Caller } from "../core/call.ts";
import type { ErrorCode } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";

/** Where calls are remembered. A log that cannot write rejects, and the call does not run. */
export interface CallLog {
  opened(call: Call): MaybePromise<void>;
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

/** Remembers the last calls in memory, without their content. Slots are reused: a record a call would outlive the call. */
export class MemoryCallLog implements CallLog {
  readonly #records: CallRecord[] = [];
  #next = 0;

  constructor(readonly capacity = 1000) {}

  /** Nothing outlives this process, so that a call which never ends need not be found again. */
  opened(): void {}

  closed(call: Call, result: ToolResult): void {
    const record = (this.#records[this.#next] ??= emptyRecord());
    this.#next = this.#next + 1 === this.capacity ? 0 : this.#next + 1;
    record.callId = call.id;
    record.parentId = call.parent?.id;
    record.toolName = result.toolName;
    record.caller = call.caller;
    record.startedAt = call.startedAt;
    record.status = result.status;
    record.durationMs = result.durationMs;
    record.errorCode = result.status === "failed" ? result.error.code : undefined;
    record.metadata = call.facts;
  }

  recent(limit = this.capacity): readonly CallRecord[] {
    const ordered = [...this.#records.slice(this.#next), ...this.#records.slice(0, this.#next)];
    return ordered.slice(-limit).map((record) => ({ ...record }));
  }
}

function emptyRecord(): CallRecord {
  return {
    callId: "",
    parentId: undefined,
    toolName: "",
    caller: { depth: 0 },
    startedAt: 0,
    status: "completed",
    durationMs: undefined,
    errorCode: undefined,
    metadata: undefined,
  };
}
