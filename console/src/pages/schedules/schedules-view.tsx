import { CalendarClock } from "lucide-react";
import { useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { AddSchedule } from "./add-schedule.tsx";
import { ScheduleCard } from "./schedule-card.tsx";

const words = defineWords({
  en: {
    title: "Schedules",
    lead: "Calls that are made later or again and again. Each run passes the gate with the rights of whoever set it up.",
    idle: "Nobody runs schedules at the moment: start haft serve or haft worker.",
    none: "No schedules",
    noneLead: "Add one above, with haft schedules add, or let an agent use the cron tool, which needs your approval.",
  },
  zh: {
    title: "定时",
    lead: "稍后或反复进行的调用。每次运行都以设置者的权限通过关卡。",
    idle: "目前没有进程在执行定时任务：请启动 haft serve 或 haft worker。",
    none: "没有定时任务",
    noneLead: "在上面添加，用 haft schedules add，或让代理使用 cron 工具：生效前会先询问你。",
  },
});

/** Other processes run schedules too, and their events do not arrive here. */
const LIVE = { everyMs: 5000 };

export default function SchedulesView() {
  const w = useWords(words);
  const { data, error, refetch } = useApi("schedules", "list", [], LIVE);
  return (
    <PageFrame title={w.title} lead={w.lead}>
      {error ? <Failure error={error} again={() => void refetch()} /> : null}
      {data && !data.status.isRunning ? <p className="notice warn">{w.idle}</p> : null}
      <AddSchedule />
      {data?.items.length === 0 ? (
        <div className="panel">
          <Empty icon={CalendarClock} title={w.none}>
            <p>{w.noneLead}</p>
          </Empty>
        </div>
      ) : null}
      {data?.items.map((schedule) => (
        <ScheduleCard key={schedule.id} schedule={schedule} />
      ))}
    </PageFrame>
  );
}
