// Every built-in tool, called by an MCP client: its structured content conforms to its output schema.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Validator } from "@cfworker/json-schema";
import type { Client } from "@modelcontextprotocol/client";
import { createHaft, createTool, type Haft, type Middleware } from "haft";
import { createAgent, type AgentModel } from "haft/agent";
import { openHaft } from "haft/host";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createAgentTools } from "../../src/tools/agents/agent-tools.ts";
import { createJsonStringifyTool } from "../../src/tools/data/json-tools.ts";
import { createResourceTools } from "../../src/tools/discovery/mcp-resources.ts";
import { startServer } from "../setup/local-server.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { connectDirectly } from "./serve-haft.ts";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Add File: b.txt\n+two\n*** End Patch";

type Data = Record<string, unknown>;

/** Calls tools with the official client, and checks each result with another validator than the client's own. */
class CheckedClient {
  readonly called = new Set<string>();
  readonly #validators: Map<string, Validator>;

  private constructor(
    readonly client: Client,
    tools: Awaited<ReturnType<Client["listTools"]>>["tools"],
  ) {
    this.#validators = new Map(
      tools.map(({ name, outputSchema }) => [name, new Validator(outputSchema ?? false, "2020-12", false)]),
    );
  }

  static async open(haft: Haft): Promise<CheckedClient> {
    const client = await connectDirectly(haft);
    return new CheckedClient(client, (await client.listTools()).tools);
  }

  async call(name: string, input: Data = {}): Promise<Data> {
    const { structuredContent, isError, content } = await this.client.callTool({ name, arguments: input });
    if (isError) throw new Error(`${name} failed: ${JSON.stringify({ input, content })}`);
    const { valid, errors } = this.#validators.get(name)!.validate(structuredContent);
    if (!valid) throw new Error(`${name} does not conform: ${JSON.stringify({ structuredContent, errors })}`);
    this.called.add(name);
    return structuredContent as Data;
  }

  /** Calls each built-in tool that was not called with the examples of its description. */
  async callOthers(haft: Haft): Promise<void> {
    const others = haft.tools.list().filter(({ name, origin }) => origin.type === "builtin" && !this.called.has(name));
    for (const { name, description } of others) {
      const examples = description.examples ?? [];
      if (examples.length === 0)
        throw new Error(`"${name}" needs an example in its description, or a call in this test`);
      for (const { input } of examples) await this.call(name, input as Data);
    }
  }
}

const model: AgentModel = {
  id: "test/echo",
  respond: async () => ({
    parts: [{ type: "text", text: "Done." }],
    usage: { inputTokens: 1, outputTokens: 1 },
    finish: "ended",
  }),
};

async function openHost(): Promise<{ haft: Haft; origin: string }> {
  const { origin, port } = await startServer(({ path }, response) => {
    if (path.startsWith("/search")) {
      response.end(JSON.stringify({ results: [{ title: "One", url: "https://one.example/", content: "first" }] }));
    } else if (path === "/moved") response.writeHead(302, { location: "https://other.example/" }).end();
    else
      response.writeHead(200, { "content-type": "text/plain" }).end(path === "/long" ? "x".repeat(400_000) : "hello");
  });
  const root = temporaryFolder("haft-output-");
  const [home, folder] = [join(root, "home"), join(root, "work")];
  mkdirSync(join(home, ".config", "haft"), { recursive: true });
  mkdirSync(join(folder, "empty"), { recursive: true });
  writeFileSync(join(folder, "a.txt"), "one\ntwo\nthree\n");
  writeFileSync(join(folder, "wide.txt"), "x".repeat(1_100_000));
  writeFileSync(join(folder, "nothing.txt"), "");
  writeFileSync(join(folder, "pixel.png"), PNG);
  writeFileSync(join(folder, "book.ipynb"), JSON.stringify({ cells: [{ cell_type: "code", id: "c1", source: "1" }] }));
  const config = {
    network: { exceptions: [`127.0.0.1:${port}`] },
    tools: { webSearch: { provider: "searxng", endpoint: origin } },
    message: { channels: { me: { type: "console" } } },
    browser: { executable: join(root, "no-browser") },
  };
  writeFileSync(join(home, ".config", "haft", "config.json"), JSON.stringify(config));
  const host = await openHaft(folder, {
    home,
    env: { PATH: process.env["PATH"] ?? "" },
    approver: async ({ questions }) => ({
      approved: true,
      by: "ada",
      answers: questions?.map(() => ({ text: "yes" })),
    }),
    agentFor: (_session, haft) => createAgent({ haft, name: "main", model, systemPrompt: "" }),
  });
  onTestFinished(() => host.close());
  return { haft: host.haft, origin };
}

describe("the structured content of built-in tools", () => {
  test("conforms to their output schemas, also if it is empty, shortened or of a running process", async () => {
    const { haft, origin } = await openHost();
    const checked = await CheckedClient.open(haft);
    const call = checked.call.bind(checked);

    expect(await call("read", { path: "a.txt" })).toMatchObject({ content: "one\ntwo\nthree\n", nextOffset: null });
    expect(await call("read", { path: "a.txt", limit: 1 })).toMatchObject({ truncated: true, nextOffset: 2 });
    expect(await call("read", { path: "wide.txt" })).toMatchObject({ truncated: true });
    await call("read", { path: "nothing.txt" });
    expect(await call("read", { path: "pixel.png" })).toMatchObject({ mimeType: "image/png", width: 1 });
    expect(await call("read", { path: "book.ipynb" })).toMatchObject({ cells: [{ index: 1 }] });
    expect(await call("read", { path: "." })).toMatchObject({ nextOffset: null });
    await call("read", { path: "empty" });
    expect(await call("read_many", { paths: ["a.txt", "missing", "*.ipynb"] })).toMatchObject({
      files: [{ path: "a.txt", nextOffset: null }, { error: { code: "path_not_found" } }, { path: "book.ipynb" }],
    });
    expect(await call("list_files", { recursive: true, limit: 1 })).toMatchObject({ truncated: true });
    expect(await call("list_files", { path: "empty" })).toEqual({ files: [], truncated: false });
    expect(await call("glob", { pattern: "*.txt", limit: 1 })).toMatchObject({ truncated: true });
    expect(await call("glob", { pattern: "*.none" })).toMatchObject({ files: [] });
    for (const output_mode of ["content", "count", "files_with_matches"]) {
      await call("grep", { pattern: "o", path: "a.txt", output_mode, context: 1 });
      await call("grep", { pattern: "absent", path: "a.txt", output_mode });
      await call("grep", { pattern: ".", include: "*.{ipynb,txt}", exclude: "wide.txt", output_mode, limit: 1 });
    }
    expect(await call("get_file_info", { path: "a.txt" })).toMatchObject({ exists: true });
    expect(await call("get_file_info", { path: "missing" })).toMatchObject({ exists: false });
    await call("apply_patch", { patch: PATCH });
    await call("write", { path: "c.txt", content: "1\n" });
    await call("edit", { path: "c.txt", old_string: "1", new_string: "2" });
    await call("edit_notebook", { path: "book.ipynb", cell_id: "c1", source: "2" });
    await call("move_file", { from: "c.txt", to: "d.txt" });
    await call("delete_file", { path: "d.txt" });

    expect(await call("exec", { command: "true" })).toMatchObject({ output: "", exitCode: 0 });
    expect(await call("exec", { command: "seq 100000" })).toMatchObject({ truncated: true });
    const { processId: id } = await call("exec", { command: "echo here; sleep 60", run_in_background: true });
    await call("process", { action: "poll", id, wait_ms: 1 });
    expect(await call("process", { action: "list" })).toMatchObject({ processes: [{ id, exitCode: null }] });
    await call("process", { action: "log", id });
    await call("process", { action: "log", id, offset: 1000 });
    await call("process", { action: "kill", id });
    await call("process", { action: "clear" });
    expect(await call("process", { action: "list" })).toEqual({ processes: [] });

    await call("http_get", { url: `${origin}/long` });
    await call("http_post", { url: origin, body: "{}" });
    await call("http_request", { method: "HEAD", url: origin });
    await call("web_fetch", { urls: [`${origin}/long`, `${origin}/moved`, "http://10.0.0.1/"], limit: 10 });
    await call("web_search", { query: "tea" });
    await call("message", { text: "hi" });
    await call("message", { action: "read" });
    expect(await call("browser", { action: "status" })).toMatchObject({ available: false });
    await call("canvas", { action: "present", content: "<p>hi</p>" });
    await call("canvas", { action: "hide" });

    await call("current_time");
    await call("sleep", { duration: 0 });
    expect(await call("get_env", { key: "ABSENT" })).toEqual({ value: null });
    expect(await call("set_env", { key: "COLOUR", value: "red" })).toEqual({ previous: null });
    expect(await call("json_parse", { text: "null" })).toEqual({ data: null });
    await call("json_stringify", { data: [1] });
    await call("base64_encode", { text: "a" });
    await call("base64_decode", { encoded: "YQ==" });
    expect(await call("run_code", { code: "await tools.read({ path: 'a.txt' })" })).toMatchObject({ calls: 1 });
    expect(await call("run_code", { code: "console.log(1); return [1]" })).toMatchObject({ value: [1] });
    await call("tool_search", { query: "select:read,absent" });

    await call("create_artifact", { id: "report", content: "one\ntwo\n" });
    await call("update_artifact", { id: "report", old_str: "two", new_str: "2" });
    await call("rewrite_artifact", { id: "report", content: "three\nfour\n" });
    await call("read_artifact", { id: "report", version: 2, limit: 4 });
    await call("diff_artifact", { id: "report" });
    await call("grep_artifact", { id: "report", pattern: "absent" });
    await call("grep_artifact", { id: "report", pattern: "o", limit: 1 });
    await call("list_artifacts", { limit: 1 });

    const schedule = await call("cron", { action: "add", every: "1h", tool: "current_time" });
    for (const action of ["status", "list"]) await call("cron", { action });
    for (const action of ["run", "runs", "update", "remove"]) {
      await call("cron", { action, id: schedule["id"], name: action === "update" ? "hourly" : undefined });
    }
    expect(await call("session_status")).toMatchObject({ stored: false });
    await call("sessions_list");
    const { session } = await call("sessions_spawn", { task: "Say done.", label: "sub" });
    await call("sessions_send", { session, message: "Again." });
    await call("sessions_history", { session });
    expect(await call("session_status", { session })).toMatchObject({ stored: true });
    await call("sessions_stop", { session });
    await call("todo");
    await call("todo", { todos: [{ content: "Test it", status: "pending" }] });
    await call("ask_user", { questions: [{ question: "Done?" }] });

    await checked.callOthers(haft);
  });

  test("conforms for tools of agents and of MCP servers", async () => {
    const haft = createHaft({
      tools: [
        ...createResourceTools({
          names: () => ["docs", "down"],
          isTrusted: () => true,
          list: async (server) => {
            if (server === "down") throw new Error("not connected");
            return {
              resources: [{ uri: "docs://a", name: "a", mimeType: "text/plain" }],
              templates: [{ uriTemplate: "docs://{page}", name: "page" }],
            };
          },
          read: async (_server, uri) => [{ uri, text: "one" }],
        }),
        ...createAgentTools({
          messageSink: { say: () => false },
          skills: {
            load: async (name) => ({ name, instructions: "Write.", folder: "/skills/notes", files: ["long.md"] }),
            read: async () => "# Long",
          },
          agents: {
            names: () => ["reviewer"],
            run: async () => ({
              text: "Fine.",
              stop: "pending",
              steps: 1,
              usage: { inputTokens: 1, outputTokens: 1 },
              pending: [{ callId: "c1", name: "write" }],
            }),
          },
        }),
      ],
    });
    onTestFinished(() => haft.shutdown());
    const checked = await CheckedClient.open(haft);
    expect(await checked.call("list_mcp_resources")).toMatchObject({ failed: [{ server: "down" }] });
    await checked.call("read_mcp_resource", { server: "docs", uri: "docs://a" });
    await checked.call("skill", { name: "notes" });
    expect(await checked.call("skill", { name: "notes", file: "long.md" })).toMatchObject({ content: "# Long" });
    await checked.call("cli_response", { message: "Half done." });
    await checked.call("stop_response");
    await checked.call("call_subagent", { agent_name: "reviewer", instruction: "Look." });
    await checked.callOthers(haft);
  });

  test("is not sent to clients that show it to their model instead of the text", async () => {
    const add = createTool({
      name: "add",
      description: "Adds",
      kind: "readonly",
      parameters: z.object({ a: z.number() }),
      output: z.object({ sum: z.number() }),
      run: ({ a }) => ({ sum: a + 1 }),
    });
    const haft = createHaft({ tools: [add, createJsonStringifyTool()] });
    onTestFinished(() => haft.shutdown());
    for (const era of ["modern", "legacy"] as const) {
      for (const [name, count] of [
        ["claude-code", 1],
        ["codex-mcp-client", 1],
        ["opencode", 1],
        ["cursor-vscode", 1],
        ["claude-ai", 2],
      ] as const) {
        const client = await connectDirectly(haft, { era, name });
        const { tools } = await client.listTools();
        expect([name, tools.filter(({ outputSchema }) => outputSchema).length]).toEqual([name, count]);
        expect([name, tools.some(({ annotations }) => annotations)]).toEqual([name, name !== "opencode"]);
        const built = await client.callTool({ name: "json_stringify", arguments: { data: 1 } });
        expect(built).toMatchObject({ content: [{ type: "text", text: "1" }] });
        expect(built.structuredContent).toEqual(count === 2 ? { text: "1" } : undefined);
        const own = await client.callTool({ name: "add", arguments: { a: 1 } });
        expect(own.structuredContent).toEqual({ sum: 2 });
      }
    }
  });

  test("is missing if a hook replaced it or the result was too large, and the client still gets the text", async () => {
    const lost: Middleware = {
      name: "lost",
      after: "record",
      leave: (_call, result) => ({ ...result, details: undefined, content: [{ type: "text", text: "replaced" }] }),
    };
    const haft = createHaft({ tools: [createJsonStringifyTool()], middleware: [lost] });
    onTestFinished(() => haft.shutdown());
    const client = await connectDirectly(haft);
    await client.listTools();
    expect(await client.callTool({ name: "json_stringify", arguments: { data: 1 } })).toMatchObject({
      isError: true,
      content: [{ text: "replaced" }, { text: expect.stringContaining("The call is complete") }],
    });
  });

  test("is not described to models", async () => {
    const haft = createHaft({ tools: [createJsonStringifyTool()] });
    onTestFinished(() => haft.shutdown());
    expect(haft.tools.definitions().map((definition) => Object.keys(definition))).toEqual([
      ["name", "description", "parameters", "strict"],
    ]);
  });
});
