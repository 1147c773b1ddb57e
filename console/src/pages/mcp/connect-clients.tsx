import { useState } from "react";
import type { ServerInfo } from "../../../../src/http/wire.ts";
import { useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Tabs } from "../../parts/tabs.tsx";

const words = defineWords({
  en: {
    title: "Use these tools from your MCP client",
    lead: "The client starts Haft in this folder (haft must be on its path: npm link); what must ask is asked in the client where it can, and here otherwise.",
    client: "Client",
    where: "Put this into",
  },
  zh: {
    title: "在你的 MCP 客户端中使用这些工具",
    lead: "客户端会在此文件夹启动 Haft（haft 需在 PATH 中：npm link）；需要询问时优先在客户端询问，否则在这里。",
    client: "客户端",
    where: "写入",
  },
});

type Client = "claude" | "cursor" | "vscode" | "codex" | "gemini";

/** What each client wants to be told, for this very folder. */
function snippetFor(client: Client, folder: string): { where: string; text: string } {
  const args = ["mcp", "--folder", folder];
  const entry = { command: "haft", args };
  const json = (value: unknown): string => JSON.stringify(value, null, 2);
  switch (client) {
    case "claude":
      return { where: "$", text: `claude mcp add haft -- haft ${args.map(quoted).join(" ")}` };
    case "cursor":
      return { where: ".cursor/mcp.json", text: json({ mcpServers: { haft: entry } }) };
    case "vscode":
      return { where: ".vscode/mcp.json", text: json({ servers: { haft: { type: "stdio", ...entry } } }) };
    case "codex":
      return {
        where: "~/.codex/config.toml",
        text: `[mcp_servers.haft]\ncommand = "haft"\nargs = ${JSON.stringify(args)}`,
      };
    case "gemini":
      return { where: "~/.gemini/settings.json", text: json({ mcpServers: { haft: entry } }) };
  }
}

export function ConnectClients() {
  const w = useWords(words);
  const [client, setClient] = useState<Client>("claude");
  const folder = useApi<ServerInfo>("server").data?.workspace;
  if (folder === undefined) return null;
  const { where, text } = snippetFor(client, folder);
  return (
    <section className="panel" aria-label={w.title}>
      <header>
        <h2 className="grow">{w.title}</h2>
        <Tabs
          label={w.client}
          tabs={[
            ["claude", "Claude Code"],
            ["cursor", "Cursor"],
            ["vscode", "VS Code"],
            ["codex", "Codex"],
            ["gemini", "Gemini"],
          ]}
          chosen={client}
          onChoose={setClient}
        />
      </header>
      <div className="body">
        <p className="muted">{w.lead}</p>
        <div className="row">
          <span className="muted small grow">
            {where === "$" ? "" : w.where} <span className="mono">{where === "$" ? "" : where}</span>
          </span>
          <CopyButton text={text} />
        </div>
        <pre className="code">{text}</pre>
      </div>
    </section>
  );
}

function quoted(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
