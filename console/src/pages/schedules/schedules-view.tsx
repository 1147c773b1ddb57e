import { ArrowLeft, CalendarClock, Plus } from "lucide-react";
import { useLocation, useSearchParams } from "wouter";
import { api, ApiError, queries, useApi, useScope } from "../../api.ts";
import { pathPart } from "../../hash-location.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Panel } from "../../parts/panel.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { useRowKeys } from "../../parts/use-row-keys.ts";
import { ScheduleCard } from "./schedule-card.tsx";
import { ScheduleForm } from "./schedule-form.tsx";
import "./schedules.css";

const words = defineWords({
  title: ["Schedules", "定时"],
  lead: [
    "Calls that run later or repeatedly, with the permissions of the person who created them. The policy applies to each run.",
    "稍后或定期运行的调用，使用创建者的权限。每次运行都适用策略。",
  ],
  idle: [
    "No process runs schedules at the moment: start haft serve or haft worker.",
    "目前没有进程在执行定时任务：请启动 haft serve 或 haft worker。",
  ],
  add: ["Add a schedule", "添加定时任务"],
  save: ["Add", "添加"],
  back: ["All schedules", "全部定时任务"],
  gone: (id: string) => [
    `No schedule has the id "${id}". It may have been removed.`,
    `没有定时任务“${id}”。它可能已被删除。`,
  ],
  none: ["No schedules", "没有定时任务"],
  noneLead: [
    "Add one here, with haft schedules add, or let an agent use the cron tool, which needs your approval.",
    "在这里添加，用 haft schedules add，或让代理使用 cron 工具（需要你批准）。",
  ],
});

/** Other processes run schedules too, and not each of their changes is an event. */
const LIVE = { everyMs: 5000 };

export default function SchedulesView() {
  const w = useWords(words);
  const [location, go] = useLocation();
  const [search, setSearch] = useSearchParams();
  const wanted = pathPart(location, 2);
  const mayChange = useScope("call");
  const isAdding = mayChange && wanted === "" && search.get("add") === "yes";
  const query = useApi("schedules", "list", [], LIVE);
  const list = useRowKeys<HTMLDivElement>();
  const add = (): void => go("/schedules?add=yes");
  useKeys(wanted || !mayChange ? {} : { n: { label: w.add, run: add } });
  return (
    <PageFrame
      title={w.title}
      lead={w.lead}
      actions={
        wanted ? (
          <Button look="plain" icon={ArrowLeft} text={w.back} href="/schedules" />
        ) : mayChange ? (
          <Button look="primary" icon={Plus} hotkey="n" text={w.add} onClick={add} aria-expanded={isAdding} />
        ) : null
      }
    >
      {isAdding ? (
        <Panel title={w.add} isBare>
          <ScheduleForm
            saveText={w.save}
            onCancel={() => setSearch({})}
            save={async (request) => {
              await api.schedules.create(request);
              setSearch({});
              void queries.invalidateQueries({ queryKey: ["schedules"] });
            }}
          />
        </Panel>
      ) : null}
      <Loaded query={query}>
        {({ items, status }) => {
          const shown = wanted ? items.filter(({ id }) => id === wanted) : items;
          return (
            <div ref={list} className="stack">
              {status.isRunning ? null : <p className="notice warn">{w.idle}</p>}
              {wanted && shown.length === 0 ? <Failure error={new ApiError("not_found", w.gone(wanted))} /> : null}
              {!wanted && items.length === 0 ? (
                <Empty isPanel icon={CalendarClock} title={w.none} lead={w.noneLead} />
              ) : null}
              {shown.map((schedule) => (
                <ScheduleCard key={schedule.id} schedule={schedule} isOpen={wanted !== ""} />
              ))}
            </div>
          );
        }}
      </Loaded>
    </PageFrame>
  );
}
