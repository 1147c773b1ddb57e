import { type Content, text } from "../../core/content.ts";
import { toolError } from "../../core/error.ts";
import type { ToolResult } from "../../core/result.ts";
import type { ModelCall } from "./model-calls.ts";

/** What a conversation holds of one call: every call has exactly one of these, in the order of the calls. */
export interface Answer {
  call: ModelCall;
  /** The id and the name that the provider knows the call by. */
  id: string;
  name: string;
  isError: boolean;
  content: readonly Content[];
}

const UNANSWERED =
  "This call has no result: it was stopped, or never answered. Nothing is known of what it did. Check before you repeat it.";

/**
 * Joins calls and results. A call without a result is answered with that fact, so that no provider refuses the
 * conversation; a result that belongs to no call, or a second one, is a mistake of the program.
 */
export function answerCalls(calls: readonly ModelCall[], results: readonly ToolResult[]): Answer[] {
  const ids = new Set(calls.map(({ id }) => id));
  if (ids.size < calls.length) {
    throw toolError("conflict", "Two calls have the same id", {
      next: "Pass the calls of one reply, as they were read.",
    });
  }
  const byId = new Map<string, ToolResult>();
  for (const result of results) {
    const { callId } = result;
    if (!ids.has(callId)) {
      throw toolError("conflict", `There is no call "${callId}" that this result could belong to`, {
        next: "Run each call with its own id, and pass the results of these calls only.",
      });
    }
    const before = byId.get(callId);
    // What was pending may have been answered since.
    if (before && before.status !== "pending" && result.status !== "pending") {
      throw toolError("conflict", `Call "${callId}" has two results`, { next: "Pass one result for each call." });
    }
    if (!before || before.status === "pending") byId.set(callId, result);
  }
  return calls.map((call) => {
    const result = byId.get(call.id);
    const shown = { call, id: call.shown?.id ?? call.id, name: call.shown?.name ?? call.name };
    if (!result) return { ...shown, isError: true, content: [text(UNANSWERED)] };
    // Several providers refuse an empty text.
    const content = result.content.filter((block) => block.type !== "text" || block.text !== "");
    if (content.length === 0) content.push(text(result.display || "(no output)"));
    return { ...shown, isError: result.status === "failed", content };
  });
}

/** An answer for a place that takes text alone; what is no text is named, so that a model knows of it. */
export function answerText({ content, isError }: Answer, options: { flagErrors?: boolean } = {}): string {
  const joined = content.map(blockText).join("\n");
  return isError && options.flagErrors && !/^error\b/i.test(joined) ? `Error: ${joined}` : joined;
}

export function blockText(block: Content): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `(${block.type}, ${block.mimeType}, ${sizeOf(block.data)}: it cannot be shown to you here)`;
    case "resource": {
      const { uri, text: joined, blob, mimeType = "unknown type" } = block.resource;
      return joined === undefined
        ? `(${uri}, ${mimeType}, ${sizeOf(blob ?? "")}: it cannot be shown to you here)`
        : `${uri}:\n${joined}`;
    }
    case "resource_link":
      return [`${block.title ?? block.name}: ${block.uri}`, block.description].filter(Boolean).join("\n");
  }
}

function sizeOf(base64: string): string {
  return `${Math.floor((base64.length * 3) / 4)} bytes`;
}

/** Content with neighbouring texts joined, and each image passed on where `image` takes its type. */
export function mapContent<Part>(
  content: readonly Content[],
  write: { text(joined: string): Part; image?(data: string, mimeType: string): Part | undefined },
): Part[] {
  const parts: Part[] = [];
  let texts: string[] = [];
  const flush = (): void => {
    if (texts.length > 0) parts.push(write.text(texts.join("\n")));
    texts = [];
  };
  for (const block of content) {
    const image = block.type === "image" ? write.image?.(block.data, block.mimeType) : undefined;
    if (image === undefined) texts.push(blockText(block));
    else {
      flush();
      parts.push(image);
    }
  }
  flush();
  return parts;
}
