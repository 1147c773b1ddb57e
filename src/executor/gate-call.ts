import type { Call, CallOptions, Caller, ToolScope } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import { toolError, type ToolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { AnyTool } from "../core/tool.ts";

const NO_OPTIONS: CallOptions = Object.freeze({});
const NOBODY: Caller = Object.freeze({ depth: 0 });
/** Ids need not be guessed, only differ: between processes by the prefix, within one by the count. */
const PREFIX = `call_${Math.random().toString(36).slice(2, 10)}_`;
let count = 0;

/** A call with what only the executor touches. A class because every call makes one, and its shape must not vary. */
export class GateCall implements Call {
  readonly id: string;
  readonly requestedName: string;
  readonly idempotencyKey: string | undefined;
  readonly caller: Caller;
  readonly options: CallOptions;
  readonly scope: ToolScope | undefined;
  readonly parent: Call | undefined;
  readonly startedAt: number;
  readonly startedMonotonic: number;
  tool: AnyTool | undefined;
  input: unknown;
  accepted: unknown = undefined;
  facts: Record<string, unknown> | undefined = undefined;
  answered = false;
  aborted: ToolError | undefined = undefined;
  onAbort: ((why: ToolError) => void) | undefined = undefined;
  /** How many stages let the call pass, and so are left again. */
  passed = 0;
  resolve!: (result: ToolResult) => void;
  #cancel: (() => void) | undefined = undefined;

  constructor(
    name: string,
    tool: AnyTool | undefined,
    scope: ToolScope | undefined,
    parent: Call | undefined,
    input: unknown,
    options: CallOptions | undefined,
    clock: Clock,
  ) {
    const said = options ?? NO_OPTIONS;
    this.id = said.id ?? PREFIX + (count++).toString(36);
    this.requestedName = name;
    this.idempotencyKey = said.idempotencyKey ?? said.id;
    this.caller = callerOf(said);
    this.options = said;
    this.scope = scope;
    this.parent = parent;
    this.startedAt = clock.now();
    this.startedMonotonic = clock.monotonic();
    this.tool = tool;
    this.input = input;
  }

  /** Hears the caller's signal from now on. */
  listen(): void {
    const { signal } = this.options;
    if (!signal) return;
    if (signal.aborted) {
      this.abort(cancelled(signal));
      return;
    }
    this.#cancel = () => this.abort(cancelled(signal));
    signal.addEventListener("abort", this.#cancel, { once: true });
  }

  abort(why: ToolError): void {
    if (this.answered) return;
    this.aborted ??= why;
    const tell = this.onAbort;
    this.onAbort = undefined;
    tell?.(why);
  }

  close(): void {
    if (this.#cancel) this.options.signal?.removeEventListener("abort", this.#cancel);
  }
}

function callerOf({ caller, taskId, userId }: CallOptions): Caller {
  if (caller === undefined && taskId === undefined && userId === undefined) return NOBODY;
  return {
    depth: 0,
    ...(taskId === undefined ? {} : { task: taskId }),
    ...(userId === undefined ? {} : { user: userId }),
    ...caller,
  };
}

function cancelled(signal: AbortSignal): ToolError {
  const { reason } = signal;
  const why = reason instanceof Error && reason.name !== "AbortError" ? `: ${reason.message}` : "";
  return toolError("cancelled", `The call was cancelled by its caller${why}`, { cause: reason });
}
