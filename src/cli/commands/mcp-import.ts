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
    const { readMcpServers } = await import("../../config/read-mcp-servers.ts");
    const { addMcpServer, toMcpJson } = await import("../../config/add-mcp-server.ts");
    // Variables stay variables: their values are secrets, and belong into no file.
    const env = new Proxy(terminal.env, { get: (_env, name) => `\${${String(name)}}` });
    const { dialect, servers, notes } = await readMcpServers({ file: resolve(file) }, { env, folder });
    for (const server of servers) await addMcpServer(folder, server.name, toMcpJson(server));
    const names = servers.map(({ name }) => name);
    output.data({ dialect, servers: names, notes }, () => names.map(safeLine));
    for (const note of notes) output.warn(safeLine(String(note)));
    output.talk(`${names.length} servers from a file of ${dialect}. They run once you agree to them: haft trust`);
  },
});
