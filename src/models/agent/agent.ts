import type { Caller, CallMode, CallPolicy } from "../../core/call.ts";
import type { Clock } from "../../core/clock.ts";
import type { ToolError, ToolFailure } from "../../core/error.ts";
import type { Update } from "../../core/events.ts";
import type { PendingResult, ToolResult } from "../../core/result.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { ToolCallContext } from "../../core/tool-call-context.ts";
import type { Gate } from "../../core/gate.ts";
import type { AnyTool, ToolContext } from "../../core/tool.ts";
import type { AgentToolkit } from "../../core/toolkit.ts";

/** A model with a toolkit and the loop that connects them. */
export interface Agent {
  /** Policy and the record name it. */
  readonly name: string;
  /** What it may use. */
  readonly toolkit: AgentToolkit;
  /** `provider/model`. Policy may depend on it. */
  readonly model?: string;
  /** Never rejects: errors are in the result, with all messages up to then. */
  run(input: string | readonly Message[], options?: RunOptions): Promise<AgentResult>;
  /** Like `run`, as a stream of events. The last event is `run_finished`. Leaving the loop stops the run. */
  stream(input: string | readonly Message[], options?: RunOptions): AsyncIterable<AgentEvent>;
}

export interface RunOptions {
  /** The conversation before `input`. */
  messages?: readonly Message[];
  /** The calls of the conversation so far. The result contains the same context. */
  context?: ToolCallContext;
  caller?: Partial<Caller>;
  signal?: AbortSignal;
  /** `plan`: only readonly tools, and the answer is a plan. */
  mode?: CallMode;
  /** Further policies for the calls of this run. Each can only restrict. */
  policy?: readonly CallPolicy[];
  limits?: AgentLimits;
  /** Results of calls that were pending before. Called before each step; the model gets the results then. */
  lateResults?(): readonly ToolResult[];
  /**
   * If set, the model streams. On `message_added` the run waits for the returned promise and ends if it rejects: a call
   * runs only after the message that requests it is stored.
   */
  onEvent?(event: AgentEvent): void | Promise<void>;
  /** What the user typed: it vouches for values of calls, and tool search may learn from the last. Default: the messages of the user in the input. */
  userMessage?: string | readonly string[];
  /** The call that contains this run: the calls of the run are nested in it and have no more rights. */
  parent?: ToolContext;
}

/** The limits of one run. */
export interface AgentLimits {
  /** Requests to the model. Default: 100. */
  steps?: number;
  /** Input and output tokens together. */
  tokens?: number;
  /** Requires prices. */
  costUsd?: number;
}

export interface AgentUsage {
  inputTokens: number;
  outputTokens: number;
  /** Set if the agent has prices. */
  costUsd?: number;
}

/** How a run ended. */
export interface AgentResult {
  /** The last text of the model. */
  text: string;
  /** The messages of this run, including the input. Every call has its result. */
  messages: Message[];
  /** Every call of the run and its result. */
  context: ToolCallContext;
  /** How often the model was asked. */
  steps: number;
  /** Tokens and cost. */
  usage: AgentUsage;
  /** Why it ended. */
  stop: AgentStop;
  /** The reason if `stop` is `error`, `limit` or `loop`. */
  error?: ToolFailure;
}

/**
 * `done`: the model is done. `stopped`: it called stop_response. `pending`: it waits for a person, a job or a client.
 * `loop`: it repeated itself in spite of a warning.
 */
export type AgentStop = "done" | "stopped" | "limit" | "loop" | "aborted" | "error" | "pending";

/** The events of a run, in order. `text` and `reasoning` are deltas of the message in `message_added`. */
export type AgentEvent =
  | { type: "step_started"; step: number }
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  | { type: "tool_call"; callId: string; name: string; input: unknown }
  | { type: "tool_update"; callId: string; update: Update }
  | { type: "tool_result"; result: ToolResult }
  /** `usage`: of the run so far. */
  | { type: "message_added"; message: Message; usage: AgentUsage }
  | { type: "step_finished"; step: number; usage: AgentUsage }
  | { type: "run_finished"; answer: AgentResult };

/** A part of a message. Image data is base64. */
export type MessagePart =
  /** `resultOf`: the text is the late result of this call, which was pending. */
  | { type: "text"; text: string; resultOf?: string }
  /** `providerData` must be sent back to the provider, for example a signature. */
  | { type: "reasoning"; text: string; providerData?: unknown }
  | { type: "image"; data: string; mimeType: string }
  | ToolCallPart;

export interface ToolCallPart {
  type: "tool_call";
  /** Unique in the conversation. Results refer to it. */
  callId: string;
  name: string;
  input: unknown;
  /** The id from the model if it is not unique: many models count from zero in every turn. */
  modelId?: string;
  /** The original text of a call in a text format. */
  rawText?: string;
  /** Data that must be sent back to the provider. */
  providerData?: unknown;
}

/** One message of a conversation, as plain JSON that can be stored. */
export type Message =
  | { role: "system" | "user" | "assistant"; content: string | MessagePart[] }
  /** One result for every call of the previous message, in the same order. */
  | { role: "tool"; results: ToolResult[] };

/** The text of a message; empty for tool results. */
export function textOfMessage(message: Message): string {
  if (message.role === "tool") return "";
  if (typeof message.content === "string") return message.content;
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

export function callsOf(message: Message | undefined): ToolCallPart[] {
  if (message?.role !== "assistant" || typeof message.content === "string") return [];
  return message.content.filter((part) => part.type === "tool_call");
}

/** The interface of the loop to a model: it takes a conversation and returns one message. */
export interface AgentModel {
  /** `provider/model`. Policy may depend on it. */
  readonly id: string;
  /** Rejects if the request fails. `onDelta` receives streamed text. */
  respond(request: ModelRequest, onDelta?: (piece: ModelDelta) => void): Promise<ModelTurn>;
}

export interface ModelRequest {
  system: string;
  messages: readonly Message[];
  tools: readonly AnyTool[];
  signal: AbortSignal;
}

export type ModelDelta = { type: "text" | "reasoning"; text: string };

export interface ModelTurn {
  /** Call ids come from the model and may be missing or duplicate: the loop makes them unique. */
  parts: MessagePart[];
  usage: { inputTokens: number; outputTokens: number };
  /** `cut`: the model reached its token limit. `refused`: the provider withheld the answer. */
  finish: "ended" | "calls" | "cut" | "refused" | "unknown";
  /** Errors of calls that could not be parsed, by their index among the calls. They are not run. */
  unreadable?: ReadonlyMap<number, ToolError>;
  /** For the model, together with the results: what it should write differently next time. */
  warnings?: readonly string[];
}

/** What sessions and agents may use of a model, also over several runs. */
export interface ModelBudget {
  /** Why no further request may be made. */
  refusal(caller: Partial<Caller>): Promise<ToolError | undefined>;
  /** Counts what a request used. Rejects if the model does not say, and its use is limited. */
  add(caller: Partial<Caller>, used: AgentUsage): Promise<void>;
}

/** The dependencies of an agent. */
export interface AgentDependencies {
  readonly name: string;
  readonly model: AgentModel;
  readonly toolkit: AgentToolkit;
  readonly gate: Gate;
  readonly clock: Clock;
  readonly limits: AgentLimits;
  readonly prices?: ModelPrices;
  /** The limits of the policy on requests to models. */
  readonly budget?: ModelBudget;
  /** The tools of the toolkit that the model sees, for this caller, mode and policy. */
  shownTools(to: ToolAudience): MaybePromise<readonly AnyTool[]>;
  systemPrompt(view: PromptView): Promise<string> | string;
  /** Watches for the results of pending calls. `awaited`: the calls that the conversation already waits for. */
  watchLateResults?(of: { caller: Partial<Caller>; awaited: readonly PendingResult[] }): MaybePromise<LateResults>;
  /** Called for every result that the model gets, except results of jobs that were pending. */
  onResultDelivered?(result: ToolResult): void;
}

export interface ToolAudience {
  caller: Partial<Caller>;
  mode: CallMode | undefined;
  policy: readonly CallPolicy[];
  /** The tools that the conversation has loaded with tool_search. */
  loaded: readonly string[];
  /** The first message of the user. */
  about: string | undefined;
}

export interface PromptView {
  tools: readonly AnyTool[];
  mode: CallMode | undefined;
  context: ToolCallContext;
  caller: Partial<Caller>;
}

/** US dollars per million tokens. */
export interface ModelPrices {
  input: number;
  output: number;
}

export interface LateResults {
  /** The results since the last call of this method, for calls of this caller. */
  take(): ToolResult[];
  close(): void;
}
