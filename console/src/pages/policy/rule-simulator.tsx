import { CircleStop, Play } from "lucide-react";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import type { NewRuleRequest, RuleInfo, SimulateRequest, Simulation } from "../../../../src/contracts/policy.ts";
import { api } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { DecisionBadge } from "../../parts/badges.tsx";
import { Button } from "../../parts/button.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { Failure } from "../../parts/failure.tsx";
import { countOf, formatNumber } from "../../parts/format.ts";
import { Panel } from "../../parts/panel.tsx";
import { Select } from "../../parts/select.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { RuleFields } from "./rule-form.tsx";

const words = defineWords({
  title: ["Try rules on the whole history", "在全部历史上试用规则"],
  lead: ["Nothing is saved and nothing runs.", "不会保存，也不会运行任何东西。"],
  what: ["What to try", "试什么"],
  kinds: { add: ["with one more rule", "增加一条规则"], remove: ["without a rule", "去掉一条规则"] },
  rule: ["Rule", "规则"],
  run: ["Simulate", "模拟"],
  cancel: ["Cancel", "取消"],
  progress: (looked: string, of: string) => [`${looked} of ${of} entries of the log`, `日志 ${of} 条中的 ${looked} 条`],
  cancelled: ["It was cancelled. Nothing was changed.", "已取消。没有任何更改。"],
  changed: (changed: string, judged: string) => [
    `${changed} of ${judged} past calls would be judged differently.`,
    `过去 ${judged} 次调用中有 ${changed} 次的裁决会改变。`,
  ],
  skipped: (count: string) => [
    `${countOf(count, "call")} cannot be judged: the tool is gone or rejects the input.`,
    `${count} 次调用无法再裁决：其工具已不存在，或不接受其输入。`,
  ],
  newest: (count: string) => [`The newest ${count} are listed.`, `列出了最新的 ${count} 次。`],
  count: (count: string) => [countOf(count, "call"), `${count} 次`],
});

type Run =
  | { state: "running"; looked: number; of: number }
  | { state: "done"; simulation: Simulation }
  | { state: "cancelled" };

/** Runs in the background of the server. Leaving the page or Cancel ends it. */
export function RuleSimulator({ rules }: { rules: readonly RuleInfo[] }) {
  const w = useWords(words);
  const [kind, setKind] = useState<"add" | "remove">("add");
  const [rule, setRule] = useState("Bash(git push *)");
  const [decision, setDecision] = useState<NewRuleRequest["decision"]>("deny");
  const [removed, setRemoved] = useState(rules[0]?.rule ?? "");
  const [run, setRun] = useState<Run>();
  const [problem, setProblem] = useState<Error>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const simulate = async (request: SimulateRequest): Promise<void> => {
    running.current?.abort();
    const controller = (running.current = new AbortController());
    const { signal } = controller;
    setProblem(undefined);
    setRun({ state: "running", looked: 0, of: 0 });
    try {
      for await (const frame of api.policy.simulateStream(request, { signal })) {
        if (signal.aborted) return;
        if (frame.type === "progress") setRun({ state: "running", looked: frame.looked, of: frame.of });
        else setRun({ state: "done", simulation: frame.simulation });
      }
    } catch (error) {
      if (signal.aborted) return;
      setRun(undefined);
      setProblem(error as Error);
    }
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void simulate(kind === "add" ? { add: [{ rule, decision }] } : { remove: [removed] });
  };
  const cancel = (): void => {
    running.current?.abort();
    setRun({ state: "cancelled" });
  };
  return (
    <Panel title={w.title} isBare actions={<span className="small muted">{w.lead}</span>}>
      <form className="body" onSubmit={submit}>
        <div className="row simulate-row">
          <Select
            label={w.what}
            value={kind}
            options={[["add", w.kinds.add], ...(rules.length > 0 ? [["remove", w.kinds.remove] as const] : [])]}
            onChoose={setKind}
          />
          {kind === "add" ? (
            <RuleFields value={{ rule, decision }} onRule={setRule} onDecision={setDecision} />
          ) : (
            <Select
              className="mono grow"
              label={w.rule}
              value={removed}
              options={[...new Set(rules.map((each) => each.rule))]}
              onChoose={setRemoved}
            />
          )}
          {run?.state === "running" ? (
            <Button look="danger" icon={CircleStop} text={w.cancel} onClick={cancel} />
          ) : (
            <Button look="primary" icon={Play} type="submit" text={w.run} />
          )}
        </div>
        {problem ? <Failure error={problem} /> : null}
        {run ? <Outcome run={run} /> : null}
      </form>
    </Panel>
  );
}

function Outcome({ run }: { run: Run }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const show = (value: number): string => formatNumber(value, language);
  switch (run.state) {
    case "cancelled":
      return (
        <p className="muted" role="status">
          {w.cancelled}
        </p>
      );
    case "running":
      return (
        <div className="row" role="status">
          <progress className="simulate-progress" value={run.looked} max={Math.max(run.of, 1)} aria-label={w.title} />
          <span className="small muted">{w.progress(show(run.looked), show(run.of))}</span>
        </div>
      );
    case "done": {
      const { judged, skipped, tools, changed } = run.simulation;
      const total = tools.reduce((sum, { count }) => sum + count, 0);
      return (
        <div className="stack" role="status">
          <p>
            <strong>{w.changed(show(total), show(judged))}</strong>{" "}
            {skipped > 0 ? <span className="muted">{w.skipped(show(skipped))}</span> : null}
          </p>
          {tools.map(({ tool, before, after, count }) => (
            <details key={`${tool} ${before} ${after}`} open={tools.length === 1} className="simulate-group">
              <summary className="row">
                <strong className="mono">{tool}</strong>
                <DecisionBadge verdict={{ decision: before }} /> → <DecisionBadge verdict={{ decision: after }} />
                <span className="muted">{w.count(show(count))}</span>
              </summary>
              <Samples calls={changed.filter((call) => isIn(call, { tool, before, after }))} />
            </details>
          ))}
          {total > changed.length ? <p className="small muted">{w.newest(show(changed.length))}</p> : null}
        </div>
      );
    }
  }
}

type Changed = Simulation["changed"][number];

function isIn(call: Changed, { tool, before, after }: Pick<Simulation["tools"][number], "tool" | "before" | "after">) {
  return call.toolName === tool && call.before.decision === before && call.after.decision === after;
}

/** Past calls, each with a link. */
export function Samples({ calls }: { calls: readonly Pick<Changed, "callId" | "subject" | "at">[] }) {
  return (
    <ul className="plain-list simulate-calls">
      {calls.map(({ callId, subject, at }) => (
        <li key={`${callId} ${at}`}>
          <Link className="simulate-call" href={`/work/${encodeURIComponent(callId)}`}>
            <CallSubject subject={subject} />
            <span className="small muted">
              <TimeAgo at={at} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
