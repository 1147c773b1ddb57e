import { Download, ScrollText, Search, ShieldCheck, ShieldX } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { Link, useLocation } from "wouter";
import type { AuditCheck, AuditEntry, AuditQuery } from "../../../../src/contracts/audit.ts";
import { endpointUrl, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { DecisionBadge } from "../../parts/badges.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { useSearchKey } from "../../parts/use-keys.ts";
import { Facets } from "./facets.tsx";

const words = defineWords({
  en: {
    title: "Audit",
    lead: "Written before each effect and chained by hash: what was changed or removed afterwards shows.",
    search: "Search in what was asked and answered",
    export: "Export JSONL",
    whole: (entries: number) => `Chain whole, ${entries} entries`,
    broken: (id: string) => `Chain broken at ${id}`,
    checking: "Checking the chain…",
    none: "Nothing was found",
    noneLead: "Take a word or a facet away.",
    empty: "Nothing is recorded yet",
    emptyLead: "The first call will stand here, whoever makes it.",
    more: "More",
    back: "All entries",
    call: "The call",
    link: "Copy link",
    newest: "Newest",
  },
  zh: {
    title: "审计",
    lead: "在每次生效之前写入，并以哈希相连：事后的改动或删除都会显现。",
    search: "搜索请求与结果",
    export: "导出 JSONL",
    whole: (entries: number) => `链完整，${entries} 条`,
    broken: (id: string) => `链在 ${id} 处断裂`,
    checking: "正在检查链…",
    none: "没有找到",
    noneLead: "去掉一个词或筛选条件。",
    empty: "还没有记录",
    emptyLead: "第一次调用会出现在这里，无论由谁发起。",
    more: "更多",
    back: "全部记录",
    call: "该调用",
    link: "复制链接",
    newest: "最新",
  },
});

export default function AuditView() {
  const [path] = useLocation();
  const wanted = path.split("/")[2];
  return wanted ? <Entry id={decodeURIComponent(wanted)} /> : <AuditList />;
}

function AuditList() {
  const w = useWords(words);
  const [typed, setTyped] = useState("");
  const [facets, setFacets] = useState<AuditQuery>({});
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const box = useSearchKey();
  const search = useDeferredValue(typed.trim());
  const query = { ...facets, search: search || undefined, limit: 50 };
  const { data, error, refetch } = useApi("audit", "search", [{ ...query, cursor: cursors.at(-1) }]);
  const check = useApi("audit", "verify", []).data;
  const entries = data?.items ?? [];
  const isFiltered = search !== "" || Object.keys(facets).length > 0;
  const narrow = (next: AuditQuery): void => {
    setFacets(next);
    setCursors([]);
  };
  return (
    <PageFrame
      title={w.title}
      lead={w.lead}
      actions={
        <>
          <ChainBadge check={check} />
          <a className="button" href={exportUrl(query)} download>
            <Download size={15} aria-hidden /> {w.export}
          </a>
        </>
      }
    >
      <label className="search">
        <Search size={15} aria-hidden />
        <input
          ref={box}
          className="input"
          type="search"
          aria-label={w.search}
          placeholder={w.search}
          value={typed}
          onChange={({ target }) => {
            setTyped(target.value);
            setCursors([]);
          }}
        />
        <kbd className="key">/</kbd>
      </label>
      {data ? <Facets facets={data.facets} chosen={facets} onChoose={narrow} /> : null}
      {error ? <Failure error={error} again={() => void refetch()} /> : null}
      {data && entries.length === 0 ? (
        <div className="panel">
          <Empty icon={ScrollText} title={isFiltered ? w.none : w.empty}>
            <p>{isFiltered ? w.noneLead : w.emptyLead}</p>
          </Empty>
        </div>
      ) : null}
      {entries.length > 0 ? (
        <div className="panel">
          <ul className="rows entries">
            {entries.map((entry) => (
              <Row key={entry.id} entry={entry} />
            ))}
          </ul>
        </div>
      ) : null}
      <div className="row">
        {cursors.length > 0 ? (
          <button className="button" onClick={() => setCursors([])}>
            {w.newest}
          </button>
        ) : null}
        {data?.next ? (
          <button className="button" onClick={() => setCursors([...cursors, data.next!])}>
            {w.more}
          </button>
        ) : null}
      </div>
    </PageFrame>
  );
}

function ChainBadge({ check }: { check: AuditCheck | undefined }) {
  const w = useWords(words);
  if (!check) return <span className="badge pulse">{w.checking}</span>;
  const Icon = check.ok ? ShieldCheck : ShieldX;
  return (
    <span className={check.ok ? "badge ok" : "badge bad"} title={check.broken?.reason}>
      <Icon size={13} aria-hidden />
      {check.ok ? w.whole(check.entries) : w.broken(check.broken?.id ?? "?")}
    </span>
  );
}

function Row({ entry }: { entry: AuditEntry }) {
  return (
    <li>
      <Link href={`/audit/${encodeURIComponent(entry.id)}`}>
        <span className="row">
          <span className="mono small muted">{entry.id}</span>
          <span className="badge">{entry.type}</span>
          <strong className="mono grow cut">{entry.toolName}</strong>
          {entry.verdict ? <DecisionBadge verdict={entry.verdict} /> : null}
          {entry.errorCode ? <span className="badge bad mono">{entry.errorCode}</span> : null}
          <span className="small muted">
            <TimeAgo at={entry.at} />
          </span>
        </span>
      </Link>
    </li>
  );
}

function Entry({ id }: { id: string }) {
  const w = useWords(words);
  const { data: entry, error } = useApi("audit", "get", [id]);
  return (
    <PageFrame
      title={`${w.title} ${id}`}
      lead={entry ? `${entry.type} · ${entry.toolName}` : undefined}
      actions={
        <>
          <CopyButton text={location.href} label={w.link} />
          {entry ? (
            <Link className="button" href={`/calls/${encodeURIComponent(entry.callId)}`}>
              {w.call}
            </Link>
          ) : null}
          <Link className="button" href="/audit">
            {w.back}
          </Link>
        </>
      }
    >
      {error ? <Failure error={error} /> : null}
      {entry ? <JsonView value={entry} /> : null}
    </PageFrame>
  );
}

/** The whole log that matches, as a download. */
function exportUrl({ limit: _limit, ...filter }: AuditQuery): string {
  return endpointUrl(
    "/api/audit/export",
    Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, value?.toString()])),
  ).href;
}
