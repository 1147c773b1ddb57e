import { toolError } from "../../core/error.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { ModelDelta, ModelTurn } from "./agent.ts";

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
  | { type: "finish"; finishReason: unknown; usage: unknown }
  | { type: "error"; error: unknown };

/** Whether a value is a model of the AI SDK, of a specification that is known here. */
export function isLanguageModel(value: unknown): value is LanguageModel {
  if (typeof value !== "object" || value === null) return false;
  const { specificationVersion, doGenerate, doStream } = value as Partial<LanguageModel>;
  const isKnown = specificationVersion === "v2" || specificationVersion === "v3" || specificationVersion === "v4";
  return isKnown && typeof doGenerate === "function" && typeof doStream === "function";
}

/** What a language model said in one turn, whether it came whole or streamed. */
export interface ReadTurn {
  parts: ReadPart[];
  usage: ModelTurn["usage"];
  finish: ModelTurn["finish"];
}

type TextualPart = { type: "text" | "reasoning"; text: string; providerMetadata?: unknown };

const READ = new Set(["text", "reasoning", "tool-call"]);

export function readGenerated({ content, finishReason, usage }: GeneratedTurn): ReadTurn {
  // What the provider itself ran has been answered there.
  const parts = content.filter(({ type }) => READ.has(type)) as ReadPart[];
  return { parts: parts.filter(isOurs), usage: readUsage(usage), finish: readFinish(finishReason) };
}

/** Reads a stream to its end. Blocks of text are joined by their id, in the order in which they began. */
export async function readStream(
  stream: ReadableStream<StreamPart>,
  onDelta: (piece: ModelDelta) => void,
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
        // A signature comes with the last piece.
        if (part.providerMetadata !== undefined) block.providerMetadata = part.providerMetadata;
        if ("delta" in part && part.delta !== "") {
          block.text += part.delta;
          onDelta({ type, text: part.delta });
        }
        if (part.type.endsWith("-end")) open.delete(key);
        break;
      }
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
    throw toolError("unavailable", "The model's answer broke off before its end", { next: "Ask it again." });
  }
  return turn;
}

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
