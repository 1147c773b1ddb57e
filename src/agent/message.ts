import type { ToolResult } from "../core/result.ts";

/** A piece of what was said. Data of images is base64. */
export type MessagePart =
  /** `resultOf`: it tells the result of this call, which was answered `pending` before. */
  | { type: "text"; text: string; resultOf?: string }
  /** `providerData` is what the provider wants back with it, such as a signature. */
  | { type: "reasoning"; text: string; providerData?: unknown }
  | { type: "image"; data: string; mimeType: string }
  | ToolCallPart;

export interface ToolCallPart {
  type: "tool_call";
  /** Unique in the conversation; results are joined to it. */
  callId: string;
  name: string;
  input: unknown;
  /** The id that the model gave, where that one is not unique: models count from nought again at every turn. */
  modelId?: string;
  /** How a model that speaks text wrote it. */
  rawText?: string;
  /** What the provider wants back with it. */
  providerData?: unknown;
}

/** One entry of a conversation, as plain JSON: it is stored and resumed as it is. */
export type Message =
  | { role: "system" | "user" | "assistant"; content: string | MessagePart[] }
  /** One result for every call of the message before, in call order. */
  | { role: "tool"; results: ToolResult[] };

/** The words of a message; of its results, what the model reads of them. */
export function textOfMessage(message: Message): string {
  if (message.role === "tool") return "";
  if (typeof message.content === "string") return message.content;
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

export function callsOf(message: Message | undefined): ToolCallPart[] {
  if (message?.role !== "assistant" || typeof message.content === "string") return [];
  return message.content.filter((part) => part.type === "tool_call");
}
