import { describe, expect, test } from "vitest";
import { createHaft, createTool, ToolCallContext, type ToolOrigin } from "haft";
import {
  AgentToolkit,
  BaseTool,
  createTool as createCompatTool,
  type ITool,
  jsonSchemaToZod,
  parse_tool_calls,
  type RegistryEvent,
  type Tool,
  type ToolContext,
  ToolExecutor,
  ToolParameter,
  ToolPermission,
  ToolRegistry,
  ToolResult,
  viewTool,
  wrapMCPTool,
  XMLToolCallParser,
} from "haft/compat";
import { z } from "zod";

const make = (name: string, kind: "readonly" | "write" = "write", origin?: ToolOrigin) =>
  createTool({ name, description: "", kind, origin, category: "file", tags: ["x"], parameters: [], run: () => name });
const mcp: ToolOrigin = { type: "mcp", server: "s" };
const names = (tools: readonly { name: string }[]) => tools.map(({ name }) => name);

describe("the documents' registry", () => {
  test("lists and registers under their names", () => {
    const registry = new ToolRegistry();
    expect(registry.registerToolToLibrary(make("read", "readonly")).name).toBe("read");
    registry.register(make("write"));
    expect(registry.getAll()).toEqual(registry.list());
    expect(names(registry.listByCategory("file"))).toEqual(["read", "write"]);
    expect(registry.getByCategory("文件")).toEqual(registry.listByCategory("file"));
    expect(names(registry.getByTag("x"))).toEqual(["read", "write"]);
    expect(names(registry.getReadOnlyTools())).toEqual(["read"]);
    expect(names(registry.getWriteTools())).toEqual(["write"]);
    expect(names(registry.toLLMTools())).toEqual(["read", "write"]);
    expect(names(registry.getFunctionDeclarationsByMode("plan"))).toEqual(["read"]);
    expect(registry.getFunctionDeclarationsByMode()).toHaveLength(2);
  });

  test("takes tools of servers only if they are that, and removes only those", () => {
    const registry = new ToolRegistry();
    expect(registry.registerMcpTool({ name: "m", description: "", parameters: [], run: () => 1 })).toMatchObject({
      category: "mcp",
      origin: { type: "mcp" },
    });
    registry.register(make("own"));
    expect([registry.unregisterMcpTool("own"), registry.unregisterMcpTool("z")]).toEqual([false, false]);
    expect(registry.unregisterMcpTool("m")).toBe(true);
    expect(names(registry.list())).toEqual(["own"]);
  });

  test("reports tools that come and go, and a listener that throws undoes nothing", () => {
    const registry = new ToolRegistry();
    const received: unknown[] = [];
    registry.on("toolRegistered", ({ type, tool }) => void received.push(["in", type, tool.name]));
    registry.on("toolRegistered", () => {
      throw new Error("listener");
    });
    const stop = registry.on("toolUnregistered", ({ type, tool }) => void received.push(["out", type, tool.name]));
    registry.on("tool_unregistered", ({ toolName }) => void received.push(["gone", toolName]));
    registry.register(make("a"));
    registry.registerMcpTool(make("m", "write", mcp));
    registry.unregister("a");
    stop();
    registry.unregister("m");
    expect(received).toEqual([
      ["in", "builtin", "a"],
      ["in", "mcp", "m"],
      ["gone", "a"],
      ["out", "builtin", "a"],
      ["gone", "m"],
    ]);
  });
});

describe("a tool that is registered as a plain object", () => {
  const plain = (execute: (...args: never[]) => unknown) => ({
    name: "send",
    description: "Sends.",
    parameters: z.object({ to: z.string() }),
    execute,
  });
  const minified = (e: { to: string }, t: ToolContext) => `${e.to} ${t.taskId}`;

  test.each([
    ["minified", minified],
    ["bound", minified.bind(undefined)],
    ["with rest parameters", (...all: unknown[]) => minified(all[0] as { to: string }, all[1] as ToolContext)],
    ["with an input that is named like an id", (id: { to: string }, context: ToolContext) => minified(id, context)],
  ])("gets its input first: %s", async (_case, execute) => {
    const registry = new ToolRegistry();
    registry.register(plain(execute));
    const sent = await new ToolExecutor(registry).execute("send", { to: "ann" }, { taskId: "t1" });
    expect(sent).toMatchObject({ result: "ann t1" });
  });

  test.each([
    ["by its names", async (toolCallId: string, params: { to: string }) => `${toolCallId} ${params.to}`],
    ["by their number", (async (a: string, b: { to: string }, _c: unknown) => `${a} ${b.to}`).bind(undefined)],
  ])("gets the id of the call first if it says so %s", async (_case, execute) => {
    const registry = new ToolRegistry();
    registry.register(plain(execute));
    expect(await new ToolExecutor(registry).execute("send", { to: "ann" }, { id: "c1" })).toMatchObject({
      result: "c1 ann",
    });
  });

  test("may be an ITool, and every tool can be read as one", async () => {
    const drawn: ITool = {
      id: "greet",
      name: "greet",
      description: "Greets.",
      params: z.object({ who: z.string() }),
      async: false,
      execute: ({ who }: { who: string }) => `Hello ${who}`,
      toCallParams: () => ({ name: "greet", description: "Greets.", parameters: { type: "object" }, async: false }),
    };
    const registry = new ToolRegistry();
    const tool: ITool = registry.register(drawn);
    expect(await new ToolExecutor(registry).execute("greet", { who: "ann" })).toMatchObject({ result: "Hello ann" });
    expect(createHaft({ tools: [drawn] }).tools.list()).toMatchObject([{ name: "greet", mode: "inline" }]);
    expect(tool).toMatchObject({ id: "greet", async: false });
    expect(tool.toCallParams()).toMatchObject({ name: "greet", parameters: { required: ["who"] } });
  });

  test("is read back with a text as its description and a schema that parses, also if Haft made it", () => {
    const registry = new ToolRegistry();
    registry.register(plain(minified));
    const made = createTool({
      name: "read",
      description: { short: "Reads.", usageNotes: ["Gently."] },
      kind: "readonly",
      inputSchema: z.object({ path: z.string() }),
      signature: ({ path }) => path,
      rule: ({ path }) => `read(${path})`,
      execute: ({ path }) => path,
    });
    registry.register(made);
    const send = registry.get("send")!;
    expect(`${send.description}`).toBe("Sends.");
    expect(send.description.short).toBe("Sends.");
    expect(send.parameters.parse({ to: "ann" })).toEqual({ to: "ann" });
    expect(() => send.parameters.parse({})).toThrow(/validation failed/);
    const read = registry.get("read")!;
    expect(String(read.description)).toBe("Reads.\n\nUsage notes:\n- Gently.");
    expect(JSON.parse(JSON.stringify(read.description))).toEqual({ short: "Reads.", usageNotes: ["Gently."] });
    expect(read.extractSignatureContent?.({ path: "a" })).toBe("a");
    expect(read.abstractPermissionRule?.({ path: "a" })).toBe("read(a)");
    expect(read.params.parse({ path: "a" })).toEqual({ path: "a" });
  });

  test("that Haft made runs in the runtime of the registry, whichever of both is called", async () => {
    const registry = new ToolRegistry();
    const made = make("write");
    registry.register(made);
    const haft = createHaft({ registry, policy: { deny: ["write"] } });
    expect(await made.execute({})).toMatchObject({ status: "failed" });
    expect(await registry.get("write")!.execute({})).toMatchObject({ success: false });
    expect(await haft.calls.log.recent()).toHaveLength(2);
  });
});

test("a call of a tool that was made by Haft runs once it is approved", async () => {
  const registry = new ToolRegistry();
  registry.register(make("write"));
  const haft = createHaft({ registry });
  expect(await haft.execute("write", {})).toMatchObject({ status: "pending" });
  const [approval] = await haft.approvals.list();
  expect(await haft.approvals.approve(approval!.id)).toMatchObject({ status: "completed" });
});

describe("a tool of a server", () => {
  test("is hidden by a tool of the same name, and back without it", async () => {
    const registry = new ToolRegistry();
    const seen: string[] = [];
    registry.addListener("toolRegistered", ({ type, tool }: RegistryEvent) => void seen.push(`${type} ${tool.name}`));
    const ofServer = make("same", "readonly", mcp);
    registry.registerMcpTool(ofServer);
    registry.register(make("same", "readonly"));
    expect(registry.get("same")!.origin.type).toBe("own");
    expect(registry.getAll().map(({ origin }) => origin.type)).toEqual(["own", "mcp"]);
    registry.unregister("same");
    expect(registry.get("same")!.origin.type).toBe("mcp");
    registry.unregister("same");
    registry.register(make("same", "readonly"));
    registry.registerMcpTool(ofServer);
    expect(registry.get("same")!.origin.type).toBe("own");
    expect([registry.unregisterMcpTool("same"), registry.unregisterMcpTool("same")]).toEqual([true, false]);
    expect(registry.getAll()).toHaveLength(1);
    expect(seen).toEqual(["mcp same", "builtin same", "mcp same", "builtin same", "mcp same"]);
  });
});

describe("calls as XML", () => {
  const search = createCompatTool({
    name: "search",
    description: "Searches.",
    parameters: [
      { name: "query", type: "string", required: true },
      { name: "max", type: "integer", required: false },
    ],
    execute: ({ query, max }) => ({ query, max }),
  });

  test.each(["2024", "true", "3.14", "007", "1.10"])("give a tool the text %s if it takes text", async (text) => {
    const registry = new ToolRegistry();
    registry.register(search);
    createHaft({ registry });
    const xml = `<tool_call><name>search</name><params><query><![CDATA[${text}]]></query><max>3</max></params></tool_call>`;
    for (const [parsed] of [XMLToolCallParser.parseToolCalls(xml), parse_tool_calls(xml)]) {
      const toolkit = registry.create_agent_toolkit("lead", ["search", "nobody"]);
      expect(await toolkit.execute_tool(parsed!.name, parsed!.params)).toMatchObject({ data: { query: text, max: 3 } });
    }
  });

  test("a number that a program gives for a text stays refused", async () => {
    expect(await search.execute({ query: 2024 } as never)).toMatchObject({ failure: { code: "invalid_input" } });
  });
});

describe("the documents' toolkit", () => {
  test("is made by the registry and runs in its runtime", async () => {
    const registry = new ToolRegistry();
    const haft = createHaft({ registry, tools: [make("read", "readonly"), make("write")] });
    const toolkit = registry.createAgentToolkit("reader", ["read"]);
    expect(registry.getAgentToolkit("reader")).toBe(toolkit);
    expect(registry.getAgentToolkit("nobody")).toBeUndefined();
    expect(await toolkit.executeTool("read")).toMatchObject({ details: "read" });
    expect(await toolkit.executeTool("write")).toMatchObject({ failure: { code: "tool_not_found" } });
    expect(await haft.calls.log.recent()).toMatchObject([{ caller: { agent: "reader" } }, { status: "failed" }]);
  });

  test("adds, finds and lists under their names", () => {
    const toolkit = new AgentToolkit("lead");
    const [a, b, c] = [make("a", "readonly"), make("b"), make("c")];
    toolkit.addTool(a);
    toolkit.addTools([b, c]);
    expect(toolkit.listTools()).toEqual([a, b, c]);
    expect(toolkit.getTool("b")).toBe(b);
    expect(names(toolkit.toLLMTools({ mode: "plan" }))).toEqual(["a"]);
  });
});

describe("views of results", () => {
  const fail = createTool({
    name: "fail",
    description: "Fails.",
    needsApproval: false,
    parameters: [],
    run: () => {
      throw new Error("no such city");
    },
  });

  test("have the documents' fields, and are plain JSON", async () => {
    const executor = new ToolExecutor(createHaft({ tools: [make("read", "readonly"), fail] }));
    const done = await executor.execute("read", {}, { taskId: "t1" });
    expect(done).toMatchObject({ success: true, result: "read", data: "read", llmContent: "read", details: "read" });
    expect(done.error).toBeUndefined();
    const failed = await executor.execute("fail");
    expect(failed).toMatchObject({
      success: false,
      status: "failed",
      error: "no such city",
      failure: { code: "failed" },
    });
    expect(JSON.parse(JSON.stringify(failed))).toMatchObject({ error: "no such city", llmContent: "no such city" });
    expect(await executor.executeMany([{ name: "read" }])).toMatchObject([{ result: "read" }]);
  });

  test("come from tools of compat, from viewed tools and from built calls", async () => {
    const own = createCompatTool({ name: "own", description: "Says hi.", parameters: [], execute: () => "hi" });
    expect(await own.execute({})).toMatchObject({ result: "hi", displayContent: "hi" });
    const { llmContent } = await own.build({}).execute();
    expect(llmContent).toBe("hi");
    expect(await viewTool(make("read", "readonly")).execute({})).toMatchObject({ data: "read" });
    const registry = new ToolRegistry();
    createHaft({ registry });
    registry.register(own);
    expect(await registry.get("own")?.execute({})).toMatchObject({ data: "hi" });
  });
});

test("a tool of compat gets a plain context with the task and the user", async () => {
  let copy: Partial<ToolContext> = {};
  const registry = new ToolRegistry();
  const look: Tool = {
    name: "look",
    description: "Looks.",
    category: "custom",
    parameters: z.object({ at: z.string() }),
    execute: async (params: unknown, context: ToolContext) => {
      copy = { ...context };
      return { toolName: "look", success: true, result: (params as { at: string }).at, startedAt: 0 };
    },
  };
  registry.register(look);
  const executor = new ToolExecutor(registry);
  const options = { taskId: "t1", userId: "ann", allowedPaths: ["/data"] };
  expect(await executor.execute("look", { at: "here" }, options)).toMatchObject({ result: "here" });
  expect(copy).toMatchObject({ ...options, caller: { task: "t1" }, workspace: process.cwd() });
  expect(copy.signal?.aborted).toBe(false);
});

describe("the documents' executor", () => {
  test("runs at most `maxConcurrentTools` calls of a registry at once, and refuses unknown options", async () => {
    const registry = new ToolRegistry();
    let running = 0;
    let most = 0;
    registry.register({
      name: "wait",
      description: "Waits.",
      parameters: [],
      execute: async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
      },
    });
    const executor = new ToolExecutor(registry, { maxConcurrentTools: 2 });
    await Promise.all(Array.from({ length: 6 }, () => executor.execute("wait")));
    expect(most).toBe(2);
    expect(() => new ToolExecutor(registry, { maxConcurrent: 2 } as never)).toThrow(/maxConcurrentTools/);
    expect(() => new ToolExecutor(createHaft(), { timeout: 1 })).toThrow(/createHaft/);
  });
});

describe("events", () => {
  const open = () => {
    const registry = new ToolRegistry();
    registry.registerMany([make("read", "readonly"), make("write")]);
    const haft = createHaft({ registry, rules: { ask: ["write"] } });
    return { registry, haft };
  };

  test("in capitals fire, with the documents' fields", async () => {
    const { registry, haft } = open();
    const seen: unknown[] = [];
    registry.on("TOOL_CALL_REQUESTED", ({ toolName, params }) => void seen.push(["requested", toolName, params]));
    registry.on("TOOL_CALL_COMPLETED", ({ toolName, result }) => void seen.push(["completed", toolName, result]));
    registry.on("TOOL_CALL_FAILED", ({ toolName, error }) => void seen.push(["failed", toolName, typeof error]));
    registry.on("TOOL_COMPLETE", ({ toolName, success }) => void seen.push(["complete", toolName, success]));
    registry.on("PERMISSION_REQUEST", ({ toolName }) => void seen.push(["permission", toolName]));
    await haft.execute("read", {});
    await haft.execute("nobody");
    await haft.execute("write", {});
    expect(seen).toEqual([
      ["requested", "read", {}],
      ["completed", "read", "read"],
      ["complete", "read", true],
      ["requested", "nobody", {}],
      ["failed", "nobody", "string"],
      ["complete", "nobody", false],
      ["requested", "write", {}],
      ["permission", "write"],
    ]);
    expect(() => registry.on("TOOL_CALL_COMPLETE" as never, () => undefined)).toThrow(/no event/);
  });

  test("are heard once, or until off", async () => {
    const { registry, haft } = open();
    const seen: string[] = [];
    const listener = ({ toolName }: { toolName: string }): void => void seen.push(toolName);
    registry.once("TOOL_CALL_COMPLETED", listener);
    await haft.execute("read", {});
    await haft.execute("read", {});
    registry.on("tool_call_completed", listener);
    await haft.execute("read", {});
    registry.off("tool_call_completed", listener);
    await haft.execute("read", {});
    expect(seen).toEqual(["read", "read"]);
  });
});

test("counts of calls that were made elsewhere are added to those of the gate", async () => {
  const registry = new ToolRegistry();
  registry.register(make("read", "readonly"));
  await createHaft({ registry }).execute("read", {});
  registry.updateCallStats("read", 30, false);
  const { callStats, byCategory } = registry.getStats();
  expect(callStats["read"]).toMatchObject({ count: 2, failures: 1 });
  expect(byCategory).toMatchObject({ file: 1, network: 0, custom: 0 });
});

test("tools are ordered after those that they depend on", () => {
  const registry = new ToolRegistry();
  const needing = (name: string, dependsOn: string[]) =>
    registry.register({ name, description: "", parameters: [], dependsOn, run: () => name });
  needing("report", ["analyse"]);
  needing("analyse", ["fetch"]);
  needing("fetch", []);
  expect(names(registry.executionOrder(["report"]))).toEqual(["fetch", "analyse", "report"]);
  needing("a", ["b"]);
  needing("b", ["a"]);
  expect(() => registry.executionOrder(["a"])).toThrow("a → b → a");
});

describe("a tool as a class", () => {
  class Search extends BaseTool {
    constructor(permission: ToolPermission = ToolPermission.AUTO) {
      super({ name: "web_search", description: "Searches.", permission, engine: "local" });
    }
    override getParameters(): ToolParameter[] {
      return [
        { name: "query", type: "string", description: "What" },
        { name: "max_results", type: "integer", description: "How many", required: false, default: 10 },
      ];
    }
    override async execute({ query, max_results }: { query: string; max_results: number }) {
      return { success: true, data: `${query} ${max_results} ${String(this.config["engine"])}` };
    }
  }

  test("is registered, validated and called through the gate", async () => {
    const registry = new ToolRegistry();
    const search = new Search();
    registry.registerToolToLibrary(search);
    createHaft({ registry });
    const toolkit = registry.createAgentToolkit("lead", ["web_search"]);
    expect(await toolkit.executeTool("web_search", { query: "tea" })).toMatchObject({ data: "tea 10 local" });
    expect(await search.call({ query: "tea", max_results: 1 })).toMatchObject({ data: "tea 1 local" });
    expect(await search.call({})).toMatchObject({ success: false, failure: { code: "invalid_input" } });
    expect(search.validateParams({})).toBe("Missing required parameter: query");
    expect(search.validateParams({ query: "a", wrong: 1 })).toBe("Unknown parameter: wrong");
  });

  test("asks if it says so", async () => {
    expect(await new Search(ToolPermission.CONFIRM).call({ query: "tea" })).toMatchObject({ status: "pending" });
  });
});

test("a tool of any MCP client is wrapped, and a JSON Schema becomes a Zod schema", async () => {
  const inputSchema = { type: "object" as const, properties: { n: { type: "number" } }, required: ["n"] };
  const client = { callTool: async (name: string, args: unknown) => ({ name, args }) };
  const haft = createHaft({
    approver: async () => ({ approved: true }),
    tools: [wrapMCPTool({ name: "add", description: "Adds.", inputSchema }, client)],
  });
  const [tool] = haft.tools.list();
  expect(await haft.execute(tool!, { n: 1 })).toMatchObject({ details: { name: "add", args: { n: 1 } } });
  expect(jsonSchemaToZod(inputSchema).safeParse({ n: 1 }).success).toBe(true);
  expect(jsonSchemaToZod(inputSchema).safeParse({ n: "x" }).success).toBe(false);
});

test("a class may have the names of Python alone", async () => {
  class Search extends BaseTool {
    constructor() {
      super({ name: "web_search", description: "Searches." });
    }
    override get_parameters() {
      return [new ToolParameter({ name: "query", type: "string", description: "What" })];
    }
    override validate_params({ query }: { query?: string }) {
      return query === "bad" ? "not this" : super.validate_params({ query });
    }
    async execute({ query }: { query: string }) {
      return new ToolResult({ success: true, data: query });
    }
  }
  const search = new Search();
  expect(search.getParameters()).toEqual(search.get_parameters());
  expect(await search.__call__({ query: "tea" })).toMatchObject({ success: true, data: "tea" });
  expect(await search.call({ query: "bad" })).toMatchObject({ error: expect.stringContaining("not this") });
  expect(search.validateParams({})).toBe("Missing required parameter: query");
  expect(new ToolResult({ success: false, error: "no" }).to_dict()).toEqual({
    success: false,
    data: null,
    error: "no",
    metadata: {},
  });
  class Empty extends BaseTool {
    execute() {
      return { success: true };
    }
  }
  expect(() => new Empty({ name: "empty", description: "Nothing." }).getParameters()).toThrow(/getParameters/);
  const registry = new ToolRegistry();
  registry.register_tool_to_library(search);
  const toolkit = registry.create_agent_toolkit("lead", ["web_search"]);
  expect(names(Object.values(registry.tool_library))).toEqual(["web_search"]);
  expect(registry.agent_toolkits).toEqual({ lead: toolkit });
  expect([toolkit.agent_name, ...Object.keys(toolkit.tools)]).toEqual(["lead", "web_search"]);
});

test("a context of calls takes `call_id`, and refuses a call without an id", async () => {
  const context = new ToolCallContext();
  context.setToolCalls([{ call_id: "c1", name: "read", input: {} }]);
  const { callId, ...result } = await createHaft({ tools: [make("read", "readonly")] }).execute(
    "read",
    {},
    { id: "c1" },
  );
  context.setToolCallResult({ ...result, call_id: callId });
  expect(context.result("c1")).toMatchObject({ callId: "c1", details: "read" });
  expect(context.pending()).toEqual([]);
  expect(() => context.setToolCalls([{ name: "read", input: {} } as never])).toThrow(/callId/);
});
