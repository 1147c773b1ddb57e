import { quoteWord } from "../../io/shell/rebuilt-word.ts";

/** The clients that a configuration can be printed for, with their names for people. */
export const MCP_CLIENTS = {
  "claude-code": "Claude Code",
  "claude-desktop": "Claude Desktop",
  cursor: "Cursor",
  vscode: "VS Code",
  codex: "Codex",
  gemini: "Gemini CLI",
} as const;

export type McpClientName = keyof typeof MCP_CLIENTS;

export function isMcpClient(name: string): name is McpClientName {
  return Object.hasOwn(MCP_CLIENTS, name);
}

/** The client starts this command, or connects to this server and sends a token. */
export type McpConnection = { command: readonly string[] } | { url: string };

export interface ClientConfig {
  /** Where it belongs. Undefined for a command. */
  file?: string;
  text: string;
  /** The environment variable with the token. Undefined: `TOKEN` in the text stands for it. */
  tokenVariable?: string;
  /** Opens the client, which asks the user to add it. */
  link?: string;
}

const TOKEN = "TOKEN";

/** What makes a client use Haft, in the client's own format. Undefined if its file cannot have such a connection. */
export function clientConfig(client: McpClientName, to: McpConnection): ClientConfig | undefined {
  const started = "command" in to ? { command: to.command[0] ?? "haft", args: to.command.slice(1) } : undefined;
  const url = "url" in to ? to.url : "";
  const headers = { Authorization: `Bearer ${TOKEN}` };
  switch (client) {
    case "claude-code":
      return {
        text: started
          ? `claude mcp add haft -- ${[started.command, ...started.args].map(quoteWord).join(" ")}`
          : `claude mcp add --transport http haft ${quoteWord(url)} --header "Authorization: Bearer ${TOKEN}"`,
      };
    case "claude-desktop":
      return started && { file: "claude_desktop_config.json", text: json({ mcpServers: { haft: started } }) };
    case "cursor": {
      const entry = started ?? { url, headers };
      const link = started && cursorLink(started);
      return { file: ".cursor/mcp.json", text: json({ mcpServers: { haft: entry } }), link };
    }
    case "vscode": {
      const entry = started ? { type: "stdio", ...started } : { type: "http", url, headers };
      const link = started && vscodeLink(entry);
      return { file: ".vscode/mcp.json", text: json({ servers: { haft: entry } }), link };
    }
    case "codex": {
      // A JSON string without control characters is a TOML string.
      const lines = started
        ? `command = ${JSON.stringify(started.command)}\nargs = ${JSON.stringify(started.args)}`
        : `url = ${JSON.stringify(url)}\nbearer_token_env_var = "HAFT_TOKEN"`;
      return {
        file: "~/.codex/config.toml",
        text: `[mcp_servers.haft]\n${lines}`,
        tokenVariable: started ? undefined : "HAFT_TOKEN",
      };
    }
    case "gemini":
      return {
        file: "~/.gemini/settings.json",
        text: json({ mcpServers: { haft: started ?? { httpUrl: url, headers } } }),
      };
  }
}

function cursorLink(entry: object): string {
  const config = btoa(String.fromCodePoint(...new TextEncoder().encode(JSON.stringify(entry))));
  return `cursor://anysphere.cursor-deeplink/mcp/install?name=haft&config=${encodeURIComponent(config)}`;
}

function vscodeLink(entry: object): string {
  return `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: "haft", ...entry }))}`;
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
