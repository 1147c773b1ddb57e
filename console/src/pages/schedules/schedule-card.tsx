import { Globe, Pause, Pencil, Play, Trash2, Zap } from "lucide-react";
import { Link, useLocation, useSearchParams } from "wouter";
import type { ScheduleInfo } from "../../../../src/contracts/schedules.ts";
import { api, queries, useScope } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { Button, SureButton } from "../../parts/button.tsx";
import { callerText } from "../../parts/caller-name.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { Facts } from "../../parts/facts.tsx";
import { browserTimeZone } from "../../parts/format.ts";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { OneLine, VisibleText } from "../../parts/visible-text.tsx";
import { ScheduleForm } from "./schedule-form.tsx";
import { FailedRuns, RunBadge, RunLinks, ScheduleRuns } from "./schedule-runs.tsx";
import { formatInZone, useTimingText } from "./timing-text.ts";

const words = defineWords({
  paused: ["paused", "已暂停"],
  over: ["over", "已结束"],
  next: ["next", "下次"],
  runNow: ["Run now", "立即运行"],
  pause: ["Pause", "暂停"],
  resume: ["Resume", "恢复"],
  edit: ["Edit", "编辑"],
  save: ["Save", "保存"],
  remove: ["Remove", "删除"],
  sure: ["Really remove?", "确定删除？"],
  upcoming: ["Next runs", "接下来"],
  yours: (zone: string) => [`Your time (${zone})`, `你的时间（${zone}）`],
  what: ["Runs", "运行"],
  wakes: ["Sends to session", "发送到会话"],
  as: ["As", "身份"],
  nobody: ["no name given", "未命名"],
  rights: ["No more than", "权限不超过"],
  skip: ["Late runs are skipped", "迟到的运行会被跳过"],
  last: ["Last run", "上次运行"],
  never: ["It has not run yet.", "还没有运行过。"],
});

/** One schedule. `isOpen`: it is alone on the page, with its past runs and its keys. */
export function ScheduleCard({ schedule, isOpen }: { schedule: ScheduleInfo; isOpen: boolean }) {
  const w = useWords(words);
  const [, go] = useLocation();
  const [search, setSearch] = useSearchParams();
  const [failure, act] = useAction("schedules");
  const timing = useTimingText(schedule.timing);
  const { id, name, isPaused, nextAt, upcoming } = schedule;
  const address = `/schedules/${encodeURIComponent(id)}`;
  const mayChange = useScope("call");
  const isEditing = mayChange && isOpen && search.get("edit") === "yes";
  const run = (): void => act(api.schedules.run(id));
  const pause = (): void => act(api.schedules.pause(id, { isPaused: !isPaused }));
  const edit = (): void => go(`${address}?edit=yes`);
  const keys = {
    r: { label: w.runNow, run },
    p: { label: isPaused ? w.resume : w.pause, run: pause },
    e: { label: w.edit, run: edit },
  };
  useKeys(isOpen && mayChange ? keys : {});
  return (
    <section className="panel card" aria-label={name}>
      <header>
        <h2 className="grow">
          {isOpen ? (
            <OneLine text={name} />
          ) : (
            <Link data-row href={address}>
              <OneLine text={name} />
            </Link>
          )}
        </h2>
        {isPaused ? <span className="badge warn">{w.paused}</span> : null}
        {nextAt === undefined && !isPaused ? <span className="badge">{w.over}</span> : null}
        {mayChange ? (
          <>
            <Button look="small" icon={Zap} text={w.runNow} onClick={run} />
            <Button look="small" icon={isPaused ? Play : Pause} text={isPaused ? w.resume : w.pause} onClick={pause} />
            {isOpen ? (
              <>
                <Button look="small" icon={Pencil} text={w.edit} aria-expanded={isEditing} onClick={edit} />
                <SureButton
                  look="small danger"
                  icon={Trash2}
                  text={w.remove}
                  sure={w.sure}
                  onSure={() => act(api.schedules.remove(id), () => go("/schedules"))}
                />
              </>
            ) : null}
          </>
        ) : null}
      </header>
      {isEditing ? (
        <ScheduleForm
          schedule={schedule}
          saveText={w.save}
          onCancel={() => setSearch({})}
          save={async (request) => {
            await api.schedules.update(id, request);
            setSearch({});
            await queries.invalidateQueries({ queryKey: ["schedules"] });
          }}
        />
      ) : (
        <div className="body">
          {failure}
          <p className="row">
            <strong>{timing}</strong>
            {schedule.timing.type === "cron" ? (
              <>
                <code className="muted">{schedule.timing.expression}</code>
                <span className="badge accent">
                  <Globe size={12} aria-hidden /> {schedule.timing.timeZone}
                </span>
              </>
            ) : null}
            {upcoming[0] === undefined ? null : (
              <span className="muted">
                {w.next} <TimeAgo at={upcoming[0]} />
              </span>
            )}
            {schedule.missed === "skip" ? <span className="badge">{w.skip}</span> : null}
          </p>
          <ScheduleFacts schedule={schedule} isOpen={isOpen} />
          {isOpen ? <ScheduleRuns id={id} /> : null}
        </div>
      )}
    </section>
  );
}

function ScheduleFacts({ schedule, isOpen }: { schedule: ScheduleInfo; isOpen: boolean }) {
  const w = useWords(words);
  const { target, lastRun, upcoming, subject, risk } = schedule;
  const { caller, ...rights } = schedule.authority;
  const isLimited = Object.values(rights).some((right) => right !== undefined);
  return (
    <Facts
      facts={[
        target.type === "call"
          ? [
              w.what,
              <>
                <VisibleText className="mono" text={target.toolName} />
                {subject ? <CallSubject subject={subject} /> : null}
                {risk ? <RiskBadge level={risk} short /> : null}
              </>,
              "row",
            ]
          : [
              w.wakes,
              <>
                <Link href={`/sessions/${encodeURIComponent(target.session)}`}>{target.session}</Link>
                <VisibleText text={target.text} />
              </>,
              "row",
            ],
        [
          w.last,
          lastRun ? (
            <>
              <RunBadge state={lastRun.state} />
              <FailedRuns id={schedule.id} />
              <TimeAgo at={lastRun.startedAt ?? lastRun.dueAt} />
              {lastRun.outcome ? <VisibleText className="muted schedule-outcome" text={lastRun.outcome} /> : null}
              <RunLinks run={lastRun} />
            </>
          ) : (
            <span className="muted">{w.never}</span>
          ),
          "row",
        ],
        [w.as, isOpen && [callerText(caller, w.nobody), caller.session].filter(Boolean).join(" · ")],
        [w.rights, isLimited && <VisibleText text={JSON.stringify(rights)} />, "mono"],
        [w.upcoming, isOpen && upcoming.length > 0 && <UpcomingTimes schedule={schedule} />],
      ]}
    />
  );
}

/** In the time zone of the schedule and, if that is another one, in the reader's. */
function UpcomingTimes({ schedule: { timing, upcoming: all } }: { schedule: ScheduleInfo }) {
  const upcoming = all.slice(0, 5);
  const w = useWords(words);
  const { language } = useLanguage();
  const own = browserTimeZone();
  const zone = timing.type === "cron" ? timing.timeZone : own;
  if (zone === own) return <span>{upcoming.map((at) => formatInZone(at, own, language)).join(" · ")}</span>;
  return (
    <table className="schedule-times small">
      <thead>
        <tr>
          <th scope="col">{zone}</th>
          <th scope="col">{w.yours(own)}</th>
        </tr>
      </thead>
      <tbody>
        {upcoming.map((at) => (
          <tr key={at}>
            <td>{formatInZone(at, zone, language)}</td>
            <td className="muted">{formatInZone(at, own, language)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
