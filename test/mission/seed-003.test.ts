// Plays seed 003, "18 - 工具抽象层需求", from top to bottom. AgentTool is its word for a tool whose code takes
// (toolCallId, params, signal, onUpdate); content and details are named as here.
import { Type } from "@sinclair/typebox";
import type { ServerResponse } from "node:http";
import process from "node:process";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { createHaft, textOf, type ToolPolicy, type ToolResult, type Update } from "haft";
import {
  type AgentTool,
  type AgentToolResult,
  expandToolGroups,
  fromAgentTool,
  isToolAllowedByPolicy,
  jsonResult,
  normalizeToolName,
  toClientToolDefinitions,
  TOOL_GROUPS,
  toToolDefinitions,
} from "haft/compat";
import { createClient } from "haft/client";
import { trust } from "haft/host";
import { serveHttp } from "haft/server";
import { createFakeClock, createScriptedLanguageModel, createTestHaft } from "haft/testing";
import { createAgent } from "haft/agent";
import { startServer } from "../setup/local-server.ts";
import { findBrowser } from "../console/find-browser.ts";
import { makeHostFolder } from "./open-host.ts";
import { openProject } from "./open-project.ts";
import { openWeb, pageAnswer, searchAnswer } from "./open-web.ts";

const ReadToolSchema = Type.Object({
  file_path: Type.String({ description: "文件路径" }),
  offset: Type.Optional(Type.Number()),
  limit: Type.Optional(Type.Number()),
});

const FILES = new Map([["/a.txt", "one\ntwo\nthree"]]);

function createReadTool(): AgentTool {
  return {
    name: "read",
    description: "读取文件内容",
    kind: "readonly",
    parameters: ReadToolSchema,
    async execute(_toolCallId: string, params: { file_path: string }) {
      const content = FILES.get(params.file_path);
      if (content === undefined) throw new Error(`ENOENT: ${params.file_path}`);
      return {
        content: [{ type: "text", text: content }],
        details: { path: params.file_path, lines: content.split("\n").length },
      };
    },
  };
}

/** A tool with a name of the seed, to see what a policy makes of it. */
function named(name: string): AgentTool {
  return {
    name,
    description: `The tool ${name}`,
    parameters: Type.Object({}),
    needsApproval: false,
    execute: async () => jsonResult({ ran: name }),
  };
}

function failureOf(result: ToolResult): string {
  if (result.status !== "failed") throw new Error(`The call is ${result.status}: ${result.display}`);
  return result.error.message;
}

describe("1. 需求概述", () => {
  test("an interface, a TypeBox schema, execution that streams and stops, and a policy, in one call", async () => {
    const haft = createTestHaft({
      policy: { deny: ["exec"] },
      tools: [fromAgentTool(createReadTool()), fromAgentTool(named("exec"))],
    });
    expect(await haft.execute("read", { file_path: "/a.txt" })).toMatchObject({ success: true });
    expect(await haft.execute("read", { file_path: 1 })).toMatchObject({ error: { code: "invalid_input" } });
    expect(await haft.execute("exec", {})).toMatchObject({ error: { code: "denied" } });
  });
});

describe("2. 核心概念", () => {
  describe("2.1 工具定义", () => {
    test("AgentTool: its code is given the call's id, the parameters, a signal and a listener", async () => {
      let given: unknown[] = [];
      const tool = fromAgentTool({
        name: "look",
        label: "Look around",
        description: "Looks",
        parameters: Type.Object({ at: Type.String() }),
        needsApproval: false,
        execute: async (toolCallId: string, params: { at: string }, signal, onUpdate) => {
          given = [toolCallId, params, signal instanceof AbortSignal, typeof onUpdate];
          return jsonResult("seen");
        },
      });
      expect(tool).toMatchObject({ name: "look", title: "Look around", description: { short: "Looks" } });
      await createHaft({ tools: [tool] }).execute("look", { at: "it" }, { id: "call_7" });
      expect(given).toEqual(["call_7", { at: "it" }, true, "function"]);
    });

    test("onUpdate streams partial results", async () => {
      const haft = createTestHaft();
      haft.register(
        fromAgentTool({
          name: "stream",
          description: "Streams",
          parameters: Type.Object({}),
          needsApproval: false,
          execute: async (_id: string, _params: never, _signal, onUpdate) => {
            onUpdate?.({ content: [{ type: "text", text: "half" }], details: { done: 1 } });
            return jsonResult({ done: 2 });
          },
        }),
      );
      const updates: Update[] = [];
      await haft.execute("stream", {}, { onUpdate: (update) => void updates.push(update) });
      expect(updates).toEqual([{ content: [{ type: "text", text: "half" }], details: { done: 1 } }]);
      expect(haft.recorded.of("tool_call_updated")).toMatchObject([
        { toolName: "stream", update: { details: { done: 1 } } },
      ]);
    });
  });

  test("2.2 工具执行结果: content blocks, and details for programs", async () => {
    const haft = createHaft({ tools: [fromAgentTool(createReadTool())] });
    expect(await haft.execute("read", { file_path: "/a.txt" })).toMatchObject({
      content: [{ type: "text", text: "one\ntwo\nthree" }],
      details: { path: "/a.txt", lines: 3 },
    });
  });

  describe("2.3 工具分类", () => {
    test("文件系统 read, write, edit", async () => {
      const { haft, at, onDisk } = openProject();
      expect(await haft.execute("write", { file_path: at("a.txt"), content: "one\n" })).toMatchObject({
        success: true,
      });
      const edit = { file_path: at("a.txt"), old_string: "one", new_string: "two" };
      expect(await haft.execute("edit", edit)).toMatchObject({ success: true });
      expect(await haft.execute("read", { file_path: at("a.txt") })).toMatchObject({
        success: true,
        details: { path: "a.txt", lines: 1, content: "two\n" },
      });
      expect(onDisk("a.txt")).toBe("two\n");
    });

    test("运行时 exec 执行命令, process 后台任务", async () => {
      const { haft } = openProject();
      const command = "read line; echo got $line; sleep 60";
      const started = await haft.execute("exec", { command, background: true, keep_stdin_open: true });
      const { processId: sessionId } = started.details as { processId: string };
      expect(started).toMatchObject({ success: true, details: { status: "running" } });
      expect(textOf((await haft.execute("process", { action: "list" })).content)).toContain(sessionId);
      await haft.execute("process", { action: "submit", sessionId, data: "hello" });
      const log = await haft.execute("process", { action: "log", sessionId });
      expect(textOf(log.content)).toContain("got hello");
      expect(await haft.execute("process", { action: "kill", sessionId })).toMatchObject({ success: true });
      expect(await haft.execute("process", { action: "remove", sessionId })).toMatchObject({ success: true });
      expect(await haft.execute("process", { action: "poll", sessionId })).toMatchObject({ success: false });
    });
    test("会话管理 sessions_list, sessions_send 跨会话通信", async () => {
      // For both: the main session is told what the other one has found, and answers as well.
      const model = createScriptedLanguageModel(Array.from({ length: 4 }, () => ({ text: "It is src/index.ts." })));
      const host = await makeHostFolder().open({ agentFor: (_session, haft) => createAgent({ haft, model }) });
      await host.sessions.create({ key: "main" });
      const options = { caller: { session: "main" } };
      const spawned = await host.haft.execute("sessions_spawn", { task: "Find the entry", label: "finder" }, options);
      expect(spawned).toMatchObject({ success: true, details: { status: "accepted" } });
      const sent = await host.haft.execute("sessions_send", { session: "finder", message: "How long is it?" }, options);
      expect(sent.details).toMatchObject({ status: "ok", reply: expect.stringMatching(/^It/) });
      const listed = await host.haft.execute("sessions_list", {}, options);
      expect(listed.details).toMatchObject({
        sessions: expect.arrayContaining([expect.objectContaining({ label: "finder" })]),
      });
    });

    test("Web 工具 web_search 网页搜索, web_fetch 抓取", async () => {
      const { haft, origin } = await openWeb((request, response) =>
        (request.path.startsWith("/search") ? searchAnswer : pageAnswer)(request, response),
      );
      const found = await haft.execute("web_search", { query: "tea" });
      expect(found.details).toMatchObject({ results: [{ title: "tea 1" }, { title: "tea 2" }] });
      const page = await haft.execute("web_fetch", { url: `${origin}/page` });
      expect(textOf(page.content)).toContain("Heat the water");
      expect(TOOL_GROUPS["group:web"]).toEqual(expect.arrayContaining(["web_search", "web_fetch"]));
    });
    test("消息工具 message 跨渠道消息发送", async () => {
      const { origin, requests } = await startServer((_request, response) => void response.writeHead(204).end());
      const channels = {
        hook: { type: "webhook", targets: { ops: `${origin}/ops` } },
        team: { type: "telegram", token: "1:a", endpoint: origin, targets: { general: "-100" } },
      };
      const { folder, home, open } = makeHostFolder({ "haft.config.json": JSON.stringify({ message: { channels } }) });
      // Who is written to is trusted first.
      expect((await open()).channels).toEqual([]);
      await trust(folder, { home, env: {} });
      const { haft } = await open({ approver: async () => ({ approved: true, by: "ada" }) });
      expect(await haft.execute("message", { channel: "hook", text: "ready" })).toMatchObject({ success: true });
      expect(requests).toMatchObject([{ method: "POST", path: "/ops" }]);
      expect(JSON.parse(requests[0]!.body)).toMatchObject({ text: "ready" });
      // Across channels: the other one answers what is no answer of Telegram.
      expect(await haft.execute("message", { channel: "team", text: "ready" })).toMatchObject({ success: false });
      expect(requests[1]).toMatchObject({ path: "/bot1:a/sendMessage" });
      expect(TOOL_GROUPS["group:messaging"]).toEqual(["message"]);
    });
    test("UI 工具 browser 浏览器控制, canvas 画布", async () => {
      const page = (_request: unknown, response: ServerResponse) =>
        void response.writeHead(200, { "content-type": "text/html" }).end("<h1>Tea</h1><a href='/'>Home</a>");
      const { origin, port } = await startServer(page);
      const browser = await findBrowser();
      const { haft, canvas } = await makeHostFolder().open({
        env: process.env,
        overrides: {
          network: { exceptions: [`127.0.0.1:${port}`] },
          browser: { executable: "executablePath" in browser ? browser.executablePath : "/none" },
        },
      });
      expect(TOOL_GROUPS["group:ui"]).toEqual(["browser", "canvas"]);
      const shown = await haft.execute("canvas", { action: "present", content: "# Tea\n\nGreen.", title: "Tea" });
      expect(shown).toMatchObject({ success: true, details: { kind: "markdown", version: 1 } });
      expect(canvas.list()).toMatchObject([{ kind: "markdown", title: "Tea" }]);
      const opened = await haft.execute("browser", { action: "open", url: origin, snapshot: true });
      if ("missing" in browser) return;
      expect(textOf(opened.content)).toMatch(/heading "Tea".*\[ref=e\d+\]/);
      const picture = await haft.execute("browser", { action: "screenshot" });
      expect(picture.content).toContainEqual(expect.objectContaining({ type: "image", mimeType: "image/png" }));
      const drawn = await haft.execute("canvas", { action: "snapshot" });
      expect(drawn.content).toContainEqual(expect.objectContaining({ type: "image" }));
    });
    test("cron 定时任务: a person is asked, then it runs at its time, also after a restart, and tells what it missed", async () => {
      const place = makeHostFolder({ "notes.txt": "tea" });
      const clock = createFakeClock(Date.UTC(2026, 10, 15, 8));
      const before = await place.open({ clock, approvalWaitMs: false });
      const job = {
        action: "add",
        name: "notes",
        cron: "* * * * *",
        tz: "UTC",
        tool: "read",
        input: { path: "notes.txt" },
      };
      const requests = await before.haft.execute("cron", job);
      if (requests.status !== "pending") throw new Error(requests.display);
      const { details } = await before.haft.approvals.approve(requests.pending.id);
      const { id } = details as { id: string };
      before.schedules.start();
      await clock.advance(60_000);
      expect(await before.schedules.runs(id)).toMatchObject([{ number: 1, state: "completed", missed: 0 }]);
      await before.close();
      await clock.advance(3 * 60_000 + 1000);
      const after = await place.open({ clock });
      after.schedules.start();
      await clock.advance(1000);
      const reported = await after.haft.execute("cron", { action: "runs", jobId: id });
      expect(reported.details).toMatchObject({ runs: [{ number: 2, state: "completed", missed: 2 }, { number: 1 }] });
      expect((await after.haft.execute("cron", { action: "status" })).display).toContain("1 schedule");
      expect(TOOL_GROUPS["group:automation"]).toContain("cron");
    });
  });
});

describe("3. 关键实现", () => {
  test("步骤 1: the TypeBox schema is what the model is told, and what the gate validates", async () => {
    const tool = fromAgentTool(createReadTool());
    expect(tool.getFunctionDeclaration()).toMatchObject({
      name: "read",
      description: "读取文件内容",
      parameters: {
        type: "object",
        properties: { file_path: { type: "string", description: "文件路径" }, offset: { type: "number" } },
        required: ["file_path"],
      },
    });
    const haft = createHaft({ tools: [tool] });
    expect(failureOf(await haft.execute("read", { file_path: "/a.txt", offset: "many" }))).toContain("offset");
    expect(failureOf(await haft.execute("read", {}))).toContain("file_path");
  });

  test("步骤 2 and 3: createReadTool, registered among others", async () => {
    const tools = [createReadTool(), named("write"), named("edit"), named("exec")];
    const haft = createHaft({ tools: tools.map((tool) => fromAgentTool(tool)) });
    expect(haft.tools.registry.names()).toEqual(["read", "write", "edit", "exec"]);
    expect((await haft.execute("write", {})).details).toEqual({ ran: "write" });
  });
  test("步骤 2 and 3 with the built-in read, write, edit and exec, on a real disk", async () => {
    const { workspace } = openProject({ "a.txt": "one\ntwo\nthree" });
    const tools = workspace.tools.filter(({ name }) => ["read", "write", "edit", "exec"].includes(name));
    const haft = createHaft({ folder: workspace.folder, tools });
    expect(haft.tools.registry.names().sort()).toEqual(["edit", "exec", "read", "write"]);
    const read = await haft.execute("read", { file_path: "a.txt", offset: 2, limit: 1 });
    expect(read.content).toMatchObject([{ type: "text", text: expect.stringContaining("two") }]);
    expect(read.details).toMatchObject({ path: "a.txt", lines: 1 });
    // Nobody is there to be asked: what changes something waits.
    expect(await haft.execute("exec", { command: "touch b.txt" })).toMatchObject({ status: "pending" });
  });

  describe("步骤 4: 工具适配器", () => {
    test("tools become definitions: name, label, description, parameters", () => {
      const haft = createHaft({ tools: [fromAgentTool({ ...named("read"), label: "Read a file" })] });
      expect(haft.tools.definitions()).toMatchObject([
        { name: "read", description: "The tool read", parameters: { type: "object" } },
      ]);
      expect(haft.tools.registry.get("read")!.title).toBe("Read a file");
    });
    test("toToolDefinitions(tools), whose execute answers an error as jsonResult and rethrows an abort", async () => {
      const haft = createHaft({ tools: [fromAgentTool({ ...createReadTool(), label: "Read a file" })] });
      const [read] = toToolDefinitions(haft.tools.list());
      expect(read).toMatchObject({ name: "read", label: "Read a file", parameters: { required: ["file_path"] } });
      expect(await read!.execute("c1", { file_path: "/a.txt" })).toEqual({
        content: [{ type: "text", text: "one\ntwo\nthree" }],
        details: { path: "/a.txt", lines: 3 },
      });
      const missing = await read!.execute("c2", { file_path: "/b.txt" });
      expect(missing).toEqual(jsonResult({ status: "error", tool: "read", error: "ENOENT: /b.txt" }));
      const stopped = read!.execute("c3", { file_path: "/a.txt" }, undefined, undefined, AbortSignal.abort());
      await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
    });
  });
});

describe("4. 工具策略", () => {
  test("4.1 工具分组: the seed's groups, with at least its members", () => {
    const seed = {
      "group:fs": ["read", "write", "edit", "apply_patch"],
      "group:runtime": ["exec", "process"],
      "group:web": ["web_search", "web_fetch"],
      "group:sessions": ["sessions_list", "sessions_send", "sessions_spawn"],
      "group:messaging": ["message"],
    };
    for (const [group, members] of Object.entries(seed))
      expect(TOOL_GROUPS[group]).toEqual(expect.arrayContaining(members));
    expect(expandToolGroups(["group:messaging", "Read"])).toEqual(["message", "read"]);
    expect(expandToolGroups(["group:fs"])).toEqual(TOOL_GROUPS["group:fs"]);
  });

  describe("4.2 工具策略配置", () => {
    const policy: ToolPolicy = { profile: "coding", allow: ["group:fs", "group:runtime"], deny: ["exec"] };

    test("the seed's policy: profile coding, two groups allowed, exec denied", async () => {
      const names = ["read", "write", "exec", "process", "web_search", "message"];
      const haft = createHaft({ policy, tools: names.map((name) => fromAgentTool(named(name))) });
      const results = await haft.executeMany(names.map((name) => ({ name })));
      expect(results.filter(({ status }) => status === "completed").map(({ toolName }) => toolName)).toEqual([
        "read",
        "write",
        "process",
      ]);
      expect(haft.tools.definitions().map(({ name }) => name)).toEqual(["read", "write", "process"]);
    });
    test("the seed's policy over the built-in tools: exec is gone under every name, process stays", async () => {
      const { haft, onDisk } = openProject({}, { haft: { policy } });
      for (const name of ["exec", "Bash", "shell", "EXEC"]) {
        expect(await haft.execute(name, { command: "touch ran.txt" })).toMatchObject({ error: { code: "denied" } });
      }
      expect(onDisk("ran.txt")).toBeUndefined();
      expect(await haft.execute("write", { path: "a.txt", content: "1" })).toMatchObject({ success: true });
      const shown = haft.tools.definitions({ dialect: "openclaw" }).map(({ name }) => name);
      expect(shown).toEqual(expect.arrayContaining(["read", "write", "edit", "apply_patch", "process"]));
      expect(shown).not.toContain("exec");
    });
    test("tools { profile, allow, deny } is read from a json5 file", async () => {
      const config =
        "{ tools: { profile: 'coding', allow: ['group:fs', 'group:runtime'], deny: ['exec'], }, /* ours */ }";
      const { haft } = await makeHostFolder({ "haft.config.json5": config }).open();
      const shown = haft.tools.definitions().map(({ name }) => name);
      expect(shown).toEqual(expect.arrayContaining(["read", "write", "process"]));
      expect(shown).not.toContain("exec");
      expect(await haft.execute("Bash", { command: "ls" })).toMatchObject({ error: { code: "denied" } });
    });

    test.each<[NonNullable<ToolPolicy["profile"]>, string[], string[]]>([
      ["minimal", ["session_status"], ["read", "exec", "message", "sessions_list"]],
      [
        "coding",
        ["read", "write", "edit", "apply_patch", "exec", "process", "sessions_list"],
        ["message", "web_search"],
      ],
      ["messaging", ["message", "sessions_list", "session_status"], ["read", "exec", "sessions_spawn"]],
      ["full", ["read", "exec", "message", "browser", "anything_else"], []],
    ])("profile %s", (profile, allowed, refused) => {
      expect(allowed.filter((name) => !isToolAllowedByPolicy(name, { profile }))).toEqual([]);
      expect(refused.filter((name) => isToolAllowedByPolicy(name, { profile }))).toEqual([]);
    });
  });

  describe("4.3 权限检查", () => {
    test("deny first, then allow with its groups, and allowed by default", () => {
      expect(isToolAllowedByPolicy("exec", { deny: ["exec"], allow: ["exec"] })).toBe(false);
      expect(isToolAllowedByPolicy("read", { allow: ["group:fs"] })).toBe(true);
      expect(isToolAllowedByPolicy("exec", { allow: ["group:fs"] })).toBe(false);
      expect(isToolAllowedByPolicy("exec", { allow: [] })).toBe(true);
      expect(isToolAllowedByPolicy("exec", {})).toBe(true);
    });

    test("groups and * count on the deny list too", () => {
      expect(isToolAllowedByPolicy("exec", { deny: ["group:runtime"] })).toBe(false);
      expect(isToolAllowedByPolicy("web_fetch", { deny: ["web_*"] })).toBe(false);
      expect(isToolAllowedByPolicy("read", { deny: ["web_*"] })).toBe(true);
    });

    test("normalizeToolName: no spelling goes around a list", () => {
      expect(["Exec", " exec ", "Bash", "bash"].map(normalizeToolName)).toEqual(["exec", "exec", "exec", "exec"]);
      expect(normalizeToolName("Apply-Patch")).toBe("apply_patch");
      for (const name of ["EXEC", "Bash", " exec"]) expect(isToolAllowedByPolicy(name, { deny: ["exec"] })).toBe(false);
      expect(isToolAllowedByPolicy("exec", { deny: ["Bash"] })).toBe(false);
    });
  });
});

describe("5. 工具执行", () => {
  test("5.1 执行流程: permission, validation, execution, success or failure, recorded", async () => {
    const haft = createTestHaft({
      policy: { deny: ["exec"] },
      tools: [fromAgentTool(createReadTool()), fromAgentTool(named("exec"))],
    });
    // Denied although its input is wrong as well: permission is looked at first.
    expect(await haft.execute("exec", { wrong: 1 })).toMatchObject({ error: { code: "denied" } });
    expect(await haft.execute("read", { wrong: 1 })).toMatchObject({ error: { code: "invalid_input" } });
    expect(await haft.execute("read", { file_path: "/a.txt" })).toMatchObject({ success: true });
    expect(await haft.execute("read", { file_path: "/b.txt" })).toMatchObject({ error: { code: "failed" } });
    expect((await haft.calls.log.recent()).map(({ status, errorCode }) => errorCode ?? status)).toEqual([
      "denied",
      "invalid_input",
      "completed",
      "failed",
    ]);
  });
  test("5.1 记录到会话历史: calls and results are recorded in the session's history, also after a restart", async () => {
    const project = makeHostFolder({ "a.txt": "hello\n" });
    const model = createScriptedLanguageModel([
      {
        calls: [
          { name: "read", input: { file_path: "a.txt" } },
          { name: "read", input: { file_path: "b.txt" } },
        ],
      },
      { text: "It says hello." },
    ]);
    const first = await project.open({ agentFor: (_session, haft) => createAgent({ haft, model }) });
    await first.sessions.create({ key: "main" });
    const said = { id: "m1", kind: "message" as const, text: "What does a.txt say?" };
    expect(await first.sessions.send("main", said, { waitMs: 20_000 })).toMatchObject({ reply: "It says hello." });
    await first.close();
    const later = await project.open();
    const history = await later.haft.execute("sessions_history", { session: "main" }, { caller: { session: "main" } });
    expect(textOf(history.content)).toMatch(
      /user: What does a.txt say\?.*calls read .*a\.txt.*read .* completed.*read .* failed.*assistant: It says hello\./s,
    );
  });

  test("5.2 错误处理: what a tool throws is an error result with the tool's name and message", async () => {
    const haft = createHaft({ tools: [fromAgentTool(createReadTool())] });
    const result = await haft.execute("read", { file_path: "/b.txt" });
    expect(result).toMatchObject({ status: "failed", toolName: "read", error: { message: "ENOENT: /b.txt" } });
    expect(textOf(result.content)).toContain("ENOENT: /b.txt");
  });

  describe("5.3 中断支持", () => {
    test("the built-in exec ends its command when it is aborted, and says so", async () => {
      const { haft } = openProject();
      const stop = new AbortController();
      const result = await haft.execute(
        "exec",
        { command: "echo begun; sleep 60" },
        { signal: stop.signal, onUpdate: () => stop.abort() },
      );
      expect(result).toMatchObject({ status: "failed", error: { code: "cancelled" } });
      expect(textOf(result.content)).toContain("begun");
    });

    test("a call whose signal is aborted already does not run", async () => {
      let ran = false;
      const tool = { ...named("work"), execute: async () => jsonResult((ran = true)) };
      const result = await createHaft({ tools: [fromAgentTool(tool)] }).execute(
        "work",
        {},
        { signal: AbortSignal.abort() },
      );
      expect(result).toMatchObject({ status: "failed", error: { code: "cancelled" } });
      expect(ran).toBe(false);
    });

    test("a tool that looks at its signal stops between items, and says what it had done", async () => {
      const stop = new AbortController();
      const done: number[] = [];
      const tool: AgentTool = {
        ...named("work"),
        async execute(_id: string, _params: never, signal) {
          for (const item of [1, 2, 3, 4]) {
            if (signal?.aborted) break;
            done.push(item);
            if (item === 2) stop.abort();
            await Promise.resolve();
          }
          return jsonResult({ done });
        },
      };
      const result = await createHaft({ tools: [fromAgentTool(tool)] }).execute("work", {}, { signal: stop.signal });
      // What it did is known, so that is the result.
      expect(result).toMatchObject({ status: "completed", details: { done: [1, 2] } });
      expect(done).toEqual([1, 2]);
    });

    test("a tool that throws because it was aborted has an unknown outcome: it may have had an effect", async () => {
      const stop = new AbortController();
      const tool: AgentTool = {
        ...named("work"),
        async execute(_id: string, _params: never, signal) {
          stop.abort();
          if (signal?.aborted) throw new Error("Tool execution aborted");
          return jsonResult("not aborted");
        },
      };
      const result = await createHaft({ tools: [fromAgentTool(tool)] }).execute("work", {}, { signal: stop.signal });
      expect(result).toMatchObject({ status: "failed", error: { code: "unknown_outcome" } });
    });
  });
});

describe("6. 工具结果格式", () => {
  const giving = async (output: AgentToolResult): Promise<ToolResult> =>
    createHaft({ tools: [fromAgentTool({ ...named("give"), execute: async () => output })] }).execute("give", {});

  test("6.1 纯文本结果", async () => {
    const output: AgentToolResult = {
      content: [{ type: "text", text: "File written successfully" }],
      details: { path: "/path/to/file", size: 1234 },
    };
    expect(await giving(output)).toMatchObject({ success: true, ...output });
  });

  test("6.2 图片结果", async () => {
    const output: AgentToolResult = {
      content: [
        { type: "text", text: "MEDIA:/path/to/image.png" },
        { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
      ],
      details: { path: "/path/to/image.png", width: 800, height: 600 },
    };
    expect(await giving(output)).toMatchObject({ success: true, ...output });
  });

  test("6.1 and 6.2 from the built-in tools: a text with path and size, an image as MEDIA with width and height", async () => {
    const image = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAEElEQVR4nGP8z8AARBAKAAYXAgGEuNe9AAAAAElFTkSuQmCC",
      "base64",
    );
    const { haft } = openProject({ "image.png": image });
    const written = await haft.execute("write", { path: "a.txt", content: "text" });
    expect(written).toMatchObject({
      success: true,
      content: [{ type: "text", text: expect.stringContaining("a.txt") }],
      details: { path: "a.txt", bytesWritten: 4 },
    });
    expect(await haft.execute("read", { path: "image.png" })).toMatchObject({
      success: true,
      content: [
        { type: "text", text: "MEDIA:image.png" },
        { type: "image", data: image.toString("base64"), mimeType: "image/png" },
      ],
      details: { path: "image.png", width: 3, height: 2 },
    });
  });

  test("6.3 JSON 结果: jsonResult", async () => {
    const payload = { status: "ok", items: [1, 2] };
    expect(jsonResult(payload)).toEqual({
      content: [{ type: "text", text: '{\n  "status": "ok",\n  "items": [\n    1,\n    2\n  ]\n}' }],
      details: payload,
    });
    expect(await giving(jsonResult(payload))).toMatchObject({ success: true, ...jsonResult(payload) });
  });
});

describe("7. 特殊工具", () => {
  describe("7.1 客户端工具", () => {
    test("a tool may answer pending, to be completed by a client", async () => {
      const haft = createHaft();
      haft.register({
        name: "pick_colour",
        description: "Asks the browser",
        parameters: [],
        origin: { type: "client", client: "browser" },
        needsApproval: false,
        run: (_input, { callId }) => ({
          content: "Tool execution delegated to client",
          pending: { kind: "client" as const, id: callId },
        }),
      });
      expect(await haft.execute("pick_colour", {}, { id: "c1" })).toMatchObject({
        status: "pending",
        pending: { kind: "client", id: "c1" },
        content: [{ type: "text", text: "Tool execution delegated to client" }],
      });
    });
    test("toClientToolDefinitions: the call is answered pending, to be executed by the client", async () => {
      const parameters = { type: "object", properties: { hue: { type: "string" } }, required: ["hue"] };
      const [tool] = toClientToolDefinitions([
        { type: "function", function: { name: "pick_colour", description: "Asks the browser", parameters } },
      ]);
      expect(tool).toMatchObject({ name: "pick_colour", description: "Asks the browser", parameters });
      const { details } = await tool!.execute("c1", { hue: "red" });
      expect(details).toMatchObject({
        status: "pending",
        tool: "pick_colour",
        message: "Tool execution delegated to client",
      });
      expect((await tool!.execute("c2", {})).details).toMatchObject({ status: "error", tool: "pick_colour" });
    });

    test("the client's answer, joined by call id over a WebSocket, completes the call", async () => {
      const haft = createTestHaft();
      const server = await serveHttp(haft, { port: 0 });
      onTestFinished(() => server.close());
      const token = await server.issueToken({ name: "app", scopes: ["read", "call"] });
      const client = createClient({ url: server.url, token });
      const parameters = { type: "object", properties: { hue: { type: "string" } }, required: ["hue"] } as const;
      const serving = client.serveTools(
        [
          {
            name: "pick_colour",
            description: "Asks the browser",
            parameters,
            needsApproval: false,
            run: ({ hue }: { hue: string }) => `${hue}!`,
          },
        ],
        { WebSocket },
      );
      onTestFinished(() => serving.stop());
      await serving.ready;
      const ended = new Promise((resolve) => haft.on("tool_call_completed", ({ result }) => resolve(result)));
      expect(await client.calls.execute({ tool: "pick_colour", input: { hue: "red" }, id: "c1" })).toMatchObject({
        status: "pending",
        pending: { kind: "client" },
      });
      expect(await ended).toMatchObject({ callId: "c1", success: true, content: [{ type: "text", text: "red!" }] });
      expect(await client.calls.get("c1")).toMatchObject({ status: "completed" });
    });
  });

  describe("7.2 插件工具", () => {
    test("api.registerTool, in the seed's words", async () => {
      const haft = createHaft();
      await haft.tools.install({
        manifest: { id: "my-plugin" },
        register(api) {
          api.registerTool({
            name: "my_tool",
            description: "Custom tool",
            parameters: Type.Object({ input: Type.String() }),
            needsApproval: false,
            async execute(_toolCallId: string, _params: { input: string }) {
              return jsonResult({ result: "ok" });
            },
          });
        },
      });
      expect(await haft.execute("my_tool", { input: "x" })).toMatchObject({ success: true, details: { result: "ok" } });
      expect(await haft.execute("my_tool", {})).toMatchObject({ error: { code: "invalid_input" } });
      expect(haft.tools.registry.get("my_tool")!.origin).toEqual({ type: "plugin", plugin: "my-plugin" });
    });

    test("a plugin has a group of its own in policies, and cannot take a name that is taken", async () => {
      const haft = createHaft({ policy: { deny: ["group:plugin:my-plugin"] }, tools: [fromAgentTool(named("read"))] });
      await haft.tools.install({
        manifest: { id: "my-plugin" },
        register: (api) => void api.registerTool(named("extra")),
      });
      expect(await haft.execute("extra", {})).toMatchObject({ error: { code: "denied" } });
      const thief = {
        manifest: { id: "thief" },
        register: (api: { registerTool(tool: AgentTool): unknown }) => void api.registerTool(named("read")),
      };
      await expect(haft.tools.install(thief)).rejects.toThrow(/"read"/);
    });
    test("plugins of a folder are loaded only when the folder is trusted", async () => {
      const plugin = `export default {
        manifest: { id: "greeter" },
        register(api) {
          api.registerTool({
            name: "greet",
            description: "Greets",
            parameters: { type: "object", properties: {} },
            needsApproval: false,
            execute: async () => ({ content: [{ type: "text", text: "hello" }], details: "hello" }),
          });
        },
      };`;
      const { folder, home, open } = makeHostFolder({
        "haft.config.yml": "plugins: [./greeter.mjs]",
        "greeter.mjs": plugin,
      });
      const before = await open();
      expect(before.haft.tools.registry.has("greet")).toBe(false);
      expect(before.warnings.join("\n")).toContain("haft trust");
      await before.close();
      await trust(folder, { home, env: {} });
      const after = await open();
      expect(await after.haft.execute("greet")).toMatchObject({ success: true, details: "hello" });
    });
  });
});
