// A model that calls `pay` once and then says "done", so that the example needs no key. Use your own in its place.
import { Usage } from "@openai/agents-core";

const call = { id: "functions.pay:0", name: "pay", input: JSON.stringify({ amount: 50 }) };

export const model = {
  async getResponse({ input }) {
    const status = "completed";
    const said = { type: "message", role: "assistant", status, content: [{ type: "output_text", text: "done" }] };
    const called = { type: "function_call", callId: call.id, name: call.name, arguments: call.input, status };
    return { usage: new Usage(), output: [input.at(-1).type === "function_call_result" ? said : called] };
  },
};
