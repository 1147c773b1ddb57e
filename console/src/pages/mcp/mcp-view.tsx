import { Plug } from "lucide-react";
import { useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { ConnectClients } from "./connect-clients.tsx";
import { ServerCard } from "./server-card.tsx";

const words = defineWords({
  en: {
    title: "MCP",
    lead: "Servers whose tools come in through the gate, and clients that these tools go out to.",
    servers: "Servers",
    none: "No MCP server is configured",
    noneLead:
      "Add one with: haft mcp add NAME -- COMMAND. Or keep your .mcp.json: it is read once the folder is trusted.",
  },
  zh: {
    title: "MCP",
    lead: "工具经由关卡进来的服务器，以及使用这些工具的客户端。",
    servers: "服务器",
    none: "还没有配置 MCP 服务器",
    noneLead: "添加：haft mcp add NAME -- COMMAND。已有的 .mcp.json 在信任文件夹后会被读取。",
  },
});

/** Servers connect, disconnect and change on their own, and there is no event for it. */
const CHECK_INTERVAL_MS = 3000;

export default function McpView() {
  const w = useWords(words);
  const { data, error, refetch } = useApi("mcp", "list", [], { everyMs: CHECK_INTERVAL_MS });
  return (
    <PageFrame title={w.title} lead={w.lead}>
      {error ? <Failure error={error} again={() => void refetch()} /> : null}
      <ConnectClients />
      <h2>{w.servers}</h2>
      {data?.items.length === 0 ? (
        <div className="panel">
          <Empty icon={Plug} title={w.none}>
            <p>{w.noneLead}</p>
          </Empty>
        </div>
      ) : null}
      {data?.items.map((server) => (
        <ServerCard key={server.name} server={server} />
      ))}
    </PageFrame>
  );
}
