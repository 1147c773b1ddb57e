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
  parentId?: string;
  toolName: string;
  caller: Caller;
  startedAt: number;
  status: "running" | ToolResult["status"];
  durationMs?: number;
  errorCode?: ErrorCode;
  metadata?: Record<string, unknown>;
}

/** Remembers the last calls in memory, without their content. */
export class MemoryCallLog implements CallLog {
  readonly #records: (CallRecord | undefined)[];
  readonly #open = new WeakMap<Call, CallRecord>();
  #next = 0;

  constructor(readonly capacity = 1000) {
    this.#records = Array.from({ length: capacity });
  }

  opened(call: Call): void {
    const record: CallRecord = {
      callId: call.id,
      ...(call.parent ? { parentId: call.parent.id } : {}),
      toolName: call.requestedName,
      caller: call.caller,
      startedAt: call.startedAt,
      status: "running",
    };
    this.#records[this.#next] = record;
    this.#next = (this.#next + 1) % this.capacity;
    this.#open.set(call, record);
  }

  closed(call: Call, result: ToolResult): void {
    const record = this.#open.get(call);
    if (!record) return;
    this.#open.delete(call);
    record.toolName = result.toolName;
    record.status = result.status;
    record.durationMs = result.durationMs;
    if (result.status === "failed") record.errorCode = result.error.code;
    if (call.facts) record.metadata = call.facts;
  }

  recent(limit = this.capacity): readonly CallRecord[] {
    const ordered = [...this.#records.slice(this.#next), ...this.#records.slice(0, this.#next)];
    return ordered.filter((record) => record !== undefined).slice(-limit);
  }
}
