import { Download, ScrollText, ShieldCheck, ShieldX } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import type { AuditCheck, AuditEntry, AuditFilter } from "../../../../src/contracts/audit.ts";
import { endpointUrl, useApi } from "../../api.ts";
import { ERROR_TEXTS_ZH } from "../../error-texts.ts";
import { pathPart } from "../../hash-location.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { DecisionBadge } from "../../parts/badges.tsx";
import { Button } from "../../parts/button.tsx";
import { callerText } from "../../parts/caller-name.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { countOf, formatDateTime, formatNumber } from "../../parts/format.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { SearchBox } from "../../parts/search-box.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { downloadCsv } from "./audit-csv.ts";
import { EntryView } from "./entry-view.tsx";
import { useTypeNames } from "./entry-words.ts";
import { Facets } from "./facets.tsx";
import "./audit.css";

const words = defineWords({
  title: ["Audit log", "审计日志"],
  lead: [
    "Entries are written before each effect and chained by hashes, so later changes and deletions are detected.",
    "每条记录都在生效前写入，并以哈希链相连，事后的改动或删除都能被发现。",
  ],
  search: ["Search in inputs, results and reasons", "搜索输入、结果与原因"],
  jsonl: ["Export JSONL", "导出 JSONL"],
  csv: ["Export CSV", "导出 CSV"],
  exporting: (count: string) => [`${countOf(count, "entry", "entries")}…`, `${count} 条…`],
  whole: (entries: string) => [`Chain whole, ${countOf(entries, "entry", "entries")}`, `链完整，${entries} 条`],
  broken: (id: string) => [`Chain broken at ${id}`, `链在 ${id} 处断裂`],
  checking: ["Checking the chain…", "正在检查链…"],
  none: ["Nothing was found", "没有找到"],
  noneLead: ["Remove a word or a filter.", "去掉一个词或筛选条件。"],
  empty: ["Nothing is recorded yet", "还没有记录"],
  emptyLead: ["Every call is recorded here.", "每次调用都会记录在这里。"],
  older: ["Older", "更早"],
  newest: ["Newest", "最新"],
  unsearched: (count: string) => [
    `${countOf(count, "entry is not indexed yet and was", "entries are not indexed yet and were")} not searched.`,
    `${count} 条记录尚未建立索引，未被搜索。`,
  ],
  ofCall: ["Entries of one call", "一次调用的记录"],
  all: ["All entries", "全部记录"],
});

export default function AuditView() {
  const [path] = useLocation();
  const id = pathPart(path, 2);
  return id === "" ? <AuditList /> : <EntryView key={id} id={id} />;
}

const FIELDS = ["tool", "status", "decision", "user", "session", "call", "type"] as const;
type Field = (typeof FIELDS)[number];

/** The filter is in the address, so a link shows the same entries. */
function useAuditFilter() {
  const [params, setParams] = useSearchParams();
  const text = params.toString();
  const filter = useMemo(() => {
    const read = new URLSearchParams(text);
    const values = FIELDS.map((name) => [name, read.get(name) ?? undefined] as const);
    // The server refuses values that do not exist, and says so.
    return { ...Object.fromEntries(values), search: read.get("q")?.trim() || undefined } as AuditFilter;
  }, [text]);
  const set = (name: Field | "q" | "before", value: string | undefined): void => {
    setParams(
      (now) => {
        const next = new URLSearchParams(now);
        if (name !== "before") next.delete("before");
        if (value === undefined || value === "") next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: name === "q" },
    );
  };
  return { filter, set, before: params.get("before") ?? undefined };
}

const TYPING_MS = 150;

function AuditList() {
  const w = useWords(words);
  const { language } = useLanguage();
  const { filter, set, before } = useAuditFilter();
  const [typed, setTyped] = useState(filter.search ?? "");
  useEffect(() => {
    if (typed.trim() === (filter.search ?? "")) return;
    const timer = setTimeout(() => set("q", typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const query = useApi("audit", "search", [{ ...filter, limit: 50, cursor: before }]);
  const check = useApi("audit", "verify", [{ sinceCheckpoint: true }]).data;
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return (
    <PageFrame
      title={w.title}
      lead={w.lead}
      actions={
        <>
          <ChainBadge check={check} />
          <a className="button" href={exportUrl(filter)} download>
            <Download size={15} aria-hidden /> {w.jsonl}
          </a>
          <CsvButton filter={filter} />
        </>
      }
    >
      <SearchBox label={w.search} value={typed} onChange={setTyped} />
      {filter.call === undefined ? null : (
        <p className="notice">
          <span className="grow">
            {w.ofCall}: <span className="mono">{filter.call}</span>
          </span>
          <Button look="small" text={w.all} onClick={() => set("call", undefined)} />
        </p>
      )}
      {query.data ? (
        <Facets facets={query.data.facets} chosen={filter} onChoose={(name, value) => set(name, value)} />
      ) : null}
      <Loaded query={query} lines={10}>
        {({ items, next, unsearched }) => (
          <>
            {unsearched ? <p className="notice warn">{w.unsearched(formatNumber(unsearched, language))}</p> : null}
            <div className="panel">
              {items.length === 0 ? (
                <Empty
                  icon={ScrollText}
                  title={isFiltered ? w.none : w.empty}
                  lead={isFiltered ? w.noneLead : w.emptyLead}
                />
              ) : (
                <ul className="plain-list audit-rows">
                  {items.map((entry) => (
                    <Row key={entry.id} entry={entry} />
                  ))}
                </ul>
              )}
            </div>
            <div className="row">
              {before === undefined ? null : <Button text={w.newest} onClick={() => set("before", undefined)} />}
              {next === undefined ? null : <Button text={w.older} onClick={() => set("before", next)} />}
            </div>
          </>
        )}
      </Loaded>
    </PageFrame>
  );
}

function CsvButton({ filter }: { filter: AuditFilter }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const [count, setCount] = useState<number>();
  const [problem, setProblem] = useState<Error>();
  const start = (): void => {
    setProblem(undefined);
    setCount(0);
    downloadCsv(filter, setCount)
      .catch(setProblem)
      .finally(() => setCount(undefined));
  };
  return (
    <>
      <Button icon={Download} disabled={count !== undefined} onClick={start}>
        {count ? w.exporting(formatNumber(count, language)) : w.csv}
      </Button>
      {problem ? <Failure error={problem} again={start} /> : null}
    </>
  );
}

function ChainBadge({ check }: { check: AuditCheck | undefined }) {
  const w = useWords(words);
  const { language } = useLanguage();
  if (!check) return <span className="badge pulse">{w.checking}</span>;
  const Icon = check.ok ? ShieldCheck : ShieldX;
  const entries = Number(check.head.split(":")[0]);
  return (
    <span className={check.ok ? "badge ok" : "badge bad"} title={check.broken?.reason}>
      <Icon size={13} aria-hidden />
      {check.ok ? w.whole(formatNumber(entries, language)) : w.broken(check.broken?.id ?? "?")}
    </span>
  );
}

function Row({ entry }: { entry: AuditEntry }) {
  const { language } = useLanguage();
  const typeName = useTypeNames();
  return (
    <li>
      <Link className="audit-row" href={`/audit/${encodeURIComponent(entry.id)}`}>
        <span className="audit-type">{typeName(entry.type)}</span>
        <span className="audit-what">
          {entry.subject ? (
            <CallSubject subject={entry.subject} />
          ) : (
            <VisibleText className="cut" lang="en" text={said(entry)} />
          )}
          <VisibleText className="mono small muted cut" text={entry.toolName} />
        </span>
        <span className="audit-badges">
          {entry.risk ? <RiskBadge level={entry.risk} short /> : null}
          {entry.verdict ? <DecisionBadge verdict={entry.verdict} /> : null}
          {entry.errorCode ? (
            <span className="badge bad">
              {language === "zh" ? ERROR_TEXTS_ZH[entry.errorCode] : entry.errorCode.replaceAll("_", " ")}
            </span>
          ) : null}
        </span>
        <VisibleText className="small muted cut" text={callerText(entry.caller, "")} />
        <span className="audit-time small muted">
          <time dateTime={new Date(entry.at).toISOString()}>{formatDateTime(entry.at, language)}</time>
          <span className="mono"> #{entry.id}</span>
        </span>
      </Link>
    </li>
  );
}

/** What an entry that is about no call says: its paths and texts, without hashes, ids and what was hidden. */
function said({ result }: AuditEntry): string {
  const texts = Object.entries(Object(result) as Record<string, unknown>).flatMap(([name, value]) =>
    name === "paths" && Array.isArray(value)
      ? value.map(String)
      : typeof value === "string" && !/hash|id$/i.test(name) && !value.startsWith("[hidden, ")
        ? [value]
        : [],
  );
  return texts.join(" · ").slice(0, 200);
}

/** The whole log that matches, as a download. */
function exportUrl(filter: AuditFilter): string {
  const entries = Object.entries(filter).map(([name, value]) => [name, value?.toString()]);
  return endpointUrl("/api/audit/export", Object.fromEntries(entries)).href;
}
