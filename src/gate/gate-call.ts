import {
  type Call,
  type Caller,
  type CallOptions,
  nextCallId,
  type SecondPass,
  type ToolScope,
  type Verdict,
} from "../core/call.ts";
import { toolError, ToolError, ToolTimeoutError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import { type AnyTool, isTool } from "../core/tool.ts";
import { type RunContext, type RunHost, stopTool } from "./run.ts";
import { type Alarm, Deadline } from "./timeouts.ts";

/** Longer than any name and version together. */
const MAX_NAME_LENGTH = 200;

/** The name that was asked for. It comes from a model: it may be of any length, or no text at all. */
export function readName(requested: unknown): string {
  const name = typeof requested === "string" ? requested : textFrom(requested);
  return name.length <= MAX_NAME_LENGTH ? name : `${name.slice(0, MAX_NAME_LENGTH).toWellFormed()}…`;
}

function textFrom(requested: unknown): string {
  try {
    return String(requested);
  } catch {
    // `{ "toString": 1 }` is JSON too.
    return `(${typeof requested})`;
  }
}

const NO_OPTIONS: CallOptions = Object.freeze({});
const NOBODY: Caller = Object.freeze({ depth: 0 });

/**
 * A call with what only the executor touches. It is also its own deadline and its own link in the list of active calls:
 * every call makes one, and each further object would cost a measurable part of the gate.
 */
export class GateCall extends Deadline implements Call {
  readonly id: string;
  readonly requestedName: string;
  readonly caller: Caller;
  readonly options: CallOptions;
  readonly startedAt: number;
  readonly startedMonotonic: number;
  readonly isDirect: boolean;
  tool: AnyTool | undefined;
  scope: ToolScope | undefined = undefined;
  parent: Call | undefined = undefined;
  accepted: unknown = undefined;
  sent: unknown = undefined;
  verdict: Verdict | undefined = undefined;
  facts: Record<string, unknown> | undefined = undefined;
  answered = false;
  holdsSlot = false;
  aborted: ToolError | undefined = undefined;
  onAbort: ((why: ToolError) => void) | undefined = undefined;
  /** The last stage that let the call pass; it and those before it are left again. */
  passed = -1;
  /** Whether a stage made the call wait: then it does not start when it was made. */
  waited = false;
  /** What the tool holds, once it runs. */
  running: RunContext | undefined = undefined;
  /** Whether the tool's code has ended, on time or not. */
  settled = false;
  timeoutMs = 0;
  grace: Alarm | undefined = undefined;
  resolve: (result: ToolResult) => void = ignore;
  previous: GateCall | undefined = undefined;
  next: GateCall | undefined = undefined;
  private cancel: (() => void) | undefined = undefined;
  // Private at run time: middleware is given the call, and neither is for it to read or to set.
  readonly #host: RunHost;
  readonly #secondPass: SecondPass | undefined;

  constructor(
    host: RunHost,
    target: AnyTool | string,
    public input: unknown,
    options: CallOptions | undefined,
    secondPass: SecondPass | undefined,
  ) {
    super();
    const given = options ?? NO_OPTIONS;
    this.#host = host;
    this.#secondPass = secondPass;
    this.tool = isTool(target) ? target : undefined;
    this.isDirect = this.tool !== undefined;
    this.requestedName = readName(this.tool ? this.tool.name : target);
    this.id = given.id ?? nextCallId();
    this.caller = callerOf(given);
    this.options = given;
    this.startedMonotonic = host.clock.monotonic();
    this.startedAt = host.clock.wallTimeAt(this.startedMonotonic);
  }

  get secondPass(): SecondPass | undefined {
    return this.#secondPass;
  }

  get began(): boolean {
    return this.running !== undefined;
  }

  get idempotencyKey(): string | undefined {
    const { idempotencyKey, id } = this.options;
    return idempotencyKey === false ? undefined : (idempotencyKey ?? id);
  }

  /** Listens to the caller's signal from now on. */
  listen(): void {
    const { signal } = this.options;
    if (!signal) return;
    if (typeof signal.addEventListener !== "function") {
      this.aborted ??= toolError("invalid_input", "The call's signal is no AbortSignal", {
        next: "Pass one, or none.",
      });
      return;
    }
    this.cancel = () => this.abort(cancelled(signal));
    if (signal.aborted) this.cancel();
    else signal.addEventListener("abort", this.cancel, { once: true });
  }

  abort(why: ToolError): void {
    if (this.answered) return;
    this.aborted ??= why;
    const notify = this.onAbort;
    this.onAbort = undefined;
    notify?.(why);
    if (this.running) stopTool(this, this.#host, why);
  }

  /** The time limit of the running tool. */
  override expire(): void {
    const advice = "Ask for less at once, or for a longer time limit, before calling it again.";
    stopTool(this, this.#host, new ToolTimeoutError(this.tool?.name ?? this.requestedName, this.timeoutMs, advice));
  }

  close(): void {
    if (this.cancel) this.options.signal?.removeEventListener("abort", this.cancel);
  }
}

function ignore(): void {}

function callerOf({ caller, taskId, userId }: CallOptions): Caller {
  if (caller === undefined && taskId === undefined && userId === undefined) return NOBODY;
  return {
    depth: 0,
    task: taskId,
    user: userId,
    ...caller,
  };
}

function cancelled(signal: AbortSignal): ToolError {
  const { reason } = signal;
  // A worker that closes: nobody has decided against the call, which may be made again.
  if (reason instanceof ToolError && reason.code === "shutdown") return reason;
  const why = reason instanceof Error && reason.name !== "AbortError" ? `: ${reason.message}` : "";
  return toolError("cancelled", `The call was cancelled by its caller${why}`, { cause: reason });
}
