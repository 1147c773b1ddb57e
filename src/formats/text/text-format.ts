import type { CallRecorder } from "./call-recorder.ts";
import type { Found, Reading, Source } from "./source.ts";
import type { ToolTable } from "./tool-table.ts";

/** The formats in which models write calls as text. */
export const TEXT_FORMATS = [
  "xml",
  "hermes",
  "anthropic-xml",
  "anthropic-xml-legacy",
  "qwen3-coder",
  "seed-oss",
  "minicpm5-xml",
  "cline-xml",
  "glm",
  "deepseek-v3",
  "deepseek-v3.1",
  "deepseek-dsml",
  "kimi-k2",
  "kimi-k3",
  "minimax-m2",
  "minimax-m3",
  "mistral",
  "llama3-json",
  "llama4-pythonic",
  "lfm2-pythonic",
  "olmo3-pythonic",
  "harmony",
  "gemma4",
  "functiongemma",
  "granite",
  "phi4-mini",
  "jamba",
  "nemotron",
  "cohere",
  "internlm",
  "gigachat",
  "apertus",
  "json",
] as const;
export type TextFormatName = (typeof TEXT_FORMATS)[number];

/** What a section is read with. */
export interface CallReader {
  readonly source: Source;
  readonly calls: CallRecorder;
  readonly tools: ToolTable;
  pass(kind: "text" | "reasoning" | "skipped", piece: string): void;
  warn(what: string): void;
  /** The model's turn is over: text that still comes is no answer, for it has not seen a result yet. */
  endTurn(): void;
}

/** A kind of place where calls stand, from the marker that opens it to the one that closes it. */
export interface Section {
  readonly open: readonly string[];
  /** Where the marker opens nothing unless it begins a line. */
  readonly onLineStart?: boolean;
  /** In a fenced block of code the marker is an example. */
  readonly isProseInCode?: boolean;
  /** Stands before the marker, and takes it. A call that is tentative when it throws was none, and is text. */
  read(reader: CallReader, found: Found): Reading;
}

export interface TextFormat {
  readonly name: TextFormatName;
  sections(tools: ToolTable): readonly Section[];
  /** Pairs of markers that reasoning stands between; those that all formats know come on top. */
  readonly reasoning?: readonly (readonly [string, string])[];
  /** Markers of the turn that mean nothing by themselves. */
  readonly plumbing?: readonly string[];
  /** Calls can follow reasoning that the prompt opened and nothing closed. */
  readonly callEndsReasoning?: boolean;
  /** What to mind when writing it, for the model. */
  readonly notes?: readonly string[];
  /** The calls as a model should write them. */
  write(calls: readonly WrittenCall[]): string;
}

export interface WrittenCall {
  name: string;
  input: Readonly<Record<string, unknown>>;
}
