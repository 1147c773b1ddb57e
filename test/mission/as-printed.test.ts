// Programs with the documents' own names, shapes and habits, on the package as it is published: nothing is translated first.
import { existsSync } from "node:fs";
import { createHaft } from "haft";
import {
  type AgentTool,
  BaseTool,
  createTool,
  type ITool,
  type ResultView,
  type Tool,
  ToolCategory,
  type ToolContext,
  ToolError,
  ToolExecutor,
  ToolKind,
  type ToolParameter,
  ToolPermission,
  ToolPromptGenerator,
  ToolRegistry,
  type ToolResult,
  toToolDefinitions,
  XMLToolCallParser,
} from "haft/compat";
import { createArtifactManager, createArtifactTools } from "haft/workspace";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { makeHostFolder } from "./open-host.ts";
import { openProject } from "./open-project.ts";
import { openWeb } from "./open-web.ts";

describe("000", () => {
  const convert: Tool = {
    name: "convert",
    description: "Converts degrees",
    category: ToolCategory.DATA,
    parameters: z.object({ celsius: z.number() }),
    async execute(params: unknown, context: ToolContext): Promise<ToolResult> {
      const { celsius } = params as { celsius: number };
      const startedAt = Date.now();
      if (celsius < -273.15) return { toolName: "convert", success: false, error: "too cold", startedAt };
      return {
        toolName: "convert",
        success: true,
        result: { f: celsius * 1.8 + 32, ...contextOf(context) },
        startedAt,
      };
    },
  };
  const contextOf = (context: ToolContext) => {
    const { taskId, userId } = { ...context };
    return { taskId, userId };
  };

  test("an annotated tool runs, its readers find `result` and a text `error`, and events in capitals fire", async () => {
    const registry = new ToolRegistry();
    registry.register(convert);
    const events: unknown[] = [];
    registry.on("TOOL_CALL_COMPLETED", ({ toolName, result }) => void events.push([toolName, result]));
    registry.on("TOOL_CALL_FAILED", ({ toolName, error }) => void events.push([toolName, error]));
    const executor = new ToolExecutor(registry, { maxConcurrentTools: 3 });
    const warm = await executor.execute("convert", { celsius: 100 }, { taskId: "abc123", userId: "u1" });
    expect(warm.result).toEqual({ f: 212, taskId: "abc123", userId: "u1" });
    const cold = await executor.execute("convert", { celsius: -300 });
    expect([cold.success, cold.error]).toEqual([false, "too cold"]);
    expect(events).toEqual([
      ["convert", warm.result],
      ["convert", "too cold"],
    ]);
    expect(registry.getStats()).toMatchObject({
      byCategory: { data: 1, file: 0, mcp: 0 },
      callStats: { convert: { count: 2, failures: 1 } },
    });
  });

  test("network tools need no host and write nothing into the folder", async () => {
    const { haft, origin } = await openWeb((_request, response) => void response.end("hello"));
    expect(await haft.execute("http_get", { url: origin })).toMatchObject({ details: { status: 200, body: "hello" } });
    expect(existsSync(".haft")).toBe(false);
  });

  test("a refused path is a ToolPermissionError", async () => {
    const { haft } = openProject({ "a.txt": "a" });
    expect(await haft.execute("read_file", { path: "/etc/passwd" })).toMatchObject({
      error: { name: "ToolPermissionError", message: expect.stringMatching(/^Permission denied: Access denied/) },
    });
  });

  test("an approved call is reported as requested once", async () => {
    const haft = createHaft();
    const types: string[] = [];
    haft.on("*", ({ type }) => void types.push(type));
    haft.register({ name: "pay", description: "Pays", parameters: [], permission: "confirm", run: () => "paid" });
    const result = await haft.execute("pay");
    expect(await haft.approvals.approve(result.status === "pending" ? result.pending.id : "")).toMatchObject({
      details: "paid",
    });
    expect(types.filter((type) => type === "tool_call_requested")).toHaveLength(1);
  });
});

describe("001", () => {
  test("Read takes at most 10,000 lines", async () => {
    const { haft, at } = openProject({ "n.txt": "x\n".repeat(12_000) });
    const read = (limit: number) => haft.execute("Read", { file_path: at("n.txt"), limit });
    const { details } = await read(10_000);
    expect(details).toMatchObject({ content: "x\n".repeat(10_000).trimEnd(), lines: 10_000, nextOffset: 10_001 });
    expect(await read(10_001)).toMatchObject({ error: { message: expect.stringContaining("10,000 lines") } });
  });

  test("a tool's own llmContent and displayContent come back under these names, and build() gives a call", async () => {
    const tool = createTool({
      name: "Count",
      kind: "readonly",
      schema: z.object({ text: z.string() }),
      description: { short: "Counts" },
      async execute({ text }) {
        return { success: true, llmContent: `${text}: ${text.length}`, displayContent: `✅ ${text.length}` };
      },
    });
    const view: ResultView = await tool.execute({ text: "tea" });
    expect(view).toMatchObject({ llmContent: "tea: 3", displayContent: "✅ 3" });
    expect(await tool.build({ text: "tea" }).execute()).toMatchObject({ llmContent: "tea: 3" });
    expect(new ToolRegistry().registerMcpTool(tool).origin.type).toBe("mcp");
  });

  test.each([
    ["readonly", "completed"],
    ["write", "pending"],
    ["execute", "pending"],
    [undefined, "completed"],
  ] as const)("a tool of kind %s is %s", async (kind, status) => {
    const config = {
      name: "Act",
      kind,
      schema: z.object({}),
      description: { short: "Acts" },
      execute: async () => "done",
    };
    const registry = new ToolRegistry();
    registry.register(createTool(config));
    expect(await new ToolExecutor(registry).execute("Act", {})).toMatchObject({ status });
  });
});

test("000: a tool is found, its parameters parse, and it runs, step by step as printed", async () => {
  const { workspace, at } = openProject({ "a.txt": "one" });
  const registry = new ToolRegistry();
  registry.registerMany(workspace.tools);
  const tool: Tool = registry.get("read_file")!;
  expect(`${tool.description}`).toContain("Reads a file");
  const { parameters } = registry.get("read_file")!;
  expect(() => parameters.parse({})).toThrow(ToolError);
  const validated = parameters.parse({ path: at("a.txt") });
  expect(await new ToolExecutor(registry).execute("read_file", validated)).toMatchObject({
    result: { content: "one", size: 3 },
  });
});

test("001: tools of kind write and execute need confirmation, wherever they run", async () => {
  const create = (kind: ToolKind) =>
    createTool({
      name: `do_${kind}`,
      kind,
      description: { short: "Acts." },
      schema: z.object({}),
      execute: () => "done",
    });
  for (const kind of [ToolKind.Write, ToolKind.Execute]) {
    const registry = new ToolRegistry();
    registry.register(create(kind));
    expect(await new ToolExecutor(registry).execute(`do_${kind}`, {})).toMatchObject({ status: "pending" });
    expect(await createHaft({ tools: [create(kind)] }).execute(`do_${kind}`, {})).toMatchObject({ status: "pending" });
    const host = await makeHostFolder().open();
    host.haft.register(create(kind));
    expect(await host.haft.execute(`do_${kind}`, {})).toMatchObject({ status: "pending" });
  }
});

test("002: an ITool as drawn is registered, and every tool of the registry is one", async () => {
  const drawn: ITool = {
    id: "add_one",
    name: "add_one",
    description: "Adds one",
    params: z.object({ n: z.number() }),
    async: false,
    execute: ({ n }: { n: number }) => n + 1,
    toCallParams: () => ({ name: "add_one", description: "Adds one", parameters: { type: "object" }, async: false }),
  };
  const registry = new ToolRegistry();
  const tool: ITool = registry.register(drawn);
  expect(tool).toMatchObject({ id: "add_one", async: false });
  expect(await new ToolExecutor(registry).execute("add_one", { n: 1 })).toMatchObject({ result: 2 });
});

test("003: toToolDefinitions takes AgentTools, and rethrows once the signal is aborted", async () => {
  const stop = new AbortController();
  const [definition] = toToolDefinitions([
    {
      name: "stop",
      description: "Stops",
      parameters: { type: "object" },
      async execute() {
        stop.abort();
        throw new Error("half done");
      },
    },
  ]);
  const running = definition!.execute("c1", {}, undefined, undefined, stop.signal);
  await expect(running).rejects.toThrow(ToolError);
});

test("003: an AgentTool is registered as it is, and gets its four arguments", async () => {
  const tool: AgentTool<{ to: string }, { to: string }> = {
    name: "send",
    label: "Send",
    description: "Sends",
    parameters: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    async execute(toolCallId, { to }, signal, onUpdate) {
      onUpdate?.({ content: "half" });
      return { content: [{ type: "text", text: `${toolCallId} to ${to}, ${signal?.aborted}` }], details: { to } };
    },
  };
  const haft = createHaft({ registry: new ToolRegistry() });
  haft.tools.registry.register(tool);
  expect((await haft.execute("send", { to: "ann" })).status).toBe("completed");
  expect((await createHaft({ tools: [tool] }).execute("send", { to: "ann" })).status).toBe("pending");
  const updates: unknown[] = [];
  const result = await haft.execute("send", { to: "ann" }, { id: "c1", onUpdate: (update) => updates.push(update) });
  expect(result).toMatchObject({ content: [{ text: "c1 to ann, false" }], details: { to: "ann" } });
  expect(updates).toHaveLength(1);
});

describe("004", () => {
  class SearchTool extends BaseTool {
    constructor(permission: ToolPermission = ToolPermission.AUTO) {
      super({ name: "web_search", description: "搜索", permission });
    }
    override getParameters(): ToolParameter[] {
      return [
        { name: "query", type: "string", description: "搜索查询词", required: true },
        { name: "max_results", type: "integer", description: "最大结果数量", required: false, default: 10 },
      ];
    }
    override async execute({ query, max_results }: { query: string; max_results: number }): Promise<ToolResult> {
      if (query === "") return { success: false, error: "empty query" };
      return { success: true, data: [`${query} of ${max_results}`] };
    }
  }

  test("tools as classes go into the library, and each agent gets its toolkit", async () => {
    const registry = new ToolRegistry();
    registry.registerToolToLibrary(new SearchTool());
    for (const tool of createArtifactTools(createArtifactManager())) registry.registerToolToLibrary(tool);
    createHaft({ registry });
    registry.createAgentToolkit("lead", ["create_artifact"]);
    registry.createAgentToolkit("search", ["web_search"]);
    const search = registry.getAgentToolkit("search")!;
    expect(await search.executeTool("web_search", { query: "tea" })).toMatchObject({
      success: true,
      data: ["tea of 10"],
    });
    expect((await search.executeTool("web_search", { query: "" })).error).toBe("empty query");
    expect((await search.executeTool("web_search", {})).error).toContain("query");
    expect((await search.executeTool("create_artifact", {})).error).toMatch(/not available in search's toolkit/);
  });

  test("a class with Python's names is taken, and validates", async () => {
    const haft = createHaft({ registry: new ToolRegistry() });
    const even = {
      name: "even",
      description: "Takes even numbers",
      get_parameters: () => [{ name: "n", type: "integer", description: "A number" }],
      validate_params: ({ n }: { n: number }) => (n % 2 === 0 ? null : `${n} is odd`),
      execute: async ({ n }: { n: number }) => ({ success: true, data: n / 2 }),
    };
    haft.tools.registry.register(even);
    expect(await haft.execute("even", { n: 4 })).toMatchObject({ details: 2 });
    expect(await haft.execute("even", { n: 3 })).toMatchObject({
      error: { message: expect.stringContaining("3 is odd") },
    });
  });

  test("CONFIRM sends PERMISSION_REQUEST and waits; after a yes the call runs and TOOL_COMPLETE comes", async () => {
    const registry = new ToolRegistry();
    registry.register(new SearchTool(ToolPermission.CONFIRM));
    const haft = createHaft({ registry });
    const seen: string[] = [];
    let approvalId = "";
    registry.once("PERMISSION_REQUEST", (request) => {
      seen.push(`permission ${request.toolName}`);
      approvalId = request.approvalId;
    });
    registry.on("TOOL_COMPLETE", ({ toolName, success }) => void seen.push(`complete ${toolName} ${success}`));
    expect(
      await registry.createAgentToolkit("lead", ["web_search"]).executeTool("web_search", { query: "tea" }),
    ).toMatchObject({
      status: "pending",
    });
    expect(await haft.approvals.approve(approvalId, "ada")).toMatchObject({ details: ["tea of 10"] });
    expect(seen).toEqual(["permission web_search", "complete web_search true"]);
  });

  test.each([
    [
      "as the document writes it",
      "<tool_call><name>web_search</name><params><query><![CDATA[a < b]]></query><max_results><![CDATA[3]]></max_results></params></tool_call>",
    ],
    [
      "with an id",
      '<tool_call id="1"><name>web_search</name><params><query>a &lt; b</query><max_results>3</max_results></params></tool_call>',
    ],
    [
      "in capitals, with <arguments>, without its end",
      "<TOOL_CALL><name>web_search</name><arguments><query>a &lt; b</query><max_results>3</max_results></arguments>",
    ],
    [
      "without <params>",
      "<tool_call><name>web_search</name><query><![CDATA[a < b]]></query><max_results>3</max_results></tool_call>",
    ],
  ])("a call %s is parsed, executed and answered in XML", async (_, text) => {
    const registry = new ToolRegistry();
    registry.register(new SearchTool());
    createHaft({ registry });
    const toolkit = registry.createAgentToolkit("lead", ["web_search"]);
    const [call] = XMLToolCallParser.parseToolCalls(`I search.\n${text}`);
    expect(call).toMatchObject({ name: "web_search", params: { query: "a < b", max_results: 3 } });
    const result = await toolkit.executeTool(call!.name, call!.params);
    expect(ToolPromptGenerator.formatToolResult(call!.name, result)).toContain("<success>true</success>");
    expect(ToolPromptGenerator.formatToolResult(call!.name, result)).toContain("a < b of 3");
  });
});
