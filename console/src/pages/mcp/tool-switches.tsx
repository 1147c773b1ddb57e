import type { McpActionRequest, McpServerInfo } from "../../../../src/contracts/mcp.ts";
import { defineWords, useWords } from "../../language.tsx";
import { DiffView } from "../../parts/diff-view.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  en: {
    tools: (count: number) => `${count} tools`,
    changed: "definition changed",
    difference: "From what was approved to what it is now:",
    approve: "Approve what it is now",
    fresh: "not used yet",
  },
  zh: {
    tools: (count: number) => `${count} 个工具`,
    changed: "定义已更改",
    difference: "从已批准的定义到现在的定义：",
    approve: "批准现在的定义",
    fresh: "尚未使用",
  },
});

interface ToolSwitchesProps {
  tools: McpServerInfo["tools"];
  onAct: (request: McpActionRequest) => void;
}

/** The tools of a server with their switches. A changed definition is shown with its difference. */
export function ToolSwitches({ tools, onAct }: ToolSwitchesProps) {
  const w = useWords(words);
  return (
    <details open={tools.some(({ review }) => review === "changed")}>
      <summary>{w.tools(tools.length)}</summary>
      <ul className="switches">
        {tools.map((tool) => (
          <li key={tool.name}>
            <div className="row">
              <label className="row grow">
                <input
                  type="checkbox"
                  checked={tool.isEnabled}
                  onChange={() => onAct({ action: tool.isEnabled ? "disable_tool" : "enable_tool", tool: tool.name })}
                />
                <span className="mono">
                  <VisibleText text={tool.name} />
                </span>
              </label>
              {tool.refused ? <span className="field-error small">{tool.refused}</span> : null}
              {tool.review === "new" ? <span className="muted small">{w.fresh}</span> : null}
              {tool.review === "changed" ? (
                <>
                  <span className="badge warn">{w.changed}</span>
                  <button
                    className="button small"
                    onClick={() =>
                      onAct({ action: "approve_tool", tool: tool.name, ...(tool.hash ? { hash: tool.hash } : {}) })
                    }
                  >
                    {w.approve}
                  </button>
                </>
              ) : null}
            </div>
            {tool.difference === undefined ? null : (
              <div className="stack">
                <p className="small muted">{w.difference}</p>
                <DiffView text={tool.difference} />
              </div>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}
