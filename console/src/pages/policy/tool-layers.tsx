import { Layers } from "lucide-react";
import type { PolicyInfo } from "../../../../src/contracts/policy.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Panel } from "../../parts/panel.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  title: ["Which tools exist", "哪些工具存在"],
  lead: ["Each layer can only narrow what the layers before it allow.", "每一层只能缩小前面各层允许的范围。"],
  origin: ["Layer", "层"],
  allow: ["Allowed", "允许"],
  deny: ["Not allowed", "不允许"],
  everything: ["everything", "全部"],
  none: ["Every tool exists", "所有工具都存在"],
  noneLead: [
    "Set tools.profile, tools.allow or tools.deny in the configuration to narrow it.",
    "在配置中设置 tools.profile、tools.allow 或 tools.deny 可以缩小范围。",
  ],
});

export function ToolLayers({ layers }: { layers: PolicyInfo["layers"] }) {
  const w = useWords(words);
  return (
    <Panel title={w.title} isBare actions={<span className="small muted">{w.lead}</span>}>
      {layers.length === 0 ? (
        <Empty icon={Layers} title={w.none} lead={w.noneLead} />
      ) : (
        <div className="scroll-x" role="region" aria-label={w.title} tabIndex={0}>
          <table className="table">
            <thead>
              <tr>
                <th>{w.origin}</th>
                <th>{w.allow}</th>
                <th>{w.deny}</th>
              </tr>
            </thead>
            <tbody>
              {layers.map(({ origin, profile, allow = [], alsoAllow = [], deny = [] }, at) => (
                <tr key={at}>
                  <VisibleText as="td" className="muted" text={origin} />
                  <td>
                    {profile ? <span className="badge accent">{profile}</span> : null}{" "}
                    <VisibleText
                      className="mono"
                      text={[...allow, ...alsoAllow].join(", ") || (profile ? "" : w.everything)}
                    />
                  </td>
                  <VisibleText as="td" className="mono field-error" text={deny.join(", ")} />
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}
