import { toolError } from "../core/error.ts";
import { isObject } from "../schema/json-schema.ts";
import type { ModelDelta, ModelTurn } from "./agent-model.ts";
import type { GeneratedTurn, ReadPart, ReadStreamPart, StreamPart } from "./language-model.ts";

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
