/** How a client connects: it starts Haft itself, or uses this server with a token. */
export type Way = "pipes" | "http";
export type Client = "claude" | "cursor" | "vscode" | "codex" | "gemini";

export interface Snippet {
  /** The file to put it in. Omitted for a command. */
  file?: string;
  text: string;
  /** Opens the client, which asks the user to add it. */
  link?: string;
}

const TOKEN = "TOKEN";

/** The configuration for each client, for this folder or server. */
export function snippetFor(client: Client, way: Way, { folder, url }: { folder: string; url: string }): Snippet {
  const args = ["mcp", "--folder", folder];
  const headers = { Authorization: `Bearer ${TOKEN}` };
  const started = { command: "haft", args };
  switch (client) {
    case "claude":
      return way === "pipes"
        ? { text: `claude mcp add haft -- haft ${args.map(quoted).join(" ")}` }
        : { text: `claude mcp add --transport http haft ${url} --header "Authorization: Bearer ${TOKEN}"` };
    case "cursor": {
      const entry = way === "pipes" ? started : { url, headers };
      return {
        file: ".cursor/mcp.json",
        text: json({ mcpServers: { haft: entry } }),
        ...(way === "pipes" ? { link: cursorLink(entry) } : {}),
      };
    }
    case "vscode": {
      const entry = way === "pipes" ? { type: "stdio", ...started } : { type: "http", url, headers };
      return {
        file: ".vscode/mcp.json",
        text: json({ servers: { haft: entry } }),
        ...(way === "pipes" ? { link: vscodeLink(entry) } : {}),
      };
    }
    case "codex":
      return {
        file: "~/.codex/config.toml",
        text:
          way === "pipes"
            ? `[mcp_servers.haft]\ncommand = "haft"\nargs = ${JSON.stringify(args)}`
            : `[mcp_servers.haft]\nurl = ${JSON.stringify(url)}\nbearer_token_env_var = "HAFT_TOKEN"`,
      };
    case "gemini":
      return {
        file: "~/.gemini/settings.json",
        text: json({ mcpServers: { haft: way === "pipes" ? started : { httpUrl: url, headers } } }),
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

function quoted(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
