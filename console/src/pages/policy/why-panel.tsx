import { type FormEvent, useEffect, useState } from "react";
import { Link, useSearchParams } from "wouter";
import type { Explanation } from "../../../../src/contracts/policy.ts";
import { api, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { GrantsOf } from "./grant-list.tsx";
import { DecisionBadge } from "../../parts/badges.tsx";
import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Localized } from "../../parts/localized.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Select } from "../../parts/select.tsx";

const words = defineWords({
  title: ["What would happen to this call, and why?", "这次调用会怎样，为什么？"],
  lead: ["Nothing runs.", "不会运行任何东西。"],
  past: ["Take a past call", "取一次过去的调用"],
  none: ["Choose one", "请选择"],
  tool: ["Tool", "工具"],
  input: ["Input as JSON", "输入（JSON）"],
  mode: ["Mode", "模式"],
  ask: ["Explain", "解释"],
  steps: ["All checks, in order", "按顺序检查过的全部内容"],
  badJson: ["The input is not valid JSON", "输入不是有效的 JSON"],
  before: ["At the time it was", "当时的裁决"],
  call: ["The call", "查看调用"],
  passes: ["does not decide", "不作裁决"],
  by: [
    {} as Record<string, string>,
    {
      "deny rules": "拒绝规则",
      "ask rules": "询问规则",
      "allow rules": "允许规则",
      "plan mode": "计划模式",
      "protected paths": "受保护的路径",
      "unreadable parts": "无法读取的部分",
      mode: "模式",
      "the tool itself": "工具本身",
    } as Record<string, string>,
  ],
});

const MODES = ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"] as const;

interface Sample {
  tool: string;
  input: string;
}

/** The verdict for a sample call, with every step of the decision. `?call=ID` takes a past call, `?approval=ID` a waiting one. */
export function WhyPanel() {
  const w = useWords(words);
  const [search, setSearch] = useSearchParams();
  const wanted = search.get("call") ?? "";
  const recent = useApi("calls", "list", [{ limit: 30 }]).data?.items ?? [];
  const past = useApi("calls", "get", wanted === "" ? undefined : [wanted]);
  const tools = useApi("tools", "list", []).data?.items ?? [];
  const [sample, setSample] = useState<Sample>({ tool: "exec", input: '{ "command": "git push" }' });
  const [mode, setMode] = useState<(typeof MODES)[number]>("default");
  const [problem, setProblem] = useState<Error>();
  const [explained, setExplained] = useState<Explanation>();
  const explain = ({ tool, input }: Sample): void => {
    let parsed: unknown;
    try {
      parsed = JSON.parse(input.trim() === "" ? "{}" : input);
    } catch {
      setProblem(new Error(w.badJson));
      return;
    }
    setProblem(undefined);
    api.policy.explain({ tool, input: parsed, mode }).then(setExplained, setProblem);
  };
  const approvalId = search.get("approval") ?? "";
  const asked = useApi("approvals", "get", approvalId === "" ? undefined : [approvalId]).data;
  const found = past.data ?? asked;
  useEffect(() => {
    if (!found) return;
    const taken = { tool: found.toolName, input: JSON.stringify(found.input ?? {}, null, 2) };
    setSample(taken);
    explain(taken);
    // Once for each call: the person may change it then.
  }, [found?.callId]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    explain(sample);
  };
  return (
    <Panel title={w.title} isBare actions={<span className="small muted">{w.lead}</span>}>
      <form className="body" onSubmit={submit}>
        <label className="stack why-past">
          <span className="small muted">{w.past}</span>
          <Select
            className=""
            value={wanted}
            options={[
              ["", w.none],
              ...recent.map(
                ({ callId, toolName, subject }) =>
                  [callId, `${toolName} ${subject?.text ?? ""}`.slice(0, 100)] as const,
              ),
            ]}
            onChoose={(call) => setSearch(call === "" ? { tab: "why" } : { call })}
          />
        </label>
        {past.error ? <Failure error={past.error} /> : null}
        {asked ? <GrantsOf caller={asked.caller} askedAt={asked.askedAt} /> : null}
        {found?.verdict ? (
          <p className="row small">
            {w.before} <DecisionBadge verdict={found.verdict} />{" "}
            <Localized text={{ ...found.verdict, key: found.verdict.key ?? "", text: found.verdict.reason }} />
            <Link href={`/work/${encodeURIComponent(found.callId)}`}>{w.call}</Link>
          </p>
        ) : null}
        <div className="row">
          <Select
            label={w.tool}
            value={sample.tool}
            options={tools.map(({ name }) => name)}
            onChoose={(tool) => setSample({ ...sample, tool })}
          />
          <Select label={w.mode} value={mode} options={MODES} onChoose={setMode} />
        </div>
        <textarea
          className="textarea"
          aria-label={w.input}
          spellCheck={false}
          value={sample.input}
          onChange={({ target }) => setSample({ ...sample, input: target.value })}
        />
        <div className="row end">
          <Button look="primary" type="submit" text={w.ask} />
        </div>
        {problem ? <Failure error={problem} /> : null}
        {explained ? <Answer explained={explained} /> : null}
      </form>
    </Panel>
  );
}

function Answer({ explained: { verdict, steps } }: { explained: Explanation }) {
  const w = useWords(words);
  return (
    <div className="stack" role="status">
      <p className="row">
        <DecisionBadge verdict={verdict} />
        <span>
          <Localized text={{ key: verdict.key ?? "", values: verdict.values, text: verdict.reason }} />
        </span>
        {verdict.rule && !verdict.reason.includes(verdict.rule) ? <code>{verdict.rule}</code> : null}
      </p>
      <h3>{w.steps}</h3>
      <ol className="stack steps">
        {steps.map((step, at) => (
          <li key={at}>
            <span className="badge">{w.by[step.by] ?? step.by}</span>{" "}
            {step.decision === "none" ? (
              <span className="muted">{w.passes}</span>
            ) : (
              <>
                <DecisionBadge verdict={{ decision: step.decision }} />{" "}
                <Localized text={{ key: step.key ?? "", values: step.values, text: step.reason }} />
              </>
            )}
          </li>
        ))}
      </ol>
    </div>
  );
}
