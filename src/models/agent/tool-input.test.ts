import { isStepCount, streamText } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { createAgent } from "../../capabilities/create-agent.ts";
import { createTool } from "../../core/create-tool.ts";
import { createHaft } from "../../runtime.ts";
import { createScriptedLanguageModel } from "../../testing/scripted-model.ts";
import { toAISDKTools } from "../frameworks/ai-sdk.ts";
import { anthropicFormat } from "../providers/anthropic.ts";

const cacheControl = { type: "ephemeral" };

function makeTool(more: object = {}) {
  const seen: string[] = [];
  const pay = createTool({
    name: "pay",
    description: "Pays.",
    kind: "readonly",
    inputSchema: z.object({ to: z.string(), amount: z.number() }),
    execute: ({ to }) => {
      seen.push("runs");
      return `paid ${to}`;
    },
    onInputStart: ({ toolCallId }) => void seen.push(`start ${toolCallId}`),
    onInputDelta: ({ inputTextDelta }) => void seen.push(inputTextDelta),
    onInputAvailable: ({ input }) => void seen.push(JSON.stringify(input)),
    providerOptions: { anthropic: { cacheControl } },
    ...more,
  });
  return { pay, seen };
}

const script = () =>
  createScriptedLanguageModel([
    { calls: [{ id: "c1", name: "pay", input: { to: "ann", amount: 3 } }] },
    { text: "Done." },
  ]);
const SHOWN = ["start c1", '{"to":"ann",', '"amount":3}', '{"to":"ann","amount":3}'];

test("the agent shows a tool what the model writes for it, and the model its provider options", async () => {
  const { pay, seen } = makeTool();
  const model = script();
  const agent = createAgent({ haft: createHaft({ tools: [pay] }), model });
  for await (const _event of agent.stream("Pay ann.")) void _event;
  expect(seen).toEqual([...SHOWN, "runs"]);
  expect(model.requests[0]!.tools![0]).toMatchObject({ providerOptions: { anthropic: { cacheControl } } });
});

test("the AI SDK gets the listeners and the provider options", async () => {
  const { pay, seen } = makeTool();
  const model = script();
  const tools = toAISDKTools(createHaft({ tools: [pay] }).tools.toolkit("agent", ["pay"]));
  await streamText({ model: model as never, prompt: "Pay ann.", tools, stopWhen: isStepCount(2) }).text;
  expect(seen).toEqual([...SHOWN, "runs"]);
  expect(model.requests[0]!.tools![0]).toMatchObject({ providerOptions: { anthropic: { cacheControl } } });
});

test("a listener that fails has no effect on the call, and one of a denied tool does not make it run", async () => {
  const { pay, seen } = makeTool({
    onInputStart: () => {
      throw new Error("no screen");
    },
    onInputDelta: () => Promise.reject(new Error("no screen")),
  });
  const agent = createAgent({ haft: createHaft({ tools: [pay], rules: { deny: ["pay"] } }), model: script() });
  for await (const _event of agent.stream("Pay ann.")) void _event;
  expect(seen).toEqual([SHOWN.at(-1)]);
});

test("Anthropic gets its options by the names of its API, and they cannot replace the definition", () => {
  const { pay } = makeTool({ providerOptions: { anthropic: { cacheControl, name: "other" }, openai: { a: 1 } } });
  const [tool] = anthropicFormat.toTools([pay]).tools;
  expect(tool).toMatchObject({ name: "pay", cache_control: cacheControl });
  expect(tool).not.toHaveProperty("a");
});
