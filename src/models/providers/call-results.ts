import { type Content, text } from "../../core/content.ts";
import { toolError } from "../../core/error.ts";
import type { ToolResult } from "../../core/result.ts";
import type { ModelCall } from "./model-calls.ts";

/** The result of one call for the conversation. Every call has exactly one, in the order of the calls. */
interface CallResult {
  call: ModelCall;
  /** The id and name in the provider's messages. */
  id: string;
  name: string;
  isError: boolean;
  content: readonly Content[];
}

export const NO_RESULT =
  "This call has no result: it was stopped or never answered. Its effect is unknown. Check before you repeat it.";

/** Matches results to calls. A call without one gets an error result; a result without a call is refused. */
export function matchResults(calls: readonly ModelCall[], results: readonly ToolResult[]): CallResult[] {
  const ids = new Set(calls.map(({ id }) => id));
  if (ids.size < calls.length) {
    throw toolError("conflict", "Two calls have the same id", {
      next: "Pass the calls of one reply, as the reader returned them.",
    });
  }
  const byId = new Map<string, ToolResult>();
  for (const result of results) {
    const { callId } = result;
    if (!ids.has(callId)) {
      throw toolError("conflict", `There is no call "${callId}" for this result`, {
        next: "Run each call with its own id, and pass the results of these calls only.",
      });
    }
    const before = byId.get(callId);
    // A pending result may be followed by the final one.
    if (before && before.status !== "pending" && result.status !== "pending") {
      throw toolError("conflict", `Call "${callId}" has two results`, { next: "Pass one result for each call." });
    }
    if (!before || before.status === "pending") byId.set(callId, result);
  }
  return calls.map((call) => {
    const result = byId.get(call.id);
    const shown = { call, id: call.shown?.id ?? call.id, name: call.shown?.name ?? call.name };
    if (!result) return { ...shown, isError: true, content: [text(NO_RESULT)] };
    // Several providers reject empty text.
    const content = result.content.filter((block) => block.type !== "text" || block.text !== "");
    if (content.length === 0) content.push(text(result.display || "(no output)"));
    return { ...shown, isError: result.status === "failed", content };
  });
}

/** A result for providers that take only text. Other content is described. `flagErrors` prefixes failures with "Error:". */
export function callResultText({ content, isError }: CallResult, options: { flagErrors?: boolean } = {}): string {
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

/** Converts content. Adjacent texts are joined; an image that `image` does not accept becomes text. */
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
