import { spawn } from "node:child_process";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { bundleProgram } from "../setup/bundle-program.ts";
import { childEnd } from "../setup/child-end.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const folder = temporaryFolder("haft-mcp-stdio-");
let program: string;
beforeAll(async () => void (program = await bundleProgram("test/mcp/stdio-program.ts", join(folder, "program"))));

interface Peer {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

const YES = { action: "accept" as const, content: { decision: "once" } };

async function connectV2(mode: "auto" | "legacy"): Promise<Peer> {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
  );
  client.setRequestHandler("elicitation/create", () => YES);
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [program], stderr: "ignore" }));
  expect(client.getProtocolEra()).toBe(mode === "auto" ? "modern" : "legacy");
  return client;
}

async function connectV1(): Promise<Peer> {
  const client = new ClientV1({ name: "test", version: "1.0.0" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => YES);
  await client.connect(new TransportV1({ command: process.execPath, args: [program], stderr: "ignore" }));
  return client as unknown as Peer;
}

describe.each([
  ["of 2026, modern", () => connectV2("auto")],
  ["of 2026, legacy", () => connectV2("legacy")],
  ["of 2025", connectV1],
] as [string, () => Promise<Peer>][])("over pipes, a client with the SDK %s", (_name, connect) => {
  test("lists tools, calls them, and is asked", async () => {
    const client = await connect();
    onTestFinished(() => client.close());
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["echo", "send"]);
    expect(await client.callTool({ name: "echo", arguments: { text: "hi" } })).toMatchObject({
      content: [{ text: "hi" }],
    });
    expect(await client.callTool({ name: "send", arguments: { text: "hi" } })).toMatchObject({
      content: [{ text: "sent hi" }],
    });
  });
});

test("the process ends when its client has disconnected", async () => {
  const child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "pipe"] });
  let words = "";
  child.stderr.on("data", (chunk) => (words += String(chunk)));
  child.stdin.end();
  expect(await childEnd(child)).toMatchObject({ code: 0 });
  expect(words).toBe("ended\n");
});

/** Writes messages as lines, and collects the responses by id. */
function connectRaw() {
  const child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "ignore"] });
  onTestFinished(() => void child.kill());
  const responses = new Map<unknown, Record<string, unknown>>();
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) responses.set(JSON.parse(line).id, JSON.parse(line));
  });
  const send = (message: Record<string, unknown>): void =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const receive = (id: unknown) =>
    vi.waitFor(() => responses.get(id) ?? Promise.reject(new Error(`no response to ${String(id)}`)), 5000);
  return { send, receive, responses };
}

test("calls of a legacy client: plain ones, malformed ones, unknown tools, and cancelled ones", async () => {
  const { send, receive, responses } = connectRaw();
  const call = (id: unknown, params: unknown): void => send({ id, method: "tools/call", params });
  call("early", { name: "echo", arguments: { text: "before initialize" } });
  const clientInfo = { name: "raw", version: "1" };
  send({ id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } });
  await receive(1);
  expect(await receive("early")).toMatchObject({ result: { content: [{ text: "before initialize" }] } });
  send({ method: "notifications/initialized" });
  call("plain", { name: "echo", arguments: { text: "hi" }, _meta: { progressToken: 3 } });
  call(2, { name: "echo", arguments: "hi" });
  call(3, { arguments: {} });
  call(4, { name: "nothing" });
  call(5, { name: "echo" });
  // Waits for an approval, until the client cancels it.
  call(6, { name: "send", arguments: { text: "hi" } });
  send({ method: "notifications/cancelled", params: { requestId: 6, reason: "enough" } });
  expect(await receive("plain")).toEqual({
    jsonrpc: "2.0",
    id: "plain",
    result: { content: [{ type: "text", text: "hi" }], _meta: { "haft/callId": expect.any(String) } },
  });
  for (const id of [2, 3]) expect(await receive(id)).toMatchObject({ id, error: { code: -32602 } });
  for (const id of [4, 5]) expect(await receive(id)).toMatchObject({ id, result: { isError: true } });
  send({ id: 7, method: "ping" });
  expect(await receive(7)).toMatchObject({ result: {} });
  expect(responses.has(6)).toBe(false);
});

test("invalid lines are ignored", async () => {
  const child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "ignore"] });
  onTestFinished(() => void child.kill());
  const request = {
    jsonrpc: "2.0",
    id: 7,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
  };
  child.stdin.write(`garbage\n{"half":\n\n[]\n{"jsonrpc":"2.0","id":99,"result":{}}\n${JSON.stringify(request)}\n`);
  const answer = await new Promise<string>((resolve) => {
    let text = "";
    child.stdout.on("data", (chunk) => {
      text += String(chunk);
      if (text.includes('"id":7')) resolve(text);
    });
  });
  const lines = answer.trim().split("\n");
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({ id: 7, result: { serverInfo: { name: "haft" } } });
});
