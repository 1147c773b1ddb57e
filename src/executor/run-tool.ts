import { callEvent } from "../core/call-event.ts";
import { type Call, toolOf } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import { type ToolError, ToolTimeoutError } from "../core/error.ts";
import type { EventEmitter } from "../core/emitter.ts";
import { textOf } from "../core/content.ts";
import type { ToolResult } from "../core/result.ts";
import { formatIssues } from "../core/schema-issue.ts";
import { type AnyTool, bodyOf } from "../core/tool.ts";
import { failureOf, toFailure } from "../core/error.ts";
import { failed, fromThrown } from "../core/build-result.ts";
import { fromOutput } from "./from-output.ts";

import type { Deadline, Deadlines } from "./deadlines.ts";
import { readOutput } from "./read-output.ts";
import { type ContextHost, RunContext, toUpdate } from "./run-context.ts";
import { type Timeouts, timeoutOf } from "./timeouts.ts";

/** How long a tool that listens to its signal may take to say what it had, once it was told to stop. */
const GRACE_MS = 250;

export interface RunOptions {
  clock: Clock;
  events: EventEmitter;
  deadlines: Deadlines;
  timeouts: Timeouts;
  host: ContextHost;
  /** Stands around the tool's code: a tracing context. */
  around: ((call: Call, run: () => unknown) => unknown) | undefined;
  /** The tool's code has settled; its caller may have been answered before. */
  onEnded(call: Call, succeeded: boolean): void;
}

/**
 * The work itself: runs a tool's code under a time limit and answers exactly once, whatever it does. It may throw null,
 * return a cycle, never settle, ignore its signal, settle twice or go on after it was given up: the answer stands.
 */
export class ToolRun {
  readonly #call: Call;
  readonly #options: RunOptions;
  readonly #answer: (result: ToolResult) => void;
  readonly #context: RunContext;
  #deadline: Deadline | undefined;
  #grace: Deadline | undefined;
  #settled = false;

  constructor(call: Call, options: RunOptions, answer: (result: ToolResult) => void) {
    this.#call = call;
    this.#options = options;
    this.#answer = answer;
    this.#context = new RunContext(call, options.host);
  }

  start(): void {
    const call = this.#call;
    const { events, deadlines, timeouts, clock, around } = this.#options;
    if (call.aborted) return this.#fail(call.aborted);
    const tool = toolOf(call);
    call.onAbort = (why) => this.#stop(why);
    if (events.hears("tool_call_started")) {
      events.emit(callEvent(call, "tool_call_started", clock.now(), { input: call.input }));
    }
    const ms = timeoutOf(call, tool, timeouts);
    this.#deadline = deadlines.arm(ms, clock.monotonic(), () => this.#stop(timedOut(tool, ms)));
    let returned: unknown;
    try {
      const body = bodyOf(tool);
      returned = around ? around(call, () => body(call.input, this.#context)) : body(call.input, this.#context);
    } catch (thrown) {
      return this.#fail(thrown);
    }
    if (returned instanceof Promise) {
      // Not the promise's own `then`: a subclass may have one that settles twice, or never.
      Promise.prototype.then.call(returned, this.#succeed, this.#fail);
    } else if (isAsyncIterator(returned)) void this.#drain(returned);
    else if (isThenable(returned)) void adopt(returned).then(this.#succeed, this.#fail);
    else this.#succeed(returned);
  }

  readonly #succeed = (value: unknown): void => {
    if (this.#settled) return;
    this.#settled = true;
    const call = this.#call;
    this.#options.onEnded(call, true);
    if (call.answered) return;
    let result: ToolResult;
    try {
      const tool = toolOf(call);
      const output = readOutput(value, tool.output !== undefined);
      result = call.aborted ? this.#keepingOutput(call.aborted, fromOutput(call, output)) : fromOutput(call, output);
      if (tool.output && result.status === "completed") return this.#checkOutput(tool, result);
    } catch (thrown) {
      result = fromThrown(call, thrown);
    }
    this.#finish(result);
  };

  readonly #fail = (thrown: unknown): void => {
    if (this.#settled) return;
    this.#settled = true;
    const call = this.#call;
    this.#options.onEnded(call, false);
    if (call.answered) return;
    // A tool told to stop fails with what made it stop, not with the AbortError that it happens to throw.
    this.#finish(fromThrown(call, call.aborted ?? thrown));
  };

  #checkOutput(tool: AnyTool, result: ToolResult): void {
    const check = (validation: { readonly issues?: readonly { readonly message: string }[] | undefined }): void => {
      this.#finish(validation.issues ? badOutput(this.#call, result, formatIssues(validation.issues)) : result);
    };
    const validation = tool.output!.validate(result.details);
    if (validation instanceof Promise) {
      validation.then(check, (thrown: unknown) => this.#finish(fromThrown(this.#call, thrown)));
    } else check(validation);
  }

  /** The generator's yields are updates, its return value the output. */
  async #drain(updates: AsyncIterator<unknown, unknown>): Promise<void> {
    try {
      for (;;) {
        const step = await updates.next();
        if (step.done) return this.#succeed(step.value);
        if (this.#call.answered || this.#call.aborted) {
          this.#fail(this.#call.aborted);
          await updates.return?.();
          return;
        }
        this.#context.update(toUpdate(step.value as string));
      }
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** Timeout, the caller's abort or shutdown. Who listens gets a moment to say what it had; who does not is left behind. */
  #stop(why: ToolError): void {
    if (this.#call.answered || this.#settled) return;
    this.#call.aborted = why;
    const answerNow = (): void => this.#finish(fromThrown(this.#call, why));
    if (!this.#context.isListening) return answerNow();
    const { deadlines, clock } = this.#options;
    this.#grace = deadlines.arm(GRACE_MS, clock.monotonic(), answerNow);
    this.#context.abort(why);
  }

  #keepingOutput(why: ToolError, result: ToolResult): ToolResult {
    const kept = failed(this.#call, toFailure(why));
    const said = textOf(result.content);
    if (said) kept.content = [...kept.content, ...result.content];
    if (result.details !== undefined) kept.details = result.details;
    return kept;
  }

  #finish(result: ToolResult): void {
    const { deadlines } = this.#options;
    if (this.#deadline) deadlines.disarm(this.#deadline);
    if (this.#grace) deadlines.disarm(this.#grace);
    this.#call.onAbort = undefined;
    this.#answer(result);
  }
}

function timedOut(tool: AnyTool, ms: number): ToolError {
  return new ToolTimeoutError(tool.name, ms, "Ask for less at once, or for a longer time limit, before calling it again.");
}

function badOutput(call: Call, result: ToolResult, issues: string[]): ToolResult {
  const message =
    `The tool ran, but its output is not what it declares: ${issues.join("; ")}. ` +
    "Its effects may have happened: check before calling it again.";
  const failure = failed(call, { ...failureOf("bad_output", message), data: { issues } });
  failure.details = result.details;
  return failure;
}

function isAsyncIterator(value: unknown): value is AsyncIterator<unknown, unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value && "next" in value;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  try {
    return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
  } catch {
    return false;
  }
}

/** A thenable may settle with itself for ever; an async function's await does not end then, and the time limit answers. */
async function adopt(thenable: PromiseLike<unknown>): Promise<unknown> {
  return await thenable;
}
