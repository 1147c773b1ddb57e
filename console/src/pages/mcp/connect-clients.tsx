import { useState } from "react";
import { useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { type Client, snippetFor, type Way } from "./client-snippets.ts";

const words = defineWords({
  en: {
    title: "Use these tools from your MCP client",
    lead: "The client starts Haft in this folder (haft must be on its path: npm link); what must ask is asked in the client where it can, and here otherwise.",
    client: "Client",
    where: "Put this into",
    way: "How",
    pipes: "Started by the client",
    http: "This server, over HTTP",
    token: "Replace TOKEN with a token: haft token create --name client --scopes read,call",
    add: "Add it with one click",
  },
  zh: {
    title: "在你的 MCP 客户端中使用这些工具",
    lead: "客户端会在此文件夹启动 Haft（haft 需在 PATH 中：npm link）；需要询问时优先在客户端询问，否则在这里。",
    client: "客户端",
    where: "写入",
    way: "方式",
    pipes: "由客户端启动",
    http: "通过 HTTP 使用本服务器",
    token: "TOKEN 处填写你创建的令牌：haft token create --name client --scopes read,call",
    add: "一键添加",
  },
});

export function ConnectClients() {
  const w = useWords(words);
  const [client, setClient] = useState<Client>("claude");
  const [way, setWay] = useState<Way>("pipes");
  const folder = useApi("server", "info", []).data?.workspace;
  if (folder === undefined) return null;
  // The console is served at the root of the server.
  const { file, text, link } = snippetFor(client, way, { folder, url: new URL("mcp", document.baseURI).href });
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
        {way === "pipes" ? <p className="muted">{w.lead}</p> : null}
        <div className="row">
          <Tabs
            label={w.way}
            tabs={[
              ["pipes", w.pipes],
              ["http", w.http],
            ]}
            chosen={way}
            onChoose={setWay}
          />
          <span className="muted small grow">
            {file === undefined ? "" : w.where} <span className="mono">{file ?? ""}</span>
          </span>
          {link === undefined ? null : (
            <a className="button small" href={link}>
              {w.add}
            </a>
          )}
          <CopyButton text={text} />
        </div>
        <pre className="code">{text}</pre>
        {way === "http" ? <p className="small muted">{w.token}</p> : null}
      </div>
    </section>
  );
}
