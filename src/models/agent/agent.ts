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
  /** The call that this run is a part of: its calls are nested in it, with no more than its rights. */
  parent?: ToolContext;
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

/** A piece of what was said. Data of images is base64. */
export type MessagePart =
  /** `resultOf`: it tells the result of this call, which was answered `pending` before. */
  | { type: "text"; text: string; resultOf?: string }
  /** `providerData` is what the provider wants back with it, such as a signature. */
  | { type: "reasoning"; text: string; providerData?: unknown }
  | { type: "image"; data: string; mimeType: string }
  | ToolCallPart;

export interface ToolCallPart {
  type: "tool_call";
  /** Unique in the conversation; results are joined to it. */
  callId: string;
  name: string;
  input: unknown;
  /** The id that the model gave, where that one is not unique: models count from nought again at every turn. */
  modelId?: string;
  /** How a model that speaks text wrote it. */
  rawText?: string;
  /** What the provider wants back with it. */
  providerData?: unknown;
}

/** One entry of a conversation, as plain JSON: it is stored and resumed as it is. */
export type Message =
  | { role: "system" | "user" | "assistant"; content: string | MessagePart[] }
  /** One result for every call of the message before, in call order. */
  | { role: "tool"; results: ToolResult[] };

/** The words of a message; of its results, what the model reads of them. */
export function textOfMessage(message: Message): string {
  if (message.role === "tool") return "";
  if (typeof message.content === "string") return message.content;
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

export function callsOf(message: Message | undefined): ToolCallPart[] {
  if (message?.role !== "assistant" || typeof message.content === "string") return [];
  return message.content.filter((part) => part.type === "tool_call");
}

/** A model as the loop sees it, whatever it speaks: asked with a conversation, it answers with one message. */
export interface AgentModel {
  /** `provider/model`: policy may differ by it. */
  readonly id: string;
  /** Rejects where the model could not be asked; `hear` is told what comes while it comes, if it is there. */
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
  /** Call ids are the model's own, and may be missing, used before, or the same twice: the loop gives each its own. */
  parts: MessagePart[];
  usage: { inputTokens: number; outputTokens: number };
  /** `cut`: the model reached the length that it may write. `refused`: its provider held the answer back. */
  finish: "ended" | "calls" | "cut" | "refused" | "unknown";
  /** Calls that could not be read, by their place among the calls; they are answered with this and never run. */
  unreadable?: ReadonlyMap<number, ToolError>;
  /** For the model, with the results: what it should write otherwise next time. */
  warnings?: readonly string[];
}

/** All that a loop is made of. */
export interface AgentDependencies {
  readonly name: string;
  readonly model: AgentModel;
  readonly toolkit: AgentToolkit;
  readonly gate: Gate;
  readonly clock: Clock;
  readonly limits: AgentLimits;
  readonly prices?: ModelPrices;
  /** Which of the toolkit's tools the model is shown: of those that exist for this caller, in this mode, under these policies. */
  shownTools(to: ToolAudience): readonly AnyTool[];
  systemPrompt(view: PromptView): Promise<string> | string;
  /** Hears of results that come after a call was answered `pending`; `awaited`: what the conversation waits for already. */
  watchLateResults?(of: { caller: Partial<Caller>; awaited: readonly PendingResult[] }): MaybePromise<LateResults>;
  /** Told of every result that this run hands to its model, of background calls by whoever keeps the jobs. */
  onResultDelivered?(result: ToolResult): void;
}

export interface ToolAudience {
  caller: Partial<Caller>;
  mode: CallMode | undefined;
  policy: readonly CallPolicy[];
  /** Names that the conversation has loaded with tool_search. */
  loaded: readonly string[];
}

export interface PromptView {
  tools: readonly AnyTool[];
  mode: CallMode | undefined;
  context: ToolCallContext;
  caller: Partial<Caller>;
}

/** US dollars for a million tokens. */
export interface ModelPrices {
  input: number;
  output: number;
}

export interface LateResults {
  /** Those that came since they were last taken, of calls of this caller. */
  take(): ToolResult[];
  close(): void;
}
