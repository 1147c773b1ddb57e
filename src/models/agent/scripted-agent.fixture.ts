import { runtimeGateOf } from "../../core/gate.ts";
import { watchLateResults } from "../../capabilities/late-results.ts";
import { createScriptedModel, type Script, type ScriptedModel } from "../../testing/scripted-model.ts";
import type { Haft } from "../../runtime.ts";
import { type Agent, type Message, textOfMessage } from "./agent.ts";
import { assembleAgent } from "./agent-loop.ts";

export interface ScriptedAgent {
  agent: Agent;
  model: ScriptedModel;
  /** The messages that the model got in each step. */
  shown: string[][];
}

/** The real loop with a runtime and a scripted model. `before` delays a step. */
export function scriptAgent(
  haft: Haft,
  script: Script,
  {
    name = "main",
    toolNames,
    before,
  }: { name?: string; toolNames?: readonly string[]; before?: (step: number) => unknown } = {},
): ScriptedAgent {
  const model = createScriptedModel(script);
  const toolkit = haft.tools.toolkit(name, toolNames ?? haft.tools.registry.list().map((tool) => tool.name));
  const shown: string[][] = [];
  const agent = assembleAgent({
    name,
    toolkit,
    gate: runtimeGateOf(haft),
    clock: haft.settings.clock,
    limits: { steps: 50 },
    shownTools: () => toolkit.list(),
    systemPrompt: () => "",
    watchLateResults: (of) => watchLateResults(haft, of),
    model: {
      id: "script/1",
      async respond({ messages, signal }, onDelta) {
        shown.push(messages.map(showMessage));
        await Promise.race([before?.(shown.length), abortOf(signal)]);
        signal.throwIfAborted();
        const last = messages.at(-1);
        const { text, calls = [] } = model.respond({ tools: [], results: last?.role === "tool" ? last.results : [] });
        if (text !== undefined) onDelta?.({ type: "text", text });
        return {
          parts: [
            ...(text === undefined ? [] : [{ type: "text" as const, text }]),
            ...calls.map(({ id = "", name: tool, input = {} }) => ({
              type: "tool_call" as const,
              callId: id,
              name: tool,
              input,
            })),
          ],
          usage: { inputTokens: 10, outputTokens: 1 },
          finish: calls.length > 0 ? "calls" : "ended",
        };
      },
    },
  });
  return { agent, model, shown };
}

/** Resolves when the signal aborts. */
function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve())));
}

function showMessage(message: Message): string {
  if (message.role !== "tool") return `${message.role}: ${textOfMessage(message)}`;
  return `tool: ${message.results.map(({ toolName, status }) => `${toolName} ${status}`).join(", ")}`;
}
