import { expect, test } from "vitest";
import { z } from "zod";
import { createAgentTools } from "../tools/agents/agent-tools.ts";
import { createScriptedLanguageModel, createTestHaft, type LanguageScript } from "../testing/index.ts";
import { connectSubagents, createAgent } from "./create-agent.ts";

const note = {
  name: "note",
  description: "Keeps a note",
  kind: "write" as const,
  parameters: z.object({ text: z.string() }),
  needsApproval: false,
  run: ({ text }: { text: string }) => `kept ${text}`,
};

function open(child: LanguageScript, options: Parameters<typeof createTestHaft>[0] = {}) {
  const haft = createTestHaft({ tools: [note] as never, ...options });
  const missing = () => Promise.reject(new Error("not here"));
  const agents = connectSubagents({
    names: () => ["child"],
    get: () => createAgent({ haft, name: "child", model: createScriptedLanguageModel(child) }),
  });
  const tools = createAgentTools({
    messageSink: { say: () => false },
    skills: { load: missing, read: missing },
    agents,
  });
  haft.tools.registry.registerMany(tools);
  const ask = { name: "call_subagent", input: { agent_name: "child", instruction: "go" } };
  return {
    haft,
    ask,
    parent: (script: LanguageScript) =>
      createAgent({ haft, name: "parent", model: createScriptedLanguageModel(script) }),
  };
}

const CHILD: LanguageScript = [{ calls: [{ name: "note", input: { text: "x" } }] }, { text: "noted" }];

test("subagents run in parallel if only one call may run at a time: they use the slot of their call", async () => {
  const { parent, ask } = open(CHILD, { concurrency: { maxConcurrent: 1 } });
  const { messages } = await parent([{ calls: [ask, ask] }, { text: "done" }]).run("go");
  expect(messages[2]).toMatchObject({ results: [{ content: [{ text: "noted" }] }, { content: [{ text: "noted" }] }] });
});

test("a subagent is restricted to the mode and the policy of its caller", async () => {
  for (const [held, code] of [
    [{ mode: "plan" }, "plan_mode"],
    [{ policy: [{ deny: ["note"] }] }, "denied"],
  ] as const) {
    const { parent, ask, haft } = open(CHILD);
    await parent([{ calls: [ask] }, { text: "done" }]).run("go", held as never);
    expect(haft.recorded.of("tool_call_failed")).toMatchObject([{ toolName: "note", error: { code } }]);
  }
});

test("the calls of a subagent count for the program that runs it", async () => {
  const notes = Array.from({ length: 5 }, () => ({ name: "note", input: { text: "x" } }));
  const { haft } = open([{ calls: notes }, { text: "noted" }], { code: { limits: { maxCalls: 3 } } });
  const code = "return await tools.call_subagent({ agent_name: 'child', instruction: 'go' })";
  await haft.execute("run_code", { code });
  const refused = haft.recorded.of("tool_call_failed");
  expect(refused.map(({ toolName, error }) => `${toolName}: ${error.message}`)).toEqual(
    Array.from({ length: 3 }, () => expect.stringMatching(/^note: .*at most 3 calls/)),
  );
});

test("the nesting of subagents is limited", async () => {
  const { parent, haft, ask } = open([
    { calls: [{ name: "call_subagent", input: { agent_name: "child", instruction: "go" } }] },
    { text: "up" },
  ]);
  expect(await parent([{ calls: [ask] }, { text: "done" }]).run("go")).toMatchObject({ stop: "done" });
  expect(haft.recorded.of("tool_call_failed")).toMatchObject([{ caller: { depth: 3 }, error: { code: "too_deep" } }]);
});

test("a failed model of a subagent is a failed call, and an abort ends it with its parent", async () => {
  const broken = open([new Error("no power")]);
  const first = await broken.parent([{ calls: [broken.ask] }, { text: "done" }]).run("go");
  expect(first.messages[2]).toMatchObject({ results: [{ error: { message: expect.stringContaining("no power") } }] });
  const controller = new AbortController();
  const stopped = open([
    () => {
      controller.abort();
      return { text: "too late" };
    },
  ]);
  const second = await stopped.parent([{ calls: [stopped.ask] }]).run("go", { signal: controller.signal });
  expect(second).toMatchObject({
    stop: "aborted",
    messages: [{}, {}, { results: [{ error: { code: "cancelled" } }] }],
  });
});
