import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { textOf } from "haft";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ElicitationRequest } from "../../src/mcp/client/server-requests.ts";
import type { McpServerConfig } from "../../src/mcp/server-config.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { connectHub, scripted, until } from "./connect-scripted.ts";
import { createModernServer } from "./modern-server.mjs";

const packages = fileURLToPath(new URL("../../node_modules/@modelcontextprotocol/", import.meta.url));
const EVERYTHING = join(packages, "server-everything/dist/index.js");
const FILESYSTEM = join(packages, "server-filesystem/dist/index.js");

function node(name: string, args: string[], more: Partial<McpServerConfig> = {}): McpServerConfig {
  return { name, transport: "stdio", command: process.execPath, args, trust: true, ...more } as McpServerConfig;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function startEverything(transport: string): Promise<string> {
  const port = await freePort();
  const child = spawn(process.execPath, [EVERYTHING, transport], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await until(() => output.includes(String(port)));
  return `http://127.0.0.1:${port}`;
}

describe("server-everything through the gate", () => {
  test("over stdio: text, images, links, structured content, prompts, resources, roots", async () => {
    const workspace = temporaryFolder("haft-mcp-");
    const { haft, hub } = await connectHub([node("everything", [EVERYTHING])], { hub: { workspace } });
    expect(hub.statusOf("everything")).toMatchObject({
      state: "ready",
      era: "legacy",
      transport: "stdio",
      inferred: false,
    });
    expect(await haft.execute("mcp__everything__echo", { message: "hi" })).toMatchObject({ details: "Echo: hi" });
    expect(textOf((await haft.execute("mcp__everything__get-sum", { a: 2, b: 3 })).content)).toContain("5");
    const image = await haft.execute("mcp__everything__get-tiny-image");
    expect(image.content.map(({ type }) => type)).toContain("image");
    const links = await haft.execute("mcp__everything__get-resource-links", { count: 2 });
    expect(links.content.filter(({ type }) => type === "resource_link")).toHaveLength(2);
    const weather = await haft.execute("mcp__everything__get-structured-content", { location: "Chicago" });
    expect(weather).toMatchObject({ details: { temperature: expect.any(Number) } });
    const wrong = await haft.execute("mcp__everything__get-structured-content", { location: "Berlin" });
    expect(wrong).toMatchObject({ error: { code: "invalid_input" } });
    expect((await hub.listPrompts("everything")).map(({ name }) => name)).toContain("simple-prompt");
    expect((await hub.getPrompt("everything", "simple-prompt")).messages.length).toBeGreaterThan(0);
    const [resource] = await hub.listResources("everything");
    expect((await hub.readResource("everything", resource!.uri)).contents).toHaveLength(1);
    const roots = await haft.execute("mcp__everything__get-roots-list");
    expect(textOf(roots.content)).toContain(workspace);
  });

  test("over stdio: a person answers a form and a page, and progress is reported", async () => {
    const requested: ElicitationRequest[] = [];
    const answerElicitation = async (request: ElicitationRequest) => {
      requested.push(request);
      return request.mode === "url"
        ? ({ action: "decline" } as const)
        : ({ action: "accept", content: { name: "Ada" } } as const);
    };
    const hub = { answerElicitation, workspace: undefined };
    const { haft } = await connectHub([node("everything", [EVERYTHING])], { hub });
    // The server offers it only to clients that announce roots.
    expect(haft.tools.registry.get("mcp__everything__get-roots-list")).toBeUndefined();
    const form = await haft.execute("mcp__everything__trigger-elicitation-request");
    expect(form.status).toBe("completed");
    expect(requested[0]).toMatchObject({ mode: "form", server: "everything" });
    expect(textOf(form.content)).toContain("Ada");
    const page = await haft.execute("mcp__everything__trigger-url-elicitation", { url: "https://example.com/pay" });
    expect(page.status).toBe("completed");
    expect(requested[1]).toMatchObject({ mode: "url", url: new URL("https://example.com/pay") });
    const done: unknown[] = [];
    await haft.execute(
      "mcp__everything__trigger-long-running-operation",
      { duration: 0.3, steps: 3 },
      { onUpdate: ({ progress }) => done.push(progress?.done) },
    );
    expect(done).toContain(2);
    const research = { topic: "tools", ambiguous: false };
    const report = await haft.execute("mcp__everything__simulate-research-query", research);
    expect(textOf(report.content)).toContain("tools");
    expect(report.status).toBe("completed");
  });

  test("over stdio: an address that is not a web page is never shown", async () => {
    const requested: ElicitationRequest[] = [];
    const { haft } = await connectHub([node("everything", [EVERYTHING])], {
      hub: {
        answerElicitation: async (request) => {
          requested.push(request);
          return { action: "accept" };
        },
      },
    });
    await haft.execute("mcp__everything__trigger-url-elicitation", { url: "file:///etc/passwd" });
    expect(requested).toEqual([]);
  });

  test("over Streamable HTTP, with a session", async () => {
    const url = `${await startEverything("streamableHttp")}/mcp`;
    const { haft, hub } = await connectHub([{ name: "remote", transport: "http", url, trust: true }]);
    expect(hub.statusOf("remote")).toMatchObject({ state: "ready", era: "legacy", transport: "http" });
    expect(await haft.execute("mcp__remote__echo", { message: "hi" })).toMatchObject({ details: "Echo: hi" });
  });

  test("over the old HTTP+SSE, detected automatically", async () => {
    const url = `${await startEverything("sse")}/sse`;
    const { haft, hub } = await connectHub([{ name: "old", transport: "http", url, trust: true }]);
    expect(hub.statusOf("old")).toMatchObject({ state: "ready", transport: "sse", inferred: true });
    expect(await haft.execute("mcp__old__echo", { message: "hi" })).toMatchObject({ details: "Echo: hi" });
  });
});

test("server-filesystem reads and writes through the gate, and its schemas are checked", async () => {
  const folder = temporaryFolder("haft-mcp-");
  writeFileSync(join(folder, "a.txt"), "one\ntwo\n");
  const { haft, hub } = await connectHub([node("files", [FILESYSTEM, folder], { trust: false, write: ["."] })], {
    hub: { workspace: folder },
  });
  expect(hub.statusOf("files").tools.length).toBeGreaterThan(10);
  const read = await haft.execute("mcp__files__read_text_file", { path: join(folder, "a.txt") });
  expect(read).toMatchObject({ status: "completed", details: { content: "one\ntwo\n" } });
  const written = await haft.execute("mcp__files__write_file", { path: join(folder, "b.txt"), content: "three" });
  expect(written.status).toBe("completed");
  expect(readFileSync(join(folder, "b.txt"), "utf8")).toBe("three");
  const outside = await haft.execute("mcp__files__read_text_file", { path: "/etc/passwd" });
  expect(outside).toMatchObject({ status: "failed", error: { code: "failed" } });
});

test("a remote server that disappears is unavailable, and is reconnected when it returns", async () => {
  const port = await freePort();
  const { haft, hub } = await connectHub([{ name: "gone", transport: "http", url: `http://127.0.0.1:${port}/mcp` }]);
  expect(hub.statusOf("gone")).toMatchObject({
    state: "unavailable",
    error: expect.stringContaining("ECONNREFUSED"),
    tools: [],
  });
  const handler = createMcpHandler(() => createModernServer());
  const server = createServer((request, response) => void toNodeHandler(handler)(request, response)).listen(
    port,
    "127.0.0.1",
  );
  onTestFinished(() => void server.close());
  await until(() => hub.statusOf("gone").state === "ready");
  expect(await haft.execute("mcp__gone__add", { a: 1, b: 1 })).toMatchObject({ details: "2" });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(await haft.execute("mcp__gone__add", { a: 1, b: 1 })).toMatchObject({ success: false });
  expect(hub.statusOf("gone")).toMatchObject({ state: "unavailable" });
  expect(hub.statusOf("gone").tools.map(({ name }) => name)).toContain("add");
  expect(haft.tools.registry.has("mcp__gone__add")).toBe(true);
});

test("50 servers connect in parallel", async () => {
  const names = Array.from({ length: 50 }, (_, i) => `s${i}`);
  const { haft, hub } = await connectHub(
    names.map((name) => scripted(name, [], { includeTools: ["echo"], startTimeoutMs: 60_000 })),
  );
  expect(hub.status().filter(({ state }) => state === "ready")).toHaveLength(50);
  const results = await Promise.all(names.map((name) => haft.execute(`mcp__${name}__echo`, { name })));
  expect(results.map(({ content }) => (JSON.parse(textOf(content)) as { name: string }).name)).toEqual(names);
}, 120_000);
