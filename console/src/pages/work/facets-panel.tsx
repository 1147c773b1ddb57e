import { keepPreviousData, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useId } from "react";
import type { CallFacetName, CallFacets, CallFilter } from "../../../../src/contracts/calls.ts";
import { api } from "../../api.ts";
import { defineWords, type Pair, useLanguage, useWords } from "../../language.tsx";
import { useStatusNames } from "../../parts/badges.tsx";
import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { formatNumber } from "../../parts/format.ts";
import { useRiskNames } from "../../parts/risk-badge.tsx";
import { Sheet } from "../../parts/sheet.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { FACETS, type Span, SPANS, type WorkFilter } from "./work-filter.ts";

const words = defineWords({
  title: ["Filters", "筛选"],
  time: ["Time", "时间"],
  from: ["From", "从"],
  to: ["To", "到"],
  spans: {
    "15m": ["15 min", "15 分钟"],
    "1h": ["1 hour", "1 小时"],
    "24h": ["24 hours", "24 小时"],
    "7d": ["7 days", "7 天"],
  },
  names: {
    status: ["State", "状态"],
    risk: ["Risk", "风险"],
    tool: ["Tool", "工具"],
    kind: ["Kind", "类型"],
    agent: ["Agent or client", "代理或客户端"],
    user: ["User", "用户"],
    session: ["Session", "会话"],
  },
  kinds: { readonly: ["reads", "只读"], write: ["changes", "修改"], execute: ["executes", "执行"] } as Record<
    string,
    Pair
  >,
  partial: (count: string) => [`Counts of the newest ${count} that match`, `最新 ${count} 条匹配调用的计数`],
  clear: ["Clear filters", "清除筛选"],
  all: (count: number) => [`All ${count}`, `全部 ${count} 个`],
});

const REFRESH_MS = 5000;
const AFTER_LIST_MS = 150;

/** Not with every call, as the list: the server counts thousands of calls for it. */
export function useFacets(query: CallFilter): UseQueryResult<CallFacets> {
  return useQuery({
    queryKey: ["call facets", query],
    queryFn: async ({ signal }) => {
      // The list first: both wait for one thread of the store.
      await new Promise((resolve) => setTimeout(resolve, AFTER_LIST_MS));
      return api.calls.facets(query, { signal });
    },
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  });
}

/** How many calls there are of each tool, state, caller and so on. A click filters, a second click removes the filter. */
export function FacetsPanel({ filter }: { filter: WorkFilter }) {
  const w = useWords(words);
  const { data, error, refetch } = useFacets(filter.query);
  return (
    <div className="stack work-facets">
      <TimeFacet filter={filter} />
      {error ? <Failure error={error} again={() => void refetch()} /> : null}
      {data ? FACETS.map((name) => <Facet key={name} name={name} facets={data} filter={filter} />) : <Skeleton />}
      {filter.count > 0 ? <Button look="small" text={w.clear} onClick={filter.clear} /> : null}
    </div>
  );
}

const FIRST = 8;

function Facet({ name, facets, filter }: { name: CallFacetName; facets: CallFacets; filter: WorkFilter }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const text = useFacetText();
  const facet = facets.facets.find((each) => each.name === name);
  const values = facet?.values ?? [];
  // A chosen value stays, also if nothing matches it now.
  const chosen = chosenValues(filter, name).filter((value) => !values.some((each) => each.value === value));
  const all = [...chosen.map((value) => ({ value, count: 0 })), ...values];
  if (all.length === 0) return null;
  const button = ({ value, count }: { value: string; count: number }) => (
    <li key={value}>
      <button
        className="line row-button facet"
        aria-pressed={filter.isChosen(name, value)}
        onClick={() => filter.toggle(name, value)}
        title={value}
      >
        <VisibleText className="cut" text={text(name, value)} />
        <span className="facet-count">{formatNumber(count, language)}</span>
      </button>
    </li>
  );
  return (
    <section>
      <h2
        className="facet-title"
        title={facet?.isPartial ? w.partial(formatNumber(Math.min(facets.counted, 5000), language)) : undefined}
      >
        {w.names[name]}
        {facet?.isPartial ? <span className="muted"> ≥</span> : null}
      </h2>
      <ul className="plain-list">{all.slice(0, FIRST).map(button)}</ul>
      {all.length > FIRST ? (
        <details>
          <summary className="small muted">{w.all(all.length)}</summary>
          <ul className="plain-list">{all.slice(FIRST).map(button)}</ul>
        </details>
      ) : null}
    </section>
  );
}

function chosenValues({ query }: WorkFilter, name: CallFacetName): readonly string[] {
  const value = query[name];
  return value === undefined ? [] : [value].flat();
}

/** The name of a value in the language of the user. */
export function useFacetText(): (name: CallFacetName, value: string) => string {
  const w = useWords(words);
  const risks: Readonly<Record<string, string>> = useRiskNames();
  const statuses: Readonly<Record<string, string>> = useStatusNames();
  return (name, value) => {
    const known = name === "risk" ? risks : name === "status" ? statuses : name === "kind" ? w.kinds : {};
    return Object.hasOwn(known, value) ? (known[value] ?? value) : value;
  };
}

function TimeFacet({ filter }: { filter: WorkFilter }) {
  const w = useWords(words);
  const { from, to } = filter.query;
  const own = filter.span === undefined;
  return (
    <section>
      <h2 className="facet-title">{w.time}</h2>
      <div className="row">
        {Object.keys(SPANS).map((span) => (
          <button
            key={span}
            className={filter.span === span ? "badge accent" : "badge"}
            aria-pressed={filter.span === span}
            onClick={() => filter.chooseSpan(filter.span === span ? undefined : (span as Span))}
          >
            {w.spans[span as Span]}
          </button>
        ))}
      </div>
      <TimeInput label={w.from} value={own ? from : undefined} onChange={(time) => filter.chooseTimes(time, to)} />
      <TimeInput label={w.to} value={to} onChange={(time) => filter.chooseTimes(own ? from : undefined, time)} />
    </section>
  );
}

function TimeInput(props: { label: string; value: number | undefined; onChange: (time: number | undefined) => void }) {
  const id = useId();
  return (
    <div className="facet-time">
      <label className="small muted" htmlFor={id}>
        {props.label}
      </label>
      <input
        id={id}
        className="input"
        type="datetime-local"
        value={props.value === undefined ? "" : localTime(props.value)}
        onChange={({ target }) => {
          const time = new Date(target.value).getTime();
          props.onChange(Number.isNaN(time) ? undefined : time);
        }}
      />
    </div>
  );
}

/** As an input of the browser has it: in its time zone, without a name of the zone. */
function localTime(at: number): string {
  const offsetMs = new Date(at).getTimezoneOffset() * 60_000;
  return new Date(at - offsetMs).toISOString().slice(0, 16);
}

/** On a phone the filters are a sheet. */
export function FacetsSheet({ filter, onClose }: { filter: WorkFilter; onClose: () => void }) {
  const w = useWords(words);
  return (
    <Sheet title={w.title} onClose={onClose}>
      <FacetsPanel filter={filter} />
    </Sheet>
  );
}
