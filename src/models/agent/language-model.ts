import { toolError } from "../../core/error.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { ModelDelta, ModelTurn } from "./agent.ts";

// The part of an AI SDK language model that the loop uses (`ai` 6 and 7: specifications v2, v3 and v4). The SDK is not
// loaded: a model is an object from the provider package that the user has installed.

/** A language model of the AI SDK. */
export interface LanguageModel {
  /** Which version of the specification it follows. */
  readonly specificationVersion: "v2" | "v3" | "v4";
  /** Its name. */
  readonly provider: string;
  /** The provider's name of the model. */
  readonly modelId: string;
  /** One whole answer. */
  doGenerate(options: ModelCallOptions): PromiseLike<GeneratedTurn>;
  /** One answer in parts. */
  doStream(options: ModelCallOptions): PromiseLike<{ stream: ReadableStream<StreamPart> }>;
}

export interface ModelCallOptions {
  // The prompts of the three specifications differ in how they wrap data. `writePrompt` writes each.
  prompt: never;
  tools?: never;
  toolChoice?: { type: "auto" };
  maxOutputTokens?: number;
  temperature?: number;
  providerOptions?: never;
  abortSignal?: AbortSignal;
}

/** The types of prompts and tools differ between the specifications, so they are checked by the tests with real models only. */
export function callOptions(
  options: Omit<ModelCallOptions, "prompt" | "tools" | "providerOptions"> & {
    prompt: unknown;
    tools?: unknown;
    providerOptions?: unknown;
  },
): ModelCallOptions {
  return options as ModelCallOptions;
}

export interface GeneratedTurn {
  content: readonly GeneratedPart[];
  finishReason: unknown;
  usage: unknown;
}

/** Only the parts in `ReadPart` are read; others are ignored. */
interface GeneratedPart {
  type: string;
}

export interface StreamPart {
  type: string;
}

type ReadPart =
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

type ReadStreamPart =
  | Extract<ReadPart, { type: "tool-call" }>
  | { type: "text-delta" | "reasoning-delta"; id: string; delta: string; providerMetadata?: unknown }
  | { type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; id: string; providerMetadata?: unknown }
  | { type: "tool-input-start"; id: string; toolName: string }
  | { type: "tool-input-delta"; id: string; delta: string }
  | { type: "finish"; finishReason: unknown; usage: unknown }
  | { type: "error"; error: unknown };

/** Whether a value is a model of the AI SDK with a supported specification. */
export function isLanguageModel(value: unknown): value is LanguageModel {
  if (typeof value !== "object" || value === null) return false;
  const { specificationVersion, doGenerate, doStream }: Partial<Record<keyof LanguageModel, unknown>> = value;
  const isKnown = specificationVersion === "v2" || specificationVersion === "v3" || specificationVersion === "v4";
  return isKnown && typeof doGenerate === "function" && typeof doStream === "function";
}

/** The output of a model in one turn, streamed or not. */
interface ReadTurn {
  parts: ReadPart[];
  usage: ModelTurn["usage"];
  finish: ModelTurn["finish"];
}

type TextualPart = { type: "text" | "reasoning"; text: string; providerMetadata?: unknown };

const READ_PARTS: ReadonlySet<string> = new Set<ReadPart["type"]>(["text", "reasoning", "tool-call"]);

function isReadPart(part: GeneratedPart): part is ReadPart {
  return READ_PARTS.has(part.type);
}

export function readGenerated({ content, finishReason, usage }: GeneratedTurn): ReadTurn {
  const parts = content.filter(isReadPart).filter(isOurs);
  return { parts, usage: readUsage(usage), finish: readFinish(finishReason) };
}

/** A model writes the input of a call: it starts, goes on with a piece of text, or is complete. */
export interface InputEvent {
  id: string;
  toolName?: string;
  delta?: string;
  input?: unknown;
}

/** Reads a complete stream. Blocks of text are joined by id, in the order of their start. */
export async function readStream(
  stream: ReadableStream<StreamPart>,
  onDelta: (piece: ModelDelta) => void,
  onInput: (event: InputEvent) => void = () => undefined,
): Promise<ReadTurn> {
  const turn: ReadTurn = { parts: [], usage: readUsage(undefined), finish: "unknown" };
  const open = new Map<string, TextualPart>();
  let hasEnded = false;
  for await (const each of stream) {
    const part = each as ReadStreamPart;
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
      case "text-delta":
      case "reasoning-delta":
      case "text-end":
      case "reasoning-end": {
        const type = part.type.startsWith("text") ? "text" : "reasoning";
        const key = `${type} ${part.id}`;
        const block = open.get(key) ?? { type, text: "" };
        if (!open.has(key)) {
          open.set(key, block);
          turn.parts.push(block);
        }
        // A signature comes with the last delta.
        if (part.providerMetadata !== undefined) block.providerMetadata = part.providerMetadata;
        if ("delta" in part && part.delta !== "") {
          block.text += part.delta;
          onDelta({ type, text: part.delta });
        }
        if (part.type.endsWith("-end")) open.delete(key);
        break;
      }
      case "tool-input-start":
        onInput({ id: part.id, toolName: part.toolName });
        break;
      case "tool-input-delta":
        onInput({ id: part.id, delta: part.delta });
        break;
      case "tool-call":
        if (isOurs(part)) turn.parts.push(part);
        break;
      case "finish":
        turn.usage = readUsage(part.usage);
        turn.finish = readFinish(part.finishReason);
        hasEnded = true;
        break;
      case "error":
        throw part.error;
    }
  }
  if (!hasEnded) {
    throw toolError("unavailable", "The model's answer ended before it was complete", { next: "Run again." });
  }
  return turn;
}

/** The provider itself has run some calls; those already have results. */
function isOurs(part: ReadPart): boolean {
  return part.type !== "tool-call" || part.providerExecuted !== true;
}

function readUsage(usage: unknown): ModelTurn["usage"] {
  const of = (key: string): number => {
    const count = isObject(usage) ? usage[key] : undefined;
    const total = isObject(count) ? count["total"] : count;
    return typeof total === "number" && Number.isFinite(total) ? total : 0;
  };
  return { inputTokens: of("inputTokens"), outputTokens: of("outputTokens") };
}

function readFinish(reason: unknown): ModelTurn["finish"] {
  switch (isObject(reason) ? reason["unified"] : reason) {
    case "stop":
      return "ended";
    case "tool-calls":
      return "calls";
    case "length":
      return "cut";
    case "content-filter":
      return "refused";
    default:
      return "unknown";
  }
}
