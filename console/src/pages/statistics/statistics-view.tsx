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
  latency: ["Run time, without waiting for people", "运行时间（不含等待审批）"],
  waiting: (each: string) => [`Time waited for people per ${each}`, `每 ${each} 等待审批的时间`],
  noWait: ["No call waited for a person.", "没有等待过审批。"],
  runTime: ["Run time excludes the time a call waited for a person.", "运行时间不含调用等待审批的时间。"],
  total: (calls: string, share: string, waited: string) => [
    `${countOf(calls, "call")}, ${share} failed. ${waited === "" ? "" : `Waited for people: ${waited}.`}`,
    `共 ${calls} 次调用，${share} 失败。${waited === "" ? "" : `等待审批：${waited}。`}`,
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
      <div className="scroll-x" tabIndex={0}>
        <table className="table numbers">
          <thead>
            <tr>
              <th>{by === "tool" ? w.tool : w.caller}</th>
              <th>{w.calls}</th>
              <th>{w.failures}</th>
              <th>{w.denials}</th>
              <th title={w.p50}>p50</th>
              <th title={w.p95}>p95</th>
              <th>{w.waited}</th>
              <th>{w.returned}</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={row.name}>
                <td className="mono">
                  {row.path === undefined ? (
                    <VisibleText text={row.name || w.nobody} />
                  ) : (
                    <Link href={row.path}>
                      <VisibleText text={row.name} />
                    </Link>
                  )}
                </td>
                <td>{formatNumber(row.count, language)}</td>
                <td className={row.failures > 0 ? "field-error" : "muted"}>{formatNumber(row.failures, language)}</td>
                <td className={row.denials > 0 ? "field-error" : "muted"}>{formatNumber(row.denials, language)}</td>
                <td>{formatDuration(row.p50Ms)}</td>
                <td>{formatDuration(row.p95Ms)}</td>
                <td>{row.waitedMs > 0 ? formatDuration(row.waitedMs) : "–"}</td>
                <td className="muted">{(row.bytes / 1024).toFixed(1)} KB</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
