import { Download, Plug, Plus } from "lucide-react";
import { useLocation, useSearchParams } from "wouter";
import { useApi, useScope } from "../../api.ts";
import { pathPart } from "../../hash-location.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { useRowKeys } from "../../parts/use-row-keys.ts";
import { AddServer } from "./add-server.tsx";
import { ConnectClients } from "./connect-clients.tsx";
import { ImportServers } from "./import-servers.tsx";
import { ServerCard } from "./server-card.tsx";
import { UntrustedServers } from "./untrusted-servers.tsx";
import "./mcp.css";

const words = defineWords({
  title: ["MCP servers", "MCP 服务器"],
  lead: [
    "MCP servers whose tools you use, and clients that use the tools of this folder.",
    "你使用其工具的 MCP 服务器，以及使用此文件夹工具的客户端。",
  ],
  servers: ["Servers", "服务器"],
  add: ["Add a server", "添加服务器"],
  import: ["Import", "导入"],
  none: ["No MCP server is configured", "还没有配置 MCP 服务器"],
  noneLead: [
    "Add one here, import those of another client, or use: haft mcp add NAME -- COMMAND.",
    "在这里添加、从其他客户端导入，或用：haft mcp add NAME -- COMMAND。",
  ],
  gone: (name: string) => [
    `No MCP server is named "${name}". It may have been removed.`,
    `没有 MCP 服务器“${name}”。它可能已被删除。`,
  ],
});

/** Servers connect, disconnect and change on their own, and there is no event for it. */
const LIVE = { everyMs: 2000 };

export default function McpView() {
  const w = useWords(words);
  const [location, go] = useLocation();
  const [search] = useSearchParams();
  const wanted = pathPart(location, 2);
  const isAdmin = useScope("admin");
  const query = useApi("mcp", "list", [], LIVE);
  const entries = useApi("mcp", "entries", [], { everyMs: 10_000 });
  const list = useRowKeys<HTMLDivElement>();
  const add = (): void => go("/mcp?add=yes");
  const close = (): void => go("/mcp");
  useKeys(isAdmin ? { n: { label: w.add, run: add }, i: { label: w.import, run: () => go("/mcp?import=yes") } } : {});
  const removable = new Set(entries.data?.items.filter(({ canRemove }) => canRemove).map(({ name }) => name));
  return (
    <PageFrame
      title={w.title}
      lead={w.lead}
      actions={
        isAdmin ? (
          <>
            <Button icon={Download} hotkey="i" text={w.import} onClick={() => go("/mcp?import=yes")} />
            <Button look="primary" icon={Plus} hotkey="n" text={w.add} onClick={add} />
          </>
        ) : null
      }
    >
      {search.get("add") === "yes" && isAdmin ? <AddServer onDone={close} /> : null}
      {search.get("import") === "yes" && isAdmin ? <ImportServers onDone={close} /> : null}
      <UntrustedServers entries={entries.data?.items ?? []} canTrust={isAdmin} />
      <Loaded query={query}>
        {({ items }) => (
          <div ref={list} className="stack">
            {items.length > 0 ? <h2>{w.servers}</h2> : null}
            {items.length === 0 && !entries.data?.items.some(({ isTrusted }) => !isTrusted) ? (
              <Empty isPanel icon={Plug} title={w.none} lead={w.noneLead} />
            ) : null}
            {wanted && !items.some(({ name }) => name === wanted) ? (
              <Failure error={new Error(w.gone(wanted))} />
            ) : null}
            {items.map((server) => (
              <ServerCard
                key={server.name}
                server={server}
                isOpen={server.name === wanted || items.length === 1}
                canRemove={isAdmin && removable.has(server.name)}
              />
            ))}
          </div>
        )}
      </Loaded>
      <ConnectClients />
    </PageFrame>
  );
}
