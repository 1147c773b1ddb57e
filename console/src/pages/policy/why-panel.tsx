import { useState } from "react";
import type { Explanation } from "../../../../src/contracts/policy.ts";
import { api, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { DecisionBadge } from "../../parts/badges.tsx";
import { Failure } from "../../parts/failure.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  en: {
    title: "What would happen to this call?",
    tool: "Tool",
    input: "Input as JSON",
    mode: "Mode",
    ask: "Explain",
    steps: "What was looked at",
    badJson: "The input is not valid JSON",
  },
  zh: {
    title: "这次调用会怎样？",
    tool: "工具",
    input: "输入（JSON）",
    mode: "模式",
    ask: "解释",
    steps: "检查过的内容",
    badJson: "输入不是有效的 JSON",
  },
});

const MODES = ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"] as const;

/** The verdict for a sample call, with every step of the decision. Nothing runs. */
export function WhyPanel() {
  const w = useWords(words);
  const tools = useApi("tools", "list", []).data?.items ?? [];
  const [tool, setTool] = useState("exec");
  const [input, setInput] = useState('{ "command": "git push" }');
  const [mode, setMode] = useState<(typeof MODES)[number]>("default");
  const [problem, setProblem] = useState<Error>();
  const [explained, setExplained] = useState<Explanation>();
  const explain = (): void => {
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
  return (
    <section className="panel">
      <header>
        <h2>{w.title}</h2>
      </header>
      <form
        className="body"
        onSubmit={(event) => {
          event.preventDefault();
          explain();
        }}
      >
        <div className="row">
          <select
            className="select narrow"
            aria-label={w.tool}
            value={tool}
            onChange={({ target }) => setTool(target.value)}
          >
            {tools.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          <input
            className="input mono grow"
            aria-label={w.input}
            spellCheck={false}
            value={input}
            onChange={({ target }) => setInput(target.value)}
          />
          <select
            className="select narrow"
            aria-label={w.mode}
            value={mode}
            onChange={({ target }) => setMode(target.value as (typeof MODES)[number])}
          >
            {MODES.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          <button className="button primary">{w.ask}</button>
        </div>
        {problem ? <Failure error={problem} /> : null}
        {explained ? (
          <div className="stack" role="status">
            <p>
              <DecisionBadge verdict={explained.verdict} /> <VisibleText text={explained.verdict.reason} />{" "}
              {explained.verdict.rule ? <code>{explained.verdict.rule}</code> : null}{" "}
              {explained.verdict.origin ? <span className="muted small">{explained.verdict.origin}</span> : null}
            </p>
            <details>
              <summary className="muted">{w.steps}</summary>
              <ol className="steps">
                {explained.steps.map((step, at) => (
                  <li key={at}>
                    <span className="badge">{step.by}</span>{" "}
                    {step.decision === "none" ? (
                      <span className="muted">—</span>
                    ) : (
                      <DecisionBadge verdict={{ decision: step.decision }} />
                    )}{" "}
                    <VisibleText text={step.reason} /> {step.rule ? <code>{step.rule}</code> : null}{" "}
                    {step.origin ? <span className="muted small">{step.origin}</span> : null}
                  </li>
                ))}
              </ol>
            </details>
          </div>
        ) : null}
      </form>
    </section>
  );
}
