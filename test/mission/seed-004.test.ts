// Plays seed 004, "Tool 系统", from top to bottom. Its names are Python's and are camelCase here; data → details,
// error → error.message, TOOL_COMPLETE → tool_call_completed, PERMISSION_REQUEST → permission_requested.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createArtifactManager, createArtifactTools } from "haft/workspace";
import { describe, expect, test } from "vitest";
import { type AnyTool, createTool, describeApproval, textOf, type ToolResult } from "haft";
import {
  AgentToolkit,
  ToolPermission,
  ToolPromptGenerator,
  ToolRegistry,
  viewTool,
  XMLToolCallParser,
} from "haft/compat";
import { createScriptedLanguageModel, createTestHaft, type LanguageScript } from "haft/testing";
import { formatToolResult, parseToolCalls } from "haft/formats";
import { connectSubagents, createAgent, createAgentTools } from "haft/agent";
import { makeHostFolder } from "./open-host.ts";
import { openWeb, pageAnswer, PDF, searchAnswer } from "./open-web.ts";

/** The seed's class as the factory makes it: name, description, permission, a list of parameters, and code. */
function createWebSearchTool(search: (query: string, max: number) => Promise<string[]> = async () => []): AnyTool {
  return createTool({
    name: "web_search",
    description: "搜索互联网获取信息",
    permission: ToolPermission.AUTO,
    parameters: [
      { name: "query", type: "string", description: "搜索查询词", required: true },
      { name: "max_results", type: "integer", description: "最大结果数量", required: false, default: 10 },
    ],
    async execute({ query, max_results }) {
      try {
        return { success: true, data: await search(query, max_results) };
      } catch (error) {
        return { success: false, error: String(error) };
      }
    },
  });
}

function failureOf(result: ToolResult): string {
  if (result.status !== "failed") throw new Error(`The call is ${result.status}: ${result.display}`);
  return result.error.message;
}

describe("权限系统", () => {
  test("ToolPermission has two levels", () => {
    expect(ToolPermission).toEqual({ AUTO: "auto", CONFIRM: "confirm" });
  });

  describe("权限处理流程", () => {
    function createConfirming(options: Parameters<typeof createTestHaft>[0] = {}) {
      const haft = createTestHaft(options);
      const runs: unknown[] = [];
      haft.register({
        name: "publish",
        description: "Publishes a page",
        permission: ToolPermission.CONFIRM,
        parameters: [{ name: "page", type: "string", description: "Which page" }],
        execute: (params) => {
          runs.push(params);
          return "published";
        },
      });
      return { haft, runs };
    }

    test("AUTO → executed at once → TOOL_COMPLETE", async () => {
      const haft = createTestHaft({ tools: [createWebSearchTool()] });
      expect(await haft.execute("web_search", { query: "x" })).toMatchObject({ success: true });
      expect(haft.recorded.types()).not.toContain("permission_requested");
      expect(haft.recorded.of("tool_call_completed")).toHaveLength(1);
    });

    test("CONFIRM → PERMISSION_REQUEST → paused", async () => {
      const { haft, runs } = createConfirming();
      const result = await haft.execute("publish", { page: "home" });
      expect(result).toMatchObject({ status: "pending", pending: { kind: "approval" } });
      expect(haft.recorded.of("permission_requested")).toMatchObject([{ toolName: "publish", callId: result.callId }]);
      expect(await haft.approvals.list("pending")).toMatchObject([{ toolName: "publish", input: { page: "home" } }]);
      expect(runs).toEqual([]);
    });

    test("CONFIRM → approved → executed → TOOL_COMPLETE", async () => {
      const { haft, runs } = createConfirming();
      const { callId } = await haft.execute("publish", { page: "home" });
      const [open] = await haft.approvals.list("pending");
      expect(await haft.approvals.approve(open!.id, "ada")).toMatchObject({
        success: true,
        callId,
        details: "published",
      });
      expect(runs).toEqual([{ page: "home" }]);
      expect(haft.recorded.of("permission_resolved")).toMatchObject([{ decision: "approved", by: "ada", callId }]);
      expect(haft.recorded.types(callId).at(-1)).toBe("tool_call_completed");
    });

    test("CONFIRM → denied → a refusal is returned", async () => {
      const { haft, runs } = createConfirming();
      await haft.execute("publish", { page: "home" });
      const [open] = await haft.approvals.list("pending");
      const refused = await haft.approvals.deny(open!.id, "not ready");
      expect(refused).toMatchObject({ success: false, error: { code: "approval_denied" } });
      expect(failureOf(refused)).toMatch(/^Permission denied: .*not ready/);
      expect(runs).toEqual([]);
    });

    test("an open question survives a restart, and is shown with its preview", async () => {
      const { folder, open, onDisk } = makeHostFolder({ "page.md": "old\n" });
      const before = await open();
      await before.haft.execute("read", { path: "page.md" });
      const requests = await before.haft.execute("write", { path: "page.md", content: "new\n" }, { id: "w1" });
      expect(requests).toMatchObject({ status: "pending", pending: { kind: "approval" } });
      await before.close();

      const { haft } = await open();
      const [question] = await haft.approvals.list("pending");
      expect(describeApproval(question!).join("\n")).toMatch(/-old[^]*\+new/);
      expect(onDisk("page.md")).toBe("old\n");
      expect(await haft.approvals.approve(question!.id, "ada")).toMatchObject({ success: true, callId: "w1" });
      expect(onDisk("page.md")).toBe("new\n");
      writeFileSync(join(folder, "page.md"), "by hand\n");
      // The same yes again tells what came of the first, and writes nothing.
      expect(await haft.approvals.approve(question!.id, "ada")).toMatchObject({ status: "completed", callId: "w1" });
      expect(onDisk("page.md")).toBe("by hand\n");
      await expect(haft.approvals.deny(question!.id, "no", "ada")).rejects.toThrow(/already approved/);
    });

    test("an open question that nobody answers expires, and then the answer is no", async () => {
      const { haft } = createConfirming({ approvals: { lifetimeMs: 60_000 } });
      await haft.execute("publish", { page: "home" });
      const [question] = await haft.approvals.list("pending");
      await haft.clock.advance(60_001);
      expect(await haft.approvals.get(question!.id)).toMatchObject({ state: "expired" });
      await expect(haft.approvals.approve(question!.id, "ada")).rejects.toThrow(/expired/);
    });
  });

  test("ToolParameter: name, type, description, required, default", () => {
    const tool = createTool({
      name: "all",
      description: "Takes every type",
      parameters: [
        { name: "a", type: "string", description: "A text" },
        { name: "b", type: "integer", description: "A whole number", required: false, default: 1 },
        { name: "c", type: "boolean", description: "A flag", required: false },
        { name: "d", type: "array", description: "A list", required: false },
        { name: "e", type: "object", description: "An object", required: false },
      ],
      needsApproval: false,
      run: () => "ok",
    });
    expect(tool.parameters.jsonSchema).toMatchObject({
      type: "object",
      properties: {
        a: { type: "string", description: "A text" },
        b: { type: "integer", description: "A whole number", default: 1 },
        c: { type: "boolean" },
        d: { type: "array" },
        e: { type: "object" },
      },
      required: ["a"],
    });
    expect(tool.build({ a: "x" } as never).params).toEqual({ a: "x", b: 1 });
    expect(() => tool.build({ a: "x", b: 1.5 } as never)).toThrow(/validation failed/);
  });

  test("ToolResult: success, data, error, metadata, and to_dict", async () => {
    const haft = createTestHaft();
    haft.register({
      name: "count",
      description: "Counts",
      parameters: [],
      needsApproval: false,
      run: () => ({ success: true, data: { n: 3 }, metadata: { source: "seed" } }),
    });
    haft.register({
      name: "fail",
      description: "Fails",
      parameters: [],
      needsApproval: false,
      run: () => ({ success: false, error: "no luck" }),
    });
    const counted = await haft.execute("count");
    expect(counted).toMatchObject({ success: true, details: { n: 3 }, metadata: { source: "seed" } });
    expect(failureOf(await haft.execute("fail"))).toBe("no luck");
    expect(JSON.parse(JSON.stringify(counted))).toEqual(counted);
  });
});

describe("BaseTool 基类", () => {
  describe("定义工具", () => {
    test("name, description and permission, AUTO by default", () => {
      const plain = createTool({
        name: "plain",
        description: "A plain tool",
        parameters: [],
        needsApproval: false,
        execute: () => 1,
      });
      expect(plain.permission({})).toBe(ToolPermission.AUTO);
      expect(createWebSearchTool()).toMatchObject({ name: "web_search", description: { short: "搜索互联网获取信息" } });
    });

    test("get_parameters: the list is the tool's schema", () => {
      const { properties, required } = createWebSearchTool().parameters.jsonSchema as {
        properties: object;
        required: string[];
      };
      expect(Object.keys(properties)).toEqual(["query", "max_results"]);
      expect(required).toEqual(["query"]);
    });

    test("validate_params: by default what is required and what is unknown, with a text that says so", async () => {
      const haft = createTestHaft({ tools: [createWebSearchTool()] });
      expect(failureOf(await haft.execute("web_search", {}))).toContain("query");
      const unknown = failureOf(await haft.execute("web_search", { query: "x", max_result: 3 }));
      expect(unknown).toContain("max_result: unknown parameter");
      expect(unknown).toContain('"max_results"');
    });

    test("validate_params may be overridden: a text is the error, nothing is fine", async () => {
      const runs: unknown[] = [];
      const tool = createTool({
        name: "range",
        description: "Takes a range",
        parameters: [
          { name: "from", type: "integer", description: "First" },
          { name: "to", type: "integer", description: "Last" },
        ],
        validate: ({ from, to }) => (from > to ? "from must not be after to" : null),
        needsApproval: false,
        execute: (params) => void runs.push(params),
      });
      const haft = createTestHaft({ tools: [tool] });
      const refused = await haft.execute("range", { from: 2, to: 1 });
      expect(refused).toMatchObject({ error: { code: "invalid_input" } });
      expect(failureOf(refused)).toContain("from must not be after to");
      expect(runs).toEqual([]);
      expect(await haft.execute("range", { from: 1, to: 2 })).toMatchObject({ success: true });
    });

    test("__call__: calling the tool validates, then executes", async () => {
      const tool = createWebSearchTool(async (query, max) => [`${query} ${max}`]);
      createTestHaft({ tools: [tool] });
      expect((await tool.execute({ query: "x" })).details).toEqual(["x 10"]);
      expect(await tool.execute({})).toMatchObject({ success: false, error: { code: "invalid_input" } });
    });
  });

  describe("示例：WebSearchTool", () => {
    test("data on success, the default filled in", async () => {
      const haft = createTestHaft({ tools: [createWebSearchTool(async (query, max) => [query, String(max)])] });
      expect((await haft.execute("web_search", { query: "AI" })).details).toEqual(["AI", "10"]);
      expect((await haft.execute("web_search", { query: "AI", max_results: 3 })).details).toEqual(["AI", "3"]);
    });

    test("an error as a failed result", async () => {
      const failing = createWebSearchTool(() => Promise.reject(new Error("quota used up")));
      const haft = createTestHaft({ tools: [failing] });
      expect(failureOf(await haft.execute("web_search", { query: "AI" }))).toContain("quota used up");
    });

    test("the built-in one asks a provider, and is AUTO", async () => {
      const { haft, requests } = await openWeb(searchAnswer);
      const { details } = await haft.execute("web_search", { query: "Python async", max_results: 2 });
      expect(details).toMatchObject({ results: [{ title: "Python async 1" }, { title: "Python async 2" }] });
      expect(requests).toHaveLength(1);
      expect(haft.tools.registry.get("web_search")?.permission({ query: "x" })).toBe(ToolPermission.AUTO);
    });
  });
});

describe("工具注册中心", () => {
  const tool = (name: string): AnyTool =>
    createTool({ name, description: `The tool ${name}`, parameters: [], needsApproval: false, execute: () => name });

  test("ToolRegistry: register_tool_to_library, create_agent_toolkit, get_agent_toolkit", () => {
    const registry = new ToolRegistry();
    const [search, fetch] = [tool("web_search"), tool("web_fetch")];
    registry.registerToolToLibrary(search);
    registry.registerToolToLibrary(fetch);
    const toolkit = registry.createAgentToolkit("search", ["web_search"]);
    expect(toolkit).toBeInstanceOf(AgentToolkit);
    expect(toolkit.listTools()).toEqual([viewTool(search)]);
    expect(registry.getAgentToolkit("search")).toBe(toolkit);
    expect(registry.getAgentToolkit("nobody")).toBeUndefined();
    expect(registry.createAgentToolkit("empty").listTools()).toEqual([]);
  });

  test("AgentToolkit: agent_name, add_tool, add_tools, get_tool, list_tools", () => {
    const toolkit = new AgentToolkit("lead");
    const [a, b, c] = [tool("a"), tool("b"), tool("c")];
    toolkit.addTool(a);
    toolkit.addTools([b, c]);
    expect(toolkit.agentName).toBe("lead");
    expect(toolkit.getTool("b")).toBe(b);
    expect(toolkit.getTool("nobody")).toBeUndefined();
    expect(toolkit.listTools()).toEqual([a, b, c]);
  });

  test("execute_tool runs the tool as that agent, or says that it is not in the toolkit", async () => {
    const registry = new ToolRegistry();
    const haft = createTestHaft({ registry, tools: [tool("web_search"), tool("web_fetch")] });
    const toolkit = registry.createAgentToolkit("search", ["web_search"]);
    expect(await toolkit.executeTool("web_search", {})).toMatchObject({ success: true, details: "web_search" });
    const refused = await toolkit.executeTool("web_fetch", {});
    expect(refused.error).toMatch(/^Tool 'web_fetch' not available in search's toolkit/);
    expect(await haft.calls.log.recent()).toMatchObject([
      { toolName: "web_search", caller: { agent: "search" }, status: "completed" },
      { toolName: "web_fetch", caller: { agent: "search" }, status: "failed" },
    ]);
  });

  test("execute_tool validates, and asks where the tool wants it, although no graph stands above it", async () => {
    const registry = new ToolRegistry();
    const haft = createTestHaft({ registry, tools: [createWebSearchTool()] });
    haft.register({
      name: "publish",
      description: "Publishes",
      parameters: [],
      permission: "confirm",
      run: () => "done",
    });
    const toolkit = registry.createAgentToolkit("lead", ["web_search", "publish"]);
    expect(await toolkit.executeTool("web_search", {})).toMatchObject({ failure: { code: "invalid_input" } });
    expect(await toolkit.executeTool("publish", {})).toMatchObject({ status: "pending" });
  });

  test("初始化流程: a registry, tools, the library, a toolkit for each agent", async () => {
    const registry = new ToolRegistry();
    for (const made of ["call_subagent", "web_search", "web_fetch"].map(tool)) registry.registerToolToLibrary(made);
    const agents = [
      { name: "lead", requiredTools: ["call_subagent"] },
      { name: "search", requiredTools: ["web_search"] },
      { name: "crawl", requiredTools: ["web_fetch"] },
    ];
    for (const { name, requiredTools } of agents) registry.createAgentToolkit(name, requiredTools);
    createTestHaft({ registry });
    for (const { name, requiredTools } of agents) {
      const toolkit = registry.getAgentToolkit(name)!;
      expect(toolkit.listTools().map((each) => each.name)).toEqual(requiredTools);
      expect(await toolkit.executeTool(requiredTools[0]!)).toMatchObject({ success: true });
    }
  });

  test("createArtifactTools(manager) joins them, the manager given as an argument", async () => {
    const artifactManager = createArtifactManager();
    const registry = new ToolRegistry();
    const tools = [tool("call_subagent"), ...createArtifactTools(artifactManager)];
    for (const made of tools) registry.registerToolToLibrary(made);
    const toolkit = registry.createAgentToolkit("lead", ["call_subagent", "create_artifact"]);
    createTestHaft({ registry });
    const made = await toolkit.executeTool("create_artifact", { id: "plan", content: "# 计划" });
    expect(made).toMatchObject({ success: true, details: { id: "plan", version: 1 } });
    expect(await artifactManager.read({ session: "", id: "plan" })).toMatchObject({ version: { content: "# 计划" } });
    expect(await toolkit.executeTool("read_artifact", { id: "plan" })).toMatchObject({ success: false });
  });
});

describe("XML 解析器", () => {
  const call = (params: string): string =>
    `<tool_call>\n  <name>web_search</name>\n  <params>\n${params}\n  </params>\n</tool_call>`;

  test("parseToolCalls reads <tool_call> with CDATA values into { name, params, rawText }", () => {
    const rawText = call(
      "    <query><![CDATA[Python async best practices]]></query>\n    <max_results><![CDATA[10]]></max_results>",
    );
    const text = `I search first.\n${rawText}`;
    const params = { query: "Python async best practices", max_results: 10 };
    expect(XMLToolCallParser.parseToolCalls(text)).toEqual([{ name: "web_search", params, rawText }]);
    const parsed = parseToolCalls(text, { tools: [createWebSearchTool()] });
    expect(parsed).toMatchObject({
      calls: [{ name: "web_search", input: params, rawText }],
      text: "I search first.\n",
    });
  });

  test("CDATA keeps <, >, & and several lines as they are", () => {
    const code = 'if (a < b && c > d) {\n  return "</tool_call>";\n}';
    expect(XMLToolCallParser.parseToolCalls(call(`<query><![CDATA[${code}]]></query>`))).toMatchObject([
      { params: { query: code } },
    ]);
  });

  test("XMLToolCallParser falls back when the XML is not strict", () => {
    const [sloppy] = parseToolCalls(call("<query>a < b && c</query>"), { format: "xml" }).calls;
    expect(sloppy).toMatchObject({ input: { query: "a < b && c" } });
    expect(sloppy!.failure).toBeUndefined();
    expect(sloppy!.repairs).toHaveLength(2);
    const [broken] = XMLToolCallParser.parseToolCalls("<tool_call><name>web_search</name><params><query>a");
    expect(broken!.failure!.message).toContain("<![CDATA[");
  });

  test("true, 123, 3.14 and other text become boolean, integer, float and text", () => {
    const values = { a: "true", b: "false", c: "123", d: "3.14", e: "other" };
    const params = Object.entries(values).map(([key, value]) => `<${key}><![CDATA[${value}]]></${key}>`);
    expect(XMLToolCallParser.parseToolCalls(call(params.join("\n")))).toMatchObject([
      { params: { a: true, b: false, c: 123, d: 3.14, e: "other" } },
    ]);
  });

  test("a call that was read runs through the gate", async () => {
    const haft = createTestHaft({ tools: [createWebSearchTool(async (query, max) => [query, String(max)])] });
    const text = call("<query><![CDATA[AI]]></query>\n<max_results><![CDATA[3]]></max_results>");
    const [parsed] = parseToolCalls(text, { tools: haft.tools.registry.list() }).calls;
    const result = await haft.execute(parsed!.name, parsed!.input, { id: parsed!.id });
    expect(result).toMatchObject({ callId: parsed!.id, details: ["AI", "3"] });
    expect(formatToolResult(parsed!.name, result)).toContain("<name>web_search</name>\n  <success>true</success>");
  });

  test("values that a text format left as text are typed by the tool's schema", async () => {
    const haft = createTestHaft({ tools: [createWebSearchTool(async (query, max) => [query, typeof max])] });
    const result = await haft.execute("web_search", { query: "Python async best practices", max_results: "10" });
    expect(result.details).toEqual(["Python async best practices", "number"]);
    expect(result.metadata.repairs).toEqual([expect.stringContaining("max_results")]);
    expect((await haft.execute("web_search", { query: "007" })).details).toEqual(["007", "number"]);
  });
});

describe("提示词生成器", () => {
  test("ToolPromptGenerator.generateToolInstruction(tools) in the format that the seed prints", () => {
    const tool = createTool({
      name: "web_search",
      description: "Search the web for information using Bocha AI search engine",
      parameters: [
        { name: "query", type: "string", description: "Search query using keywords." },
        {
          name: "freshness",
          type: "string",
          description: "Time range filter: 'noLimit', 'oneDay', ...",
          required: false,
          default: "noLimit",
        },
        {
          name: "count",
          type: "integer",
          description: "Number of results to return (1-50)",
          required: false,
          default: 10,
        },
      ],
      needsApproval: false,
      execute: () => [],
    });
    const instruction = ToolPromptGenerator.generateToolInstruction([tool]);
    expect(instruction).toContain(`### web_search
Description: Search the web for information using Bocha AI search engine
Parameters:
  - query: string (required) - Search query using keywords.
  - freshness: string (optional) - Time range filter: 'noLimit', 'oneDay', ...
    Default: noLimit
  - count: integer (optional) - Number of results to return (1-50)
    Default: 10
Example:
<tool_call>
  <name>web_search</name>
  <params>
    <query><![CDATA[your_query_here]]></query>
    <freshness><![CDATA[noLimit]]></freshness>
    <count><![CDATA[10]]></count>
  </params>
</tool_call>`);
    expect(instruction).toContain("## Notes");
  });

  test("formatToolResult(name, result) writes a result as XML", () => {
    expect(ToolPromptGenerator.formatToolResult("web_search", { success: true, data: ["a]]>b"] })).toBe(`<tool_result>
  <name>web_search</name>
  <success>true</success>
  <data><![CDATA[[
  "a]]]]><![CDATA[>b"
]]]></data>
</tool_result>`);
    const failed = ToolPromptGenerator.formatToolResult("web_search", { success: false, error: "quota used up" });
    expect(failed).toContain("<success>false</success>\n  <error><![CDATA[quota used up]]></error>");
  });

  test("what it will print is known of every tool: parameters, which are required, and their defaults", () => {
    const [declared] = createTestHaft({ tools: [createWebSearchTool()] }).tools.definitions();
    expect(declared).toMatchObject({
      name: "web_search",
      description: "搜索互联网获取信息",
      parameters: { properties: { max_results: { type: "integer", default: 10 } }, required: ["query"] },
    });
  });
});

describe("内置工具", () => {
  test("call_subagent validates the agent's name, then routes to it", async () => {
    const haft = createTestHaft({ tools: [createWebSearchTool(async (query) => [`about ${query}`])] });
    const scripted = (script: LanguageScript, toolNames: readonly string[], name: string) =>
      createAgent({
        haft,
        name,
        model: createScriptedLanguageModel(script),
        toolkit: haft.tools.toolkit(name, toolNames),
      });
    const missing = () => Promise.reject(new Error("not here"));
    haft.tools.registry.registerMany(
      createAgentTools({
        messageSink: { say: () => false },
        skills: { load: missing, read: missing },
        agents: connectSubagents({
          names: () => ["search_agent"],
          get: () =>
            scripted(
              [{ calls: [{ name: "web_search", input: { query: "茶" } }] }, { text: "Tea is a drink." }],
              ["web_search"],
              "search_agent",
            ),
        }),
      }),
    );
    const call = (agent_name: string) => ({
      calls: [{ name: "call_subagent", input: { agent_name, instruction: "茶?" } }],
    });
    const lead = scripted(
      [call("serch_agent"), call("search_agent"), { text: "It is a drink." }],
      ["call_subagent", "web_search"],
      "lead",
    );
    const { messages, text } = await lead.run("What is 茶?");
    expect(text).toBe("It is a drink.");
    const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
    expect(results[0]).toMatchObject({ success: false, error: { code: "invalid_input" } });
    expect(textOf(results[0]!.content)).toContain("Valid names: search_agent");
    expect(results[1]).toMatchObject({ success: true, content: [{ text: "Tea is a drink." }] });
    // What the subagent did is recorded as its own, within the call of the lead.
    const searched = haft.recorded.of("tool_call_completed").find(({ toolName }) => toolName === "web_search");
    expect(searched).toMatchObject({
      parentId: results[1]!.callId,
      caller: { agent: "search_agent", depth: 1, parent: { agent: "lead" } },
    });
  });

  test("web_search: freshness, count, and 博查 as its provider", async () => {
    const { haft, requests } = await openWeb(({ body }, response) => {
      const { query, count } = JSON.parse(body) as { query: string; count: number };
      const value = [{ name: query, url: "https://site.example/", summary: String(count) }];
      response.end(JSON.stringify({ code: 200, data: { webPages: { value } } }));
    }, "bocha");
    const input = { query: "茶", freshness: "oneDay", count: 3 };
    expect((await haft.execute("web_search", input)).details).toMatchObject({
      provider: "bocha",
      results: [{ title: "茶", snippet: "3" }],
    });
    expect(JSON.parse(requests[0]?.body ?? "")).toMatchObject(input);
  });

  test("web_fetch of pages and PDF, AUTO", async () => {
    const { haft, origin } = await openWeb((request, response) => {
      if (request.path === "/paper.pdf") response.end(PDF);
      else pageAnswer(request, response);
    });
    const page = await haft.execute("web_fetch", { url: `${origin}/page` });
    expect(textOf(page.content)).toContain("| Green | 80 |");
    const paper = await haft.execute("web_fetch", { url: `${origin}/paper.pdf` });
    expect(textOf(paper.content)).toContain("--- page 1 of 1 ---\nOn tea");
    expect(haft.tools.registry.get("web_fetch")?.permission({ url: origin })).toBe(ToolPermission.AUTO);
  });

  describe("artifacts", () => {
    const open = () => {
      const haft = createTestHaft({ tools: createArtifactTools(createArtifactManager()) });
      const call = (name: string, input: object) =>
        haft.execute(name, { id: "report", ...input }, { caller: { session: "s1", agent: "lead" } });
      return { haft, call };
    };

    test("create_artifact, AUTO", async () => {
      const { haft, call } = open();
      expect(await call("create_artifact", { title: "报告", content: "# 报告\n\n待写。" })).toMatchObject({
        success: true,
        details: { id: "report", title: "报告", version: 1 },
      });
      expect(await call("create_artifact", { content: "again" })).toMatchObject({ error: { code: "path_exists" } });
      for (const made of haft.tools.list()) expect(made.permission({}), made.name).toBe(ToolPermission.AUTO);
    });

    test("read_artifact, older versions too", async () => {
      const { call } = open();
      await call("create_artifact", { content: "first" });
      await call("rewrite_artifact", { content: "second" });
      expect(await call("read_artifact", {})).toMatchObject({ details: { version: 2, text: "second" } });
      expect(await call("read_artifact", { version: 1 })).toMatchObject({
        details: { version: 1, text: "first", type: "create", author: { agent: "lead" }, newest: 2 },
      });
    });

    test("update_artifact with fuzzy matching, which says how like it was", async () => {
      const { call } = open();
      await call("create_artifact", { content: "使用GPT4模型完成了全部的分析工作，结果良好。" });
      const spaced = await call("update_artifact", { old_str: "使用 GPT4 模型", new_str: "采用新模型" });
      expect(spaced).toMatchObject({ details: { step: "normalised", type: "update_fuzzy" } });
      const fuzzy = await call("update_artifact", {
        old_str: "完成了全部的份析工作，结果",
        new_str: "完成了分析，效果",
      });
      expect(textOf(fuzzy.content)).toMatch(/matched approximately: 9\d% similar to old_str/);
      expect(await call("read_artifact", {})).toMatchObject({ details: { text: "采用新模型完成了分析，效果良好。" } });
      expect(await call("update_artifact", { old_str: "没有的文字", new_str: "x" })).toMatchObject({
        error: { code: "no_match" },
      });
    });

    test("rewrite_artifact, where nobody changed it since it was read", async () => {
      const { call } = open();
      await call("create_artifact", { content: "a" });
      expect(await call("rewrite_artifact", { content: "b", expected_version: 1 })).toMatchObject({
        details: { version: 2, type: "rewrite" },
      });
      expect(await call("rewrite_artifact", { content: "c", expected_version: 1 })).toMatchObject({
        error: { code: "stale" },
      });
    });
  });
});

describe("添加新工具", () => {
  test("a new tool is one createTool and one register", async () => {
    const haft = createTestHaft();
    haft.register(
      createTool({
        name: "greet",
        description: "Greets somebody",
        parameters: [{ name: "who", type: "string", description: "Whom" }],
        needsApproval: false,
        run: ({ who }) => `Hello, ${who}!`,
      }),
    );
    expect(textOf((await haft.execute("greet", { who: "Ada" })).content)).toBe("Hello, Ada!");
  });
});
