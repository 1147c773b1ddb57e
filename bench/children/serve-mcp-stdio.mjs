// Argument: `haft`, or `bare` for the SDK alone. An MCP server over pipes with one trivial tool.
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { TOOLS } from "../add-tool.mjs";
import { DIST, importHaft } from "../harness.mjs";

const { name, description, parameters, run } = TOOLS["at-once"];
if (process.argv[2] === "haft") {
  const { createHaft } = await importHaft();
  const { serveMcpStdio } = await import(pathToFileURL(join(DIST, "mcp", "server", "stdio-server.js")).href);
  const haft = createHaft();
  haft.register({ name, description, kind: "readonly", parameters, run: async (input) => String(await run(input)) });
  await serveMcpStdio(haft, { describe: () => [] });
} else {
  const { McpServer } = await import("@modelcontextprotocol/server");
  const { serveStdio } = await import("@modelcontextprotocol/server/stdio");
  serveStdio(() => {
    const server = new McpServer({ name: "bench", version: "1.0.0" });
    server.registerTool(name, { description, inputSchema: parameters }, async (input) => ({
      content: [{ type: "text", text: String(await run(input)) }],
    }));
    return server;
  });
}
