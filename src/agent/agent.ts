import type { CallMode, CallPolicy, Caller } from "../core/call.ts";
import type { ToolCallContext } from "../core/call-context.ts";
import type { ToolFailure } from "../core/error.ts";
import type { Update } from "../core/event.ts";
import type { ToolResult } from "../core/result.ts";
import type { ToolGate } from "../core/tool-gate.ts";
import type { AgentToolkit } from "../core/toolkit.ts";
import type { Message } from "./message.ts";

/** Somebody who works on a task with tools: a model, a toolkit, and the loop between them. */
export interface Agent {
  readonly name: string;
  readonly toolkit: AgentToolkit;
  /** `provider/model`: policy may differ by it. */
  readonly model?: string;
  /** Never rejects: what went wrong is in the answer, with everything that was said and done until then. */
  run(input: string | readonly Message[], options?: RunOptions): Promise<AgentResult>;
  /** As `run`, told while it happens; the last event is `run_finished`. To stop listening stops the run. */
  stream(input: string | readonly Message[], options?: RunOptions): AsyncIterable<AgentEvent>;
}

export interface RunOptions {
  /** What was said before `input`. */
  messages?: readonly Message[];
  /** The conversation's calls so far; goes on in the answer. */
  context?: ToolCallContext;
  caller?: Partial<Caller>;
  signal?: AbortSignal;
  /** `plan`: read-only tools alone, and a plan as the answer. */
  mode?: CallMode;
  /** Further policies for the calls of this run; each only narrows. */
  policy?: readonly CallPolicy[];
  limits?: AgentLimits;
  /** Results of calls that were answered `pending` before: taken before each step, told to the model there. */
  lateResults?(): readonly ToolResult[];
  /**
   * While somebody listens, the model is asked to stream. At `message_added` the run waits for the promise that this may
   * give, and ends where it fails: a call is made after the message that asks for it is kept.
   */
  onEvent?(event: AgentEvent): void | Promise<void>;
  /** Through which the calls are made; the runtime's own where absent. A subagent's is nested in its parent's call. */
  gate?: ToolGate;
}

/** What one run may use. */
export interface AgentLimits {
  /** How often the model is asked. */
  steps?: number;
  /** Input and output together. */
  tokens?: number;
  /** Needs the agent to know prices. */
  costUsd?: number;
}

export interface AgentUsage {
  inputTokens: number;
  outputTokens: number;
  /** Where the agent knows prices. */
  costUsd?: number;
}

export interface AgentResult {
  /** What the model said last. */
  text: string;
  /** Those of this run, the input first. Together with what was before, a whole conversation: every call has its result. */
  messages: Message[];
  context: ToolCallContext;
  steps: number;
  usage: AgentUsage;
  stop: AgentStop;
  /** Why, where `stop` is `error`, `limit` or `loop`. */
  error?: ToolFailure;
}

/**
 * `done`: the model has nothing more to do. `stopped`: it ended its turn with stop_response. `pending`: it waits for a
 * person, a job or a client, and can do nothing before. `loop`: it kept repeating itself after it was told.
 */
export type AgentStop = "done" | "stopped" | "limit" | "loop" | "aborted" | "error" | "pending";

/** Facts of a run, in order; `text` and `reasoning` are pieces of the message that `message_added` gives whole. */
export type AgentEvent =
  | { type: "step_started"; step: number }
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  | { type: "tool_call"; callId: string; name: string; input: unknown }
  | { type: "tool_update"; callId: string; update: Update }
  | { type: "tool_result"; result: ToolResult }
  | { type: "message_added"; message: Message }
  | { type: "step_finished"; step: number; usage: AgentUsage }
  | { type: "run_finished"; answer: AgentResult };
