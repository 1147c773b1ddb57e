// Plays seed 002, "Tool 架构文档", from top to bottom. Words are translated by the table of the design:
// ToolCallParams.call_id → callId, ToolExecutionResult → ToolResult, async → mode background.
import { describe, expect, test } from "vitest";
import {
  type AnyTool,
  createTool,
  type ToolCallDefinition,
  ToolCallContext,
  type ToolCallParams,
  type ToolResult,
} from "haft";
import { createScriptedLanguageModel, createScriptedModel, createTestHaft } from "haft/testing";
import { z } from "zod";
import { createAgent, createAgentTools } from "haft/agent";

const MySimpleTool = createTool({
  id: "my_simple_tool",
  name: "my_simple_tool",
  description: "Performs a simple operation synchronously",
  inputSchema: z.object({
    param1: z.string().describe("First parameter"),
    param2: z.number().describe("Second parameter"),
  }),
  outputSchema: z.object({ result: z.string(), success: z.boolean() }),
  async: false,
  needsApproval: false,
  execute: async (params) => ({ result: `Processed ${params.param1} with value ${params.param2}`, success: true }),
});

const MyLongRunningTool = createTool({
  id: "my_long_running_tool",
  name: "my_long_running_tool",
  description: "Performs a long-running operation asynchronously",
  inputSchema: z.object({
    query: z.string().describe("The query to process"),
    timeout: z.number().default(30).describe("Timeout in seconds"),
  }),
  outputSchema: z.object({ results: z.array(z.any()), processingTime: z.number() }),
  async: true,
  needsApproval: false,
  execute: async (params) => ({ results: [params.query], processingTime: params.timeout }),
});

/** A result that is still awaited, as the gate gives it. */
async function pendingResult(callId: string): Promise<ToolResult> {
  const haft = createTestHaft();
  haft.register({ name: "ask", description: "Asks first", parameters: [], permission: "confirm", run: () => "ran" });
  const result = await haft.execute("ask", {}, { id: callId });
  expect(result.status).toBe("pending");
  return result;
}

function jobOf(result: ToolResult): string {
  if (result.status !== "pending") throw new Error(`Not pending: ${result.display}`);
  return result.pending.id;
}

async function finalResult(callId: string, tool: AnyTool = MySimpleTool, input: unknown = { param1: "a", param2: 1 }) {
  return createTestHaft({ tools: [tool] }).execute(tool.name, input, { id: callId });
}

describe("概述 and 核心组件", () => {
  test("synchronous and asynchronous tools stand side by side", () => {
    expect([MySimpleTool.mode, MyLongRunningTool.mode]).toEqual(["inline", "background"]);
  });

  test("ToolCallContext, ToolCallDefinition, ToolCallParams and results work together", async () => {
    const context = new ToolCallContext();
    const definition: ToolCallDefinition = MySimpleTool.toCallParams();
    const call: ToolCallParams = { callId: "c1", name: "my_simple_tool", input: { param1: "a", param2: 1 } };
    context.setToolDefinitions([definition]);
    context.setToolCalls([call]);
    context.setToolCallResult(await finalResult("c1"));
    expect(context.toJSON()).toMatchObject({
      toolDefinitions: [definition],
      toolCalls: [call],
      toolResults: [{ callId: "c1" }],
    });
  });
});

describe("架构图", () => {
  test("ITool: id, name, description, params, async, execute, toCallParams", async () => {
    const tool = createTool({
      id: "only_an_id",
      description: "A tool in the words of ITool",
      params: z.object({ x: z.number() }),
      async: true,
      needsApproval: false,
      execute: ({ x }) => x + 1,
    });
    expect(tool.name).toBe("only_an_id");
    expect(tool.toCallParams()).toMatchObject({
      name: "only_an_id",
      description: "A tool in the words of ITool",
      parameters: { type: "object", properties: { x: { type: "number" } } },
      async: true,
    });
    expect(MySimpleTool.toCallParams()).toMatchObject({ async: false, output: { type: "object" } });
  });

  test("ToolCallContext: three lists and three methods", () => {
    const context = new ToolCallContext();
    expect([context.toolDefinitions, context.toolCalls, context.toolResults]).toEqual([[], [], []]);
    for (const method of ["setToolDefinitions", "setToolCalls", "setToolCallResult"] as const) {
      expect(context[method]).toBeInstanceOf(Function);
    }
  });
});

describe("工具执行流程图", () => {
  test("1 to 5a and 7a: tools, definitions, the model's calls, execution, results", async () => {
    const haft = createTestHaft({ tools: [MySimpleTool] });
    const context = new ToolCallContext();
    context.setToolDefinitions(haft.tools.registry.list().map((tool) => tool.toCallParams()));
    const input = { param1: "a", param2: 2 };
    const model = createScriptedModel([{ calls: [{ id: "c1", name: "my_simple_tool", input }] }]);
    const { calls = [] } = model.respond({ tools: haft.tools.definitions(), results: [] });
    context.setToolCalls(calls.map(({ id, name, input: requests }) => ({ callId: id!, name, input: requests })));
    expect(context.pending()).toHaveLength(1);
    for (const result of await haft.executeMany(calls)) context.setToolCallResult(result);
    expect(context.pending()).toEqual([]);
    expect(context.result("c1")).toMatchObject({ details: { result: "Processed a with value 2", success: true } });
    expect(model.seen[0]!.tools.map(({ name }) => name)).toEqual(["my_simple_tool"]);
  });

  test("5b to 8b: an asynchronous tool is submitted, a worker executes it, its result reaches the context", async () => {
    const haft = createTestHaft({ tools: [MyLongRunningTool], worker: false });
    const context = new ToolCallContext();
    context.setToolCalls([{ callId: "c1", name: "my_long_running_tool", input: { query: "q" } }]);
    haft.jobs.follow(context);
    const result = await haft.execute("my_long_running_tool", { query: "q" }, { id: "c1" });
    context.setToolCallResult(result);
    // 5b: the caller goes on, and nothing has run.
    expect(result).toMatchObject({ status: "pending", pending: { kind: "job" } });
    expect(await haft.jobs.counts()).toMatchObject({ queued: 1, completed: 0 });
    // 6b, 7b: a worker takes it.
    await haft.jobs.work();
    await haft.jobs.wait(jobOf(result));
    expect(await haft.jobs.get(jobOf(result))).toMatchObject({ state: "completed", attempt: 1 });
    // 8b: by its call id.
    expect(context.result("c1")).toMatchObject({ callId: "c1", details: { results: ["q"], processingTime: 30 } });
  });

  test("9. the agent handles the results of both kinds, and every context hears of them by onToolCall", async () => {
    const haft = createTestHaft({ tools: [MySimpleTool, MyLongRunningTool], worker: false });
    const received: string[] = [];
    haft.jobs.follow({ onToolCall: ({ toolName, status }) => void received.push(`${toolName} ${status}`) });
    const model = createScriptedLanguageModel([
      {
        calls: [
          { name: "my_simple_tool", input: { param1: "a", param2: 1 } },
          { name: "my_long_running_tool", input: { query: "q" } },
        ],
      },
      { text: "The long one still runs." },
      { text: "It found q." },
    ]);
    const agent = createAgent({ haft, model });
    const first = await agent.run("Work");
    expect(first).toMatchObject({ stop: "pending", text: "The long one still runs." });
    expect(received).toEqual(["my_simple_tool completed"]);
    await haft.jobs.work();
    const [waiting] = first.context.awaited();
    await haft.jobs.wait(jobOf(waiting!));
    expect(received).toEqual(["my_simple_tool completed", "my_long_running_tool completed"]);
    const second = await agent.run([], { messages: first.messages, context: first.context });
    expect(second).toMatchObject({ stop: "done", text: "It found q." });
    expect(JSON.stringify(model.requests.at(-1)!.prompt.at(-1))).toContain("processingTime");
    expect(second.context.toolResults.map(({ toolName }) => toolName)).toEqual([
      "my_simple_tool",
      "my_long_running_tool",
    ]);
    expect(received).toHaveLength(2);
  });
});

test("a result that comes at once reaches every context too, without a loop, and only once", async () => {
  const haft = createTestHaft({ tools: [MySimpleTool] });
  const received: string[] = [];
  const stop = haft.jobs.follow({ onToolCall: ({ callId, status }) => void received.push(`${callId} ${status}`) });
  const done = await haft.execute("my_simple_tool", { param1: "a", param2: 1 }, { id: "c1" });
  haft.jobs.processToolCallResult(done);
  await haft.execute("my_simple_tool", {}, { id: "c2" });
  stop();
  await haft.execute("my_simple_tool", { param1: "a", param2: 1 }, { id: "c3" });
  expect(received).toEqual(["c1 completed", "c2 failed"]);
});

describe("关键实现细节", () => {
  test("2. the context tracks every definition, call and result", async () => {
    const context = new ToolCallContext();
    context.setToolDefinitions([MySimpleTool.toCallParams(), MyLongRunningTool.toCallParams()]);
    context.setToolCalls([
      { callId: "c1", name: "my_simple_tool", input: {} },
      { callId: "c2", name: "my_simple_tool", input: {} },
    ]);
    context.setToolCallResult(await finalResult("c2", MySimpleTool, {}));
    expect(context.toolDefinitions).toHaveLength(2);
    expect(context.pending().map(({ callId }) => callId)).toEqual(["c1"]);
    expect(context.failed().map(({ callId }) => callId)).toEqual(["c2"]);
    context.setToolCallResult(await finalResult("c1"));
    expect(context.completed().map(({ callId }) => callId)).toEqual(["c1"]);
  });

  test("4. descriptions and parameters are JSON Schema", () => {
    expect(MySimpleTool.toCallParams().parameters).toMatchObject({
      type: "object",
      properties: {
        param1: { type: "string", description: "First parameter" },
        param2: { type: "number", description: "Second parameter" },
      },
      required: ["param1", "param2"],
    });
  });

  test("5. results are joined to concurrent calls by call id, whatever the order they come in", async () => {
    const context = new ToolCallContext();
    context.setToolCalls(["c1", "c2", "c3"].map((callId) => ({ callId, name: "my_simple_tool", input: {} })));
    for (const callId of ["c3", "c1", "c2"]) {
      context.setToolCallResult(await finalResult(callId, MySimpleTool, { param1: callId, param2: 0 }));
    }
    expect(context.toolResults.map(({ details }) => (details as { result: string }).result)).toEqual([
      "Processed c1 with value 0",
      "Processed c2 with value 0",
      "Processed c3 with value 0",
    ]);
  });

  test("5. a result for an unknown call, a second result, and an id used twice are refused", async () => {
    const context = new ToolCallContext();
    const call = { callId: "c1", name: "my_simple_tool", input: {} };
    context.setToolCalls([call]);
    const result = await finalResult("c1");
    expect(() => context.setToolCallResult({ ...result, callId: "c9" })).toThrow(/no call "c9"/);
    context.setToolCallResult(result);
    expect(() => context.setToolCallResult(result)).toThrow(/already has its result/);
    expect(() => context.setToolCalls([call])).toThrow(/already in use/);
    expect(context.toolResults).toHaveLength(1);
  });
});

describe("同步vs异步工具", () => {
  test("同步工具: async false waits, and its result is there at once", async () => {
    const haft = createTestHaft({ tools: [MySimpleTool] });
    expect(await haft.execute("my_simple_tool", { param1: "a", param2: 1 })).toMatchObject({ status: "completed" });
  });
  test("stop_response ends the turn, cli_response speaks to the person", async () => {
    const received: string[] = [];
    const missing = () => Promise.reject(new Error("not here"));
    const tools = createAgentTools({
      messageSink: { say: (message) => received.push(message) > 0 },
      skills: { load: missing, read: missing },
      agents: { names: () => [], run: missing },
    });
    const haft = createTestHaft({ tools });
    const model = createScriptedLanguageModel([
      { calls: [{ name: "cli_response", input: { message: "Half done." } }] },
      { text: "All done.", calls: [{ name: "stop-response" }] },
      { text: "never" },
    ]);
    const answer = await createAgent({ haft, model }).run("Work");
    expect(received).toEqual(["Half done."]);
    expect(answer).toMatchObject({ stop: "stopped", text: "All done.", steps: 2 });
    // Inline, and through the gate like every other.
    expect(tools.map(({ mode }) => mode)).not.toContain("background");
    expect((await haft.calls.log.recent()).map(({ toolName }) => toolName)).toEqual(["cli_response", "stop_response"]);
  });

  test("异步工具: async true is told to the model", () => {
    expect(MyLongRunningTool.toCallParams().async).toBe(true);
  });

  test("异步工具: the call is answered pending with a job, and toolResults has its result when that ends", async () => {
    const haft = createTestHaft({ tools: [MyLongRunningTool] });
    const context = new ToolCallContext();
    haft.jobs.follow(context);
    context.setToolCalls([{ callId: "c1", name: "my_long_running_tool", input: { query: "q" } }]);
    const result = await haft.execute("my_long_running_tool", { query: "q" }, { id: "c1" });
    context.setToolCallResult(result);
    expect(context.toolResults).toEqual([]);
    expect(context.toPrompt()).toContain(`still running as job ${jobOf(result)}`);
    await haft.jobs.wait(jobOf(result));
    expect(context.toolResults).toMatchObject([{ callId: "c1", status: "completed" }]);
  });
});

describe("工具执行时机", () => {
  test("1. a synchronous tool ends before its caller goes on", async () => {
    const haft = createTestHaft();
    const order: string[] = [];
    haft.register({
      name: "work",
      description: "Works",
      parameters: [],
      async: false,
      needsApproval: false,
      execute: async () => {
        await haft.clock.advance(50);
        order.push("tool");
      },
    });
    await haft.execute("work");
    order.push("agent");
    expect(order).toEqual(["tool", "agent"]);
  });

  test("2. an asynchronous tool does not hold up its caller", async () => {
    const haft = createTestHaft();
    const order: string[] = [];
    haft.register({
      ...{ name: "work", description: "Works", parameters: [], async: true, needsApproval: false },
      execute: () => void order.push("tool"),
    });
    const result = await haft.execute("work");
    order.push("agent");
    await haft.jobs.wait(jobOf(result));
    expect(order).toEqual(["agent", "tool"]);
  });
});

describe("ToolCallContext 详解", () => {
  test("setToolDefinitions replaces, setToolCalls adds, setToolCallResult stores", async () => {
    const context = new ToolCallContext();
    context.setToolDefinitions([MySimpleTool.toCallParams()]);
    context.setToolDefinitions([MyLongRunningTool.toCallParams()]);
    expect(context.toolDefinitions.map(({ name }) => name)).toEqual(["my_long_running_tool"]);
    context.setToolCalls([{ callId: "c1", name: "a", input: {} }]);
    context.setToolCalls([{ callId: "c2", name: "b", input: {} }]);
    expect(context.toolCalls.map(({ callId }) => callId)).toEqual(["c1", "c2"]);
    context.setToolCallResult(await finalResult("c1"));
    expect(context.toolResults.map(({ callId }) => callId)).toEqual(["c1"]);
  });

  test("a pending result leaves the call pending, and the final one may follow", async () => {
    const context = new ToolCallContext();
    context.setToolCalls([{ callId: "c1", name: "ask", input: {} }]);
    context.setToolCallResult(await pendingResult("c1"));
    expect(context.toolResults).toEqual([]);
    expect(context.pending()).toHaveLength(1);
    context.setToolCallResult(await finalResult("c1"));
    expect(context.pending()).toEqual([]);
  });

  test("it is plain data: it survives JSON", async () => {
    const context = new ToolCallContext();
    context.setToolDefinitions([MySimpleTool.toCallParams()]);
    context.setToolCalls([{ callId: "c1", name: "my_simple_tool", input: { param1: "a", param2: 1 } }]);
    context.setToolCallResult(await finalResult("c1"));
    expect(JSON.parse(JSON.stringify(context))).toEqual(context.toJSON());
  });

  describe("工具结果处理", () => {
    test("processToolCallResult tells every context that has onToolCall; one that throws harms no other", async () => {
      const haft = createTestHaft();
      const reported: string[] = [];
      haft.jobs.follow({ onToolCall: ({ callId }) => void reported.push(`first ${callId}`) });
      haft.jobs.follow({
        onToolCall() {
          throw new Error("not my day");
        },
      });
      haft.jobs.follow(new ToolCallContext());
      haft.jobs.follow({ onToolCall: ({ callId }) => void reported.push(`last ${callId}`) });
      haft.jobs.processToolCallResult(await finalResult("c1"));
      haft.jobs.processToolCallResult(undefined);
      expect(reported).toEqual(["first c1", "last c1"]);
    });
  });
});

describe("工具创建示例", () => {
  test("MySimpleTool: data that matches its output schema", async () => {
    const result = await finalResult("c1", MySimpleTool, { param1: "x", param2: 42 });
    expect(result).toMatchObject({ success: true, details: { result: "Processed x with value 42", success: true } });
  });

  test("an output that does not match the declared one is a failure that keeps what came", async () => {
    const liar = createTool({
      id: "liar",
      description: "Returns something else",
      inputSchema: z.object({}),
      outputSchema: z.object({ result: z.string() }),
      needsApproval: false,
      execute: async () => ({ result: 7 }) as never,
    });
    const result = await finalResult("c1", liar, {});
    expect(result).toMatchObject({ status: "failed", error: { code: "bad_output" }, details: { result: 7 } });
  });

  test("MyLongRunningTool: its input is validated and its default filled in", () => {
    expect(MyLongRunningTool.build({ query: "q" }).params).toEqual({ query: "q", timeout: 30 });
    expect(() => MyLongRunningTool.build({ query: 1 } as never)).toThrow(/validation failed/);
  });

  test("MyLongRunningTool runs as a job and gives { results, processingTime }", async () => {
    const haft = createTestHaft({ tools: [MyLongRunningTool] });
    const result = await haft.execute("my_long_running_tool", { query: "q", timeout: 5 });
    const { details } = await haft.jobs.wait(jobOf(result));
    expect(details).toEqual({ results: ["q"], processingTime: 5 });
  });

  test("the tool learns which agent calls it", async () => {
    const haft = createTestHaft();
    haft.register({
      id: "who",
      description: "Says who calls",
      inputSchema: z.object({}),
      needsApproval: false,
      execute: (_params, { caller }) => caller.agent,
    });
    expect((await haft.tools.toolkit("lead", ["who"]).execute("who")).details).toBe("lead");
  });
});

describe("ToolCallContext的作用", () => {
  test("a system prompt shows the state of every call, pending ones included, and names asynchronous tools", async () => {
    const context = new ToolCallContext();
    context.setToolDefinitions([MySimpleTool.toCallParams(), MyLongRunningTool.toCallParams()]);
    context.setToolCalls([
      { callId: "c1", name: "my_simple_tool", input: { param1: "a", param2: 1 } },
      { callId: "c2", name: "my_long_running_tool", input: { query: "q" } },
      { callId: "c3", name: "my_simple_tool", input: {} },
    ]);
    context.setToolCallResult(await finalResult("c1"));
    context.setToolCallResult(await finalResult("c3", MySimpleTool, {}));
    const [guide, ...lines] = context.toPrompt().split("\n- ");
    expect(guide).toMatch(/results later.*my_long_running_tool/);
    expect(guide).not.toContain("my_simple_tool");
    expect(lines).toEqual([
      expect.stringMatching(/^c1 my_simple_tool\(.*"a".*\): done: .*Processed a with value 1/),
      expect.stringMatching(/^c2 my_long_running_tool\(.*"q".*\): still running$/),
      expect.stringMatching(/^c3 my_simple_tool\(\{\}\): failed: Parameter validation failed/),
    ]);
  });
});
