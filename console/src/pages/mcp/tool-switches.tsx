import { Link } from "wouter";
import type { McpActionRequest, McpServerInfo } from "../../../../src/contracts/mcp.ts";
import { defineWords, useWords } from "../../language.tsx";
import { AnnotationBadges } from "../../parts/annotation-badges.tsx";
import { Button } from "../../parts/button.tsx";
import { DiffView } from "../../parts/diff-view.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { useScope } from "../../api.ts";

const words = defineWords({
  none: ["It has no tools.", "没有工具。"],
  changed: ["definition changed", "定义已更改"],
  difference: ["What changed since it was approved:", "从已批准的定义到现在的定义："],
  approve: ["Approve what it is now", "批准现在的定义"],
  fresh: ["not used yet", "尚未使用"],
  use: (name: string) => [`Use ${name}`, `使用 ${name}`],
  open: ["Open", "打开"],
  locks: {
    same: ["as in haft.lock", "与 haft.lock 一致"],
    differs: ["differs from haft.lock", "与 haft.lock 不同"],
    missing: ["not in haft.lock", "不在 haft.lock 中"],
  },
  lockHint: [
    "haft.lock of the folder has the definition that your team agreed to. To write it again: haft mcp lock",
    "文件夹的 haft.lock 记录团队认可的定义。重新写入：haft mcp lock",
  ],
});

/** The tools of a server with their switches. A changed definition is shown with its difference. */
export function ToolSwitches(props: { server: McpServerInfo; onAct: (request: McpActionRequest) => void }) {
  const { server, onAct } = props;
  const w = useWords(words);
  const mayAct = useScope("approve");
  if (server.tools.length === 0) return <p className="muted">{w.none}</p>;
  return (
    <ul className="plain-list mcp-tools">
      {server.tools.map((tool) => (
        <li key={tool.name}>
          <input
            type="checkbox"
            aria-label={w.use(tool.name)}
            checked={tool.isEnabled}
            disabled={!mayAct}
            onChange={() => onAct({ action: tool.isEnabled ? "disable_tool" : "enable_tool", tool: tool.name })}
          />
          <div className="stack">
            <div className="row">
              <VisibleText className="mono mcp-tool-name" text={tool.name} />
              {tool.title !== undefined && tool.title !== tool.name ? (
                <VisibleText as="strong" text={tool.title} />
              ) : null}
              <AnnotationBadges annotations={tool.annotations ?? {}} isTrusted={server.trusted} />
              {tool.review === "new" ? <span className="muted small">{w.fresh}</span> : null}
              {tool.review === "changed" ? <span className="badge warn">{w.changed}</span> : null}
              {tool.lock ? (
                <span className={tool.lock === "same" ? "badge ok" : "badge warn"} title={w.lockHint}>
                  {w.locks[tool.lock]}
                </span>
              ) : null}
              {tool.exposedName !== undefined && tool.isAvailable ? (
                <Link className="small" href={`/tools/${encodeURIComponent(tool.exposedName)}`}>
                  {w.open}
                </Link>
              ) : null}
            </div>
            {tool.description ? <VisibleText as="p" className="small muted" text={tool.description} /> : null}
            {tool.refused ? <p className="field-error small">{tool.refused}</p> : null}
            {tool.review === "changed" ? (
              <div className="stack">
                {tool.difference === undefined ? null : (
                  <>
                    <p className="small muted">{w.difference}</p>
                    <DiffView text={tool.difference} />
                  </>
                )}
                {mayAct ? (
                  <Button
                    look="small mcp-start"
                    onClick={() => onAct({ action: "approve_tool", tool: tool.name, hash: tool.hash })}
                  >
                    {w.approve}
                  </Button>
                ) : null}
              </div>
            ) : null}
          </div>
        </li>
      ))}
    </ul>
  );
}
