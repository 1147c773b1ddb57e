// Plays seed 000, "工具系统 (Tools System)", from top to bottom. Words are translated by the table of the design:
// result → details, error → error.message, taskId → caller.task.
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import {
  type CallOptions,
  createChain,
  createHaft,
  createTool,
  text,
  textOf,
  type ToolConfig,
  type ToolContext,
  ToolError,
  type ToolResult,
} from "haft";
import {
  isPathAllowed,
  MCPClient,
  ToolCategory,
  ToolNotFoundError,
  ToolPermissionError,
  ToolRegistry,
  type ToolStats,
  ToolTimeoutError,
  ToolValidationError,
  wrapMCPTool,
  viewTool,
} from "haft/compat";
import { trust } from "haft/host";
import { createFakeClock, createTestHaft } from "haft/testing";
import { z } from "zod";
import { startServer } from "../setup/local-server.ts";
import { createActor, createReflector, createTaskContext, runTask } from "haft/agent";
import { makeHostFolder } from "./open-host.ts";
import { openProject } from "./open-project.ts";
import { openWeb, searchAnswer } from "./open-web.ts";

const EVERYTHING = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url),
);

const echo = createTool({
  name: "echo",
  description: "Gives back what it is given",
  category: ToolCategory.CUSTOM,
  parameters: z.object({ text: z.string() }),
  needsApproval: false,
  execute: async (params) => ({ said: params.text }),
});

function failureOf(result: ToolResult): string {
  if (result.status !== "failed") throw new Error(`The call is ${result.status}: ${result.display}`);
  return [result.error.message, result.error.next ?? []].flat().join(". ");
}

describe("核心思想 (the idea)", () => {
  test("统一接口: own, MCP and plugin tools are one kind of thing, behind one way to call them", async () => {
    const registry = new ToolRegistry();
    const haft = createTestHaft({ registry, tools: [echo] });
    const parameters = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;
    registry.registerMcpTool({
      name: "mcp_echo",
      description: "An echo far away",
      parameters,
      needsApproval: false,
      run: ({ text }: never) => text,
    });
    await haft.tools.install({
      manifest: { id: "echoes" },
      register: (api) =>
        void api.registerTool({
          name: "plugin_echo",
          description: "An echo",
          parameters,
          needsApproval: false,
          run: ({ text }: never) => text,
        }),
    });
    for (const { name } of haft.tools.registry.list()) {
      expect(await haft.execute(name, { text: "hi" })).toMatchObject({ toolName: name, success: true });
    }
    expect(haft.tools.registry.list().map(({ origin }) => origin.type)).toEqual(["own", "mcp", "plugin"]);
  });

  test("类型安全: a Zod schema validates the parameters", async () => {
    const haft = createHaft({ tools: [echo] });
    const result = await haft.execute("echo", { text: { not: "text" } });
    expect(result).toMatchObject({ success: false, error: { code: "invalid_input" } });
    expect(failureOf(result)).toContain("text");
  });

  test("异步执行: a call does not block, and its end is told by an event", async () => {
    const haft = createTestHaft({ tools: [echo] });
    const running = haft.execute("echo", { text: "hi" });
    const event = await haft.recorded.next("tool_call_completed");
    expect(event.result).toEqual(await running);
  });

  test("可观测: every call leaves events, and a record that can be traced", async () => {
    const haft = createTestHaft({ tools: [echo] });
    await haft.execute("echo", { text: "hi" }, { id: "call_1", taskId: "t1" });
    expect(haft.recorded.types("call_1")).toEqual(["tool_call_requested", "tool_call_started", "tool_call_completed"]);
    expect(await haft.calls.log.recent()).toMatchObject([
      { callId: "call_1", toolName: "echo", caller: { task: "t1" } },
    ]);
  });

  test("可扩展: a tool may be registered while the runtime is in use", async () => {
    const haft = createHaft();
    expect(await haft.execute("echo", { text: "hi" })).toMatchObject({ success: false });
    haft.register(echo);
    expect(await haft.execute("echo", { text: "hi" })).toMatchObject({ success: true });
  });

  test("安全可控: a semaphore bounds how many run at once", async () => {
    const { max } = await runAtOnce(10);
    expect(max).toBe(3);
  });
});

describe("架构概览 (the picture)", () => {
  test("the registry holds built-in, MCP and custom tools; the executor validates, limits, and shapes the result", async () => {
    const registry = new ToolRegistry();
    const haft = createTestHaft({ registry });
    haft.register({
      name: "builtin",
      description: "Built in",
      parameters: [],
      origin: { type: "builtin" },
      run: () => 1,
    });
    registry.registerMcpTool({
      name: "remote",
      description: "From a server",
      parameters: [],
      needsApproval: false,
      run: () => 2,
    });
    haft.register({ name: "custom", description: "Custom", parameters: [], needsApproval: false, run: () => 3 });
    const results = await haft.executeMany([
      { name: "builtin" },
      { name: "remote" },
      { name: "custom" },
      { name: "none" },
    ]);
    expect(results.map(({ details }) => details)).toEqual([1, 2, 3, undefined]);
    expect(results.map(({ status }) => status)).toEqual(["completed", "completed", "completed", "failed"]);
  });
});

describe("核心类型定义 (the core types)", () => {
  test("Tool: name, description, category, parameters, execute", async () => {
    expect(echo).toMatchObject({
      name: "echo",
      description: { short: "Gives back what it is given" },
      category: "custom",
    });
    expect(echo.parameters.jsonSchema).toMatchObject({ type: "object", required: ["text"] });
    expect(await echo.execute({ text: "hi" }, { taskId: "t1" })).toMatchObject({
      success: true,
      details: { said: "hi" },
    });
  });

  test("ToolCategory: the seven of the seed", () => {
    const { SYSTEM, FILE, NETWORK, DATA, CODE, MCP, CUSTOM } = ToolCategory;
    expect([SYSTEM, FILE, NETWORK, DATA, CODE, MCP, CUSTOM]).toEqual([
      "system",
      "file",
      "network",
      "data",
      "code",
      "mcp",
      "custom",
    ]);
  });

  test("ToolResult: name, success, result or error, and times in Unix milliseconds", async () => {
    const haft = createTestHaft({ tools: [echo] });
    haft.register({
      name: "slow",
      description: "Takes its time",
      parameters: [],
      needsApproval: false,
      run: () => haft.clock.advance(250).then(() => "done"),
    });
    const before = haft.clock.now();
    expect(await haft.execute("slow")).toMatchObject({
      toolName: "slow",
      success: true,
      details: "done",
      startedAt: before,
      completedAt: before + 250,
      durationMs: 250,
    });
    const failed = await haft.execute("echo", {});
    expect(failed).toMatchObject({ toolName: "echo", success: false, startedAt: before + 250, durationMs: 0 });
    expect(failureOf(failed)).toMatch(/^Parameter validation failed/);
  });

  test("ToolContext: the task, the user, and the paths that this call may touch", async () => {
    let seen: ToolContext | undefined;
    const haft = createHaft();
    haft.register({
      name: "look",
      description: "Looks around",
      parameters: [],
      needsApproval: false,
      run: (_input, context) => void (seen = context),
    });
    const context: CallOptions = { taskId: "abc123", userId: "u1", allowedPaths: ["/workspace/pegasus/data"] };
    await haft.execute("look", {}, context);
    expect(seen!.caller).toMatchObject({ task: "abc123", user: "u1" });
    expect(seen!.allowedPaths).toEqual(["/workspace/pegasus/data"]);
  });
});

describe("ToolRegistry（工具注册表）", () => {
  const tool = (name: string, category: string) =>
    createTool({
      name,
      category,
      description: `The tool ${name}`,
      parameters: z.object({ q: z.string() }),
      needsApproval: false,
      run: () => name,
    });

  test("register, registerMany, get, has, list", () => {
    const registry = new ToolRegistry();
    const [a, b, c] = [viewTool(tool("a", "file")), viewTool(tool("b", "file")), viewTool(tool("c", "network"))];
    registry.register(a);
    registry.registerMany([b, c]);
    expect(registry.get("b")).toBe(b);
    expect(registry.get("nobody")).toBeUndefined();
    expect([registry.has("c"), registry.has("nobody")]).toEqual([true, false]);
    expect(registry.list()).toEqual([a, b, c]);
    expect(() => registry.register(tool("a", "data"))).toThrow(/"a" is already registered/);
  });

  test("listByCategory", () => {
    const registry = new ToolRegistry();
    registry.registerMany([
      tool("a", ToolCategory.FILE),
      tool("b", ToolCategory.NETWORK),
      tool("c", ToolCategory.FILE),
    ]);
    expect(registry.listByCategory(ToolCategory.FILE).map(({ name }) => name)).toEqual(["a", "c"]);
    expect(registry.listByCategory(ToolCategory.CODE)).toEqual([]);
  });

  test("toLLMTools: definitions for function calling", () => {
    const registry = new ToolRegistry();
    registry.register(tool("a", "file"));
    expect(registry.toLLMTools()).toEqual([
      {
        name: "a",
        description: "The tool a",
        parameters: expect.objectContaining({ type: "object", properties: { q: { type: "string" } }, required: ["q"] }),
      },
    ]);
  });

  test("getStats: total, by category, and by call: count, failures, average duration", async () => {
    const haft = createTestHaft({ tools: [tool("a", "file"), tool("b", "file"), tool("c", "data")] });
    haft.register({
      name: "slow",
      description: "Takes 100 ms, or fails",
      parameters: z.object({ fail: z.boolean() }),
      needsApproval: false,
      run: async (input) => {
        await haft.clock.advance(100);
        if ((input as { fail: boolean }).fail) throw new Error("as asked");
      },
    });
    await haft.execute("slow", { fail: false });
    await haft.execute("slow", { fail: true });
    const stats: ToolStats = haft.tools.registry.getStats();
    expect(stats).toMatchObject({ total: 4, byCategory: { file: 2, data: 1, custom: 1 } });
    expect(stats.callStats["slow"]).toMatchObject({ count: 2, failures: 1, avgDuration: 100 });
  });
});

describe("内置工具列表 (the built-in tools)", () => {
  test("every tool of the seed's tables is there under its name, in its category", () => {
    const { haft } = openProject();
    const tables = {
      [ToolCategory.SYSTEM]: ["current_time", "sleep", "get_env", "set_env"],
      [ToolCategory.FILE]: ["read_file", "write_file", "list_files", "delete_file", "move_file", "get_file_info"],
      [ToolCategory.DATA]: ["json_parse", "json_stringify", "base64_encode", "base64_decode"],
    };
    for (const [category, names] of Object.entries(tables)) {
      expect(names.map((name) => `${name} ${haft.tools.registry.get(name)?.category}`)).toEqual(
        names.map((name) => `${name} ${category}`),
      );
      expect(haft.tools.definitions({ dialect: "snake" }).map(({ name }) => name)).toEqual(
        expect.arrayContaining(names),
      );
    }
  });

  describe("系统工具 (SYSTEM)", () => {
    test("current_time { timezone? } gives { timestamp, iso, timezone }", async () => {
      const clock = createFakeClock();
      const { haft } = openProject({}, { clock });
      const utc = await haft.execute("current_time", { timezone: "UTC" });
      expect(utc.details).toEqual({
        timestamp: clock.now(),
        iso: new Date(clock.now()).toISOString(),
        timezone: "UTC",
      });
      const shanghai = await haft.execute("current_time", { timezone: "Asia/Shanghai" });
      expect(shanghai.details).toMatchObject({
        timestamp: clock.now(),
        iso: expect.stringMatching(/\+08:00$/),
        timezone: "Asia/Shanghai",
      });
      expect(Date.parse((shanghai.details as { iso: string }).iso)).toBe(clock.now());
      expect(await haft.execute("current_time")).toMatchObject({ success: true, details: { timestamp: clock.now() } });
      expect(failureOf(await haft.execute("current_time", { timezone: "Asia/Shanhai" }))).toContain("Asia/Shanghai");
    });

    test("sleep { duration } in seconds gives { slept }, also beyond the time limit of other tools", async () => {
      const clock = createFakeClock();
      const { haft } = openProject({}, { clock });
      let result: ToolResult | undefined;
      const running = haft.execute("sleep", { duration: 45 }).then((ended) => (result = ended));
      await clock.advance(44_999);
      expect(result).toBeUndefined();
      await clock.advance(1);
      expect(await running).toMatchObject({ success: true, details: { slept: 45 } });
    });

    test("set_env { key, value } gives { previous }, and get_env { key } then gives { value }", async () => {
      const { haft } = openProject();
      const inSession = (session: string): CallOptions => ({ caller: { session } });
      const key = "PEGASUS_MODE";
      expect((await haft.execute("get_env", { key }, inSession("a"))).details).toEqual({ value: null });
      expect((await haft.execute("set_env", { key, value: "one" }, inSession("a"))).details).toEqual({
        previous: null,
      });
      expect((await haft.execute("set_env", { key, value: "two" }, inSession("a"))).details).toEqual({
        previous: "one",
      });
      expect((await haft.execute("get_env", { key }, inSession("a"))).details).toEqual({ value: "two" });
      expect((await haft.execute("get_env", { key }, inSession("b"))).details).toEqual({ value: null });
      expect(process.env[key]).toBeUndefined();
      const shown = await haft.execute("exec", { command: `echo "$${key}"` }, inSession("a"));
      expect(textOf(shown.content)).toMatch(/^two(?:\n|$)/);
    });

    test.each(["PATH", "LD_PRELOAD", "NODE_OPTIONS", "BASH_ENV"])("set_env never sets %s", async (key) => {
      const { haft } = openProject();
      expect(await haft.execute("set_env", { key, value: "/tmp/evil" })).toMatchObject({ success: false });
      expect((await haft.execute("get_env", { key })).details).not.toEqual({ value: "/tmp/evil" });
    });
  });

  describe("文件工具 (FILE)", () => {
    test("read_file { path, encoding? } gives { content, size }", async () => {
      const { haft } = openProject({ "a.txt": "一\n二\n", "gbk.txt": Buffer.from([0xd2, 0xbb, 0x0a]) });
      const read = await haft.execute("read_file", { path: "a.txt" });
      expect(read.details).toMatchObject({ content: "一\n二\n", size: 8 });
      const long = `${"0123456789".repeat(10)}\n`.repeat(2973) + "0123456789".repeat(2);
      const whole = openProject({ "long.txt": long }).haft.execute("read_file", { path: "long.txt" });
      expect((await whole).details).toMatchObject({ content: long, size: 300_293 });
      const legacy = await haft.execute("read_file", { path: "gbk.txt", encoding: "gbk" });
      expect(legacy.details).toMatchObject({ content: "一\n", size: 3 });
      expect(await haft.execute("read_file", { path: "a.txt", encoding: "utf-8" })).toMatchObject({
        details: { content: "一\n二\n" },
      });
      expect(failureOf(await haft.execute("read_file", { path: "a.txt", encoding: "klingon" }))).toContain("klingon");
    });

    test("write_file { path, content, encoding? } gives { bytesWritten }", async () => {
      const { haft, onDisk, at } = openProject();
      const written = await haft.execute("write_file", { path: "deep/er/a.txt", content: "一二" });
      expect(written.details).toMatchObject({ bytesWritten: 6 });
      expect(onDisk("deep/er/a.txt")).toBe("一二");
      const legacy = await haft.execute("write_file", { path: at("gbk.txt"), content: "一二", encoding: "gbk" });
      expect(legacy.details).toMatchObject({ bytesWritten: 4 });
    });

    test("list_files { path, recursive?, pattern? } gives { files }", async () => {
      const { haft } = openProject({ "data/a.ts": "1", "data/b.md": "22", "data/deep/c.ts": "333" });
      const list = async (input: object): Promise<string[]> => {
        const { details } = await haft.execute("list_files", { path: "data", ...input });
        return (details as { files: { path: string }[] }).files.map(({ path }) => path).sort();
      };
      expect(await list({})).toEqual(["a.ts", "b.md", "deep"]);
      expect(await list({ recursive: true })).toEqual(["a.ts", "b.md", "deep", "deep/c.ts"]);
      expect(await list({ recursive: true, pattern: "*.ts" })).toEqual(["a.ts", "deep/c.ts"]);
      const { details } = await haft.execute("list_files", { path: "data", pattern: "*.md" });
      expect(details).toMatchObject({
        files: [{ name: "b.md", type: "file", size: 2, modified: expect.any(Number) }],
      });
    });

    test("delete_file { path } gives { deleted }", async () => {
      const { haft, onDisk } = openProject({ "a.txt": "1" });
      expect((await haft.execute("delete_file", { path: "a.txt" })).details).toMatchObject({ deleted: true });
      expect(onDisk("a.txt")).toBeUndefined();
      expect(failureOf(await haft.execute("delete_file", { path: "a.txt" }))).toContain("not found");
    });

    test("move_file { from, to } gives { success }", async () => {
      const { haft, onDisk } = openProject({ "a.txt": "1", "taken.txt": "2" });
      const moved = await haft.execute("move_file", { from: "a.txt", to: "new/b.txt" });
      expect(moved.details).toMatchObject({ success: true });
      expect([onDisk("a.txt"), onDisk("new/b.txt")]).toEqual([undefined, "1"]);
      expect(await haft.execute("move_file", { from: "new/b.txt", to: "taken.txt" })).toMatchObject({ success: false });
      expect([onDisk("new/b.txt"), onDisk("taken.txt")]).toEqual(["1", "2"]);
    });

    test("get_file_info { path } gives { exists, size, modified }", async () => {
      const { haft } = openProject({ "a.txt": "12345" });
      const { details } = await haft.execute("get_file_info", { path: "a.txt" });
      expect(details).toMatchObject({ exists: true, size: 5 });
      expect((details as { modified: number }).modified).toBeGreaterThan(Date.UTC(2020, 0));
      expect(await haft.execute("get_file_info", { path: "none.txt" })).toMatchObject({
        success: true,
        details: { exists: false },
      });
    });
  });

  describe("网络工具 (NETWORK)", () => {
    test("http_get { url, headers? } gives { status, headers, body }", async () => {
      const { haft, origin, requests } = await openWeb(({ headers }, response) => {
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ got: headers["x-mine"] }));
      });
      const { details } = await haft.execute("http_get", { url: `${origin}/a`, headers: { "X-Mine": "1" } });
      expect(details).toMatchObject({
        status: 200,
        headers: { "content-type": "application/json" },
        body: '{"got":"1"}',
      });
      expect(requests).toMatchObject([{ method: "GET", path: "/a" }]);
      expect(failureOf(await haft.execute("http_get", { url: "http://169.254.169.254/latest" }))).toContain("refused");
    });

    test("http_post { url, body?, headers? } gives { status, headers, body }", async () => {
      const { haft, origin } = await openWeb(({ method, body }, response) => {
        response.writeHead(201).end(`${method} ${body}`);
      });
      expect((await haft.execute("http_post", { url: origin, body: "tea" })).details).toMatchObject({
        status: 201,
        body: "POST tea",
      });
    });

    test("http_request { method, url, body?, headers? } gives { status, headers, body }", async () => {
      const { haft, origin } = await openWeb(({ method, body }, response) => void response.end(`${method} ${body}`));
      for (const [method, body] of [
        ["PUT", "x"],
        ["DELETE", undefined],
      ]) {
        const { details } = await haft.execute("http_request", { method, url: origin, body });
        expect(details).toMatchObject({ status: 200, body: `${method} ${body ?? ""}` });
      }
    });

    test("web_search { query, limit? } gives { results }", async () => {
      const { haft } = await openWeb(searchAnswer);
      const { details } = await haft.execute("web_search", { query: "AI Agent", limit: 1 });
      expect(details).toMatchObject({
        results: [{ title: "AI Agent 1", url: "https://site.example/1", snippet: "one" }],
      });
      expect((details as { results: unknown[] }).results).toHaveLength(1);
    });
  });
  describe("数据工具 (DATA)", () => {
    test.each([
      ["json_parse", { text: '{"a":[1,null]}' }, { data: { a: [1, null] } }],
      ["json_stringify", { data: { a: [1] } }, { text: '{"a":[1]}' }],
      ["json_stringify", { data: { a: [1] }, pretty: true }, { text: '{\n  "a": [\n    1\n  ]\n}' }],
      ["base64_encode", { text: "你好" }, { encoded: "5L2g5aW9" }],
      ["base64_decode", { encoded: "5L2g5aW9" }, { decoded: "你好" }],
    ])("%s %j gives %j", async (name, input, details) => {
      const { haft } = openProject();
      expect(await haft.execute(name, input)).toMatchObject({ success: true, details });
    });

    test.each([
      ["json_parse", { text: "{'a': 1}" }],
      ["base64_decode", { encoded: "not base64!" }],
    ])("%s refuses %j", async (name, input) => {
      const { haft } = openProject();
      expect(await haft.execute(name, input)).toMatchObject({ success: false, status: "failed" });
    });
  });
});

describe("工具调用流程 (the way of a call)", () => {
  test("1. an Actor in ACTING runs a PlanStep with actionType tool_call", async () => {
    const haft = createTestHaft({ tools: [echo] });
    const actor = createActor({ execute: haft.execute });
    const step = { description: "Say it", actionType: "tool_call" as const, toolName: "echo", params: { text: "hi" } };
    const { result } = await actor.runStep(createTaskContext("abc123", "Say hi", [step]));
    expect(result).toMatchObject({ success: true, toolName: "echo" });
    expect(await haft.calls.log.recent()).toMatchObject([{ toolName: "echo", status: "completed" }]);
    expect(haft.recorded.of("tool_call_requested")).toMatchObject([{ caller: { task: "abc123" } }]);
  });

  test("2 to 6: found, validated, executed with a slot, shaped into a result, told by an event", async () => {
    const haft = createTestHaft();
    let given: unknown;
    haft.register({
      name: "web_search",
      description: "Searches",
      parameters: z.object({ query: z.string(), limit: z.number().default(5) }),
      needsApproval: false,
      run: (input) => {
        given = input;
        return { results: [haft.calls.load().running] };
      },
    });
    expect(haft.tools.registry.get("web_search")).toBeDefined();
    const result = await haft.execute("web_search", { query: "AI Agent" });
    expect(given).toEqual({ query: "AI Agent", limit: 5 });
    expect(result).toMatchObject({ success: true, details: { results: [1] }, durationMs: 0 });
    expect(haft.calls.load().running).toBe(0);
    expect(haft.recorded.of("tool_call_completed")).toMatchObject([{ toolName: "web_search", result }]);
  });

  test("7. the result is pushed to TaskContext.actionsDone", async () => {
    const haft = createTestHaft({ tools: [echo] });
    const step = (toolName: string) => ({
      description: `Call ${toolName}`,
      actionType: "tool_call" as const,
      toolName,
      params: { text: "hi" },
      isOptional: true,
    });
    const task = createTaskContext("t1", "Try both", [step("nobody"), step("echo")]);
    await runTask(task, { actor: createActor(haft), reflector: createReflector({ tools: () => haft.tools.list() }) });
    expect(task.actionsDone).toMatchObject([
      { index: 0, result: { success: false, error: { code: "tool_not_found" } } },
      { index: 1, result: { success: true } },
    ]);
  });
});

describe("事件集成 (events)", () => {
  test("TOOL_CALL_REQUESTED { toolName, params }, then TOOL_CALL_COMPLETED { toolName, result, durationMs }", async () => {
    const haft = createTestHaft({ tools: [echo] });
    await haft.execute("echo", { text: "AI Agent" });
    const calls = haft.recorded.all.filter(({ type }) => type.startsWith("tool_call_"));
    expect(calls).toMatchObject([
      { type: "tool_call_requested", toolName: "echo", input: { text: "AI Agent" } },
      { type: "tool_call_started", toolName: "echo" },
      { type: "tool_call_completed", toolName: "echo", result: { details: { said: "AI Agent" } }, durationMs: 0 },
    ]);
  });

  test("TOOL_CALL_FAILED { toolName, error, durationMs }", async () => {
    const haft = createTestHaft();
    haft.register({
      name: "break",
      description: "Fails",
      parameters: [],
      needsApproval: false,
      run: () => {
        throw new Error("out of oil");
      },
    });
    await haft.execute("break");
    expect(haft.recorded.of("tool_call_failed")).toMatchObject([
      { toolName: "break", error: { message: "out of oil" }, durationMs: 0 },
    ]);
    expect(haft.recorded.of("tool_call_completed")).toEqual([]);
  });
});

describe("安全与权限 (safety)", () => {
  describe("文件访问限制", () => {
    test("a tool that refuses a path ends as Permission denied: Access denied", async () => {
      const haft = createHaft();
      haft.register({
        name: "read",
        description: "Reads",
        parameters: z.object({ path: z.string() }),
        needsApproval: false,
        run: (input, { allowedPaths }) => {
          const { path } = input as { path: string };
          if (!allowedPaths?.some((allowed) => path.startsWith(`${allowed}/`))) {
            throw new ToolPermissionError("read", "Access denied");
          }
          return "content";
        },
      });
      const allowedPaths = ["/workspace/pegasus/data", "/workspace/pegasus/docs"];
      expect(await haft.execute("read", { path: "/workspace/pegasus/data/a" }, { allowedPaths })).toMatchObject({
        success: true,
      });
      const refused = await haft.execute("read", { path: "/etc/passwd" }, { allowedPaths });
      expect(refused).toMatchObject({ success: false, error: { code: "denied", actor: "policy" } });
      expect(failureOf(refused)).toBe("Permission denied: Access denied");
    });

    test("isPathAllowed(path, allowedPaths): whole names, links followed, the working folder where nothing is said", () => {
      const { at, folder } = openProject({ "data/a": "1", secret: "2", "data-evil/a": "3" });
      symlinkSync(at("secret"), at("data/link"));
      const allowed = [at("data"), at("docs")];
      expect(isPathAllowed(at("data/a"), allowed)).toBe(true);
      expect(isPathAllowed(at("docs/not/there/yet"), allowed)).toBe(true);
      for (const path of ["secret", "data-evil/a", "data/../secret", "data/link"]) {
        expect(isPathAllowed(at(path), allowed), path).toBe(false);
      }
      expect(isPathAllowed("/etc/passwd", allowed)).toBe(false);
      expect(isPathAllowed(folder, [])).toBe(false);
      expect([isPathAllowed("package.json"), isPathAllowed("/etc/passwd")]).toEqual([true, false]);
    });

    test("the file tools hold the call's allowedPaths, by whatever name a file is reached, and say which they are", async () => {
      const { haft, at, onDisk } = openProject({ "data/a.txt": "ok", "docs/b.txt": "ok", "secret.txt": "s" });
      symlinkSync(at("secret.txt"), at("data/link.txt"));
      const context: CallOptions = { taskId: "abc123", allowedPaths: [at("data"), at("docs")] };
      for (const path of ["data/a.txt", at("docs/b.txt")]) {
        expect(await haft.execute("read_file", { path }, context)).toMatchObject({ success: true });
      }
      const refused = [
        await haft.execute("read_file", { path: "secret.txt" }, context),
        await haft.execute("read_file", { path: "data/../secret.txt" }, context),
        await haft.execute("read_file", { path: "data/link.txt" }, context),
        await haft.execute("write_file", { path: "new.txt", content: "x" }, context),
        await haft.execute("delete_file", { path: "secret.txt" }, context),
        await haft.execute("move_file", { from: "data/a.txt", to: "moved.txt" }, context),
        await haft.execute("list_files", { path: "." }, context),
        await haft.execute("glob", { pattern: "*" }, context),
        await haft.execute("grep", { pattern: "s" }, context),
        await haft.execute("exec", { command: "touch new.txt", working_directory: "." }, context),
      ];
      for (const result of refused) {
        expect(failureOf(result), result.toolName).toMatch(/Permission denied.*Access denied/);
        expect(failureOf(result), result.toolName).toContain('"data"');
      }
      const shown = await haft.execute("exec", { command: "cat secret.txt" }, context);
      expect(failureOf(shown)).toContain("Access denied");
      expect([onDisk("new.txt"), onDisk("moved.txt"), onDisk("secret.txt")]).toEqual([undefined, undefined, "s"]);
    });

    test("a call's allowedPaths only narrow: they open nothing that the workspace keeps closed", async () => {
      const { haft } = openProject();
      const refused = await haft.execute("read_file", { path: "/etc/passwd" }, { allowedPaths: ["/"] });
      expect(failureOf(refused)).toContain("Access denied");
    });
  });

  describe("超时控制", () => {
    const never = (category: string) => ({
      name: `never_${category}`,
      description: "Never ends",
      kind: "readonly" as const,
      category,
      parameters: [],
      run: () => new Promise<never>(() => {}),
    });

    test.each([
      ["a tool", ToolCategory.CUSTOM, 30_000],
      ["a network tool", ToolCategory.NETWORK, 60_000],
    ])("%s of category %s is stopped after %d ms", async (_what, category, timeout) => {
      const haft = createTestHaft({ tools: [never(category)] });
      let result: ToolResult | undefined;
      void haft.execute(`never_${category}`).then((settled) => (result = settled));
      await haft.clock.advance(timeout - 1);
      expect(result).toBeUndefined();
      await haft.clock.advance(1);
      expect(failureOf(result!)).toMatch(new RegExp(`^Tool execution timed out after ${timeout}ms`));
      expect(result).toMatchObject({ error: { code: "timeout", retryable: true } });
    });

    test("the time may be set for the runtime, for a tool and for a call", async () => {
      const haft = createTestHaft({ timeouts: { defaultMs: 300 }, tools: [never("custom")] });
      haft.register({ ...never("data"), limits: { timeoutMs: 200 } });
      const calls = [
        haft.execute("never_custom"),
        haft.execute("never_data"),
        haft.execute("never_data", {}, { timeoutMs: 100 }),
      ];
      await haft.clock.advance(300);
      const messages = (await Promise.all(calls)).map(failureOf);
      expect(messages.map((message) => /after (\d+)ms/.exec(message)?.[1])).toEqual(["300", "200", "100"]);
    });
  });

  describe("并发控制", () => {
    test("three tools run at once by default, and all calls end", async () => {
      const { max, results } = await runAtOnce(10);
      expect(max).toBe(3);
      expect(results.every(({ status }) => status === "completed")).toBe(true);
    });

    test("maxConcurrent is a setting", async () => {
      expect((await runAtOnce(10, 5)).max).toBe(5);
    });
  });
});

describe("MCP 集成", () => {
  test("a tool with a JSON Schema is a Tool of category mcp; its input is validated, its call passed on", async () => {
    const called: unknown[] = [];
    const client = { callTool: async (name: string, args: unknown) => void called.push([name, args]) };
    const registry = new ToolRegistry();
    const haft = createHaft({ registry });
    const mcpTool = {
      name: "query",
      description: "Asks a database",
      inputSchema: { type: "object", properties: { sql: { type: "string" } }, required: ["sql"] },
    } as const;
    const wrapped = registry.registerMcpTool({
      ...mcpTool,
      execute: (params: unknown) => client.callTool(mcpTool.name, params),
    });
    expect(wrapped).toMatchObject({ category: ToolCategory.MCP, origin: { type: "mcp" } });
    expect(await haft.execute("query", { sql: 7 })).toMatchObject({ success: false });
    expect(await haft.execute("query", { sql: "select 1" })).toMatchObject({ success: true });
    expect(called).toEqual([["query", { sql: "select 1" }]]);
  });

  const server = { name: "everything", transport: "stdio", command: process.execPath, args: [EVERYTHING] } as const;

  test("MCP: MCPClient connect, listTools, callTool and disconnect against a real server", async () => {
    const client = new MCPClient();
    await client.connect(server);
    expect((await client.listTools()).find(({ name }) => name === "echo")).toMatchObject({
      description: expect.any(String),
      inputSchema: { type: "object" },
    });
    expect(await client.callTool("echo", { message: "hi" })).toMatchObject({ content: [{ text: "Echo: hi" }] });
    await client.disconnect();
    await expect(client.callTool("echo", { message: "hi" })).rejects.toThrow(/not connected/);
  });

  test("MCP: wrapMCPTool(mcpTool, client) gives a Tool", async () => {
    const client = new MCPClient();
    await client.connect(server);
    const mcpTool = (await client.listTools()).find(({ name }) => name === "echo")!;
    const tool = wrapMCPTool(mcpTool, client);
    expect(tool).toMatchObject({ name: "mcp__everything__echo", category: ToolCategory.MCP, kind: "execute" });
    const registry = new ToolRegistry();
    const haft = createHaft({ registry, approver: async () => ({ approved: true }) });
    registry.registerMcpTool(tool);
    expect(await haft.execute("mcp__everything__echo", { message: 7 })).toMatchObject({ success: false });
    expect(await haft.execute("mcp__everything__echo", { message: "hi" })).toMatchObject({ details: "Echo: hi" });
    await client.disconnect();
  });
});

describe("扩展自定义工具 (a custom tool)", () => {
  const doSomething = async (input: string, optional = 1): Promise<string> => {
    if (input === "") throw new Error("nothing to do");
    return input.repeat(optional);
  };
  const parameters = z.object({ input: z.string(), optional: z.number().optional() });
  const myCustomTool: ToolConfig<typeof parameters, never, Promise<unknown>> = {
    name: "my_custom_tool",
    description: "自定义工具描述",
    category: ToolCategory.CUSTOM,
    parameters,
    needsApproval: false,
    async execute({ input, optional }) {
      const startedAt = Date.now();
      const times = () => ({ startedAt, completedAt: Date.now(), durationMs: Date.now() - startedAt });
      try {
        const result = await doSomething(input, optional);
        return { toolName: "my_custom_tool", success: true, result, ...times() };
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        return { toolName: "my_custom_tool", success: false, error: message, ...times() };
      }
    },
  };

  test("the seed's own tool, with a result in the seed's own shape, works as it stands", async () => {
    const registry = new ToolRegistry();
    registry.register(createTool(myCustomTool));
    const haft = createHaft({ registry });
    const done = await haft.execute("my_custom_tool", { input: "ab", optional: 2 });
    expect(done).toMatchObject({ success: true, details: "abab", toolName: "my_custom_tool" });
    expect(textOf(done.content)).toBe("abab");
    const failed = await haft.execute("my_custom_tool", { input: "" });
    expect(failureOf(failed)).toBe("nothing to do");
  });

  test("and is shorter when the gate does what it repeats", async () => {
    const haft = createHaft();
    haft.register(createTool({ ...myCustomTool, execute: ({ input, optional }) => doSomething(input, optional) }));
    expect(await haft.execute("my_custom_tool", { input: "ab" })).toMatchObject({ success: true, details: "ab" });
    expect(failureOf(await haft.execute("my_custom_tool", { input: "" }))).toBe("nothing to do");
  });
});

describe("配置 (configuration)", () => {
  test("tools.timeout and tools.maxConcurrent, as settings of the runtime", async () => {
    expect((await runAtOnce(4, 2)).max).toBe(2);
    const haft = createTestHaft({ timeouts: { defaultMs: 5 } });
    haft.register({
      name: "never",
      description: "Never ends",
      kind: "readonly",
      parameters: [],
      run: () => new Promise<never>(() => {}),
    });
    const running = haft.execute("never");
    await haft.clock.advance(5);
    expect(failureOf(await running)).toContain("timed out after 5ms");
  });

  test("config.yml with timeout, maxConcurrent and ${VAR} expansion is read from a file", async () => {
    const config = [
      "tools:",
      "  timeout: 1500",
      "  maxConcurrent: ${AT_ONCE:-3}",
      "  webSearch:",
      "    provider: tavily",
      "    apiKey: ${TAVILY_API_KEY}",
      "    maxResults: 5",
    ].join("\n");
    const { open } = makeHostFolder({ "haft.config.yml": config });
    const host = await open({ env: { AT_ONCE: "1", TAVILY_API_KEY: "tvly-1" } });
    expect(host.config.value.tools).toMatchObject({
      timeout: 1500,
      maxConcurrent: 1,
      webSearch: { provider: "tavily", apiKey: "tvly-1", maxResults: 5 },
    });
    let together = 0;
    let max = 0;
    const slow = async () => {
      max = Math.max(max, ++together);
      await new Promise((resolve) => setImmediate(resolve));
      together--;
    };
    host.haft.register({ name: "slow", description: "Takes a turn", kind: "readonly", parameters: [], run: slow });
    await Promise.all([1, 2, 3].map(() => host.haft.execute("slow")));
    expect(max).toBe(1);
    const never = () => new Promise(() => undefined);
    host.haft.register({ name: "never", description: "Never ends", kind: "readonly", parameters: [], run: never });
    expect(failureOf(await host.haft.execute("never"))).toMatch(/1500 ?ms|1\.5 ?s/);
  });
  test("tools.allowedPaths bounds what file tools touch", async () => {
    const files = { "data/a.txt": "1", "docs/b.txt": "2", "src/c.txt": "3", "other/d.txt": "4" };
    const { haft, onDisk } = openProject(files, { allowedPaths: ["./data", "./docs", "./src"] });
    for (const path of ["data/a.txt", "docs/b.txt", "src/c.txt"]) {
      expect(await haft.execute("read_file", { path })).toMatchObject({ success: true });
    }
    expect(failureOf(await haft.execute("read_file", { path: "other/d.txt" }))).toContain("Access denied");
    expect(await haft.execute("write_file", { path: "other/e.txt", content: "5" })).toMatchObject({ success: false });
    expect(onDisk("other/e.txt")).toBeUndefined();
  });
  test("tools.webSearch { provider, apiKey, maxResults }", async () => {
    const { origin, requests } = await startServer((_request, response) => {
      const results = ["one", "two"].map((content) => ({
        title: content,
        url: `https://${content}.example/`,
        content,
      }));
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ results }));
    });
    const webSearch = {
      provider: "tavily",
      apiKey: "${WEB_SEARCH_API_KEY}",
      maxResults: 7,
      endpoint: `${origin}/search`,
    };
    const { folder, home, open } = makeHostFolder({ "haft.config.json": JSON.stringify({ tools: { webSearch } }) });
    // Where questions go is trusted first.
    await trust(folder, { home, env: {} });
    const { haft } = await open({ env: { WEB_SEARCH_API_KEY: "tvly-1" } });
    const { details } = await haft.execute("web_search", { query: "AI Agent" });
    expect(details).toMatchObject({ provider: "tavily", results: [{ title: "one" }, { title: "two" }] });
    expect(requests).toMatchObject([{ path: "/search", headers: { authorization: "Bearer tvly-1" } }]);
    expect(JSON.parse(requests[0]!.body)).toMatchObject({ query: "AI Agent", max_results: 7 });
  });
  test("tools.mcpServers, the disabled ones left alone", async () => {
    const servers = [
      { name: "everything", command: "node", args: [EVERYTHING, "stdio"], enabled: true },
      { name: "asleep", command: "node", args: ["-e", "require('fs').writeFileSync('woken', '')"], enabled: false },
    ];
    const config = { tools: { mcpServers: servers } };
    const { folder, home, open, onDisk } = makeHostFolder({ "haft.config.json": JSON.stringify(config) });
    // A folder that starts programs is trusted first.
    await trust(folder, { home, env: {} });
    const host = await open();
    await host.mcp.settled();
    expect(host.mcp.status()).toMatchObject([
      { name: "everything", state: "ready" },
      { name: "asleep", state: "stopped" },
    ]);
    expect(host.haft.tools.registry.get("mcp__everything__echo")).toMatchObject({ category: "mcp" });
    expect(onDisk("woken")).toBeUndefined();
  });
});

describe("错误处理 (errors)", () => {
  test("ToolError carries the tool's name and the cause", () => {
    const cause = new Error("disk");
    const error = new ToolError("read_file", "It broke", cause);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: "ToolError", toolName: "read_file", message: "It broke", cause });
  });

  test.each([
    [new ToolNotFoundError("nope"), "ToolNotFoundError", 'Tool "nope" not found'],
    [new ToolValidationError("nope", ["a: required"]), "ToolValidationError", "Parameter validation failed"],
    [new ToolTimeoutError("nope", 30_000), "ToolTimeoutError", "Tool execution timed out after 30000ms"],
    [new ToolPermissionError("nope", "Access denied"), "ToolPermissionError", "Permission denied: Access denied"],
  ])("%s has the seed's name and words", (error, name, message) => {
    expect(error).toBeInstanceOf(ToolError);
    expect(error).toMatchObject({ name, toolName: "nope", message });
  });

  test("ToolValidationError keeps the validation errors as its cause", () => {
    expect(new ToolValidationError("nope", ["a: required"]).cause).toEqual(["a: required"]);
  });

  test("each reaches the caller as data, with the seed's words first", async () => {
    const haft = createTestHaft({ tools: [echo] });
    haft.register({
      name: "forbidden",
      description: "Refuses",
      parameters: [],
      needsApproval: false,
      run: () => {
        throw new ToolPermissionError("forbidden", "Access denied");
      },
    });
    haft.register({
      name: "never",
      description: "Never ends",
      kind: "readonly",
      parameters: [],
      run: () => new Promise<never>(() => {}),
    });
    const never = haft.execute("never");
    await haft.clock.advance(30_000);
    const results = [
      await haft.execute("ecko"),
      await haft.execute("echo"),
      await never,
      await haft.execute("forbidden"),
    ];
    const names = ["ToolNotFoundError", "ToolValidationError", "ToolTimeoutError", "ToolPermissionError"];
    expect(results).toMatchObject(names.map((name) => ({ status: "failed", error: { name } })));
    expect(results.map(failureOf)).toEqual([
      expect.stringMatching(/^Tool "ecko" not found\. Did you mean "echo"\?/),
      expect.stringMatching(/^Parameter validation failed\. text: /),
      expect.stringMatching(/^Tool execution timed out after 30000ms\. /),
      expect.stringMatching(/^Permission denied: Access denied/),
    ]);
  });

  test("a Reflector answers continue, replan or complete, with toolFailures and suggestions", async () => {
    const say = {
      name: "say",
      description: "Says it too",
      parameters: [],
      category: "custom",
      needsApproval: false,
      run: () => "said",
    };
    const haft = createTestHaft({ tools: [echo, say] });
    const reflector = createReflector({ tools: () => haft.tools.list() });
    const step = (text: unknown) => ({
      description: "Say it",
      actionType: "tool_call" as const,
      toolName: "echo",
      params: { text },
    });
    const task = createTaskContext("t1", "Say it twice", [step("one"), step(2)]);
    const replans: unknown[] = [];
    const last = await runTask(task, {
      actor: createActor(haft),
      reflector,
      replan: (_task, reflection) => {
        replans.push(reflection);
        return [step("two")];
      },
    });
    expect(task.reflections.map(({ verdict }) => verdict)).toEqual(["continue", "replan", "complete"]);
    expect(replans).toMatchObject([
      {
        verdict: "replan",
        assessment: expect.stringContaining("1 of 2 steps succeeded"),
        lessons: ["echo fails like this (invalid_input)."],
        nextFocus: expect.stringContaining("Change the call of echo"),
        toolFailures: [{ toolName: "echo", suggestion: expect.stringContaining("say") }],
      },
    ]);
    expect(last).toMatchObject({ verdict: "complete", assessment: "Done: every step succeeded." });
  });
});

describe("测试 (testing a tool)", () => {
  // The seed's own examples: its `read_file` is the tool, its paths lie in a folder of the test.
  function openReadFile() {
    const project = openProject({ "test.txt": "hello" });
    return { ...project, read_file: project.haft.tools.registry.get("read_file")! };
  }

  test("should read file content", async () => {
    const { read_file, at } = openReadFile();
    const result = await read_file.execute({ path: at("test.txt") }, { taskId: "test" });
    expect(result.status).toBe("completed");
    expect(result.details).toHaveProperty("content", "hello");
  });

  test("should fail on non-existent file", async () => {
    const { read_file, at } = openReadFile();
    const result = await read_file.execute({ path: at("nonexistent.txt") }, { taskId: "test" });
    expect(result.status).toBe("failed");
    expect(failureOf(result)).toContain("not found");
  });

  test("should reject unauthorized paths", async () => {
    const { read_file, folder } = openReadFile();
    const result = await read_file.execute({ path: "/etc/passwd" }, { taskId: "test", allowedPaths: [folder] });
    expect(result.status).toBe("failed");
    expect(failureOf(result)).toContain("Access denied");
  });
});

describe("性能考虑 (performance)", () => {
  test("缓存: a read-only tool may keep its answer, until something is written", async () => {
    const haft = createTestHaft();
    let reads = 0;
    haft.register({
      name: "read",
      description: "Reads",
      kind: "readonly",
      parameters: z.object({ path: z.string() }),
      cache: { ttlMs: 1000 },
      run: () => ++reads,
    });
    haft.register({
      name: "write",
      description: "Writes",
      kind: "write",
      parameters: [],
      needsApproval: false,
      run: () => "ok",
    });
    const read = async (): Promise<unknown> => (await haft.execute("read", { path: "a" })).details;
    expect([await read(), await read()]).toEqual([1, 1]);
    await haft.execute("write");
    expect([await read(), await read()]).toEqual([2, 2]);
    await haft.clock.advance(1000);
    expect(await read()).toBe(3);
  });

  test("批处理: several calls in one go, answered in call order", async () => {
    const haft = createHaft({ tools: [echo] });
    const results = await haft.executeMany(["c", "a", "b"].map((word) => ({ name: "echo", input: { text: word } })));
    expect(results.map(({ details }) => details)).toEqual([{ said: "c" }, { said: "a" }, { said: "b" }]);
  });

  test("批处理: list_files works recursively in one call", async () => {
    const { haft, at } = openProject();
    for (let folder = 0; folder < 20; folder++) {
      mkdirSync(at(`${folder}/deep`), { recursive: true });
      writeFileSync(at(`${folder}/deep/a.txt`), "1");
    }
    const { details } = await haft.execute("list_files", { path: ".", recursive: true, pattern: "*.txt" });
    expect((details as { files: unknown[] }).files).toHaveLength(20);
    expect(await haft.calls.log.recent()).toHaveLength(1);
  });

  test("资源清理: a call that has ended leaves no timer and no slot behind", async () => {
    const haft = createTestHaft({ tools: [echo] });
    await haft.execute("echo", { text: "hi" });
    await haft.execute("echo", {});
    expect(haft.calls.load()).toEqual({ running: 0, waiting: 0 });
    await haft.clock.advance(0);
    expect(haft.clock.refTimers).toBe(0);
  });
});

describe("未来扩展 (what the seed hopes for)", () => {
  test("流式工具: a tool yields while it runs", async () => {
    const haft = createTestHaft();
    haft.register({
      name: "tail",
      description: "Shows a log as it grows",
      kind: "readonly",
      parameters: [],
      async *run() {
        yield "line 1";
        yield { content: [text("line 2")], progress: { done: 2, total: 2 } };
        return "line 1\nline 2";
      },
    });
    const seen: string[] = [];
    const result = await haft.execute("tail", {}, { onUpdate: ({ content = [] }) => void seen.push(textOf(content)) });
    expect(seen).toEqual(["line 1", "line 2"]);
    expect(haft.recorded.of("tool_call_updated")).toHaveLength(2);
    expect(textOf(result.content)).toBe("line 1\nline 2");
  });

  test("工具链: tools in a row are a tool, output to input", async () => {
    const haft = createHaft({ tools: [echo] });
    const parameters = z.object({ text: z.string() });
    const steps = [
      { tool: "echo" },
      {
        tool: "echo",
        input: (before: ToolResult | undefined) => ({ text: `${(before!.details as { said: string }).said}!` }),
      },
    ];
    haft.register(createChain({ name: "twice", description: "Says it twice", parameters, steps }));
    expect(await haft.execute("twice", { text: "hi" })).toMatchObject({ success: true, details: { said: "hi!" } });
  });

  test("工具依赖: a batch is ordered by what its tools depend on", async () => {
    const order: string[] = [];
    const tool = (name: string, dependsOn: string[]) => ({
      name,
      description: `The tool ${name}`,
      parameters: [],
      dependsOn,
      needsApproval: false,
      run: () => void order.push(name),
    });
    const haft = createHaft({ tools: [tool("test", ["build"]), tool("build", ["install"]), tool("install", [])] });
    const results = await haft.executeMany([{ name: "test" }, { name: "build" }, { name: "install" }]);
    expect(order).toEqual(["install", "build", "test"]);
    expect(results.map(({ toolName }) => toolName)).toEqual(["test", "build", "install"]);
  });

  test("工具版本: versions of one tool stand side by side", async () => {
    const haft = createHaft();
    for (const version of ["1.0.0", "2.0.0"]) {
      haft.register({
        name: "read",
        version,
        description: "Reads",
        parameters: [],
        needsApproval: false,
        run: () => version,
      });
    }
    expect((await haft.execute("read")).details).toBe("1.0.0");
    expect((await haft.execute("read@2")).details).toBe("2.0.0");
  });

  test("工具审计: the log has every call, who made it and how it ended", async () => {
    const haft = createHaft({ tools: [echo] });
    await haft.execute("echo", { text: "hi" }, { userId: "ada" });
    await haft.execute("nobody", {}, { userId: "bob" });
    expect(await haft.calls.log.recent()).toMatchObject([
      { toolName: "echo", caller: { user: "ada" }, status: "completed" },
      { toolName: "nobody", caller: { user: "bob" }, status: "failed", errorCode: "tool_not_found" },
    ]);
  });

  test("the audit log is written before the effect, and a removed entry shows", async () => {
    const host = await makeHostFolder().open();
    const seen: unknown[] = [];
    host.haft.register({
      name: "act",
      description: "Looks what is recorded while it acts",
      kind: "execute",
      parameters: [],
      needsApproval: false,
      run: async () =>
        void seen.push(...(await host.store.audit.query({ tool: "act" })).entries.map(({ kind }) => kind)),
    });
    await host.haft.execute("act");
    await host.haft.execute("act");
    expect(seen[0]).toBe("call_begun");
    expect(await host.store.audit.verify()).toMatchObject({ ok: true });
    await host.store.database.run("DELETE FROM audit WHERE seq = 2");
    expect(await host.store.audit.verify()).toMatchObject({ ok: false, problems: [{ seq: 2 }] });
  });

  test("A/B 测试: calls are shared between two implementations by weight, and counted by arm", async () => {
    const haft = createHaft();
    for (const version of ["1.0.0", "2.0.0"]) {
      haft.register({
        name: "rank",
        version,
        description: "Ranks",
        parameters: [],
        needsApproval: false,
        run: () => version,
      });
    }
    haft.tools.registry.split("rank", { "1": 1, "2": 1 });
    for (let i = 0; i < 40; i++) {
      const { metadata, details } = await haft.execute("rank", {}, { caller: { session: `s${i}` } });
      expect(details).toBe(`${metadata.arm}.0.0`);
    }
    const { byArm } = haft.tools.stats().callStats["rank"]!;
    expect(Object.keys(byArm!).sort()).toEqual(["1", "2"]);
    expect(byArm!["1"]!.count + byArm!["2"]!.count).toBe(40);
  });
});

async function runAtOnce(calls: number, maxConcurrent?: number): Promise<{ max: number; results: ToolResult[] }> {
  const haft = createHaft(maxConcurrent === undefined ? {} : { concurrency: { maxConcurrent } });
  let running = 0;
  let max = 0;
  haft.register({
    name: "work",
    description: "Works for a moment",
    parameters: [],
    needsApproval: false,
    run: async () => {
      max = Math.max(max, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
    },
  });
  const results = await haft.executeMany(Array.from({ length: calls }, () => ({ name: "work" })));
  return { max, results };
}
