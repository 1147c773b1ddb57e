// Arguments: how many tools, rounds. Prints { bare: µs, haft: µs, ratio } of one tools/list and one tools/call of the
// modern era over HTTP's interface, without a socket: what a server does for each request.
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { DIST, importHaft, interleave, median, medianRatio, timed } from "../harness.mjs";

const [count, rounds] = process.argv.slice(2).map(Number);
const tools = Array.from({ length: count }, (_, i) => ({
  name: `tool_${i}`,
  description: `The tool ${i}`,
  parameters: z.object({
    path: z.string().describe("Where"),
    depth: z.number().int().optional(),
    all: z.boolean().default(false),
  }),
}));
const REVISION = "2026-07-28";

function request(method, params) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return new Request("http://localhost/mcp", {
    method: "POST",
    headers: {
      host: "localhost",
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": REVISION,
      "mcp-method": method,
      ...(params.name ? { "mcp-name": params.name } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } }),
  });
}

const bare = createMcpHandler(() => {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  for (const { name, description, parameters } of tools) {
    server.registerTool(name, { description, inputSchema: parameters }, () => ({
      content: [{ type: "text", text: name }],
    }));
  }
  return server;
});
const { createHaft } = await importHaft();
const { createMcpEndpoint } = await import(pathToFileURL(join(DIST, "mcp", "server", "streamable-http.js")).href);
const haft = createHaft();
for (const tool of tools) haft.register({ ...tool, kind: "readonly", run: () => tool.name });
const identity = { id: "bench", name: "bench", rights: ["call"] };
const endpoint = await createMcpEndpoint(haft, { describe: () => [], identify: () => identity });

const answers = {};
for (const [method, params] of [
  ["tools/list", {}],
  ["tools/call", { name: "tool_0", arguments: { path: "x" } }],
]) {
  const batch = (fetch) => async () => {
    const many = 20;
    const cpu = await timed(async () => {
      for (let i = 0; i < many; i++) {
        const { result } = await (await fetch(request(method, params))).json();
        if (!result || result.isError) throw new Error(`Error: ${String(method)} failed`);
      }
    });
    return (cpu * 1000) / many;
  };
  const subjects = { bare: batch(bare.fetch), haft: batch(endpoint.fetch) };
  await interleave(subjects, 3);
  const times = await interleave(subjects, rounds);
  answers[method] = { bare: median(times.bare), haft: median(times.haft), ratio: medianRatio(times.haft, times.bare) };
}
process.stdout.write(JSON.stringify(answers), () => process.exit());
