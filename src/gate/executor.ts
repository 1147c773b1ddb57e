import {
  type BatchCall,
  type Call,
  type CallOptions,
  type CallToContinue,
  rebuildScope,
  type SecondPass,
  type ToolScope,
} from "../core/call.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { toolError, type ToolError } from "../core/error.ts";
import { callEvent, type EventEmitter, type Update } from "../core/events.ts";
import type { ToolRegistry } from "../core/registry.ts";
import { fromThrown, type ToolResult } from "../core/result.ts";
import type { Stage } from "../core/stage.ts";
import type { AnyTool, ToolContext, ToolGate } from "../core/tool.ts";
import { orderBatch } from "./batch.ts";
import { GateCall, readName } from "./gate-call.ts";
import { RunContext, type RunHost, runTool } from "./run.ts";
import { Statistics } from "./statistics.ts";
import { Deadlines, DEFAULT_TIMEOUTS, PausedTimeLimits, type Timeouts } from "./timeouts.ts";

/** The calls that were taken and not answered yet. A linked list: a set would rehash itself under the load of every call. */
class ActiveCalls {
  #last: GateCall | undefined;

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
  }

  *[Symbol.iterator](): Generator<GateCall> {
    for (let call = this.#last; call;) {
      // Read first: whoever is given the call may remove it.
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
}

const MAX_NESTED = 32;

/** The gate. Every way to run a tool ends here; it returns results and never throws. */
export class ToolExecutor implements ToolGate, RunHost {
  readonly workspace: string;
  readonly clock: Clock;
  readonly events: EventEmitter;
  readonly deadlines: Deadlines;
  readonly timeouts: Timeouts;
  readonly #statistics: Statistics;
  readonly #registry: ToolRegistry;
  /** The functions of the stages that have one, with the stage's place: looking for them at each call would cost. */
  readonly #enterHooks: readonly { enter: NonNullable<Stage["enter"]>; passes: number }[];
  readonly #leaveHooks: readonly { at: number; leave: NonNullable<Stage["leave"]> }[];
  readonly #onEnded: readonly Stage[];
  readonly #around: readonly Stage[];
  readonly #underWay = new ActiveCalls();
  readonly #pausedTimeLimits: PausedTimeLimits;
  #closing: ToolError | undefined;

  constructor(registry: ToolRegistry, stages: readonly Stage[], options: ExecutorOptions) {
    this.workspace = options.workspace;
    this.clock = options.clock ?? systemClock;
    this.events = options.events ?? registry.events;
    this.deadlines = options.deadlines ?? new Deadlines(this.clock);
    this.#pausedTimeLimits = new PausedTimeLimits(this.deadlines, this.clock);
    this.timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
    this.#around = stages.filter((stage) => stage.around);
    this.#statistics = options.statistics ?? new Statistics();
    this.#registry = registry;
    this.#enterHooks = stages.flatMap((stage, at) => {
      // Stages without an `enter` are passed together with the one before them.
      const next = stages.findIndex(({ enter }, i) => i > at && enter);
      const passes = (next < 0 ? stages.length : next) - 1;
      return stage.enter ? [{ enter: stage.enter.bind(stage), passes }] : [];
    });
    this.#leaveHooks = stages.flatMap((stage, at) => (stage.leave ? [{ at, leave: stage.leave.bind(stage) }] : []));
    this.#onEnded = stages.filter((stage) => stage.ended);
    registry.attach(this, this.#statistics);
  }

  execute(name: string, input: unknown = {}, options?: CallOptions): Promise<ToolResult> {
    return this.#take(new GateCall(this, name, input, options));
  }

  executeTool(tool: AnyTool, input: unknown = {}, options?: CallOptions): Promise<ToolResult> {
    const call = new GateCall(this, tool.name, input, options);
    call.tool = tool;
    call.isDirect = true;
    return this.#take(call);
  }

  executeIn(scope: ToolScope, name: string, input: unknown = {}, options?: CallOptions): Promise<ToolResult> {
    const call = new GateCall(this, name, input, options);
    call.scope = scope;
    return this.#take(call);
  }

  /** Runs a call that was permitted before and answered `pending`; with a refusal, only records how it ended. */
  executeSecondPass(
    name: string,
    input: unknown,
    options: CallOptions,
    pass: SecondPass,
    refusal?: ToolError,
  ): Promise<ToolResult> {
    const call = new GateCall(this, name, input, options);
    call.secondPass = pass;
    call.aborted = refusal;
    return this.#take(call);
  }

  /** The second pass of a call that was kept as data, in the toolkit that it was made in. */
  continueCall(made: CallToContinue, pass: Pick<SecondPass, "kind" | "id">): Promise<ToolResult> {
    const { name, input, options, toolkit, verdict } = made;
    const call = new GateCall(this, name, input, options);
    call.secondPass = { ...pass, verdict };
    if (toolkit) call.scope = rebuildScope(toolkit, this.#registry);
    return this.#take(call);
  }

  callNested(parent: Call, name: string, input: unknown, options: CallOptions): Promise<ToolResult> {
    return this.#startNested(parent, new GateCall(this, name, input, options));
  }

  #startNested(parent: Call, call: GateCall): Promise<ToolResult> {
    call.parent = parent;
    // A toolkit holds what its agent may use, also through the tools in it.
    call.scope ??= parent.scope;
    let depth = 1;
    for (let above = parent.parent; above; above = above.parent) depth++;
    if (depth >= MAX_NESTED) call.aborted = tooDeep();
    // Nothing holds a slot for it any more.
    if (parent.answered) call.aborted = toolError("cancelled", "The call that this one was a part of has ended");
    return this.#take(call);
  }

  /** Answers, and records, a call that is not to run. */
  refuse(name: string, input: unknown, options: CallOptions | undefined, why: ToolError): Promise<ToolResult> {
    const call = new GateCall(this, name, input, options);
    call.aborted = why;
    return this.#take(call);
  }

  /** A gate whose calls are nested in `parent`, and made on behalf of another; see `ToolContext.gateFor`. */
  nestedGate(parent: Call, narrow: (options: CallOptions) => CallOptions): ToolGate {
    return {
      executeTool: (tool, input, options = {}) => {
        const call = new GateCall(this, tool.name, input, narrow(options));
        call.tool = tool;
        call.isDirect = true;
        return this.#startNested(parent, call);
      },
      executeIn: (scope, name, input, options = {}) => {
        const call = new GateCall(this, name, input, narrow(options));
        call.scope = scope;
        return this.#startNested(parent, call);
      },
      executeManyIn: (scope, calls, options = {}) => this.#startMany(calls, narrow(options), { scope, parent }),
    };
  }

  /** Results in the order of the calls; a tool runs after those of the batch that it depends on. */
  executeMany(calls: readonly BatchCall[], options: CallOptions = {}): Promise<ToolResult[]> {
    return this.#startMany(calls, options, {});
  }

  executeManyIn(scope: ToolScope, calls: readonly BatchCall[], options: CallOptions = {}): Promise<ToolResult[]> {
    return this.#startMany(calls, options, { scope });
  }

  #startMany(
    calls: readonly BatchCall[],
    options: CallOptions,
    { scope, parent }: { scope?: ToolScope; parent?: Call },
  ): Promise<ToolResult[]> {
    return orderBatch(calls, {
      toolOf: (name) => (scope ?? this.#registry).get(readName(name)),
      execute: async ({ id, name, input = {}, onUpdate, onResult, refusal: own }, refusal) => {
        const callOptions = { ...options, id, idempotencyKey: undefined, ...(onUpdate ? { onUpdate } : {}) };
        const call = new GateCall(this, name, input, callOptions);
        call.scope = scope;
        call.aborted = own ?? refusal;
        const result = await (parent ? this.#startNested(parent, call) : this.#take(call));
        onResult?.(result);
        return result;
      },
    });
  }

  updated(call: Call, update: Update): void {
    if (this.events.hasListeners("tool_call_updated")) {
      this.events.emit(callEvent(call, "tool_call_updated", this.clock.now(), { update }));
    }
    try {
      const returned: unknown = call.options.onUpdate?.(update);
      if (returned instanceof Promise) returned.catch(() => undefined);
    } catch {
      // The listener's trouble, not the tool's.
    }
  }

  pauseTimeLimit(call: Call): () => void {
    return this.#pausedTimeLimits.hold(call as GateCall, () => call.answered || call.aborted !== undefined);
  }

  /** Takes no more calls, tells the running ones to stop and answers all of them. */
  shutdown(): void {
    this.#closing = toolError("shutdown", "The runtime is shutting down", { next: "Call again when it is back." });
    for (const call of this.#underWay) call.abort(this.#closing);
  }

  #take(call: GateCall): Promise<ToolResult> {
    call.aborted ??= this.#closing;
    return new Promise((resolve) => {
      call.resolve = resolve;
      this.#underWay.add(call);
      call.listen();
      this.#enter(call, 0);
    });
  }

  #enter(call: GateCall, from: number): void {
    const enterHooks = this.#enterHooks;
    for (let i = from; i < enterHooks.length; i++) {
      const { enter, passes } = enterHooks[i]!;
      let early: ReturnType<typeof enter>;
      try {
        // The first stage records: also a call that is over before it begins.
        early = call.aborted && i > 0 ? fromThrown(call, call.aborted) : enter(call);
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

  ended(call: Call, succeeded: boolean): void {
    this.#emitEnded(call);
    if (call.answered) this.#settledLate(call, succeeded);
  }

  #emitEnded(call: Call): void {
    for (const stage of this.#onEnded) {
      try {
        stage.ended!(call);
      } catch {
        // The call must be answered all the same.
      }
    }
  }

  /** What a tool would be given; for what is asked of it before it runs. */
  contextFor(call: Call): ToolContext {
    return new RunContext(call, this);
  }

  around(call: Call): ((run: () => unknown) => unknown) | undefined {
    let wrapped: ((run: () => unknown) => unknown) | undefined;
    for (const stage of this.#around) {
      const wrap = stage.around!(call);
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
    this.#leave(call, result, this.#leaveHooks.length - 1);
  }

  /** Only the stages that were passed are left. */
  #leave(call: GateCall, answer: ToolResult, from: number): void {
    const leaveHooks = this.#leaveHooks;
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
    this.#underWay.remove(call);
    call.close();
    call.resolve(result);
  }

  #settledLate(call: Call, succeeded: boolean): void {
    this.#statistics.late(call);
    if (!this.events.hasListeners("tool_call_settled_late")) return;
    const afterMs = this.clock.monotonic() - call.startedMonotonic;
    this.events.emit(callEvent(call, "tool_call_settled_late", this.clock.now(), { succeeded, afterMs }));
  }
}

function tooDeep(): ToolError {
  return toolError("too_deep", `Tools call each other more than ${MAX_NESTED} deep`, {
    next: "Look for a tool that calls itself.",
  });
}
