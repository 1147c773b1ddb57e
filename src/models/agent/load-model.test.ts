import { MockLanguageModelV4 } from "ai/test";
import { MockLanguageModelV3 } from "ai6/test";
import { expect, test } from "vitest";
import { z } from "zod";
import type { AgentEvent } from "./agent.ts";
import type { LanguageModel } from "./language-model.ts";
import { createModel6, createModel7 } from "../frameworks/scripted-models.fixture.ts";
import { createTestHaft } from "../../testing/index.ts";
import { startChatServer } from "./chat-server.fixture.ts";
import { createAgent } from "../../capabilities/create-agent.ts";
import { loadModel } from "./load-model.ts";

const add = {
  name: "add",
  description: "Adds two numbers",
  kind: "readonly" as const,
  parameters: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }: { a: number; b: number }) => String(a + b),
};
const SCRIPT = [{ text: "Let me see. ", calls: [{ name: "add", input: { a: 1, b: 2 } }] }, { text: "It is 3." }];

test.each([false, true])("a server with the OpenAI chat protocol works (streamed: %s)", async (streams) => {
  const { url, requests } = await startChatServer(SCRIPT);
  const model = await loadModel({ model: "mine/some/model", baseUrl: url, apiKey: "k1" });
  const agent = createAgent({ haft: createTestHaft({ tools: [add] }), model });
  const words: string[] = [];
  const onEvent = (event: AgentEvent): void => void (event.type === "text" && words.push(event.text));
  const answer = await agent.run("What is 1 + 2?", streams ? { onEvent } : {});
  expect(answer).toMatchObject({ stop: "done", text: "It is 3.", usage: { inputTokens: 20, outputTokens: 10 } });
  expect(requests.map(({ stream = false }) => stream)).toEqual([streams, streams]);
  expect(requests[0]).toMatchObject({ model: "some/model", authorization: "Bearer k1" });
  expect(requests[0]!.tools).toMatchObject([{ function: { name: "add", parameters: { required: ["a", "b"] } } }]);
  expect(requests[1]!.messages.slice(-2)).toMatchObject([
    { role: "assistant", tool_calls: [{ id: "call_1_0", function: { name: "add" } }] },
    { role: "tool", tool_call_id: "call_1_0", content: "3" },
  ]);
  expect(words.join("")).toBe(streams ? "Let me see. It is 3." : "");
});

test("an error of the server is reported with the next step", async () => {
  const { url } = await startChatServer([{ status: 401 }]);
  const model = await loadModel({ model: "mine/m", baseUrl: url });
  const answer = await createAgent({ haft: createTestHaft(), model }).run("go");
  expect(answer).toMatchObject({
    stop: "error",
    error: { message: expect.stringContaining("mine/m"), next: expect.stringContaining("Check the API key") },
  });
});

test("an abort ends a request that hangs", async () => {
  const controller = new AbortController();
  const { url } = await startChatServer([
    () => {
      controller.abort();
      return { hang: true };
    },
  ]);
  const model = await loadModel({ model: "mine/m", baseUrl: url });
  const answer = await createAgent({ haft: createTestHaft(), model }).run("go", { signal: controller.signal });
  expect(answer.stop).toBe("aborted");
});

test("a missing package or key is reported with the command or variable to set", async () => {
  const env = {};
  await expect(loadModel({ model: "gpt", env })).rejects.toThrow(/provider\/name/);
  await expect(loadModel({ model: "nobody-has-this/m", env })).rejects.toMatchObject({
    code: "missing_package",
    message: expect.stringContaining("npm install @ai-sdk/nobody-has-this"),
  });
  await expect(loadModel({ model: "openrouter/m", env })).rejects.toThrow(/OPENROUTER_API_KEY/);
  const load = (name: string) => Promise.reject(new Error(`Cannot find package '${name}'`));
  await expect(loadModel({ model: "ollama/m", env, load })).rejects.toThrow("npm install @ai-sdk/openai-compatible");
});

test("the provider package is used if it is installed, with the key from the environment", async () => {
  const made: unknown[] = [];
  const load = (name: string) => {
    if (name !== "@ai-sdk/acme") return Promise.reject(new Error(`Cannot find package '${name}'`));
    const languageModel = (modelId: string) => new MockLanguageModelV4({ provider: "acme.chat", modelId });
    return Promise.resolve({ createAcme: (options: unknown) => (made.push(options), { languageModel }) });
  };
  const model = await loadModel({ model: "acme/big", env: { ACME_API_KEY: "k2" }, load });
  expect(model).toMatchObject({ modelId: "big", provider: "acme.chat" });
  expect(made).toEqual([{ apiKey: "k2" }]);
});

test.each([
  ["6", createModel6],
  ["7", createModel7],
])("models of the AI SDK %s run the loop, whole and streamed", async (_version, create) => {
  const calls = [{ id: "call_0123456789ab", name: "add", input: { a: 2, b: 2 } }];
  // Assigned without a cast, to check that the types of the SDK fit.
  const models: LanguageModel[] = [create(calls), create(calls)];
  for (const [at, model] of models.entries()) {
    const agent = createAgent({ haft: createTestHaft({ tools: [add] }), model });
    const answer = await agent.run("go", at === 0 ? {} : { onEvent: () => undefined });
    expect(answer).toMatchObject({ stop: "done", text: "done" });
    expect(answer.messages[2]).toMatchObject({ results: [{ callId: "call_0123456789ab", content: [{ text: "4" }] }] });
  }
});

test.each(["call_0", "call_12", "functions.add:0", "2", "toolu_7", "add_00000001", ""])(
  "an id that merely counts, such as %j, is not the id of the call: it comes again in the next conversation",
  async (id) => {
    const model = createModel7([{ id, name: "add", input: { a: 2, b: 2 } }]);
    const { messages } = await createAgent({ haft: createTestHaft({ tools: [add] }), model }).run("go");
    const [, , message] = messages as { results?: { callId: string }[] }[];
    expect(message?.results?.[0]?.callId).toMatch(/^.{8,}$/);
    expect(message?.results?.[0]?.callId).not.toBe(id);
  },
);

test("an invalid model is rejected when the agent is created", () => {
  const model = { specificationVersion: "v1" } as unknown as LanguageModel;
  expect(() => createAgent({ haft: createTestHaft(), model })).toThrow(/must be a language model/);
  expect(new MockLanguageModelV3().specificationVersion).toBe("v3");
});
