import { describe, expect, test } from "vitest";
import { createHaft, createTool, type ToolOrigin } from "haft";
import { AgentToolkit, ToolExecutor, ToolRegistry } from "haft/compat";

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
    expect(() => registry.registerMcpTool(make("own"))).toThrow(/is not an MCP tool/);
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

describe("the documents' toolkit", () => {
  test("is made by the registry and runs in its runtime", async () => {
    const registry = new ToolRegistry();
    const haft = createHaft({ registry, tools: [make("read", "readonly"), make("write")] });
    const toolkit = registry.createAgentToolkit("reader", ["read"]);
    expect(registry.getAgentToolkit("reader")).toBe(toolkit);
    expect(registry.getAgentToolkit("nobody")).toBeUndefined();
    expect(await toolkit.executeTool("read")).toMatchObject({ details: "read" });
    expect(await toolkit.executeTool("write")).toMatchObject({ error: { code: "tool_not_found" } });
    expect(await haft.log.recent()).toMatchObject([{ caller: { agent: "reader" } }, { status: "failed" }]);
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

test("the documents' executor is haft.execute", async () => {
  const haft = createHaft({ tools: [make("read", "readonly")] });
  const executor = new ToolExecutor(haft);
  expect(executor.execute).toBe(haft.execute);
  expect(await executor.executeMany([{ name: "read" }])).toMatchObject([{ details: "read" }]);
});
