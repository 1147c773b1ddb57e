import { Link } from "wouter";
import type { RiskLevel } from "../../../../src/contracts/basics.ts";
import type { QuestionStatistics } from "../../../../src/contracts/statistics.ts";
import { useApi } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { useNeedsYou } from "../../needs-you.ts";
import { Failure } from "../../parts/failure.tsx";
import { countOf, formatDuration, formatNumber } from "../../parts/format.ts";
import { Panel } from "../../parts/panel.tsx";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { useNow } from "../../parts/time-ago.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  title: ["Requests for approval", "审批请求"],
  total: (asked: number, yes: number, no: number, open: number, ended: number) => [
    `${countOf(asked, "request")}: ${yes} yes, ${no} no, ${open} open, ${ended} ended without a person's answer.`,
    `共 ${asked} 次请求：同意 ${yes}，拒绝 ${no}，待回答 ${open}，未经人回答而结束 ${ended}。`,
  ],
  now: (count: number, since: string) => [
    count === 0
      ? "Nothing waits for you now."
      : `${count} ${count === 1 ? "waits" : "wait"} for you now, with questions of agents and MCP servers; the first for ${since}.`,
    count === 0
      ? "现在没有等你处理的请求。"
      : `现在有 ${count} 个等你处理（包括代理和 MCP 服务器的提问），最早的已等待 ${since}。`,
  ],
  speed: (median: string, unread: number) => [
    `Half of the answers took less than ${median}; ${unread} took less than 2 s: probably unread.`,
    `半数回答用时少于 ${median}；${unread} 次少于 2 秒：可能未读。`,
  ],
  saves: (proposals: number, saved: number) => [
    `${countOf(proposals, "proposal")} would have saved ${countOf(saved, "question")}.`,
    `${proposals} 条建议可省去 ${saved} 次询问。`,
  ],
  see: ["See them", "查看建议"],
  person: ["Person", "人员"],
  tool: ["Tool", "工具"],
  risk: ["Risk", "风险"],
  by: (what: string) => [`By ${what.toLowerCase()}`, `按${what}`],
  nobody: ["no name given", "未命名"],
  asked: ["Asked", "询问"],
  answered: ["Answered", "已回答"],
  yes: ["Yes", "同意"],
  share: ["Share of yes", "同意比例"],
  unread: ["Under 2 s", "2 秒内"],
  median: ["Half within", "半数以内"],
  perHour: ["An hour", "每小时"],
});

function isLevel(name: string): name is RiskLevel {
  return name in { low: 1, medium: 1, high: 1, critical: 1 };
}

type Row = QuestionStatistics["tools"][number] & { hours?: number };

/** From the log, as `haft stats --questions` shows it. */
export function QuestionFigures({ from, to }: { from: number; to: number }) {
  const w = useWords(words);
  const { data, error, refetch } = useApi("statistics", "questions", [{ from, to }]);
  const needs = useNeedsYou();
  const now = useNow(10_000);
  const waits = needs.since === undefined ? "" : formatDuration(Math.max(0, now - needs.since));
  // A server without a store has no log.
  if (error && "code" in error && error.code === "not_here") return null;
  if (error) return <Failure error={error} again={() => void refetch()} />;
  if (!data || data.asked === 0) return null;
  const { asked, yes, no, open, ended, unread, medianMs, proposals, people, tools, risks } = data;
  return (
    <Panel title={w.title} isBare>
      <div className="body">
        <p>
          <strong>{w.total(asked, yes, no, open, ended)}</strong> {w.now(needs.count, waits)}
        </p>
        <p className="small muted">
          {yes + no > 0 ? w.speed(formatDuration(medianMs), unread) : ""}{" "}
          {proposals.count > 0 ? (
            <>
              {w.saves(proposals.count, proposals.saved)} <Link href="/policy">{w.see}</Link>
            </>
          ) : null}
        </p>
      </div>
      <Figures head={w.person} rows={people} />
      <Figures head={w.tool} rows={tools} />
      <Figures head={w.risk} rows={risks} isRisk />
    </Panel>
  );
}

function Figures({ head, rows, isRisk = false }: { head: string; rows: readonly Row[]; isRisk?: boolean }) {
  const w = useWords(words);
  const { language } = useLanguage();
  if (rows.length === 0) return null;
  const hasHours = rows.some(({ hours }) => hours !== undefined);
  const isAnswered = ({ yes, no }: Row): boolean => yes + no > 0;
  const columns: Column<Row>[] = [
    {
      head,
      look: isRisk ? "" : "mono",
      cell: ({ name }) =>
        isRisk && isLevel(name) ? <RiskBadge level={name} /> : <VisibleText text={name || w.nobody} />,
    },
    { head: hasHours ? w.answered : w.asked, cell: ({ asked }) => formatNumber(asked, language) },
    { head: w.yes, cell: ({ yes }) => formatNumber(yes, language) },
    {
      head: w.share,
      cell: (row) => (isAnswered(row) ? `${Math.round((row.yes / (row.yes + row.no)) * 100)} %` : "–"),
    },
    {
      head: w.unread,
      look: ({ unread }) => (unread > 0 ? "field-error" : "muted"),
      cell: ({ unread }) => formatNumber(unread, language),
    },
    { head: w.median, cell: (row) => (isAnswered(row) ? formatDuration(row.medianMs) : "–") },
  ];
  const perHour: Column<Row> = {
    head: w.perHour,
    cell: ({ asked, hours }) => (asked / Math.max(1, hours ?? 1)).toFixed(1),
  };
  return (
    <section>
      <h3 className="table-title">{w.by(head)}</h3>
      <Table
        label={w.by(head)}
        isNumbers
        rows={rows}
        keyOf={({ name }) => name}
        columns={hasHours ? [...columns, perHour] : columns}
      />
    </section>
  );
}
