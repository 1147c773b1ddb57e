import { Plus } from "lucide-react";
import { useSearchParams } from "wouter";
import { useApi, useScope } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { GrantList } from "./grant-list.tsx";
import { LintFindings } from "./lint-findings.tsx";
import { Proposals } from "./proposals.tsx";
import { RuleList } from "./rule-list.tsx";
import { RuleSimulator } from "./rule-simulator.tsx";
import { ShadowPanel } from "./shadow-panel.tsx";
import { ToolLayers } from "./tool-layers.tsx";
import { WhyPanel } from "./why-panel.tsx";
import "./policy.css";

const words = defineWords({
  title: ["Policy", "策略"],
  lead: [
    "In every mode, deny comes before ask, and ask before allow. If no rule matches, the tool decides.",
    "在任何模式下，拒绝先于询问，询问先于允许。没有匹配的规则时，由工具决定。",
  ],
  mode: (mode: string) => [`Mode: ${mode}`, `模式：${mode}`],
  add: ["Add a rule", "添加规则"],
  views: ["What to show", "显示内容"],
  tabs: {
    rules: ["Rules", "规则"],
    why: ["Why", "为什么"],
    try: ["Simulator", "模拟"],
    tools: ["Which tools exist", "哪些工具存在"],
  },
});

const TABS = ["rules", "why", "try", "tools"] as const;
type Tab = (typeof TABS)[number];

/** Rules decide other calls too, so their hits change with each call. */
const LIVE = { everyMs: 10_000 };

export default function PolicyView() {
  const w = useWords(words);
  const [search, setSearch] = useSearchParams();
  const tab: Tab = search.has("call") ? "why" : (TABS.find((each) => each === search.get("tab")) ?? "rules");
  const canChange = useScope("approve");
  const query = useApi("policy", "show", [], LIVE);
  const add = (): void => setSearch({ add: "yes" });
  useKeys(canChange ? { n: { label: w.add, run: add } } : {});
  return (
    <PageFrame
      title={w.title}
      lead={w.lead}
      actions={
        <>
          {query.data ? <span className="badge">{w.mode(query.data.mode)}</span> : null}
          {canChange ? <Button look="primary" icon={Plus} hotkey="n" text={w.add} onClick={add} /> : null}
        </>
      }
    >
      <div>
        <Tabs
          label={w.views}
          tabs={w.tabs}
          chosen={tab}
          onChoose={(each: Tab) => setSearch(each === "rules" ? {} : { tab: each })}
        />
      </div>
      <Loaded query={query}>
        {(policy) => (
          <>
            {tab === "rules" ? (
              <>
                <LintFindings rules={policy.rules} canChange={canChange} />
                <GrantList canChange={canChange} />
                <RuleList policy={policy} canChange={canChange} />
                <Proposals canChange={canChange} />
                <ShadowPanel canChange={canChange} />
              </>
            ) : null}
            {tab === "why" ? <WhyPanel /> : null}
            {tab === "try" ? <RuleSimulator rules={policy.rules} /> : null}
            {tab === "tools" ? <ToolLayers layers={policy.layers} /> : null}
          </>
        )}
      </Loaded>
    </PageFrame>
  );
}
