import { resolve } from "node:path";
import { defineCommand } from "../command.ts";
import { safeLine } from "../output.ts";

export const command = defineCommand({
  examples: [
    ["haft mcp import ~/.cursor/mcp.json", "the servers of Cursor"],
    ["haft mcp import .vscode/mcp.json", "the servers of VS Code"],
    ["haft mcp import ~/.codex/config.toml", "the servers of Codex"],
  ],
  operands: [{ name: "FILE", completes: "file" }],
  notes: [
    "Reads the files of Claude Desktop and Code, Cursor, VS Code, Gemini and Codex as they are, and writes their servers to",
    ".mcp.json of the folder. What could not be carried over is said. Then `haft trust` lets them run.",
  ],
  async run({ operands: [file = ""], folder, terminal, output }) {
    const { showProblem } = await import("../../config/problems.ts");
    const { readMcpServers } = await import("../../config/mcp-entries.ts");
    const { addMcpServer, toMcpJson } = await import("../../config/mcp-json.ts");
    // Variables stay variables: their values are secrets, and belong into no file.
    const env = new Proxy(terminal.env, { get: (_env, name) => `\${${String(name)}}` });
    const { dialect, servers, notes: read } = await readMcpServers({ file: resolve(file) }, { env, folder });
    const notes = read.map(showProblem);
    for (const server of servers) {
      const { entry, notes: left } = toMcpJson(server);
      await addMcpServer(folder, server.name, entry);
      notes.push(...left.map((note) => `MCP server "${server.name}": ${note}`));
    }
    const names = servers.map(({ name }) => name);
    const off = servers.filter(({ enabled }) => !enabled).map(({ name }) => safeLine(name));
    output.data({ dialect, servers: names, notes }, () => names.map(safeLine));
    for (const note of notes) output.warn(safeLine(note));
    if (off.length > 0) output.info(`Switched off there, and so here: ${off.join(", ")}.`);
    output.info(`${names.length} servers from a file of ${dialect}. They run once you agree to them: haft trust`);
  },
});
