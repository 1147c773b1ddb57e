import {
  authorityOf,
  type Call,
  type CallIn,
  type CallAuthority,
  type Caller,
  type CallOptions,
  toolOf,
  waitsForEnd,
} from "../core/call.ts";
import { keysOf, unknownKey } from "../core/options.ts";
import type { Clock } from "../core/clock.ts";
import { failureOf, toolError, ToolError } from "../core/error.ts";
import { callEvent, type EventEmitter, type Update } from "../core/events.ts";
import { toPlainData } from "../core/json.ts";
import { type CompletedResult, failed, fromThrown, type ToolResult } from "../core/result.ts";
import { callOf, CallContext, type ContextHost, hostOf, notifyStop } from "../core/gate.ts";
import { type AnyTool, bodyOf, type NestedCallOptions, type ToolContext } from "../core/tool.ts";
import { formatIssues, type Schema, type Validation } from "../schema/schema.ts";
import type { GateCall } from "./gate-call.ts";
import {
  graceOf,
  isRepeatable,
  isUnknown,
  returnedAfterStop,
  StoppedTogether,
  thrownAfterStop,
  withoutAnswer,
  withoutRetry,
} from "./stopped-call.ts";
import { Deadline, type Deadlines, timeoutOf, type Timeouts } from "./timeouts.ts";
import { hideFromModel, showToModel } from "./model-output.ts";
import { fromOutput } from "./tool-output.ts";

/** Max generator steps without a pause, and max promises that resolve to another promise. */
const STEPS_PER_TURN = 64;
const MAX_HOPS = 100;

/** What a run needs from the executor. */
export interface RunHost extends ContextHost {
  readonly clock: Clock;
  readonly events: EventEmitter;
  readonly deadlines: Deadlines;
  readonly timeouts: Timeouts;
  /** Wraps the tool's code: a tracing context. */
  around(call: GateCall): ((run: () => unknown) => unknown) | undefined;
  answer(call: GateCall, result: ToolResult): void;
  /** The tool's code has ended; its caller may have been answered before. */
  ended(call: GateCall): void;
  /** The tool's code has ended after its caller was answered. `result` replaces an answer of unknown outcome. */
  settledLate(call: GateCall, succeeded: boolean, result?: ToolResult): void;
}

/** Runs a tool under a time limit and answers exactly once, whatever its code throws, returns, settles or ignores. */
export function runTool(call: GateCall, host: RunHost): void {
  if (call.aborted) return fail(call, host, call.aborted);
  const { clock, events } = host;
  if (events.hasListeners("tool_call_started")) {
    events.emit(callEvent(call, "tool_call_started", clock.now(), { input: call.input }));
  }
  const context = new RunContext(call, host);
  call.running = context;
  call.begunMonotonic = call.waited ? clock.monotonic() : call.startedMonotonic;
  try {
    const tool = toolOf(call);
    if (call.parent && !tool.isReadOnly && !tool.idempotent) noteNestedEffect(call);
    call.timeoutMs = timeoutOf(call, tool, host.timeouts);
    host.deadlines.arm(call.timeLimit, call.timeoutMs, call.begunMonotonic);
    const body = bodyOf(tool);
    const around = host.around(call);
    follow(call, host, around ? around(() => body(call.input, context)) : body(call.input, context));
  } catch (thrown) {
    fail(call, host, thrown);
  }
}

/** By its time limit, its caller or shutdown. The tool has a grace period for its own answer. */
export function stopTool(call: GateCall, host: RunHost, why: ToolError): void {
  if (call.answered || call.grace) return;
  call.aborted = why;
  host.deadlines.disarm(call.timeLimit);
  const graceMs = graceOf(call, why, host.timeouts);
  const giveUp = (): void => {
    const result = withoutAnswer(call, why, graceMs);
    call.isOutcomeUnknown = isUnknown(result);
    finish(call, host, result);
  };
  if (graceMs > 0) {
    call.grace = new Deadline(giveUp);
    host.deadlines.arm(call.grace, graceMs, host.clock.monotonic());
  }
  call.running?.abort(why);
  // The abort may have ended the tool.
  if (graceMs <= 0 && !call.answered) giveUp();
}

/** Made again, the calls above this one would make it again. */
function noteNestedEffect(call: GateCall): void {
  for (let above: CallIn<"nested"> | undefined = call.parent; above; above = above.parent)
    above.hasNestedEffects = true;
}

function follow(call: GateCall, host: RunHost, returned: unknown): void {
  if (returned instanceof Promise) {
    // Not the promise's own `then`: that of a subclass may settle twice, or never.
    void Promise.prototype.then.call(
      returned,
      (value) => succeed(call, host, value),
      (thrown) => fail(call, host, thrown),
    );
  } else if (isAsyncIterator(returned)) void drain(call, host, returned);
  else if (isThenable(returned)) adopt(call, host, returned, 0);
  else succeed(call, host, returned);
}

function succeed(call: GateCall, host: RunHost, value: unknown): void {
  if (!settle(call, host, true)) return;
  let result: ToolResult;
  try {
    const { output } = toolOf(call);
    result = fromOutput(call, value);
    if (call.aborted) result = returnedAfterStop(call, call.aborted, result);
    if (result.status === "completed") {
      return output ? checkOutput(call, host, output, result) : show(call, host, result);
    }
  } catch (thrown) {
    result = fromThrown(call, thrown);
  }
  conclude(call, host, withoutRetry(call, result));
}

function fail(call: GateCall, host: RunHost, thrown: unknown): void {
  if (!settle(call, host, false)) return;
  call.hasDoneNothing = saysNothingDone(thrown) && !call.hasNestedEffects;
  const result = call.aborted ? thrownAfterStop(call, call.aborted, thrown) : fromThrown(call, thrown);
  conclude(call, host, withoutRetry(call, result));
}

function saysNothingDone(thrown: unknown): boolean {
  try {
    return thrown instanceof ToolError && thrown.nothingDone === true;
  } catch {
    // A proxy that cannot be looked at.
    return false;
  }
}

/** The tool's code has ended. Returns whether its outcome still matters to anyone. */
function settle(call: GateCall, host: RunHost, succeeded: boolean): boolean {
  if (call.settled) return false;
  call.settled = true;
  host.ended(call);
  if (!call.answered || call.isOutcomeUnknown) return true;
  host.settledLate(call, succeeded);
  return false;
}

function conclude(call: GateCall, host: RunHost, ended: ToolResult): void {
  const result = hideFromModel(call, ended);
  if (!call.answered) finish(call, host, result);
  else host.settledLate(call, result.status === "completed", isUnknown(result) ? undefined : result);
}

function checkOutput(call: GateCall, host: RunHost, schema: Schema, result: CompletedResult): void {
  const judge = ({ issues }: Validation<unknown>): void => {
    if (issues) conclude(call, host, badOutput(call, result, formatIssues(issues)));
    else show(call, host, result);
  };
  const validation = schema.validate(result.details);
  if (validation instanceof Promise) {
    validation.then(judge, (thrown: unknown) => conclude(call, host, fromThrown(call, thrown)));
  } else judge(validation);
}

function show(call: GateCall, host: RunHost, result: CompletedResult): void {
  const shown = showToModel(call, result);
  const end = (each: ToolResult): void => conclude(call, host, withoutRetry(call, each));
  if (shown instanceof Promise) void shown.then(end, (thrown: unknown) => end(fromThrown(call, thrown)));
  else end(shown);
}

/** A generator's yields are updates, its return value the output. */
async function drain(call: GateCall, host: RunHost, updates: AsyncIterator<unknown, unknown>): Promise<void> {
  try {
    for (let steps = 1; ; steps++) {
      // A generator that never waits would block the timer of the time limit.
      if (steps % STEPS_PER_TURN === 0) await turn();
      const step = await updates.next();
      if (step.done) return succeed(call, host, step.value);
      // One that may have had an effect can still end within its grace period.
      if (call.answered || (call.aborted && isRepeatable(call, call.aborted))) {
        await updates.return?.();
        return fail(call, host, call.aborted);
      }
      call.running?.update(step.value as string);
    }
  } catch (thrown) {
    fail(call, host, thrown);
  }
}

function finish(call: GateCall, host: RunHost, result: ToolResult): void {
  host.deadlines.disarm(call.timeLimit);
  if (call.grace) host.deadlines.disarm(call.grace);
  host.answer(call, result);
}

function badOutput(call: Call, result: ToolResult, issues: string[]): ToolResult {
  const message = `The tool ran, but its output does not match its output schema: ${issues.join("; ")}`;
  const next = "Its effects may have happened: check before calling it again.";
  const failure = failed(call, failureOf("bad_output", message, { next, data: { issues } }));
  failure.details = result.details;
  return failure;
}

function isAsyncIterator(value: unknown): value is AsyncIterator<unknown, unknown> {
  try {
    return typeof value === "object" && value !== null && Symbol.asyncIterator in value && "next" in value;
  } catch {
    return false;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  try {
    return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
  } catch {
    return false;
  }
}

/** Not with `await`: a thenable that resolves to itself would block the event loop. */
function adopt(call: GateCall, host: RunHost, thenable: PromiseLike<unknown>, hops: number): void {
  let isDone = false;
  const once = (settle: () => void): void => {
    if (isDone) return;
    isDone = true;
    settle();
  };
  const take = (value: unknown): void => {
    if (!isThenable(value)) return succeed(call, host, value);
    if (hops >= MAX_HOPS)
      return fail(call, host, new Error("The tool returned a promise that keeps resolving to other promises."));
    void turn().then(() => adopt(call, host, value, hops + 1));
  };
  try {
    thenable.then(
      (value) => once(() => take(value)),
      (thrown: unknown) => once(() => fail(call, host, thrown)),
    );
  } catch (thrown) {
    once(() => fail(call, host, thrown));
  }
}

/** Lets timers and other work run. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A class because of its getter: the signal is created only if the tool reads it. */
export class RunContext extends CallContext implements ToolContext {
  #controller: AbortController | undefined = undefined;
  #nested = 0;
  /** The calls that it has made. */
  #group: StoppedTogether | undefined = undefined;

  get callId(): string {
    return callOf(this).id;
  }

  get caller(): Caller {
    return callOf(this).caller;
  }

  /** As `caller.task` and `caller.user`: tools that were written for another context read these. */
  get taskId(): string | undefined {
    return callOf(this).caller.task;
  }

  get userId(): string | undefined {
    return callOf(this).caller.user;
  }

  get host(): unknown {
    return callOf(this).host;
  }

  /** As `callId`, `signal` and `host`: tools that were written for the AI SDK read these. */
  get toolCallId(): string {
    return this.callId;
  }

  get abortSignal(): AbortSignal {
    return this.signal;
  }

  get experimental_context(): unknown {
    return this.host;
  }

  get workspace(): string {
    return hostOf(this).workspace;
  }

  get allowedPaths(): readonly string[] | undefined {
    return callOf(this).options.allowedPaths;
  }

  get waitForEnd(): boolean {
    return waitsForEnd(callOf(this));
  }

  get authority(): CallAuthority {
    return authorityOf(callOf(this));
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (callOf(this).aborted) this.#controller.abort(callOf(this).aborted);
    }
    return this.#controller.signal;
  }

  /** Whether the tool can stop: it has read its signal, or it waits for calls that are stopped. */
  get isListening(): boolean {
    return this.#controller !== undefined || this.#group !== undefined;
  }

  abort(why: ToolError): void {
    this.#controller?.abort(why);
    notifyStop(this, why);
    this.#group?.abort(why);
  }

  // Getters that return functions: tools destructure the context, and a method would lose its `this`.
  get update(): ToolContext["update"] {
    return (partial) => {
      if (!callOf(this).answered) hostOf(this).updated(callOf(this), toUpdate(partial));
    };
  }

  get pauseTimeLimit(): ToolContext["pauseTimeLimit"] {
    return () => hostOf(this).pauseTimeLimit(callOf(this));
  }

  get call(): ToolContext["call"] {
    return ((target: AnyTool | string, input?: unknown, options?: NestedCallOptions) =>
      this.#callNested(target, input, options)) as ToolContext["call"];
  }

  #callNested(target: AnyTool | string, input: unknown, given: NestedCallOptions = {}): Promise<ToolResult> {
    const { step, onApprovalRequested } = given;
    const problem = unknownKey("A nested call", given, NESTED_KEYS);
    const parent = callOf(this);
    const { options } = parent;
    const ordinal = step ?? ++this.#nested;
    const nested: CallOptions = {
      id: `${parent.id}/${ordinal}`,
      // The same step of the same call, made again, is recognised: that is how a chain continues after an approval.
      idempotencyKey: `${parent.stepKey}/${ordinal}`,
      caller: parent.caller,
      allowedPaths: options.allowedPaths,
      mode: options.mode,
      policy: options.policy,
      onApprovalRequested,
    };
    const refusal = problem === undefined ? undefined : toolError("invalid_input", problem);
    const group = (this.#group ??= new StoppedTogether(parent.aborted));
    return hostOf(this).execute(target, input, nested, { parent, group, refusal });
  }
}

const NESTED_KEYS = keysOf<NestedCallOptions>({ step: true, onApprovalRequested: true });

/** Converts an update to plain data for events. */
function toUpdate(partial: unknown): Update {
  const { value } = toPlainData(partial);
  if (typeof value === "string") return { content: [{ type: "text", text: value }] };
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { details: value };
  const { content } = value as { content?: unknown };
  return typeof content === "string" ? { ...value, content: [{ type: "text", text: content }] } : (value as Update);
}
