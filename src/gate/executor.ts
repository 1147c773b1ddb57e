import { withDefaults } from "../core/options.ts";
import { authorityOf, badOptions, type Call, type Caller, type CallOptions, elapsedMs } from "../core/call.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { toolError, type ToolError } from "../core/error.ts";
import { callEvent, type EventEmitter, type Update } from "../core/events.ts";
import type { BoundBatchCall, CallBinding, CallQuestions, Gate, SubagentCaller } from "../core/gate.ts";
import { attachGate, type ToolRegistry } from "../core/registry.ts";
import { fromThrown, type ToolResult } from "../core/result.ts";
import type { Stage } from "../core/stage.ts";
import type { AnyTool, ToolContext } from "../core/tool.ts";
import { orderBatch } from "./batch.ts";
import { CallPlans } from "./call-plan.ts";
import { callerOf, GateCall, readName } from "./gate-call.ts";
import { RunContext, type RunHost, runTool } from "./run.ts";
import { Statistics } from "./statistics.ts";
import { StoppedTogether } from "./stopped-call.ts";
import { Deadlines, DEFAULT_TIMEOUTS, PausedTimeLimits, type Timeouts } from "./timeouts.ts";

/** The calls that are not answered yet. A linked list: a set takes 19 % more of a call in memory (docs/decisions/0057). */
class ActiveCalls {
  #last: GateCall | undefined;
  /** Called when the last call is removed. */
  onEmpty: (() => void) | undefined;

  get isEmpty(): boolean {
    return this.#last === undefined;
  }

  add(call: GateCall): void {
    call.previous = this.#last;
    if (this.#last) this.#last.next = call;
    this.#last = call;
  }

  remove(call: GateCall): void {
    if (call.previous) call.previous.next = call.next;
    if (call.next) call.next.previous = call.previous;
    else if (this.#last === call) this.#last = call.previous;
    call.previous = undefined;
    call.next = undefined;
    if (!this.#last) this.onEmpty?.();
  }

  *[Symbol.iterator](): Generator<GateCall> {
    for (let call = this.#last; call;) {
      // Read first: the consumer may remove the call.
      const { previous } = call;
      yield call;
      call = previous;
    }
  }
}

export interface ExecutorOptions {
  workspace: string;
  clock?: Clock;
  events?: EventEmitter;
  statistics?: Statistics;
  timeouts?: Partial<Timeouts>;
  deadlines?: Deadlines;
  questions?: CallQuestions;
  maxResultTokens?: number;
  /** Whether rules allow a call of this caller. Default: all do. */
  allows?(call: Call, tool: AnyTool, input: unknown): boolean;
}

const MAX_NESTED = 32;
/** How long the answers of stopped calls may take through the stages. */
const MAX_LEAVE_MS = 1000;

/** The gate. Every call of a tool goes through it; it returns results and never throws. */
export class Executor implements RunHost {
  readonly workspace: string;
  readonly clock: Clock;
  readonly events: EventEmitter;
  readonly deadlines: Deadlines;
  readonly timeouts: Timeouts;
  readonly questions: CallQuestions | undefined;
  maxResultTokens: number | undefined;
  readonly allows: NonNullable<ExecutorOptions["allows"]>;
  readonly #statistics: Statistics;
  readonly #registry: ToolRegistry;
  readonly #plans: CallPlans;
  readonly #lateHooks: readonly { at: number; late: NonNullable<Stage["late"]> }[];
  readonly #active = new ActiveCalls();
  readonly #pausedTimeLimits: PausedTimeLimits;
  #closing: ToolError | undefined;
  #isDraining = false;

  constructor(registry: ToolRegistry, stages: readonly Stage[], options: ExecutorOptions) {
    this.workspace = options.workspace;
    this.clock = options.clock ?? systemClock;
    this.events = options.events ?? registry.events;
    this.deadlines = options.deadlines ?? new Deadlines(this.clock);
    this.#pausedTimeLimits = new PausedTimeLimits(this.deadlines, this.clock);
    this.timeouts = withDefaults(DEFAULT_TIMEOUTS, options.timeouts);
    this.questions = options.questions;
    this.maxResultTokens = options.maxResultTokens;
    this.allows = options.allows ?? (() => true);
    this.#statistics = options.statistics ?? new Statistics();
    this.#registry = registry;
    this.#plans = new CallPlans(registry, stages);
    this.#lateHooks = stages.flatMap((stage, at) => (stage.late ? [{ at, late: stage.late.bind(stage) }] : []));
    attachGate(registry, this, this.#statistics);
  }

  find(name: string): AnyTool | undefined {
    return this.#registry.get(name);
  }

  execute(
    target: AnyTool | string,
    input: unknown = {},
    options?: CallOptions,
    binding?: CallBinding,
  ): Promise<ToolResult> {
    const isPlain = options === undefined && binding === undefined;
    const plan = isPlain ? this.#plans.plainFor(target) : this.#plans.whole;
    const call = new GateCall(this, plan, target, input, options);
    if (options && !binding?.isChecked) call.aborted = badOptions(options);
    if (binding) {
      GateCall.attach(call, binding);
      call.scope = binding.scope;
      call.aborted ??= binding.refusal;
      if (binding.parent) nest(call, binding.parent);
    }
    if (!this.#isAllowedWhileClosing(call)) call.aborted ??= this.#closing;
    this.#active.add(call);
    if (binding?.group) {
      call.group = binding.group;
      binding.group.add(call);
    } else if (options?.signal) call.listen();
    return new Promise((resolve) => {
      call.resolve = resolve;
      this.#enter(call, 0);
    });
  }

  executeMany(
    calls: readonly BoundBatchCall[],
    options: CallOptions = {},
    { scope, parent }: Pick<CallBinding, "scope" | "parent"> = {},
  ): Promise<ToolResult[]> {
    const shared: CallOptions = { ...options, idempotencyKey: undefined, caller: Object.freeze(callerOf(options)) };
    // In `caller` now.
    delete shared.taskId;
    delete shared.userId;
    const problem = badOptions(options);
    const { group, close } = groupOf(options.signal);
    const results = orderBatch(calls, {
      toolOf: (name) => (scope ?? this.#registry).get(readName(name)),
      execute: ({ id, name, input, onUpdate = options.onUpdate, onResult, refusal: own }, refusal) => {
        const callOptions: CallOptions = { ...shared, id, onUpdate };
        const bound = { scope, parent, refusal: problem ?? own ?? refusal, group, isChecked: true };
        const result = this.execute(name, input, callOptions, bound);
        return onResult ? result.then((answer) => (onResult(answer), answer)) : result;
      },
    });
    return close ? results.finally(close) : results;
  }

  subagentGate(parent: Call, caller: SubagentCaller): Gate {
    const authority = authorityOf(parent);
    const narrow = (options: CallOptions = {}): CallOptions => ({
      ...options,
      caller: {
        session: authority.caller.session,
        user: authority.caller.user,
        ...options.caller,
        ...caller,
        depth: authority.caller.depth + 1,
        parent: authority.caller,
      },
      mode: authority.mode ?? options.mode,
      policy: [...(authority.policy ?? []), ...[options.policy ?? []].flat()],
      allowedPaths: authority.allowedPaths ?? options.allowedPaths,
    });
    return {
      execute: (target, input, options, binding) =>
        this.execute(target, input, narrow(options), { ...binding, parent }),
      executeMany: (calls, options, binding) => this.executeMany(calls, narrow(options), { ...binding, parent }),
    };
  }

  updated(call: Call, update: Update): void {
    if (this.events.hasListeners("tool_call_updated")) {
      this.events.emit(callEvent(call, "tool_call_updated", this.clock.now(), { update }));
    }
    try {
      const returned: unknown = call.options.onUpdate?.(update);
      if (returned instanceof Promise) returned.catch(() => undefined);
    } catch {
      // The listener's error, not the tool's.
    }
  }

  pauseTimeLimit(call: Call): () => void {
    return this.#pausedTimeLimits.hold((call as GateCall).timeLimit, () => call.answered || call.aborted !== undefined);
  }

  stop(callId: string, why: ToolError, may: (caller: Caller) => boolean): boolean {
    const found = [...this.#active].filter(({ id, caller }) => id === callId && may(caller));
    for (const call of found) call.abort(why);
    return found.length > 0;
  }

  /**
   * Takes no more calls. Those that have not begun are answered at once; running ones have `graceMs` to end, then they are
   * stopped. Resolves when all are answered.
   */
  async shutdown(graceMs = 0): Promise<void> {
    const closing = toolError("shutdown", "The runtime is shutting down", { next: "Call again when it is back." });
    this.#closing = closing;
    if (graceMs > 0) {
      this.#isDraining = true;
      for (const call of this.#active) if (!call.began && !call.parent) call.abort(closing);
      await this.#untilAnswered(graceMs);
      this.#isDraining = false;
    }
    for (const call of this.#active) call.abort(closing);
    await this.#untilAnswered(this.timeouts.graceMs + MAX_LEAVE_MS);
  }

  #isAllowedWhileClosing({ parent, secondPass }: GateCall): boolean {
    // A client has run the tool, and this only reports it.
    if (secondPass?.kind === "client") return true;
    // A call that is allowed to end may make the calls that it needs for that.
    return parent !== undefined && this.#isDraining;
  }

  /** Not longer than `ms`: a stage may never answer. */
  #untilAnswered(ms: number): Promise<void> {
    if (this.#active.isEmpty) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        this.#active.onEmpty = undefined;
        timer.cancel();
        resolve();
      };
      const timer = this.clock.after(ms, done);
      this.#active.onEmpty = done;
    });
  }

  #enter(call: GateCall, from: number): void {
    const { enterHooks, alwaysEntered } = call.plan;
    for (let i = from; i < enterHooks.length; i++) {
      const { enter, passes } = enterHooks[i]!;
      let early: ReturnType<typeof enter>;
      try {
        // A call is recorded, even if it is aborted already.
        early = call.aborted && i >= alwaysEntered ? fromThrown(call, call.aborted) : enter(call);
      } catch (thrown) {
        early = fromThrown(call, thrown);
      }
      if (early === undefined) {
        call.passed = passes;
        continue;
      }
      if (!(early instanceof Promise)) return this.#finishEarly(call, early);
      call.waited = true;
      early.then(
        (answer) => {
          if (answer) return this.#finishEarly(call, answer);
          call.passed = passes;
          this.#enter(call, i + 1);
        },
        (thrown: unknown) => this.#finishEarly(call, fromThrown(call, thrown)),
      );
      return;
    }
    runTool(call, this);
  }

  #finishEarly(call: GateCall, result: ToolResult): void {
    this.#emitEnded(call);
    this.answer(call, result);
  }

  ended(call: GateCall): void {
    this.#emitEnded(call);
  }

  settledLate(call: GateCall, succeeded: boolean, result?: ToolResult): void {
    this.#statistics.late(call);
    const afterMs = this.clock.monotonic() - call.startedMonotonic;
    if (!result) return this.#emitLate(call, { succeeded, afterMs });
    result.durationMs = elapsedMs(call, call.startedMonotonic + afterMs);
    result.completedAt = call.startedAt + Math.round(afterMs);
    if (call.hasLeft) void this.#correct(call, result);
    else call.lateResult = result;
  }

  /** Replaces an answer of unknown outcome everywhere it was kept. */
  async #correct(call: GateCall, result: ToolResult): Promise<void> {
    let corrected = call.facts ? { ...result, metadata: { ...result.metadata, ...call.facts } } : result;
    for (const { at, late } of this.#lateHooks.toReversed()) {
      if (at > call.passed) continue;
      try {
        corrected = (await late(call, corrected)) ?? corrected;
      } catch {
        // The other stages must learn it all the same.
      }
    }
    const succeeded = corrected.status === "completed";
    this.#emitLate(call, { succeeded, afterMs: corrected.durationMs ?? 0, result: corrected });
  }

  #emitEnded(call: GateCall): void {
    for (const ended of call.plan.endedHooks) {
      try {
        ended(call);
      } catch {
        // The call must still be answered.
      }
    }
  }

  /** The context for functions of the tool that run before the call, such as `permission`. */
  contextFor(call: Call): ToolContext {
    return new RunContext(call, this);
  }

  around(call: GateCall): ((run: () => unknown) => unknown) | undefined {
    let wrapped: ((run: () => unknown) => unknown) | undefined;
    for (const around of call.plan.aroundHooks) {
      const wrap = around(call);
      if (!wrap) continue;
      const outer = wrapped;
      wrapped = outer ? (run) => outer(() => wrap(run)) : wrap;
    }
    return wrapped;
  }

  answer(call: GateCall, result: ToolResult): void {
    if (call.answered) return;
    call.answered = true;
    if (call.facts) result.metadata = { ...result.metadata, ...call.facts };
    this.#leave(call, result, call.plan.leaveHooks.length - 1);
  }

  /** Leaves only the stages that were entered. */
  #leave(call: GateCall, answer: ToolResult, from: number): void {
    const { leaveHooks } = call.plan;
    let result = answer;
    for (let i = from; i >= 0; i--) {
      const { at, leave } = leaveHooks[i]!;
      if (at > call.passed) continue;
      try {
        const left = leave(call, result);
        if (left instanceof Promise) {
          left.then(
            (next) => this.#leave(call, next, i - 1),
            (thrown: unknown) => this.#leave(call, fromThrown(call, thrown), i - 1),
          );
          return;
        }
        result = left;
      } catch (thrown) {
        result = fromThrown(call, thrown);
      }
    }
    this.#active.remove(call);
    call.close();
    call.hasLeft = true;
    call.resolve(result);
    if (call.lateResult) void this.#correct(call, call.lateResult);
  }

  #emitLate(call: Call, facts: { succeeded: boolean; afterMs: number; result?: ToolResult }): void {
    if (!this.events.hasListeners("tool_call_settled_late")) return;
    this.events.emit(callEvent(call, "tool_call_settled_late", this.clock.now(), facts));
  }
}

/** One listener for all calls of a batch. */
function groupOf(signal: AbortSignal | undefined): { group?: StoppedTogether; close?: () => void } {
  // What is no signal is reported by each call.
  if (typeof signal?.addEventListener !== "function") return {};
  const group = new StoppedTogether(signal.aborted ? signal.reason : undefined);
  const abort = (): void => group.abort(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  return { group, close: () => signal.removeEventListener("abort", abort) };
}

/** Makes `call` a part of `parent`. */
function nest(call: GateCall, parent: Call): void {
  call.parent = parent;
  // A toolkit limits its agent's nested calls too.
  call.scope ??= parent.scope;
  let depth = 1;
  for (let above = parent.parent; above; above = above.parent) depth++;
  if (depth >= MAX_NESTED) call.aborted = tooDeep();
  // Its slot is no longer held.
  if (parent.answered) call.aborted = toolError("cancelled", "The parent call has ended");
  call.budget = parent.budget;
  call.aborted ??= call.budget?.take(parent);
}

function tooDeep(): ToolError {
  return toolError("too_deep", `Nested calls are more than ${MAX_NESTED} levels deep`, {
    next: "Check for a tool that calls itself.",
  });
}
