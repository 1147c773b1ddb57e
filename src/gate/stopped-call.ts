import { toolOf } from "../core/call.ts";
import { textOf } from "../core/content.ts";
import { ERROR_CODES, failureOf, toFailure, toolError, ToolError } from "../core/error.ts";
import { failed, type FailedResult, fromThrown, type ToolResult } from "../core/result.ts";
import type { CallGroup, StoppableCall } from "../core/gate.ts";
import type { GateCall } from "./gate-call.ts";
import type { Timeouts } from "./timeouts.ts";

/** How long a tool that may be called again has to return what it has. */
const REPEATABLE_GRACE_MS = 250;

/**
 * The outcome of a call that was stopped while its tool ran: by its caller, its time limit or shutdown. If the tool may have
 * had an effect, only the tool's own answer counts; without one the outcome is unknown (docs/decisions/0024).
 */

const CHECK_EFFECT = "Check its effect before you call it again.";

/** Whether the stopped call can be made again without doing anything twice. */
export function isRepeatable(call: GateCall, why: ToolError): boolean {
  if (!call.began) return true;
  const { isReadOnly, idempotent } = toolOf(call);
  if (!isReadOnly && !idempotent) return false;
  if (!call.hasNestedEffects) return true;
  // The queue makes the same call again, and the calls that it made are recognised. Other callers may use another id.
  return why.code === "shutdown" && call.secondPass?.kind === "job";
}

/** How long the gate waits for the tool's own answer. A nested call has less, so its parent can still use the answer. */
export function graceOf(call: GateCall, why: ToolError, { graceMs }: Timeouts): number {
  if (isRepeatable(call, why)) return call.running?.isListening && !call.settled ? REPEATABLE_GRACE_MS : 0;
  let ms = graceMs;
  for (let above = call.parent; above; above = above.parent) ms *= 0.8;
  return ms;
}

/** The tool gave no answer in time. */
export function withoutAnswer(call: GateCall, why: ToolError, graceMs: number): FailedResult {
  if (isRepeatable(call, why)) return fromThrown(call, why);
  if (call.settled) {
    const message = "The tool ran, but its output could not be checked in time";
    return failed(call, failureOf("bad_output", message, { next: CHECK_EFFECT }));
  }
  return unknownOutcome(call, why, `It had not ended ${Math.round(graceMs)} ms later.`);
}

/** The tool threw after it was stopped. */
export function thrownAfterStop(call: GateCall, why: ToolError, thrown: unknown): FailedResult {
  if (isRepeatable(call, why)) return fromThrown(call, why);
  // It did not know of the stop, so the stop is not why it failed.
  if (!call.running?.isListening) return fromThrown(call, thrown);
  if (isOwnError(thrown, why)) {
    // By this code the tool says that it has done nothing.
    if (thrown.code === "cancelled" && !call.hasNestedEffects) {
      const { message, next } = toFailure(thrown);
      return failed(call, failureOf(why.code, `${reasonOf(why)}. ${message}`, { name: why.name, next }));
    }
    if (thrown.code !== "cancelled" && !ERROR_CODES[thrown.code]?.retryable) return fromThrown(call, thrown);
  }
  return unknownOutcome(call, why, thrown === why ? "" : `It ended with: ${sentence(toFailure(thrown).message)}`);
}

/** The tool returned after it was stopped: that is its result, also if it is only a part of what was wanted. */
export function returnedAfterStop(call: GateCall, why: ToolError, result: ToolResult): ToolResult {
  if (isRepeatable(call, why)) return withOutput(failed(call, toFailure(why)), result);
  const { isListening } = call.running ?? {};
  if (!isListening || result.status === "pending") return result;
  if (result.status === "completed") {
    const warning = `${reasonOf(why)}. The tool was asked to stop and returned this; it may be incomplete.`;
    result.metadata = { ...result.metadata, warnings: [...(result.metadata.warnings ?? []), warning] };
    return result;
  }
  const { code, message, next, retryable, data } = result.error;
  if (code === "cancelled") {
    // It has stopped in the middle and says what it has done.
    const failure = failureOf(why.code, `${reasonOf(why)}. ${message}`, { name: why.name, next, data });
    return withOutput(failed(call, { ...failure, retryable: false }), result);
  }
  return retryable ? withOutput(unknownOutcome(call, why, `It ended with: ${sentence(message)}`), result) : result;
}

/** A tool that ran out of its own time may have had an effect too. */
export function withoutRetry(call: GateCall, result: ToolResult): ToolResult {
  if (result.status !== "failed" || result.error.code !== "timeout" || !result.error.retryable) return result;
  const { isReadOnly, idempotent } = toolOf(call);
  if ((isReadOnly || idempotent) && !call.hasNestedEffects) return result;
  return { ...result, error: { ...result.error, retryable: false } };
}

export function isUnknown(result: ToolResult): boolean {
  return result.status === "failed" && result.error.code === "unknown_outcome";
}

function unknownOutcome(call: GateCall, why: ToolError, known: string): FailedResult {
  const { name } = toolOf(call);
  const begunAt = call.startedAt + Math.round(call.begunMonotonic - call.startedMonotonic);
  const sentences = [
    `It is not known whether ${name} took effect.`,
    `It began at ${new Date(begunAt).toISOString()} and was stopped: ${sentence(reasonOf(why))}`,
    known,
  ];
  const data = { tool: name, begunAt, stoppedBy: why.code };
  const message = sentences.filter((part) => part !== "").join(" ");
  return failed(call, failureOf("unknown_outcome", message, { next: CHECK_EFFECT, data }));
}

/** Without the advice for a call that can be made again. */
function reasonOf(why: ToolError): string {
  return toFailure(why).message.replace(/\.$/, "");
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

function withOutput(failure: FailedResult, { content, details }: ToolResult & { details?: unknown }): FailedResult {
  if (textOf(content)) failure.content = [...failure.content, ...content];
  if (details !== undefined) failure.details = details;
  return failure;
}

/** Whether a tool threw an error of its own, and not the reason that its signal gave it. */
function isOwnError(thrown: unknown, why: ToolError): thrown is ToolError {
  try {
    return thrown instanceof ToolError && thrown !== why;
  } catch {
    // A proxy that cannot be looked at.
    return false;
  }
}

/** A group of calls with one reason to stop. */
export class StoppedTogether implements CallGroup {
  readonly #calls = new Set<StoppableCall>();
  #reason: unknown;

  /** `reason`: set if the group is stopped already. */
  constructor(reason?: unknown) {
    this.#reason = reason;
  }

  add(call: StoppableCall): void {
    this.#calls.add(call);
    if (this.#reason !== undefined) call.abort(cancelledBy(this.#reason));
  }

  delete(call: StoppableCall): void {
    this.#calls.delete(call);
  }

  abort(reason: unknown): void {
    this.#reason = reason;
    for (const call of this.#calls) call.abort(cancelledBy(reason));
  }
}

/** For a call that is aborted: why, from the reason of its signal or of its parent. */
export function cancelledBy(reason: unknown): ToolError {
  // A closing worker: the call was not cancelled and may be made again.
  if (reason instanceof ToolError && reason.code === "shutdown") return reason;
  const why = reason instanceof Error && reason.name !== "AbortError" ? `: ${toFailure(reason).message}` : "";
  return toolError("cancelled", `The caller cancelled the call${why}`, { cause: reason });
}
