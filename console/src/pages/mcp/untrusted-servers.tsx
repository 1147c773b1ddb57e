import { ShieldCheck, Trash2 } from "lucide-react";
import type { McpServerEntry } from "../../../../src/contracts/mcp.ts";
import { api } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { Panel } from "../../parts/panel.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  title: ["Not trusted yet", "尚未信任"],
  lead: [
    "These servers come from files of this folder. They start after you review and trust them.",
    "这些服务器写在此文件夹的文件中。请先查看它们会运行什么，信任后才会启动。",
  ],
  trust: ["Trust and start", "信任并启动"],
  remove: ["Remove", "删除"],
  terminal: [
    "Trusting them needs the scope admin. In a terminal: haft trust",
    "信任需要 admin 权限，或在终端：haft trust",
  ],
});

/** Servers of configuration files that a person must look at before they run. */
export function UntrustedServers(props: { entries: readonly McpServerEntry[]; canTrust: boolean }) {
  const w = useWords(words);
  const [failure, act] = useAction("mcp");
  const waiting = props.entries.filter(({ isTrusted }) => !isTrusted);
  if (waiting.length === 0) return null;
  return (
    <Panel title={w.title}>
      <p className="muted">{w.lead}</p>
      {props.canTrust ? null : <p className="muted">{w.terminal}</p>}
      {failure}
      {waiting.map(({ name, what, file, line, digest, canRemove }) => (
        <div key={`${file} ${name}`} className="stack">
          <div className="row">
            <VisibleText as="strong" className="mono grow" text={name} />
            <span className="small muted mono">{`${file}${line === undefined ? "" : `:${line}`}`}</span>
          </div>
          <VisibleText as="pre" className="code" text={what} />
          {props.canTrust ? (
            <div className="row end">
              {canRemove ? (
                <Button look="small danger" icon={Trash2} text={w.remove} onClick={() => act(api.mcp.remove(name))} />
              ) : null}
              <Button look="small primary" icon={ShieldCheck} onClick={() => act(api.mcp.trust(name, { digest }))}>
                {w.trust}
              </Button>
            </div>
          ) : null}
        </div>
      ))}
    </Panel>
  );
}
