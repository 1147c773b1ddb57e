import { randomUUID } from "node:crypto";
import {
  type AskedCall,
  type Call,
  type CallBudget,
  type Caller,
  type CallOptions,
  type EarlierCalls,
  type GivenAnswer,
  nextCallId,
  type SecondPass,
  type ToolScope,
  type PolicyAnswers,
  type Verdict,
} from "../core/call.ts";
import type { CallBinding, CallGroup } from "../core/gate.ts";
import { toolError, type ToolError, ToolTimeoutError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import { type AnyTool, isTool } from "../core/tool.ts";
import type { RiskLevel } from "../core/call-summary.ts";
import type { CallPlan } from "./call-plan.ts";
import { digestOf } from "./permit/history/call-digest.ts";
import { type RunContext, type RunHost, stopTool } from "./run.ts";
import { summarizeCall } from "./summarize-call.ts";
import { cancelledBy } from "./stopped-call.ts";
import { Deadline } from "./timeouts.ts";

/** Longer than any name and version together. */
const MAX_NAME_LENGTH = 200;

/** The requested name. It comes from a model, so it may have any length, or not be a string. */
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

/** A call with the executor's private fields. */
export class GateCall implements Call {
  readonly id: string;
  requestedName: string;
  readonly caller: Caller;
  readonly options: CallOptions;
  readonly startedAt: number;
  readonly startedMonotonic: number;
  readonly isDirect: boolean;
  tool: AnyTool | undefined;
  scope: ToolScope | undefined = undefined;
  parent: Call | undefined = undefined;
  dialect: string | undefined = undefined;
  accepted: unknown = undefined;
  host: unknown = undefined;
  sent: unknown = undefined;
  verdict: Verdict | undefined = undefined;
  policy: PolicyAnswers | undefined = undefined;
  facts: Record<string, unknown> | undefined = undefined;
  answered = false;
  locks: readonly string[] | undefined = undefined;
  queuedMs = 0;
  asked: AskedCall | undefined = undefined;
  holdsSlot = false;
  aborted: ToolError | undefined = undefined;
  onAbort: ((why: ToolError) => void) | undefined = undefined;
  /** Index of the last entered stage; it and the earlier ones are left at the end. */
  passed: number;
  /** Whether a stage made the call wait: then its start is later than its creation. */
  waited = false;
  /** What stops this call, if not its own signal. */
  group: CallGroup | undefined = undefined;
  /** What the running tool holds. */
  running: RunContext | undefined = undefined;
  begunMonotonic = 0;
  /** Whether the tool's code has ended, on time or not. */
  settled = false;
  timeoutMs = 0;
  /** The time limit of the running tool. */
  readonly timeLimit = new Deadline(() => this.#expire());
  /** Set when the running tool was asked to stop: how long its own answer is waited for. */
  grace: Deadline | undefined = undefined;
  hasNestedEffects = false;
  /** The tool ended with an error that says so. */
  hasDoneNothing = false;
  budget: CallBudget | undefined = undefined;
  /** Answered as `unknown_outcome`: the result of the tool, if it comes, replaces that. */
  isOutcomeUnknown = false;
  /** Whether the answer has left all stages. */
  hasLeft = false;
  /** A result that came before the answer had left. */
  lateResult: ToolResult | undefined = undefined;
  resolve: (result: ToolResult) => void = ignore;
  /** Its neighbours in the list of active calls. */
  previous: GateCall | undefined = undefined;
  next: GateCall | undefined = undefined;
  private cancel: (() => void) | undefined = undefined;
  // Private at run time: middleware gets the call and must not read or set these.
  readonly #host: RunHost;
  #binding: CallBinding | undefined = undefined;
  #stepKey: string | undefined = undefined;
  #risk: RiskLevel | undefined = undefined;

  constructor(
    host: RunHost,
    readonly plan: CallPlan,
    target: AnyTool | string,
    public input: unknown,
    options: CallOptions | undefined,
  ) {
    this.passed = plan.passedFirst;
    const given = options ?? NO_OPTIONS;
    this.#host = host;
    this.isDirect = typeof target !== "string" && isTool(target);
    this.tool = this.isDirect ? (target as AnyTool) : plan.tool;
    this.requestedName = readName(this.isDirect ? this.tool!.name : target);
    this.id = given.id ?? nextCallId();
    this.caller = callerOf(given);
    this.options = given;
    this.startedMonotonic = host.clock.monotonic();
    this.startedAt = host.clock.wallTimeAt(this.startedMonotonic);
  }

  get secondPass(): SecondPass | undefined {
    return this.#binding?.secondPass;
  }

  get isStored(): boolean {
    return this.#binding?.isStored === true || this.secondPass !== undefined;
  }

  get answer(): GivenAnswer | undefined {
    return this.#binding?.answer;
  }

  get noQuestion(): ToolError | undefined {
    return this.#binding?.noQuestion;
  }

  get earlier(): EarlierCalls | undefined {
    return this.#binding?.earlier;
  }

  get onPermitted(): (() => Promise<void>) | undefined {
    return this.#binding?.onPermitted;
  }

  /** Only for the executor: middleware must not set what lets a call pass. */
  static attach(call: GateCall, binding: CallBinding): void {
    call.#binding = binding;
  }

  digest(hidden: unknown): object | undefined {
    return digestOf(this, hidden);
  }

  get risk(): RiskLevel | undefined {
    if (!this.tool || this.tool.isReadOnly) return undefined;
    return (this.#risk ??= summarizeCall(this.tool, this.input).risk.level);
  }

  get began(): boolean {
    return this.running !== undefined && !this.hasDoneNothing;
  }

  get idempotencyKey(): string | undefined {
    const { idempotencyKey, id } = this.options;
    if (idempotencyKey === false) return undefined;
    // Models number their calls: an id alone means nothing outside its conversation.
    return idempotencyKey ?? (this.caller.session === undefined ? undefined : id);
  }

  get stepKey(): string {
    const { idempotencyKey, options } = this;
    if (idempotencyKey !== undefined) return idempotencyKey;
    if (options.id === undefined || this.caller.session !== undefined) return this.id;
    return (this.#stepKey ??= `${this.id} ${randomUUID()}`);
  }

  /** Listens to the caller's signal from now on. */
  listen(): void {
    const { signal } = this.options;
    if (!signal) return;
    if (typeof signal.addEventListener !== "function") {
      this.aborted ??= toolError("invalid_input", "The call's signal is not an AbortSignal", {
        next: "Pass one, or none.",
      });
      return;
    }
    this.cancel = () => this.abort(cancelledBy(signal.reason));
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

  #expire(): void {
    const advice = "Request less work, or set a longer time limit, then call again.";
    stopTool(this, this.#host, new ToolTimeoutError(this.tool?.name ?? this.requestedName, this.timeoutMs, advice));
  }

  close(): void {
    this.group?.delete(this);
    if (this.cancel) this.options.signal?.removeEventListener("abort", this.cancel);
  }
}

function ignore(): void {}

/** Frozen: nobody can change the caller of a call, so calls may share it. */
function isComplete(caller: Partial<Caller>): caller is Caller {
  return caller.depth !== undefined && Object.isFrozen(caller);
}

export function callerOf({ caller, taskId, userId }: CallOptions): Caller {
  if (caller === undefined && taskId === undefined && userId === undefined) return NOBODY;
  if (caller && isComplete(caller) && taskId === undefined && userId === undefined) return caller;
  return {
    depth: 0,
    task: taskId,
    user: userId,
    ...caller,
  };
}
