import type { ToolCallContext } from "../core/call-context.ts";
import { nextCallId } from "../core/call-id.ts";
import type { MessagePart, ToolCallPart } from "./message.ts";

/**
 * Gives every call of a turn an id of its own. A model's id is kept where it is one: an id that was used before, or that
 * merely counts, would join this call to the result of another one.
 */
export function extractCalls(parts: MessagePart[], context: ToolCallContext): ToolCallPart[] {
  const used = new Set(context.toolCalls.map(({ callId }) => callId));
  const calls: ToolCallPart[] = [];
  for (const [at, part] of parts.entries()) {
    if (part.type !== "tool_call") continue;
    const { callId: given, ...rest } = part;
    const isKept = !used.has(given) && looksUnique(given, part.name);
    const call: ToolCallPart = isKept
      ? part
      : { ...rest, callId: nextCallId(), ...(given && part.rawText === undefined ? { modelId: given } : {}) };
    used.add(call.callId);
    calls.push(call);
    parts[at] = call;
  }
  return calls;
}

/** `call_0`, `functions.read:3` and `2` come again in the next conversation; what a provider rolled does not. */
function looksUnique(id: string, name: string): boolean {
  const rolled = id.replace(/^(?:chatcmpl-tool|functions|call|toolu|tool|fc)[-_.:]*/i, "");
  return /^[\w-]{8,}$/.test(rolled) && !/^\d{1,9}$/.test(rolled) && (name === "" || !id.includes(name));
}
