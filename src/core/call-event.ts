import type { Call } from "./call.ts";
import type { EventOf, ToolEventType } from "./event.ts";

type CallEventType = Exclude<ToolEventType, "tool_registered" | "tool_unregistered">;
type Facts<T extends CallEventType> = Omit<EventOf<T>, "type" | "at" | "callId" | "toolName" | "caller" | "parentId">;

/** An event about this call, with what every such event says. */
export function callEvent<T extends CallEventType>(call: Call, type: T, at: number, facts: Facts<T>): EventOf<T> {
  return {
    type,
    at,
    callId: call.id,
    toolName: call.tool?.name ?? call.requestedName,
    caller: call.caller,
    ...(call.parent ? { parentId: call.parent.id } : {}),
    ...facts,
  } as unknown as EventOf<T>;
}
