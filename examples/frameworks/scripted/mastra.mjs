// A model that calls `pay` once and then says "done", so that the example needs no key. Use your own in its place.
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

export const mastraModel = {
  specificationVersion: "v2",
  provider: "scripted",
  modelId: "scripted",
  supportedUrls: {},
  async doStream({ prompt }) {
    const isAnswered = prompt.at(-1).role === "tool";
    const said = ["text-start", "text-delta", "text-end"].map((type) => ({ type, id: "1", delta: "done" }));
    const input = JSON.stringify({ amount: 50 });
    const called = { type: "tool-call", toolCallId: "call_1", toolName: "pay", input };
    const finish = { type: "finish", finishReason: isAnswered ? "stop" : "tool-calls", usage };
    const parts = [{ type: "stream-start", warnings: [] }, ...(isAnswered ? said : [called]), finish];
    return { stream: ReadableStream.from(parts) };
  },
};
