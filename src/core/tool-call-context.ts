import type { ToolCallDefinition } from "./definition.ts";
import { textOf } from "./content.ts";
import type { PendingResult, ToolResult } from "./result.ts";

/** A call that a model requested. */
export interface ToolCallParams {
  /** Chosen by the model or its adapter; unique in the conversation. */
  callId: string;
  /** Of the tool. */
  name: string;
  /** For the tool. */
  input: unknown;
}

/**
 * Definitions, calls and results of one conversation, including pending ones: it tells a model
 * what is running, and a program what is missing.
 */
export class ToolCallContext {
  readonly #definitions = new Map<string, ToolCallDefinition>();
  readonly #calls = new Map<string, ToolCallParams>();
  readonly #results = new Map<string, ToolResult>();
  /** What calls without a result wait for, as far as known. */
  readonly #awaited = new Map<string, PendingResult>();

  /** The tools that the model knows. */
  get toolDefinitions(): readonly ToolCallDefinition[] {
    return [...this.#definitions.values()];
  }

  /** Every call, in order. */
  get toolCalls(): readonly ToolCallParams[] {
    return [...this.#calls.values()];
  }

  /** In call order, final results only. */
  get toolResults(): readonly ToolResult[] {
    return this.toolCalls.flatMap(({ callId }) => this.#results.get(callId) ?? []);
  }

  /** Replaces the definitions. */
  setToolDefinitions(definitions: Iterable<ToolCallDefinition>): void {
    this.#definitions.clear();
    for (const definition of definitions) this.#definitions.set(definition.name, definition);
  }

  /** Adds the calls of a model's turn; `call_id` is accepted for `callId`. Throws if an id is missing or in use. */
  setToolCalls(given: readonly WithCallId<ToolCallParams>[]): void {
    const calls = given.map(named);
    const ids = new Set<string>();
    for (const { callId } of calls) {
      if (this.#calls.has(callId) || ids.has(callId)) {
        throw new RangeError(`Call id "${callId}" is already in use: give every call its own id.`);
      }
      ids.add(callId);
    }
    for (const call of calls) this.#calls.set(call.callId, call);
  }

  /**
   * A pending result leaves the call pending; after the final one it is ignored. Throws for an unknown id
   * or a second final result. `call_id` is accepted for `callId`.
   */
  setToolCallResult(given: WithCallId<ToolResult>): void {
    const result = named(given);
    if (!this.#calls.has(result.callId)) {
      throw new RangeError(`There is no call "${result.callId}" for this result.`);
    }
    const isFinal = result.status !== "pending";
    if (this.#results.has(result.callId)) {
      if (isFinal) throw new RangeError(`Call "${result.callId}" already has its result.`);
      return;
    }
    if (isFinal) {
      this.#results.set(result.callId, result);
      this.#awaited.delete(result.callId);
    } else this.#awaited.set(result.callId, result);
  }

  /** The final result of a call. */
  result(callId: string): ToolResult | undefined {
    return this.#results.get(callId);
  }

  /** Calls without a final result. */
  pending(): ToolCallParams[] {
    return this.toolCalls.filter(({ callId }) => !this.#results.has(callId));
  }

  /** What pending calls wait for: jobs, approvals, clients. */
  awaited(): PendingResult[] {
    return [...this.#awaited.values()];
  }

  /** Results that succeeded. */
  completed(): ToolResult[] {
    return this.toolResults.filter(({ status }) => status === "completed");
  }

  /** Results that failed. */
  failed(): ToolResult[] {
    return this.toolResults.filter(({ status }) => status === "failed");
  }

  /** For a system prompt. Inputs and results are shortened: it is an overview. */
  toPrompt(): string {
    const lines: string[] = [];
    const background = this.toolDefinitions.filter(({ async }) => async).map(({ name }) => name);
    if (background.length > 0) {
      lines.push(
        `These tools return their results later; do not call them again while they run: ${background.join(", ")}.`,
      );
    }
    for (const call of this.toolCalls) {
      const result = this.#results.get(call.callId);
      const state = result
        ? result.status === "completed"
          ? "done"
          : "failed"
        : stateOf(this.#awaited.get(call.callId));
      const shown = result ? `: ${cut(textOf(result.content), 500)}` : "";
      lines.push(`- ${call.callId} ${call.name}(${cut(JSON.stringify(call.input) ?? "", 200)}): ${state}${shown}`);
    }
    return lines.join("\n");
  }

  /** For a program. */
  toJSON(): { toolDefinitions: ToolCallDefinition[]; toolCalls: ToolCallParams[]; toolResults: ToolResult[] } {
    return {
      toolDefinitions: [...this.toolDefinitions],
      toolCalls: [...this.toolCalls],
      toolResults: [...this.toolResults],
    };
  }
}

/** With the id under either name. */
type WithCallId<T extends { callId: string }> =
  | T
  | (T extends unknown ? Omit<T, "callId"> & { callId?: undefined; call_id: string } : never);

function named<T extends { callId: string }>(given: WithCallId<T>): T {
  if (typeof given.callId === "string") return given;
  const { call_id: callId, ...rest } = given as { call_id?: string };
  if (typeof callId !== "string") throw new TypeError("A call and its result need a `callId`.");
  return { ...rest, callId } as unknown as T;
}

function stateOf(awaited: PendingResult | undefined): string {
  if (awaited?.pending.kind === "job")
    return `still running as job ${awaited.pending.id}; its result arrives automatically`;
  if (awaited?.pending.kind === "approval") return `waiting for a person (approval ${awaited.pending.id})`;
  if (awaited?.pending.kind === "question") return `waiting for the user's answer (question ${awaited.pending.id})`;
  return awaited ? `waiting for the ${awaited.pending.kind}` : "still running";
}

export function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}…`;
}
