import { CircleStop } from "lucide-react";
import { api, useApi } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { DecisionBadge } from "../../parts/badges.tsx";
import { SureButton } from "../../parts/button.tsx";
import { countOf, formatNumber } from "../../parts/format.ts";
import { Panel } from "../../parts/panel.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { Samples } from "./rule-simulator.tsx";

const words = defineWords({
  title: ["Shadow policy", "影子策略"],
  lead: ["Judges new calls too, and decides nothing.", "同时判断新调用，但不作任何决定。"],
  counts: (calls: string, allow: string, ask: string, deny: string) => [
    `${countOf(calls, "recorded call")}: ${allow} newly allowed, ${ask} newly asked, ${deny} newly denied.`,
    `已记录 ${calls} 次调用：新允许 ${allow} 次，新询问 ${ask} 次，新拒绝 ${deny} 次。`,
  ],
  failed: (count: string) => [`${count} could not be judged by it.`, `其中 ${count} 次无法判断。`],
  calls: (count: string) => [countOf(count, "call"), `${count} 次调用`],
  promote: ["Make it active with", "使其生效："],
  stop: ["Stop", "停止"],
  sure: ["Really stop?", "确定停止？"],
});

/** Each call may add a difference. */
const LIVE = { everyMs: 10_000 };

/** Nothing is shown while no shadow runs. */
export function ShadowPanel({ canChange }: { canChange: boolean }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const [failure, act] = useAction("policy");
  const { data } = useApi("policy", "shadow", [], LIVE);
  if (!data?.shadow) return null;
  const { shadow, calls, newly, failed, tools, changed } = data;
  const show = (value: number): string => formatNumber(value, language);
  return (
    <Panel
      title={w.title}
      actions={
        canChange ? (
          <SureButton
            look="small danger"
            icon={CircleStop}
            text={w.stop}
            sure={w.sure}
            onSure={() => act(api.policy.stopShadow())}
          />
        ) : undefined
      }
    >
      <div className="stack">
        <p>
          <VisibleText className="mono rule-text" text={shadow.name} />{" "}
          <span className="small muted">
            · <TimeAgo at={shadow.startedAt} /> · {w.lead} {w.promote} <code>haft policy promote</code>
          </span>
        </p>
        <p>
          <strong>{w.counts(show(calls), show(newly.allow), show(newly.ask), show(newly.deny))}</strong>{" "}
          {failed > 0 ? <span className="muted">{w.failed(show(failed))}</span> : null}
        </p>
        {tools.map(({ tool, before, after, count }) => (
          <details key={`${tool} ${before} ${after}`} className="simulate-group">
            <summary className="row">
              <strong className="mono">{tool}</strong>
              <DecisionBadge verdict={{ decision: before }} /> → <DecisionBadge verdict={{ decision: after }} />
              <span className="muted">{w.calls(show(count))}</span>
            </summary>
            <Samples
              calls={changed.filter((call) => call.toolName === tool && call.before === before && call.after === after)}
            />
          </details>
        ))}
        {failure}
      </div>
    </Panel>
  );
}
