// A model that calls `pay` once and then says "done", so that the example needs no key. Use your own in its place.
import { EventType } from "@tanstack/ai";

const call = { id: "functions.pay:0", name: "pay", input: JSON.stringify({ amount: 50 }) };

export const adapter = {
  kind: "text",
  name: "scripted",
  model: "scripted",
  async *chatStream({ messages, threadId, runId }) {
    const isAnswered = messages.at(-1).role === "tool";
    yield { type: EventType.RUN_STARTED, threadId, runId };
    if (isAnswered) {
      yield { type: EventType.TEXT_MESSAGE_START, messageId: "m1", role: "assistant" };
      yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId: "m1", delta: "done" };
      yield { type: EventType.TEXT_MESSAGE_END, messageId: "m1" };
    } else {
      yield { type: EventType.TOOL_CALL_START, toolCallId: call.id, toolCallName: call.name };
      yield { type: EventType.TOOL_CALL_ARGS, toolCallId: call.id, delta: call.input };
      yield { type: EventType.TOOL_CALL_END, toolCallId: call.id };
    }
    yield { type: EventType.RUN_FINISHED, threadId, runId, finishReason: isAnswered ? "stop" : "tool_calls" };
  },
};
