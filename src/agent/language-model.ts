// What the loop uses of a language model of the AI SDK (`ai` 6 and 7: specifications v2, v3 and v4). Nothing of the SDK is
// loaded: a model is an object, made by whichever provider package the user has.

export interface LanguageModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: ModelCallOptions): PromiseLike<GeneratedTurn>;
  doStream(options: ModelCallOptions): PromiseLike<{ stream: ReadableStream<StreamPart> }>;
}

export interface ModelCallOptions {
  // The prompts of the three specifications differ in how data is wrapped; `writePrompt` knows each.
  prompt: never;
  tools?: never;
  toolChoice?: { type: "auto" };
  maxOutputTokens?: number;
  temperature?: number;
  providerOptions?: never;
  abortSignal?: AbortSignal;
}

export interface GeneratedTurn {
  content: readonly GeneratedPart[];
  finishReason: unknown;
  usage: unknown;
}

/** Of the parts that a model may generate those that are named below are read; the others are passed over. */
export interface GeneratedPart {
  type: string;
}

export interface StreamPart {
  type: string;
}

export type ReadPart =
  | { type: "text"; text: string; providerMetadata?: unknown }
  | { type: "reasoning"; text: string; providerMetadata?: unknown }
  | {
      type: "tool-call";
      toolCallId: string;
      toolName: string;
      input: string;
      providerExecuted?: boolean;
      providerMetadata?: unknown;
    };

export type ReadStreamPart =
  | Extract<ReadPart, { type: "tool-call" }>
  | { type: "text-delta" | "reasoning-delta"; id: string; delta: string; providerMetadata?: unknown }
  | { type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; id: string; providerMetadata?: unknown }
  | { type: "finish"; finishReason: unknown; usage: unknown }
  | { type: "error"; error: unknown };

/** Whether a value is a model of the AI SDK, of a specification that is known here. */
export function isLanguageModel(value: unknown): value is LanguageModel {
  if (typeof value !== "object" || value === null) return false;
  const { specificationVersion, doGenerate, doStream } = value as Partial<LanguageModel>;
  const isKnown = specificationVersion === "v2" || specificationVersion === "v3" || specificationVersion === "v4";
  return isKnown && typeof doGenerate === "function" && typeof doStream === "function";
}
