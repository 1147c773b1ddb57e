import type { CallMode, CallPolicy, Caller } from "../core/call.ts";
import type { ToolCallContext } from "../core/call-context.ts";
import type { Clock } from "../core/clock.ts";
import type { PendingResult, ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import type { ToolGate } from "../core/tool-gate.ts";
import type { AgentToolkit } from "../core/toolkit.ts";
import type { AgentLimits } from "./agent.ts";
import type { AgentModel } from "./agent-model.ts";

/** All that a loop is made of. */
export interface AgentDependencies {
  readonly name: string;
  readonly model: AgentModel;
  readonly toolkit: AgentToolkit;
  readonly gate: ToolGate;
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
