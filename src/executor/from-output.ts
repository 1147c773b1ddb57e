import { failed, pending } from "../core/build-result.ts";
import { type Call, toolOf } from "../core/call.ts";
import type { Content } from "../core/content.ts";
import { firstLine } from "../core/first-line.ts";
import type { CompletedResult, ResultMetadata, ToolResult } from "../core/result.ts";
import { isJsonPrimitive, MAX_CONTENT_TEXT_LENGTH } from "../core/plain-data.ts";
import { type ReadOutput, readOutput } from "./read-output.ts";

/** What a tool returned, as the result it amounts to. */
export function fromOutput(call: Call, value: unknown): ToolResult {
  // Text and numbers are most of what tools return, and need no reading.
  if (isJsonPrimitive(value, MAX_CONTENT_TEXT_LENGTH)) {
    const text = typeof value === "string" ? value : String(value);
    return completed(call, [{ type: "text", text }], firstLine(text), value, {});
  }
  const output = readOutput(value, toolOf(call).output !== undefined);
  if (!output.error && !output.pending) {
    return completed(call, output.content, output.display, output.details, output.metadata ?? {});
  }
  return unfinished(call, output);
}

function unfinished(call: Call, output: ReadOutput): ToolResult {
  const result = output.pending ? pending(call, output.pending, "") : failed(call, output.error!);
  // Data that could not be kept whole looks like an answer: the model must read that it is none.
  const isBroken = output.error?.code === "bad_output";
  result.content = isBroken ? [...result.content, ...output.content] : output.content;
  if (!isBroken) result.display = output.display;
  result.metadata = output.metadata ?? {};
  if (output.details !== undefined) result.details = output.details;
  return result;
}

function completed(
  call: Call,
  content: Content[],
  display: string,
  details: unknown,
  metadata: ResultMetadata,
): CompletedResult {
  return {
    callId: call.id,
    toolName: toolOf(call).name,
    status: "completed",
    success: true,
    content,
    display,
    details,
    metadata,
    startedAt: call.startedAt,
    completedAt: 0,
    durationMs: 0,
  };
}
