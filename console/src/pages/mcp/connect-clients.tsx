import { useState } from "react";
import { clientConfig, MCP_CLIENTS, type McpClientName } from "../../../../src/mcp/server/client-config.ts";
import { useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Tabs } from "../../parts/tabs.tsx";

const words = defineWords({
  title: ["Use these tools from your MCP client", "在你的 MCP 客户端中使用这些工具"],
  lead: [
    "The client starts Haft for this folder. If a call needs approval, the client asks you; if it cannot, the call waits here.",
    "客户端会为此文件夹启动 Haft。调用需要批准时由客户端询问你；客户端不支持时，调用在这里等待。",
  ],
  client: ["Client", "客户端"],
  where: ["Add this to", "写入"],
  way: ["How", "方式"],
  pipes: ["Started by the client", "由客户端启动"],
  http: ["This server, over HTTP", "通过 HTTP 使用本服务器"],
  token: [
    "Replace TOKEN with a token: haft token create NAME --scope read,call",
    "将 TOKEN 替换为令牌：haft token create NAME --scope read,call",
  ],
  variable: [
    "Set HAFT_TOKEN to a token: haft token create NAME --scope read,call",
    "将 HAFT_TOKEN 设为令牌：haft token create NAME --scope read,call",
  ],
  none: [
    "This client's file cannot contain an address: choose “Started by the client”.",
    "该客户端的文件不支持地址：请选择“由客户端启动”。",
  ],
  add: ["Add it with one click", "一键添加"],
});

export function ConnectClients() {
  const w = useWords(words);
  const [client, setClient] = useState<McpClientName>("claude-code");
  const [way, setWay] = useState<"pipes" | "http">("pipes");
  const server = useApi("server", "info", []).data;
  if (server?.workspace === undefined) return null;
  const command = [...(server.command ?? ["haft"]), "mcp", "--folder", server.workspace];
  // The console is served at the root of the server.
  const url = new URL("mcp", document.baseURI).href;
  const { file, text, link, tokenVariable } = clientConfig(client, way === "pipes" ? { command } : { url }) ?? {};
  return (
    <Panel title={w.title} actions={<Tabs label={w.client} tabs={MCP_CLIENTS} chosen={client} onChoose={setClient} />}>
      {way === "pipes" ? <p className="muted">{w.lead}</p> : null}
      <div className="row">
        <Tabs label={w.way} tabs={{ pipes: w.pipes, http: w.http }} chosen={way} onChoose={setWay} />
        <span className="muted small grow">
          {file === undefined ? "" : w.where} <span className="mono">{file ?? ""}</span>
        </span>
        {link === undefined ? null : (
          <a className="button small" href={link}>
            {w.add}
          </a>
        )}
        {text === undefined ? null : <CopyButton text={text} />}
      </div>
      {text === undefined ? <p>{w.none}</p> : <pre className="code">{text}</pre>}
      {way === "http" && text !== undefined ? (
        <p className="small muted">{tokenVariable === undefined ? w.token : w.variable}</p>
      ) : null}
    </Panel>
  );
}
