import { failed, pending } from "../core/build-result.ts";
import { type Call, toolOf } from "../core/call.ts";
import type { CompletedResult, ToolResult } from "../core/result.ts";
import type { ReadOutput } from "./read-output.ts";

/** What a tool returned, as the result it amounts to. */
export function fromOutput(call: Call, output: ReadOutput): ToolResult {
  if (!output.error && !output.pending) return completed(call, output);
  const result = output.pending ? pending(call, output.pending, "") : failed(call, output.error!);
  result.content = output.content;
  result.display = output.display;
  result.metadata = output.metadata ?? {};
  if (output.details !== undefined) result.details = output.details;
  return result;
}

function completed(call: Call, output: ReadOutput): CompletedResult {
  return {
    callId: call.id,
    toolName: toolOf(call).name,
    status: "completed",
    success: true,
    content: output.content,
    display: output.display,
    details: output.details,
    metadata: output.metadata ?? {},
    startedAt: call.startedAt,
    completedAt: 0,
    durationMs: 0,
  };
}
