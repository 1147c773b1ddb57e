// A server with one tool, for both sides of the comparison: imported, or started over stdio.
import process from "node:process";
import { fileURLToPath } from "node:url";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

export function createAddServer() {
  const server = new McpServer({ name: "add", version: "1.0.0" });
  const inputSchema = z.object({ a: z.number(), b: z.number() });
  const annotations = { readOnlyHint: true, openWorldHint: false };
  server.registerTool("add", { description: "Adds", inputSchema, annotations }, ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
  }));
  return server;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await createAddServer().connect(new StdioServerTransport());
