// One call of a tool of an MCP server through the whole gate, beside the same call with the bare SDK.
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { DIST, interleave, median, medianRatio, timed } from "../harness.mjs";
import { createAddServer } from "../children/mcp-add-server.mjs";

export const name = "mcp-client";

const ROUNDS = 25;
const SERVER = fileURLToPath(new URL("../children/mcp-add-server.mjs", import.meta.url));
const INPUT = { a: 2, b: 1 };

export async function run({ report }) {
  const memory = await measure({ bare: await bareInMemory(), haft: await haftInMemory() }, 1000, timed);
  report({ case: "in memory, × the bare SDK", value: medianRatio(memory.haft, memory.bare), unit: "×", atMost: 1.2 });
  report({ case: "in memory, a call", value: (median(memory.haft) * 1000) / 1000, unit: "µs" });

  const stdio = { bare: await bareOverStdio(), haft: await haftOverStdio() };
  const spent = await measure(stdio, 300, timed);
  report({ case: "over stdio, × the bare SDK", value: medianRatio(spent.haft, spent.bare), unit: "×", atMost: 1.2 });
  const passed = await measure(stdio, 300, wall);
  report({
    case: "over stdio, × the bare SDK, wall",
    value: medianRatio(passed.haft, passed.bare),
    unit: "×",
    atMost: 1.2,
  });
  report({ case: "over stdio, a call, wall", value: median(passed.haft) / 300, unit: "ms" });
  for (const { close } of Object.values(stdio)) await close();
}

async function measure(subjects, calls, clock) {
  const batches = Object.entries(subjects).map(([subject, { call }]) => {
    const batch = async () => {
      for (let i = 0; i < calls; i++) await call();
    };
    return [subject, () => clock(batch)];
  });
  const turns = Object.fromEntries(batches);
  await interleave(turns, 5);
  return interleave(turns, ROUNDS);
}

async function bareInMemory() {
  const { Client, InMemoryTransport } = await import("@modelcontextprotocol/client");
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await createAddServer().connect(theirs);
  return bare(new Client({ name: "bench", version: "1" }), ours);
}

async function bareOverStdio() {
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  return bare(
    new Client({ name: "bench", version: "1" }),
    new StdioClientTransport({ command: process.execPath, args: [SERVER] }),
  );
}

async function bare(client, transport) {
  await client.connect(transport);
  await client.listTools();
  const call = () => client.callTool({ name: "add", arguments: INPUT });
  expectThree((await call()).content);
  return { call, close: () => client.close() };
}

async function haftInMemory() {
  const { InMemoryTransport } = await import("@modelcontextprotocol/client");
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await createAddServer().connect(theirs);
  return haftWith(ours);
}

function haftOverStdio() {
  return haftWith({ name: "given", transport: "stdio", command: process.execPath, args: [SERVER], era: "legacy" });
}

async function haftWith(server) {
  // The single modules: the entries are bundles of their own, and a tool of one is no tool of another.
  const [{ createHaft }, { MCPClient }, { wrapMCPTool }] = await Promise.all(
    ["runtime.js", "mcp/client/mcp-client.js", "mcp/client/mcp-tool.js"].map(
      (file) => import(pathToFileURL(join(DIST, file)).href),
    ),
  );
  const client = new MCPClient();
  await client.connect(server);
  const [tool] = await client.listTools();
  const caller = { serverName: "given", trusted: true, callTool: client.callTool.bind(client) };
  const haft = createHaft();
  haft.tools.registry.register(wrapMCPTool(tool, caller));
  const call = () => haft.execute("mcp__given__add", INPUT);
  expectThree((await call()).content);
  return { call, close: () => client.disconnect() };
}

function expectThree([block]) {
  if (block?.text !== "3") throw new Error(`Error: 2 + 1 is ${JSON.stringify(block)}`);
}

/** Most of it is spent in the other process. */
async function wall(work) {
  const before = performance.now();
  await work();
  return performance.now() - before;
}
