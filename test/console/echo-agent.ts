import type { Haft } from "haft";
import { type AgentModel, type Message, textOfMessage } from "../../src/models/agent/agent.ts";
import { createAgent } from "../../src/capabilities/create-agent.ts";

/** An agent whose model needs no network: it repeats, writes a file where it is told to, asks a question, and can take for ever. */
export function createEchoAgent(haft: Haft, name: string) {
  return createAgent({ haft, name, model, systemPrompt: "" });
}

const model: AgentModel = {
  id: "test/echo",
  async respond({ messages, signal }, onDelta) {
    const usage = { inputTokens: 12, outputTokens: 3 };
    const requested = lastWords(messages);
    if (messages.at(-1)?.role === "user" && requested.startsWith("write ")) {
      const input = { path: requested.slice(6), content: "from a chat\n" };
      return { parts: [{ type: "tool_call", callId: "", name: "write", input }], usage, finish: "calls" };
    }
    if (messages.at(-1)?.role === "user" && requested.startsWith("ask ")) {
      const input = { questions: [{ question: requested.slice(4), options: [{ label: "yes" }, { label: "no" }] }] };
      return { parts: [{ type: "tool_call", callId: "", name: "ask_user", input }], usage, finish: "calls" };
    }
    const text = requested.startsWith("Note from the runtime") ? "Thank you, it is done." : `You said: ${requested}`;
    for (const piece of text.split(/(?<= )/)) onDelta?.({ type: "text", text: piece });
    if (requested.startsWith("for ever")) {
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    }
    return { parts: [{ type: "text", text }], usage, finish: "ended" };
  },
};

function lastWords(messages: readonly Message[]): string {
  const last = messages.findLast(({ role }) => role === "user");
  return last ? textOfMessage(last) : "";
}
