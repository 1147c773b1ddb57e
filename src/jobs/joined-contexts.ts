import type { ToolCallParams } from "../core/call-context.ts";
import type { PendingResult, ToolResult } from "../core/result.ts";

/** Whoever wants to hear of results: a `ToolCallContext`, or anything else that has one of these. */
export interface ResultListener {
  /** Told of every result that arrives. What it throws stops nobody else. */
  onToolCall?(result: ToolResult): void;
  /** Those that know which calls they wait for are given their results, and no others. */
  setToolCallResult?(result: ToolResult): void;
  pending?(): readonly ToolCallParams[];
  awaited?(): readonly PendingResult[];
}

/** The contexts of the conversations that are under way here. */
export class OpenContexts {
  readonly #contexts = new Set<ResultListener>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void = () => {}) {
    this.#onError = onError;
  }

  add(context: ResultListener): () => void {
    this.#contexts.add(context);
    return () => void this.#contexts.delete(context);
  }

  await(jobId: string, callId: string): boolean {
    return [...this.#contexts].some((context) => waitsFor(context, jobId, callId));
  }

  /** Joins the result to its call where that is waited for, and tells everybody. */
  join(jobId: string, result: ToolResult, contexts: Iterable<ResultListener> = this.#contexts): void {
    for (const context of contexts) {
      this.#try(() => {
        if (waitsFor(context, jobId, result.callId)) context.setToolCallResult?.(result);
      });
    }
    this.notify(result, contexts);
  }

  notify(result: ToolResult, contexts: Iterable<ResultListener> = this.#contexts): void {
    for (const context of contexts) this.#try(() => context.onToolCall?.(result));
  }

  #try(notify: () => unknown): void {
    try {
      const notified = notify();
      if (notified instanceof Promise) notified.catch(this.#onError);
    } catch (error) {
      this.#onError(error);
    }
  }
}

/** By the job where that was noted already, else by the call alone: ids of calls need not be unique beyond a conversation. */
function waitsFor(context: ResultListener, jobId: string, wanted: string): boolean {
  if (!context.pending?.().some(({ callId }) => callId === wanted)) return false;
  const awaited = context.awaited?.().find(({ callId }) => callId === wanted);
  return awaited === undefined || awaited.pending.id === jobId;
}
