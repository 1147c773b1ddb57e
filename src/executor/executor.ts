import { callEvent } from "../core/call-event.ts";
import type { Call, CallOptions, ToolScope } from "../core/call.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { EventEmitter } from "../core/emitter.ts";
import { toolError, type ToolError } from "../core/error.ts";
import type { Update } from "../core/event.ts";
import type { ToolRegistry } from "../core/registry.ts";
import type { ToolResult } from "../core/result.ts";
import type { Stage } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import type { ToolGate } from "../core/tool-gate.ts";
import { fromThrown } from "../core/build-result.ts";
import { Deadlines } from "./deadlines.ts";
import { GateCall } from "./gate-call.ts";
import { type BatchCall, orderBatch } from "./order-batch.ts";
import type { ContextHost } from "./run-context.ts";
import { ToolRun, type RunOptions } from "./run-tool.ts";
import { Statistics } from "./statistics.ts";
import { DEFAULT_TIMEOUTS, type Timeouts } from "./timeouts.ts";

export interface ExecutorOptions {
  workspace: string;
  clock?: Clock;
  events?: EventEmitter;
  statistics?: Statistics;
  timeouts?: Partial<Timeouts>;
  deadlines?: Deadlines;
}

const MOST_NESTED = 32;

/** The gate. Every way to run a tool ends here; it returns results and never throws. */
export class ToolExecutor implements ToolGate, ContextHost {
  readonly workspace: string;
  readonly events: EventEmitter;
  readonly statistics: Statistics;
  readonly #registry: ToolRegistry;
  readonly #stages: readonly Stage[];
  readonly #clock: Clock;
  readonly #run: RunOptions;
  readonly #onEnded: readonly Stage[];
  readonly #active = new Set<GateCall>();
  #closing: ToolError | undefined;

  constructor(registry: ToolRegistry, stages: readonly Stage[], options: ExecutorOptions) {
    this.workspace = options.workspace;
    this.events = options.events ?? registry.events;
    this.#registry = registry;
    this.#stages = stages;
    this.#onEnded = stages.filter((stage) => stage.ended);
    this.#clock = options.clock ?? systemClock;
    this.statistics = options.statistics ?? new Statistics();
    this.#run = {
      clock: this.#clock,
      events: this.events,
      deadlines: options.deadlines ?? new Deadlines(this.#clock),
      timeouts: { ...DEFAULT_TIMEOUTS, ...options.timeouts },
      host: this,
      around: aroundOf(stages),
      onEnded: (call, succeeded) => {
        this.#ended(call);
        if (call.answered) this.#settledLate(call, succeeded);
      },
    };
    registry.attach(this, this.statistics);
  }

  execute(name: string, input: unknown = {}, options?: CallOptions): Promise<ToolResult> {
    return this.#start(name, undefined, undefined, undefined, input, options);
  }

  executeTool(tool: AnyTool, input: unknown = {}, options?: CallOptions): Promise<ToolResult> {
    return this.#start(tool.name, tool, undefined, undefined, input, options);
  }

  executeIn(scope: ToolScope, name: string, input: unknown = {}, options?: CallOptions): Promise<ToolResult> {
    return this.#start(name, undefined, scope, undefined, input, options);
  }

  callNested(parent: Call, name: string, input: unknown, options: CallOptions): Promise<ToolResult> {
    let depth = 1;
    for (let above = parent.parent; above; above = above.parent) depth++;
    return this.#start(name, undefined, undefined, parent, input, options, depth >= MOST_NESTED ? tooDeep() : undefined);
  }

  /** Results in the order of the calls; a tool runs after those of the batch that it depends on. */
  executeMany(calls: readonly BatchCall[], options: CallOptions = {}): Promise<ToolResult[]> {
    return orderBatch(calls, {
      toolOf: (name) => this.#registry.get(name),
      execute: (call, refusal) =>
        this.#start(
          call.name,
          undefined,
          undefined,
          undefined,
          call.input ?? {},
          { ...options, id: call.id },
          refusal,
        ),
    });
  }

  updated(call: Call, update: Update): void {
    if (this.events.hears("tool_call_updated")) {
      this.events.emit(callEvent(call, "tool_call_updated", this.#clock.now(), { update }));
    }
    try {
      call.options.onUpdate?.(update);
    } catch {
      // The listener's trouble, not the tool's.
    }
  }

  /** Takes no more calls, tells the running ones to stop and answers all of them. */
  shutdown(): void {
    this.#closing = toolError("shutdown", "The runtime is shutting down", { next: "Call again when it is back." });
    for (const call of this.#active) call.abort(this.#closing);
    this.#run.deadlines.close();
  }

  #start(
    name: string,
    tool: AnyTool | undefined,
    scope: ToolScope | undefined,
    parent: Call | undefined,
    input: unknown,
    options: CallOptions | undefined,
    refusal?: ToolError,
  ): Promise<ToolResult> {
    const call = new GateCall(name, tool, scope, parent, input, options, this.#clock);
    call.aborted = refusal ?? this.#closing;
    return new Promise((resolve) => {
      call.resolve = resolve;
      this.#active.add(call);
      call.listen();
      this.#enter(call, 0);
    });
  }

  #enter(call: GateCall, from: number): void {
    const stages = this.#stages;
    for (let i = from; i < stages.length; i++) {
      let early: ReturnType<NonNullable<Stage["enter"]>>;
      try {
        early = call.aborted && i > 0 ? fromThrown(call, call.aborted) : stages[i]!.enter?.(call);
      } catch (thrown) {
        early = fromThrown(call, thrown);
      }
      if (early === undefined) {
        call.passed = i + 1;
        continue;
      }
      if (!(early instanceof Promise)) return this.#answerEarly(call, early);
      early.then(
        (answer) => {
          if (answer) return this.#answerEarly(call, answer);
          call.passed = i + 1;
          this.#enter(call, i + 1);
        },
        (thrown: unknown) => this.#answerEarly(call, fromThrown(call, thrown)),
      );
      return;
    }
    new ToolRun(call, this.#run, (result) => this.#leave(call, result)).start();
  }

  #answerEarly(call: GateCall, result: ToolResult): void {
    this.#ended(call);
    this.#leave(call, result);
  }

  #ended(call: Call): void {
    for (const stage of this.#onEnded) stage.ended!(call);
  }

  #leave(call: GateCall, result: ToolResult): void {
    if (call.answered) return;
    call.answered = true;
    if (call.facts) result.metadata = { ...call.facts, ...result.metadata };
    this.#leaveFrom(call, result, call.passed - 1);
  }

  #leaveFrom(call: GateCall, answer: ToolResult, from: number): void {
    let result = answer;
    for (let i = from; i >= 0; i--) {
      const stage = this.#stages[i]!;
      if (!stage.leave) continue;
      try {
        const left = stage.leave(call, result);
        if (left instanceof Promise) {
          left.then(
            (next) => this.#leaveFrom(call, next, i - 1),
            (thrown: unknown) => this.#leaveFrom(call, fromThrown(call, thrown), i - 1),
          );
          return;
        }
        result = left;
      } catch (thrown) {
        result = fromThrown(call, thrown);
      }
    }
    this.#active.delete(call);
    call.close();
    call.resolve(result);
  }

  #settledLate(call: Call, succeeded: boolean): void {
    this.statistics.late(call);
    if (!this.events.hears("tool_call_settled_late")) return;
    const afterMs = this.#clock.monotonic() - call.startedMonotonic;
    this.events.emit(callEvent(call, "tool_call_settled_late", this.#clock.now(), { succeeded, afterMs }));
  }
}

function tooDeep(): ToolError {
  return toolError("too_deep", `Tools call each other more than ${MOST_NESTED} deep`, {
    next: "Look for a tool that calls itself.",
  });
}

function aroundOf(stages: readonly Stage[]): RunOptions["around"] {
  const around = stages.filter((stage) => stage.around);
  if (around.length === 0) return undefined;
  return (call, run) => around.reduceRight<() => unknown>((inner, stage) => () => stage.around!(call, inner), run)();
}
