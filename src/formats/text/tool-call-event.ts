import type { ToolFailure } from "../../core/error.ts";
import type { TextFormatName } from "./text-format.ts";

/** A call as a model wrote it. One with a `failure` is to be answered with it, and never run. */
export interface ParsedToolCall {
  /** Made up here, unique everywhere, unless the format has ids that are. */
  id: string;
  /** "" where none could be read. */
  name: string;
  input: Record<string, unknown>;
  /** The very text of it, markers included. */
  rawText: string;
  /** The format that it was read as. */
  format: TextFormatName;
  /** The id that the model wrote; models use the same one again in later turns. */
  modelId?: string;
  /** What was mended before the call could be read. */
  repairs?: string[];
  failure?: ToolFailure;
}

/**
 * What a text turns out to be, in its order. The texts of `text`, `reasoning` and `skipped` and the `rawText` of the calls
 * that were completed or failed are together the whole text.
 */
export type ToolCallEvent =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  /** Belongs to neither: tags around reasoning, wrappers without a call, what a model wrote after its turn. */
  | { type: "skipped"; text: string }
  /** The name comes once, whole, and before any argument. */
  | { type: "call_started"; id: string; index: number; name: string }
  /** JSON; all of a call's together are its input. Where a call fails, they are a beginning. */
  | { type: "call_arguments"; id: string; index: number; delta: string }
  | { type: "call_completed"; id: string; index: number; call: ParsedToolCall }
  | { type: "call_failed"; id: string; index: number; call: ParsedToolCall };

export interface ParsedText {
  calls: ParsedToolCall[];
  text: string;
  reasoning: string;
  /** For the model: every repair, and what else it should do otherwise next time. */
  warnings: string[];
}
