import { spawn } from "node:child_process";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
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
