import { Scale, TriangleAlert } from "lucide-react";
import { useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { DecisionBadge } from "../../parts/badges.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { RuleSimulator } from "./rule-simulator.tsx";
import { WhyPanel } from "./why-panel.tsx";

const words = defineWords({
  en: {
    title: "Policy",
    lead: "Deny comes before ask, ask before allow, in every mode. What no rule knows is decided by the tool itself.",
    rules: "Rules in force",
    layers: "Which tools exist",
    rule: "Rule",
    decision: "Verdict",
    origin: "From",
    mode: "Mode",
    noRules: "No rules yet",
    noRulesLead:
      "Answer a question with Always, or write permissions into haft.config.yml. Until then every tool decides for itself whether it asks.",
    findings: "Worth a look",
    everything: "everything",
  },
  zh: {
    title: "策略",
    lead: "在任何模式下，拒绝先于询问，询问先于允许。没有规则涉及时，由工具自己决定。",
    rules: "生效的规则",
    layers: "哪些工具存在",
    rule: "规则",
    decision: "裁决",
    origin: "来源",
    mode: "模式",
    noRules: "还没有规则",
    noRulesLead: "处理请求时选“总是”，或在 haft.config.yml 中写入 permissions。在此之前由每个工具决定是否询问。",
    findings: "值得一看",
    everything: "全部",
  },
});

export default function PolicyView() {
  const w = useWords(words);
  const { data, error, refetch } = useApi("policy", "show", []);
  const lint = useApi("policy", "lint", []).data?.items ?? [];
  return (
    <PageFrame
      title={w.title}
      lead={w.lead}
      actions={data ? <span className="badge">{`${w.mode}: ${data.mode}`}</span> : null}
    >
      {error ? <Failure error={error} again={() => void refetch()} /> : null}
      {lint.length > 0 ? (
        <section className="stack" aria-label={w.findings}>
          {lint.map((finding, at) => (
            <div key={at} className={finding.level === "error" ? "notice bad" : "notice warn"}>
              <TriangleAlert size={17} aria-hidden />
              <div className="grow">
                <VisibleText text={finding.message} />
                {finding.origin ? (
                  <span className="small">
                    {" "}
                    {finding.origin}
                    {finding.line ? `:${finding.line}` : ""}
                  </span>
                ) : null}
              </div>
            </div>
          ))}
        </section>
      ) : null}
      <WhyPanel />
      {data ? (
        <section className="panel">
          <header>
            <h2>{w.rules}</h2>
          </header>
          {data.rules.length === 0 ? (
            <Empty icon={Scale} title={w.noRules}>
              <p>{w.noRulesLead}</p>
            </Empty>
          ) : (
            <div className="scroll-x">
              <table className="table">
                <thead>
                  <tr>
                    <th>{w.decision}</th>
                    <th>{w.rule}</th>
                    <th>{w.origin}</th>
                  </tr>
                </thead>
                <tbody>
                  {data.rules.map(({ rule, decision, origin, line }, at) => (
                    <tr key={at}>
                      <td>
                        <DecisionBadge verdict={{ decision }} />
                      </td>
                      <td className="mono">
                        <VisibleText text={rule} />
                      </td>
                      <td className="muted small">
                        {origin}
                        {line ? `:${line}` : ""}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </section>
      ) : null}
      {data && data.layers.length > 0 ? (
        <section className="panel">
          <header>
            <h2>{w.layers}</h2>
          </header>
          <div className="scroll-x">
            <table className="table">
              <tbody>
                {data.layers.map((layer, at) => (
                  <tr key={at}>
                    <td className="muted">{layer.origin}</td>
                    <td>
                      {layer.profile ? <span className="badge accent">{layer.profile}</span> : null}{" "}
                      <span className="mono">
                        {[...(layer.allow ?? []), ...(layer.alsoAllow ?? [])].join(", ") ||
                          (layer.profile ? "" : w.everything)}
                      </span>
                    </td>
                    <td className="mono field-error">{(layer.deny ?? []).map((name) => `− ${name}`).join(", ")}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
      ) : null}
      {data ? <RuleSimulator /> : null}
    </PageFrame>
  );
}
