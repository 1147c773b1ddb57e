// A part of wire.ts: what a model wrote, and what would come of it.
import type { CallMode } from "../core/call.ts";
import type { TextFormatName } from "../models/text/text-format.ts";
import type { ParsedToolCall } from "../models/text/tool-call-parser.ts";
import type { Explanation } from "./wire-records.ts";

// Playground: GET /api/playground, POST /api/playground, POST /api/playground/answer

export type { TextFormatName };

export interface TextFormatInfo {
  name: TextFormatName;
  /** A call of a tool that is here, as a model writes it. */
  example: string;
}

/** A model's text, read with the tools that are here. Nothing runs. */
export interface ParseRequest {
  text: string;
  /** `auto`, the default, knows each by its markers. */
  format?: TextFormatName | "auto";
  /** The prompt has opened the reasoning already. */
  startsInReasoning?: boolean;
  mode?: CallMode;
  session?: string;
}

export interface ParsedAnswer {
  calls: JudgedCall[];
  /** What is left for a person. */
  text: string;
  reasoning: string;
  warnings: string[];
}

export interface JudgedCall extends ParsedToolCall {
  /** Absent where the call cannot be made as it is. */
  explanation?: Explanation;
  /** Why it cannot: no such tool, or an input that the tool refuses. */
  problem?: string;
  /** Of a call that could not be read: what the model is told. */
  answer?: string;
}

/** The result of a call that was made through this server, as text for the model. */
export interface AnswerTextRequest {
  callId: string;
  format?: TextFormatName;
}

export interface AnswerText {
  text: string;
}
