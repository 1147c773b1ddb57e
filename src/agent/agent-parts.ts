import type { CallMode, CallPolicy, Caller } from "../core/call.ts";
import type { ToolCallContext } from "../core/call-context.ts";
import type { Clock } from "../core/clock.ts";
import type { ToolResult } from "../core/result.ts";
import type { AnyTool } from "../core/tool.ts";
import type { ToolGate } from "../core/tool-gate.ts";
import type { AgentToolkit } from "../core/toolkit.ts";
import type { AgentLimits } from "./agent.ts";
import type { AgentModel } from "./agent-model.ts";

/** All that a loop is made of. */
export interface AgentParts {
  readonly name: string;
  readonly model: AgentModel;
  readonly toolkit: AgentToolkit;
  readonly gate: ToolGate;
  readonly clock: Clock;
  readonly limits: AgentLimits;
  readonly prices?: ModelPrices;
  /** Which of the toolkit's tools the model is shown: of those that exist for this caller, in this mode, under these policies. */
  shownTools(to: ShownTo): readonly AnyTool[];
  systemPrompt(view: PromptView): Promise<string> | string;
  /** Hears of results that come after a call was answered `pending`. */
  watchLateResults?(): LateResults;
}

export interface ShownTo {
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
  /** Those that came since they were last taken; of the calls of this conversation. */
  take(isOurs: (callId: string) => boolean): ToolResult[];
  close(): void;
}
