import { ChartColumn } from "lucide-react";
import { useState } from "react";
import { useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { formatDuration } from "../../parts/format.ts";
import { Tabs } from "../../parts/tabs.tsx";
import { TimeChart } from "./time-chart.tsx";
import { TokenCosts } from "./token-costs.tsx";

const words = defineWords({
  en: {
    title: "Statistics",
    lead: "How often each tool is called, how it ends and how long it takes.",
    range: "Time range",
    hour: "Hour",
    day: "Day",
    week: "Week",
    calls: "Calls",
    failures: "Failed",
    denials: "Denied",
    p50: "p50",
    p95: "p95",
    tool: "Tool",
    returned: "Returned",
    none: "No calls in this time",
    noneLead: "Choose a longer time, or call a tool.",
    perTime: "Calls over time",
    latency: "Time taken",
  },
  zh: {
    title: "统计",
    lead: "每个工具的调用次数、结果与用时。",
    range: "时间范围",
    hour: "一小时",
    day: "一天",
    week: "一周",
    calls: "调用",
    failures: "失败",
    denials: "拒绝",
    p50: "p50",
    p95: "p95",
    tool: "工具",
    returned: "返回",
    none: "这段时间没有调用",
    noneLead: "选择更长的时间，或调用一个工具。",
    perTime: "调用随时间变化",
    latency: "用时",
  },
});

const RANGES = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 } as const;
type Range = keyof typeof RANGES;

export default function StatisticsView() {
  const w = useWords(words);
  const [range, setRange] = useState<Range>("hour");
  const [now, setNow] = useState(Date.now);
  const { data, error, refetch } = useApi("statistics", "show", [
    { from: now - RANGES[range], to: now + 60_000, buckets: 60 },
  ]);
  const total = data?.tools.reduce((sum, { count }) => sum + count, 0) ?? 0;
  return (
    <PageFrame
      title={w.title}
      lead={w.lead}
      actions={
        <Tabs
          label={w.range}
          tabs={[
            ["hour", w.hour],
            ["day", w.day],
            ["week", w.week],
          ]}
          chosen={range}
          onChoose={(next) => {
            setNow(Date.now());
            setRange(next);
          }}
        />
      }
    >
      {error ? <Failure error={error} again={() => void refetch()} /> : null}
      {data && total === 0 ? (
        <div className="panel">
          <Empty icon={ChartColumn} title={w.none}>
            <p>{w.noneLead}</p>
          </Empty>
        </div>
      ) : null}
      {data && total > 0 ? (
        <>
          <div className="charts">
            <section className="panel">
              <header>
                <h2>{w.perTime}</h2>
              </header>
              <TimeChart
                label={w.perTime}
                times={data.buckets.map(({ at }) => at)}
                series={[
                  { label: w.calls, tone: "--accent", values: data.buckets.map(({ count }) => count) },
                  { label: w.failures, tone: "--bad", values: data.buckets.map(({ failures }) => failures) },
                  { label: w.denials, tone: "--warn", values: data.buckets.map(({ denials }) => denials) },
                ]}
              />
            </section>
            <section className="panel">
              <header>
                <h2>{w.latency}</h2>
              </header>
              <TimeChart
                label={w.latency}
                times={data.buckets.map(({ at }) => at)}
                unit="ms"
                series={[
                  { label: w.p50, tone: "--ok", values: data.buckets.map((b) => (b.count === 0 ? null : b.p50Ms)) },
                  { label: w.p95, tone: "--accent", values: data.buckets.map((b) => (b.count === 0 ? null : b.p95Ms)) },
                ]}
              />
            </section>
          </div>
          <div className="panel scroll-x">
            <table className="table numbers">
              <thead>
                <tr>
                  <th>{w.tool}</th>
                  <th>{w.calls}</th>
                  <th>{w.failures}</th>
                  <th>{w.denials}</th>
                  <th>{w.p50}</th>
                  <th>{w.p95}</th>
                  <th>{w.returned}</th>
                </tr>
              </thead>
              <tbody>
                {[...data.tools]
                  .filter(({ count }) => count > 0)
                  .sort((a, b) => b.count - a.count)
                  .map((row) => (
                    <tr key={row.tool}>
                      <td className="mono">{row.tool}</td>
                      <td>{row.count}</td>
                      <td className={row.failures > 0 ? "field-error" : "muted"}>{row.failures}</td>
                      <td className={row.denials > 0 ? "field-error" : "muted"}>{row.denials}</td>
                      <td className="mono">{formatDuration(row.p50Ms)}</td>
                      <td className="mono">{formatDuration(row.p95Ms)}</td>
                      <td className="mono muted">{(row.bytes / 1024).toFixed(1)} KB</td>
                    </tr>
                  ))}
              </tbody>
            </table>
          </div>
        </>
      ) : null}
      <TokenCosts from={now - RANGES[range]} to={now + 60_000} />
    </PageFrame>
  );
}
