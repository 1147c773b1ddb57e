import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { propagation } from "@opentelemetry/api";
import { createMcpHandler, InMemoryTransport } from "@modelcontextprotocol/server";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createHaft, textOf } from "haft";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ElicitationRequest } from "../../src/mcp/client/server-requests.ts";
import { MCPClient, type MCPClientOptions } from "../../src/mcp/client/mcp-client.ts";
import { wrapMCPTool } from "../../src/mcp/client/mcp-tool.ts";
import type { McpServerConfig } from "../../src/mcp/server-config.ts";
import { until } from "./connect-scripted.ts";
import { cancelled, createModernServer } from "./modern-server.mjs";

const MODERN = fileURLToPath(new URL("./modern-server.mjs", import.meta.url));
const overStdio: McpServerConfig = { name: "modern", transport: "stdio", command: process.execPath, args: [MODERN] };

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => server.closeAllConnections());
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

async function serveHttp(): Promise<string> {
  const handler = createMcpHandler(() => createModernServer());
  onTestFinished(() => handler.close());
  return listening(createServer((request, response) => void toNodeHandler(handler)(request, response)));
}

async function connect(server: McpServerConfig | string, options: MCPClientOptions = {}): Promise<MCPClient> {
  const client = new MCPClient(options);
  onTestFinished(() => client.disconnect());
  await client.connect(server);
  return client;
}

async function through(client: MCPClient, name: string, input: unknown = {}, onUpdate?: (update: unknown) => void) {
  const haft = createHaft({ approver: async () => ({ approved: true }) });
  const mcpTool = (await client.listTools()).find((tool) => tool.name === name)!;
  haft.tools.registry.register(wrapMCPTool(mcpTool, client));
  return haft.execute(`mcp__${client.serverName.replaceAll(".", "_")}__${name}`, input, onUpdate ? { onUpdate } : {});
}

const era = { modern: "2026-07-28", legacy: "2025-11-25" } as const;

describe.each(["stdio", "http"] as const)("over %s", (transport) => {
  const server = async (more: Partial<McpServerConfig> = {}): Promise<McpServerConfig> =>
    ({
      ...(transport === "stdio" ? overStdio : { name: "modern", transport: "http", url: await serveHttp() }),
      ...more,
    }) as McpServerConfig;

  test.each(["modern", "legacy"] as const)("the %s revision works", async (wanted) => {
    const client = await connect(await server({ era: wanted }));
    expect(client.info).toMatchObject({
      era: wanted,
      protocolVersion: era[wanted],
      transport,
      server: { name: "modern", version: "3.0.0" },
      instructions: "Use it well.",
    });
    const result = await client.callTool("add", { a: 1, b: 2 });
    expect(result.content).toEqual([{ type: "text", text: "3" }]);
    expect((await client.listTools()).map(({ name }) => name)).toContain("weather");
  });

  test("the modern revision is chosen if a server supports both", async () => {
    expect((await connect(await server())).info).toMatchObject({ era: "modern" });
  });

  test.each(["modern", "legacy"] as const)("resources and prompts are listed and read (%s)", async (wanted) => {
    const client = await connect(await server({ era: wanted }));
    expect(await client.listResources()).toMatchObject([{ uri: "note://1" }]);
    expect(await client.readResource("note://1")).toMatchObject({ contents: [{ text: "a note" }] });
    expect(await client.listPrompts()).toMatchObject([{ name: "greet" }]);
    const prompt = await client.getPrompt("greet", { name: "Ada" });
    expect(prompt.messages[0]).toMatchObject({ content: { text: "Hello Ada" } });
  });

  test("a call that needs an answer asks the person and continues (modern)", async () => {
    const requested: ElicitationRequest[] = [];
    const client = await connect(await server(), {
      answerElicitation: async (request) => {
        requested.push(request);
        return { action: "accept", content: { confirm: true } };
      },
    });
    expect(await through(client, "delete_all")).toMatchObject({ details: "deleted" });
    expect(requested).toMatchObject([{ mode: "form", server: "modern", message: "Really\\u{200b}?" }]);
  });

  test("a call without the answer it needs fails", async () => {
    const client = await connect(await server());
    expect(await through(client, "delete_all")).toMatchObject({ status: "failed" });
  });

  test("progress becomes updates, all kinds of content arrive, and failures keep their text", async () => {
    const client = await connect(await server());
    const updates: unknown[] = [];
    expect(await through(client, "steps", {}, (update) => updates.push(update))).toMatchObject({ details: "done" });
    expect(updates).toContainEqual({ progress: { done: 2, total: 2, message: "step 2" } });
    const { content } = await through(client, "everything");
    expect(content.map(({ type }) => type)).toEqual(["image", "audio", "resource_link", "resource"]);
    const failed = await through(client, "fails");
    expect(failed).toMatchObject({ status: "failed", error: { code: "failed", message: "no such account" } });
    expect(await through(client, "weather")).toMatchObject({ details: { degrees: 21 } });
    expect(await through(client, "add", { a: "one" })).toMatchObject({ error: { code: "invalid_input" } });
  });
});

test("an aborted call is cancelled at the server, over HTTP by closing its stream", async () => {
  const client = await connect({ name: "modern", transport: "http", url: await serveHttp(), era: "modern" });
  const before = cancelled.count;
  const controller = new AbortController();
  const waiting = client.callTool("wait", {}, { signal: controller.signal });
  setTimeout(() => controller.abort(), 100);
  await expect(waiting).rejects.toThrow(/cancel|abort/i);
  await until(() => cancelled.count > before);
});

test("connect takes an address, or an in-memory transport", async () => {
  const address = await serveHttp();
  const byAddress = await connect(address);
  // With the port: two servers of one host have different names.
  expect(byAddress.serverName).toBe(new URL(address).host);
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await createModernServer().connect(theirs);
  const client = new MCPClient();
  await client.connect(ours);
  expect((await client.callTool("add", { a: 2, b: 2 })).content).toMatchObject([{ text: "4" }]);
  expect(client.info).toMatchObject({ era: "legacy", transport: "given" });
  await expect(client.connect(ours)).rejects.toThrow(/already connected/);
  await client.disconnect();
  await expect(client.callTool("add", {})).rejects.toThrow(/not connected/);
});

test("mc-035: file addresses are restricted to the paths of the workspace", async () => {
  const client = await connect(overStdio, { workspace: fileURLToPath(new URL(".", import.meta.url)) });
  await expect(client.readResource("file:///etc/passwd")).rejects.toMatchObject({ code: "path_denied" });
  await expect(client.readResource("FILE:///etc/passwd")).rejects.toMatchObject({ code: "path_denied" });
  await expect(client.readResource("file://elsewhere/etc/passwd")).rejects.toMatchObject({ code: "invalid_input" });
});

test("an answer over HTTP that is too long fails its own call", async () => {
  const url = await listening(
    createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        const { id, method } = JSON.parse(body || "{}") as { id?: number; method?: string };
        if (id === undefined) return response.writeHead(202).end();
        response.writeHead(200, { "content-type": "application/json" });
        const result =
          method === "initialize"
            ? { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "big", version: "1" } }
            : { content: [{ type: "text", text: "x".repeat(3_000_000) }] };
        return response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      });
    }),
  );
  const client = await connect({ name: "big", transport: "http", url, era: "legacy" }, { maxMessageBytes: 1_000_000 });
  await expect(client.callTool("any")).rejects.toThrow(/longer than 1000000 bytes/);
});

test("the trace context of the call is forwarded", async () => {
  const id = "0af7651916cd43dd8448eb211c80319c";
  propagation.setGlobalPropagator({
    inject: (_context, carrier, setter) => setter.set(carrier, "traceparent", `00-${id}-b7ad6b7169203331-01`),
    extract: (active) => active,
    fields: () => ["traceparent"],
  });
  onTestFinished(() => propagation.disable());
  const client = await connect(overStdio);
  const [block] = (await client.callTool("meta")).content;
  expect(JSON.parse(textOf([block as { type: "text"; text: string }]))).toMatchObject({
    traceparent: `00-${id}-b7ad6b7169203331-01`,
  });
});
