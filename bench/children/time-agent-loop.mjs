// Arguments: whose loop, how many calls in one step, how many runs. Prints { perCall }: µs a tool call, of a model that
// answers at once. What the model itself takes is measured with it, and is the same object for both.
import process from "node:process";
import { z } from "zod";
import { DIST, importHaft, median, timed } from "../harness.mjs";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const [whose, callsText, runsText] = process.argv.slice(2);
const calls = Number(callsText);
const schema = z.object({ a: z.number(), b: z.number() });
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

let requested = 0;
const model = {
  specificationVersion: "v3",
  provider: "bench",
  modelId: "model",
  supportedUrls: {},
  async doGenerate({ prompt }) {
    const isDone = prompt.at(-1)?.role === "tool";
    const content = isDone
      ? [{ type: "text", text: "done" }]
      : Array.from({ length: calls }, (_, i) => ({
          type: "tool-call",
          toolCallId: `call_${(++requested).toString(36).padStart(12, "x")}`,
          toolName: "add",
          input: `{"a":${i},"b":2}`,
        }));
    return { content, finishReason: { unified: isDone ? "stop" : "tool-calls", raw: undefined }, usage, warnings: [] };
  },
  doStream() {
    throw new Error("Nobody listens here.");
  },
};

const loops = {
  async haft() {
    const { createHaft } = await importHaft();
    const { createAgent } = await import(pathToFileURL(join(DIST, "agent.js")).href);
    const haft = createHaft({ concurrency: { maxConcurrent: 1000 } });
    haft.register({
      name: "add",
      description: "Adds",
      kind: "readonly",
      parameters: schema,
      run: ({ a, b }) => String(a + b),
    });
    const agent = createAgent({ haft, model });
    return async () => (await agent.run("go")).text;
  },
  async "ai-sdk"() {
    const { generateText, stepCountIs, isStepCount, tool } = await import("ai");
    const add = tool({
      description: "Adds",
      inputSchema: schema,
      needsApproval: false,
      execute: async ({ a, b }) => String(a + b),
    });
    const stopWhen = (isStepCount ?? stepCountIs)(5);
    return async () => (await generateText({ model, prompt: "go", tools: { add }, stopWhen })).text;
  },
};

const run = await loops[whose]();
if ((await run()) !== "done") throw new Error("The loop did not end as it should.");
for (let i = 0; i < 100; i++) await run();
const times = [];
for (let i = 0; i < Number(runsText); i++) times.push(await timed(run));
console.log(JSON.stringify({ perCall: (median(times) * 1000) / calls }));
