import { type FormEvent, useId, useState } from "react";
import type {
  NewScheduleRequest,
  ScheduleInfo,
  ScheduleTarget,
  ScheduleTiming,
} from "../../../../src/contracts/schedules.ts";
import { useApi } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { browserTimeZone } from "../../parts/format.ts";
import { Select } from "../../parts/select.tsx";
import { formatInZone, useCronText } from "./timing-text.ts";

const words = defineWords({
  name: ["Name", "名称"],
  how: ["When", "时间"],
  kinds: {
    cron: ["cron expression", "cron 表达式"],
    every: ["every so many minutes", "每隔若干分钟"],
    at: ["once", "一次"],
  },
  minutes: ["Minutes", "分钟"],
  expression: ["Minute, hour, day, month, weekday", "分、时、日、月、星期"],
  zone: ["Time zone", "时区"],
  at: ["At (your time)", "时刻（你的时间）"],
  tool: ["Tool", "工具"],
  input: ["Input as JSON", "JSON 输入"],
  session: ["Session", "会话"],
  text: ["Message to the session", "发给会话的消息"],
  missed: ["Times that pass while Haft is not running", "Haft 未运行时错过的时间"],
  missedKinds: { run_once: ["run once, late", "迟到时运行一次"], skip: ["skip", "跳过"] },
  rights: [
    "It runs with your permissions, and the policy applies to each run.",
    "以你的权限运行，每次运行都适用策略。",
  ],
  next: ["Next runs", "接下来"],
  cancel: ["Cancel", "取消"],
  badJson: ["The input is not valid JSON.", "输入不是有效的 JSON。"],
  badTime: ["Enter a time.", "请填写时间。"],
});

type Kind = ScheduleTiming["type"];
const KINDS: readonly Kind[] = ["cron", "every", "at"];
const EXAMPLES: Record<Kind, string> = { cron: "30 8 * * 1-5", every: "60", at: "" };

/** Adds a schedule, or changes one. `save` rejects with what is wrong. */
export function ScheduleForm(props: {
  schedule?: ScheduleInfo;
  saveText: string;
  save: (request: NewScheduleRequest) => Promise<unknown>;
  onCancel: () => void;
}) {
  const { schedule } = props;
  const w = useWords(words);
  const tools = useApi("tools", "list", []).data?.items ?? [];
  const zones = useId();
  const [kind, setKind] = useState<Kind>(schedule?.timing.type ?? "cron");
  const [when, setWhen] = useState(schedule ? textOf(schedule.timing) : EXAMPLES.cron);
  const [timeZone, setTimeZone] = useState(
    schedule?.timing.type === "cron" ? schedule.timing.timeZone : browserTimeZone(),
  );
  const [problem, setProblem] = useState<Error>();
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const valueOf = (field: string): string => {
      const value = fields.get(field);
      return typeof value === "string" ? value.trim() : "";
    };
    setProblem(undefined);
    try {
      const request: NewScheduleRequest = {
        name: valueOf("name") || undefined,
        timing: timingOf(kind, { when, timeZone }, w.badTime),
        target: targetOf(schedule?.target, valueOf, w.badJson),
        missed: valueOf("missed") === "skip" ? "skip" : "run_once",
      };
      props.save(request).catch(setProblem);
    } catch (error) {
      setProblem(error as Error);
    }
  };
  const target = schedule?.target;
  return (
    <form className="body stack fields" onSubmit={submit}>
      {problem ? <Failure error={problem} /> : null}
      <label className="stack">
        {w.name}
        <input className="input" name="name" maxLength={200} defaultValue={schedule?.name} autoFocus />
      </label>
      <div className="schedule-when">
        <label className="stack">
          {w.how}
          <Select
            className=""
            value={kind}
            options={KINDS.map((each) => [each, w.kinds[each]] as const)}
            onChoose={(chosen) => {
              setKind(chosen);
              setWhen(schedule?.timing.type === chosen ? textOf(schedule.timing) : EXAMPLES[chosen]);
            }}
          />
        </label>
        <label className="stack">
          {kind === "every" ? w.minutes : kind === "cron" ? w.expression : w.at}
          <input
            className="input mono"
            type={kind === "every" ? "number" : kind === "at" ? "datetime-local" : "text"}
            min={kind === "every" ? 1 : undefined}
            value={when}
            spellCheck={false}
            onChange={({ target: { value } }) => setWhen(value)}
          />
        </label>
        {kind === "cron" ? (
          <label className="stack">
            {w.zone}
            <input
              className="input mono"
              list={zones}
              value={timeZone}
              spellCheck={false}
              onChange={({ target: { value } }) => setTimeZone(value)}
            />
            <datalist id={zones}>
              {knownZones().map((zone) => (
                <option key={zone}>{zone}</option>
              ))}
            </datalist>
          </label>
        ) : null}
      </div>
      {kind === "cron" ? <CronPreview expression={when} timeZone={timeZone} /> : null}
      {target?.type === "wake" ? (
        <label className="stack">
          {w.text} ({target.session})
          <textarea className="textarea" name="text" defaultValue={target.text} required />
        </label>
      ) : (
        <>
          <label className="stack">
            {w.tool}
            <select key={tools.length} className="select mono" name="tool" required defaultValue={target?.toolName}>
              {tools.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <label className="stack">
            {w.input}
            <textarea
              className="textarea"
              name="input"
              spellCheck={false}
              defaultValue={target ? JSON.stringify(target.input, null, 2) : "{}"}
            />
          </label>
        </>
      )}
      <label className="stack">
        {w.missed}
        <select className="select" name="missed" defaultValue={schedule?.missed ?? "run_once"}>
          <option value="run_once">{w.missedKinds.run_once}</option>
          <option value="skip">{w.missedKinds.skip}</option>
        </select>
      </label>
      <p className="small muted">{w.rights}</p>
      <div className="row end">
        <Button text={w.cancel} onClick={props.onCancel} />
        <Button look="primary" type="submit" text={props.saveText} />
      </div>
    </form>
  );
}

/** What the expression means, and its next times, before it is saved. */
function CronPreview({ expression, timeZone }: { expression: string; timeZone: string }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const text = useCronText(expression);
  const isFilled = expression.trim() !== "" && timeZone.trim() !== "";
  const { data, error } = useApi("schedules", "times", isFilled ? [{ expression, timeZone }] : undefined);
  return (
    <div className="stack schedule-preview small" role="status">
      {error ? <span className="field-error">{error.message}</span> : <strong>{text ?? expression}</strong>}
      {data && !error ? (
        <span className="muted">
          {w.next}:{" "}
          {data.upcoming
            .slice(0, 3)
            .map((at) => formatInZone(at, timeZone, language))
            .join(" · ")}
        </span>
      ) : null}
    </div>
  );
}

function textOf(timing: ScheduleTiming): string {
  switch (timing.type) {
    case "cron":
      return timing.expression;
    case "every":
      return String(timing.everyMs / 60_000);
    case "at": {
      // The field has the local time without a zone.
      const local = new Date(timing.at - new Date(timing.at).getTimezoneOffset() * 60_000);
      return local.toISOString().slice(0, 16);
    }
  }
}

function timingOf(kind: Kind, { when, timeZone }: { when: string; timeZone: string }, badTime: string): ScheduleTiming {
  if (kind === "cron") return { type: "cron", expression: when.trim(), timeZone: timeZone.trim() };
  const value = kind === "every" ? Math.round(Number(when) * 60_000) : new Date(when).getTime();
  if (!Number.isFinite(value) || value <= 0) throw new Error(badTime);
  return kind === "every" ? { type: "every", everyMs: value } : { type: "at", at: value };
}

function targetOf(
  before: ScheduleTarget | undefined,
  valueOf: (field: string) => string,
  badJson: string,
): ScheduleTarget {
  if (before?.type === "wake") return { ...before, text: valueOf("text") };
  try {
    return { type: "call", toolName: valueOf("tool"), input: JSON.parse(valueOf("input") || "{}") };
  } catch {
    throw new Error(badJson);
  }
}

let zoneNames: readonly string[] | undefined;

function knownZones(): readonly string[] {
  zoneNames ??= ["UTC", ...Intl.supportedValuesOf("timeZone")];
  return zoneNames;
}
