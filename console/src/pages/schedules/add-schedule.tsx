import { Plus } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { NewScheduleRequest } from "../../../../src/contracts/schedules.ts";
import { api, queries, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Failure } from "../../parts/failure.tsx";

const words = defineWords({
  en: {
    title: "Add a schedule",
    name: "Name",
    how: "When",
    kinds: { every: "every so many minutes", cron: "cron expression", at: "once" },
    minutes: "Minutes",
    expression: "Minute, hour, day, month, weekday",
    at: "At",
    tool: "Tool",
    input: "Input as JSON",
    add: "Add",
    badJson: "The input is no JSON.",
    badTime: "Say when.",
  },
  zh: {
    title: "添加定时任务",
    name: "名称",
    how: "时间",
    kinds: { every: "每隔若干分钟", cron: "cron 表达式", at: "一次" },
    minutes: "分钟",
    expression: "分、时、日、月、星期",
    at: "时刻",
    tool: "工具",
    input: "JSON 输入",
    add: "添加",
    badJson: "输入不是 JSON。",
    badTime: "请填写时间。",
  },
});

type Kind = "every" | "cron" | "at";
const EXAMPLES: Record<Kind, string> = { every: "60", cron: "30 8 * * 1-5", at: "" };

export function AddSchedule() {
  const w = useWords(words);
  const tools = useApi("tools", "list", []).data?.items ?? [];
  const [kind, setKind] = useState<Kind>("every");
  const [when, setWhen] = useState(EXAMPLES.every);
  const [problem, setProblem] = useState<Error>();
  const add = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const fields = new FormData(form);
    const said = (field: string): string => `${(fields.get(field) as string | null) ?? ""}`.trim();
    setProblem(undefined);
    try {
      const request: NewScheduleRequest = {
        timing: timingOf(kind, when, w.badTime),
        target: { type: "call", toolName: said("tool"), input: parse(said("input") || "{}", w.badJson) },
        ...(said("name") === "" ? {} : { name: said("name") }),
      };
      api.schedules
        .create(request)
        .then(() => form.reset(), setProblem)
        .finally(() => void queries.invalidateQueries({ queryKey: ["schedules"] }));
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <details className="panel">
      <summary className="fold">{w.title}</summary>
      <form className="body stack" onSubmit={add}>
        {problem ? <Failure error={problem} /> : null}
        <label className="stack">
          {w.name}
          <input className="input" name="name" maxLength={200} />
        </label>
        <label className="stack">
          {w.how}
          <select
            className="select"
            value={kind}
            onChange={({ target }) => {
              setKind(target.value as Kind);
              setWhen(EXAMPLES[target.value as Kind]);
            }}
          >
            {(Object.keys(w.kinds) as Kind[]).map((each) => (
              <option key={each} value={each}>
                {w.kinds[each]}
              </option>
            ))}
          </select>
        </label>
        <label className="stack">
          {kind === "every" ? w.minutes : kind === "cron" ? w.expression : w.at}
          <input
            className="input mono"
            type={kind === "every" ? "number" : kind === "at" ? "datetime-local" : "text"}
            min={1}
            value={when}
            onChange={({ target }) => setWhen(target.value)}
          />
        </label>
        <label className="stack">
          {w.tool}
          <select className="select mono" name="tool" required>
            {tools.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label className="stack">
          {w.input}
          <textarea className="textarea" name="input" defaultValue="{}" spellCheck={false} />
        </label>
        <div className="row end">
          <button className="button primary">
            <Plus size={14} aria-hidden /> {w.add}
          </button>
        </div>
      </form>
    </details>
  );
}

/** Times use the clock and the time zone of the browser. */
function timingOf(kind: Kind, when: string, badTime: string): NewScheduleRequest["timing"] {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  if (kind === "cron") return { type: "cron", expression: when, timeZone };
  const value = kind === "every" ? Math.round(Number(when) * 60_000) : new Date(when).getTime();
  if (!Number.isFinite(value) || value <= 0) throw new Error(badTime);
  return kind === "every" ? { type: "every", everyMs: value } : { type: "at", at: value };
}

function parse(text: string, badJson: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(badJson);
  }
}
