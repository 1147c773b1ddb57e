import type { ToolError } from "../core/error.ts";
import type { AnyTool } from "../core/tool.ts";
import type { Message, MessagePart } from "./message.ts";

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
