import { generateText, isStepCount, streamText } from "ai";
import { expect, test } from "vitest";
import { createTool } from "../core/create-tool.ts";
import { toAISDKTools } from "../formats.ts";
import { createScriptedLanguageModel, createScriptedModel, playScript, readResults } from "./scripted-model.ts";
import { createTestHaft } from "./test-haft.ts";

const tools = [
  { name: "add", description: "", kind: "readonly", parameters: [{ name: "a", type: "number" }], run: () => 3 },
  { name: "store", description: "", kind: "write", parameters: [], needsApproval: false, run: () => "stored" },
] as const;

test("a scripted model sees its tools and the results of its calls, and ends when it calls nothing", async () => {
  const haft = createTestHaft({ tools });
  const model = createScriptedModel([
    { calls: [{ name: "add", input: { a: 1 } }, { name: "nothing" }] },
    ({ results }) => ({ text: readResults(results)[0] ?? "" }),
  ]);
  const { text, results } = await playScript(haft, model);
  expect(text).toBe("3");
  expect(results.map(({ callId, status }) => [callId, status])).toEqual([
    ["turn1_1", "completed"],
    ["turn1_2", "failed"],
  ]);
  expect(model.seen[0]?.tools.map(({ name }) => name)).toEqual(["add", "store"]);
  expect(haft.recorded.types("turn1_1")).toEqual(["tool_call_requested", "tool_call_started", "tool_call_completed"]);
});

test("a scripted model in plan mode is shown, and may run, read-only tools only", async () => {
  const model = createScriptedModel([{ calls: [{ name: "store" }] }, {}]);
  const { results } = await playScript(createTestHaft({ tools }), model, { mode: "plan" });
  expect(results).toMatchObject([{ error: { code: "plan_mode" } }]);
  expect(model.seen[0]?.tools.map(({ name }) => name)).toEqual(["add"]);
});

test("a script that is too short says so", async () => {
  const model = createScriptedModel([{ calls: [{ name: "store" }] }]);
  await expect(playScript(createTestHaft({ tools }), model)).rejects.toThrow("The script has 1 turns");
});

test("recorded events are given one by one, also those that have happened", async () => {
  const { recorded, execute, clock } = createTestHaft({ tools });
  const coming = recorded.next("tool_call_completed");
  await execute("store", {}, { id: "one" });
  await execute("store", {}, { id: "two" });
  expect((await coming).callId).toBe("one");
  expect((await recorded.next("tool_call_completed")).callId).toBe("two");
  expect(recorded.of("tool_call_started").map(({ at }) => at)).toEqual([clock.now(), clock.now()]);
  recorded.stop();
  await execute("store", {}, { id: "three" });
  expect(recorded.types("three")).toEqual([]);
});

test("a scripted language model answers generateText and streamText of the AI SDK", async () => {
  const add = createTool({
    name: "add",
    description: "Adds two numbers.",
    kind: "readonly",
    parameters: [{ name: "a", type: "number" }],
    run: ({ a }) => ({ sum: a + 2 }),
  });
  const aiTools = toAISDKTools({ add });
  const script = [{ calls: [{ id: "c1", name: "add", input: { a: 1 } }] }, { text: "It is three." }];
  const stopWhen = isStepCount(2);
  const { text, steps } = await generateText({
    model: createScriptedLanguageModel(script),
    tools: aiTools,
    stopWhen,
    prompt: "1 + 2?",
  });
  expect(text).toBe("It is three.");
  expect(steps[0]?.toolResults[0]).toMatchObject({ output: { details: { sum: 3 } } });
  const stream = streamText({ model: createScriptedLanguageModel(script), tools: aiTools, stopWhen, prompt: "1 + 2?" });
  expect(await stream.text).toBe("It is three.");
});
