// A model that calls `pay` once and then says "done", so that the example needs no key. Use your own in its place.
import { MockLanguageModelV4 } from "ai/test";

const call = { id: "functions.pay:0", name: "pay", input: JSON.stringify({ amount: 50 }) };

export const model = new MockLanguageModelV4({
  async doGenerate({ prompt }) {
    const isAnswered = prompt.at(-1).role === "tool";
    return {
      content: isAnswered
        ? [{ type: "text", text: "done" }]
        : [{ type: "tool-call", toolCallId: call.id, toolName: call.name, input: call.input }],
      finishReason: { unified: isAnswered ? "stop" : "tool-calls" },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
      warnings: [],
    };
  },
});
