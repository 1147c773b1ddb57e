import { ChartColumn } from "lucide-react";
import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import type { StatisticsInfo } from "../../../../src/contracts/statistics.ts";
import { useApi } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { countOf, formatDuration, formatNumber } from "../../parts/format.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Table } from "../../parts/table.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { QuestionFigures } from "./question-figures.tsx";
import { axisDuration, TimeChart } from "./time-chart.tsx";
import { TokenCosts } from "./token-costs.tsx";
import "./statistics.css";

const words = defineWords({
  title: ["Statistics", "统计"],
  lead: [
    "Calls, outcomes, run time and waiting time by tool.",
    "每个工具的调用次数、结果、运行时间以及等待审批的时间。",
  ],
  range: ["Time range", "时间范围"],
  ranges: { hour: ["Hour", "一小时"], day: ["Day", "一天"], week: ["Week", "一周"], month: ["30 days", "30 天"] },
  by: ["Table by", "表格分组"],
  byTool: ["By tool", "按工具"],
  byCaller: ["By caller", "按调用者"],
  calls: ["Calls", "调用"],
  ended: ["Ended", "已结束"],
  failures: ["Failed", "失败"],
  denials: ["Denied", "拒绝"],
  p50: ["Half within (p50)", "半数以内 (p50)"],
  p95: ["95 % within (p95)", "95 % 以内 (p95)"],
  waited: ["Waited for people", "等待审批"],
  tool: ["Tool", "工具"],
  caller: ["Agent, client or user", "代理、客户端或用户"],
  nobody: ["no name given", "未命名"],
  returned: ["Returned", "返回"],
  none: ["No calls in this time", "这段时间没有调用"],
  noneLead: ["Choose a longer time, or call a tool.", "选择更长的时间，或调用一个工具。"],
  perTime: (each: string) => [`Calls per ${each}`, `每 ${each} 的调用数`],
  latency: ["Run time, without waiting", "运行时间（不含等待）"],
  waiting: (each: string) => [`Time waited for people per ${each}`, `每 ${each} 等待审批的时间`],
  noWait: ["No call waited for a person.", "没有等待过审批。"],
  runTime: ["Run time excludes waiting for a person or in a queue.", "运行时间不含等待审批和排队的时间。"],
  total: (calls: string, share: string, waited: string) => [
    `${countOf(calls, "call")} ended, ${share} failed. ${waited === "" ? "" : `They waited for people: ${waited}.`}`,
    `${calls} 次调用已结束，${share} 失败。${waited === "" ? "" : `它们等待审批：${waited}。`}`,
  ],
});

const RANGES = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000, month: 30 * 86_400_000 } as const;
type Range = keyof typeof RANGES;
/** Parts that have a name: 1 and 30 minutes, 3 and 12 hours. */
const BUCKETS = { hour: 60, day: 48, week: 56, month: 60 } as const;

export default function StatisticsView() {
  const w = useWords(words);
  const [params, setParams] = useSearchParams();
  const range = readRange(params.get("range"));
  const by = params.get("by") === "caller" ? "caller" : "tool";
  const [now, setNow] = useState(Date.now);
  const query = useApi("statistics", "show", [
    { from: now + 60_000 - RANGES[range], to: now + 60_000, buckets: BUCKETS[range] },
  ]);
  const choose = (name: string, value: string): void => {
    setNow(Date.now());
    setParams((old) => ({ ...Object.fromEntries(old), [name]: value }), { replace: true });
  };
  return (
    <PageFrame
      title={w.title}
      lead={w.lead}
      actions={<Tabs label={w.range} tabs={w.ranges} chosen={range} onChoose={(next) => choose("range", next)} />}
    >
      <Loaded query={query} lines={10}>
        {(data) =>
          data.tools.every(({ count }) => count === 0) ? (
            <Empty isPanel icon={ChartColumn} title={w.none} lead={w.noneLead} />
          ) : (
            <>
              <Charts data={data} />
              <Figures data={data} by={by} onChoose={(next) => choose("by", next)} />
            </>
          )
        }
      </Loaded>
      <QuestionFigures from={now - RANGES[range]} to={now + 60_000} />
      <TokenCosts from={now - RANGES[range]} to={now + 60_000} />
    </PageFrame>
  );
}

function readRange(text: string | null): Range {
  return text !== null && Object.hasOwn(RANGES, text) ? (text as Range) : "hour";
}

function Charts({ data }: { data: StatisticsInfo }) {
  const w = useWords(words);
  const { buckets, bucketMs } = data;
  const times = buckets.map(({ at }) => at);
  const each = axisDuration(bucketMs);
  const hasWaits = buckets.some(({ waitedMs }) => waitedMs > 0);
  const charts = [
    {
      title: w.perTime(each),
      unit: "count" as const,
      series: [
        { label: w.calls, tone: "--accent", values: buckets.map(({ count }) => count) },
        { label: w.failures, tone: "--bad", values: buckets.map(({ failures }) => failures) },
        { label: w.denials, tone: "--warn", values: buckets.map(({ denials }) => denials) },
      ],
    },
    {
      title: w.latency,
      isLine: true,
      unit: "duration" as const,
      series: [
        { label: w.p50, tone: "--ok", values: buckets.map((b) => (b.count === 0 ? null : b.p50Ms)) },
        { label: w.p95, tone: "--accent", values: buckets.map((b) => (b.count === 0 ? null : b.p95Ms)) },
      ],
    },
    {
      title: w.waiting(each),
      unit: "duration" as const,
      series: hasWaits ? [{ label: w.waited, tone: "--warn", values: buckets.map(({ waitedMs }) => waitedMs) }] : [],
    },
  ];
  return (
    <div className="charts">
      {charts.map(({ title, unit, series, isLine = false }) => (
        <Panel key={title} title={title} isBare>
          {series.length === 0 ? (
            <p className="stack empty">{w.noWait}</p>
          ) : (
            <TimeChart label={title} times={times} unit={unit} series={series} isLine={isLine} />
          )}
        </Panel>
      ))}
    </div>
  );
}

function Figures(props: { data: StatisticsInfo; by: "tool" | "caller"; onChoose: (by: "tool" | "caller") => void }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const { data, by } = props;
  const rows =
    by === "tool"
      ? data.tools.map(({ tool, ...numbers }) => ({
          name: tool,
          path: `/work?tool=${encodeURIComponent(tool)}`,
          ...numbers,
        }))
      : data.callers.map(({ caller, ...numbers }) => ({ name: caller, path: undefined, ...numbers }));
  const shown = rows.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count);
  const sum = (valueOf: (row: (typeof rows)[number]) => number): number =>
    shown.reduce((total, row) => total + valueOf(row), 0);
  const count = sum((row) => row.count);
  const waited = sum(({ waitedMs }) => waitedMs);
  const share = `${((sum(({ failures }) => failures) / Math.max(1, count)) * 100).toFixed(1)} %`;
  return (
    <section className="panel">
      <header>
        <p className="grow">
          {w.total(formatNumber(count, language), share, waited > 0 ? formatDuration(waited) : "")}{" "}
          <span className="small muted">{w.runTime}</span>
        </p>
        <Tabs label={w.by} tabs={{ tool: w.byTool, caller: w.byCaller }} chosen={by} onChoose={props.onChoose} />
      </header>
      <Table
        label={by === "tool" ? w.byTool : w.byCaller}
        isNumbers
        rows={shown}
        keyOf={({ name }) => name}
        columns={[
          {
            head: by === "tool" ? w.tool : w.caller,
            look: "mono",
            cell: ({ name, path }) =>
              path === undefined ? (
                <VisibleText text={name || w.nobody} />
              ) : (
                <Link href={path}>
                  <VisibleText text={name} />
                </Link>
              ),
          },
          { head: w.ended, cell: (row) => formatNumber(row.count, language) },
          {
            head: w.failures,
            look: (row) => (row.failures > 0 ? "field-error" : "muted"),
            cell: (row) => formatNumber(row.failures, language),
          },
          {
            head: w.denials,
            look: (row) => (row.denials > 0 ? "" : "muted"),
            cell: (row) => formatNumber(row.denials, language),
          },
          { head: "p50", title: w.p50, cell: (row) => formatDuration(row.p50Ms) },
          { head: "p95", title: w.p95, cell: (row) => formatDuration(row.p95Ms) },
          { head: w.waited, cell: (row) => (row.waitedMs > 0 ? formatDuration(row.waitedMs) : "–") },
          { head: w.returned, look: "muted", cell: (row) => `${(row.bytes / 1024).toFixed(1)} KB` },
        ]}
      />
    </section>
  );
}
