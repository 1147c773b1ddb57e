import { ListTree, SlidersHorizontal } from "lucide-react";
import { useCallback, useEffect, useState } from "react";
import { useLocation } from "wouter";
import { pathPart } from "../../hash-location.ts";
import { lazyPage } from "../../lazy-page.tsx";
import { type CallStatus } from "../../../../src/contracts/calls.ts";
import { useApi } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { useNeedsYou } from "../../needs-you.ts";
import { formatNumber } from "../../parts/format.ts";
import { SearchBox } from "../../parts/search-box.tsx";
import { useMedia } from "../../parts/use-media.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { useCallActions } from "./call-actions.ts";
import { News } from "./news.tsx";
import { FacetsPanel, FacetsSheet, useFacets, useFacetText } from "./facets-panel.tsx";
import { FACETS, useWorkFilter, type WorkFilter } from "./work-filter.ts";
import { WorkStream } from "./work-stream.tsx";
import "./work.css";

const words = defineWords({
  title: ["Work", "工作"],
  search: ["Search in commands, paths, inputs and results", "搜索命令、路径、输入和结果"],
  group: ["By session", "按会话"],
  filters: ["Filters", "筛选"],
  now: ["Now", "现在"],
  band: {
    needs: (count: string) => [`${count === "1" ? "1 needs" : `${count} need`} you`, `${count} 个等你处理`],
    running: (count: string) => [`${count} running`, `${count} 个运行中`],
    unknown: (count: string) => [`${count} unknown`, `${count} 个结果未知`],
  },
  remove: (name: string) => [`Remove ${name}`, `移除 ${name}`],
});

const CallDetail = lazyPage(() => import("./call-detail.tsx"));

export default function WorkView() {
  const [path] = useLocation();
  const callId = pathPart(path, 2);
  return callId === "" ? <WorkList /> : <CallDetail key={callId} />;
}

/** Beside the sections there is no room for the filters and the rows. The same width as in `work.css`. */
const NO_SIDE = "(max-width: 1180px)";
/** Whether the filters are shown beside the list. */
const SIDE = "haft.work.filters";

function WorkList() {
  const w = useWords(words);
  const filter = useWorkFilter();
  const actions = useCallActions({ opensReplay: false });
  const isNarrow = useMedia(NO_SIDE);
  const [hasSheet, setSheet] = useState(false);
  const [hasSide, setSide] = useState(() => localStorage.getItem(SIDE) !== "closed");
  const closeSheet = useCallback(() => setSheet(false), []);
  const toggleFilters = (): void => {
    if (isNarrow) return setSheet(true);
    localStorage.setItem(SIDE, hasSide ? "closed" : "open");
    setSide(!hasSide);
  };
  return (
    <div className="stack work">
      <header className="page-head work-head">
        <h1>{w.title}</h1>
        <WorkSearch filter={filter} />
        <button
          className="button"
          aria-pressed={filter.isGrouped}
          title={w.group}
          onClick={() => filter.group(!filter.isGrouped)}
        >
          <ListTree size={15} aria-hidden /> <span className="wide">{w.group}</span>
        </button>
        <button className="button" aria-expanded={isNarrow ? hasSheet : hasSide} onClick={toggleFilters}>
          <SlidersHorizontal size={15} aria-hidden /> {w.filters}
          {filter.count > 0 ? <span className="count">{filter.count}</span> : null}
        </button>
      </header>
      <Band filter={filter} />
      <Chosen filter={filter} />
      <News actions={actions} />
      <div className="work-body" data-closed={!hasSide || undefined}>
        {hasSide && !isNarrow ? (
          <aside className="work-side" aria-label={w.filters}>
            <FacetsPanel filter={filter} />
          </aside>
        ) : null}
        <WorkStream key={filter.key} filter={filter} actions={actions} />
      </div>
      {hasSheet ? <FacetsSheet filter={filter} onClose={closeSheet} /> : null}
    </div>
  );
}

const MAX_RUNNING = 100;

/** What a person must know now. Each is a filter. */
function Band({ filter }: { filter: WorkFilter }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const needs = useNeedsYou().count;
  const running = useApi("calls", "list", [{ status: ["running"], limit: MAX_RUNNING }]).data;
  const unknown = useFacets({}).data?.facets.find(({ name }) => name === "status")?.values;
  const part = (name: "needs" | "running" | "unknown", count: number, states: readonly CallStatus[], more = "") => (
    <button
      className="button small"
      data-part={name}
      data-none={count === 0 || undefined}
      aria-pressed={filter.isOnly(states)}
      onClick={() => filter.only(states)}
    >
      {w.band[name](`${formatNumber(count, language)}${more}`)}
    </button>
  );
  return (
    <section className="row work-band" aria-label={w.now}>
      {part("needs", needs, ["waiting"])}
      {part("running", running?.items.length ?? 0, ["running"], running?.next === undefined ? "" : "+")}
      {part("unknown", unknown?.find(({ value }) => value === "unknown")?.count ?? 0, ["unknown"])}
    </section>
  );
}

/** Waits for a pause in typing: each change of the address is another list. */
const TYPING_MS = 100;

function WorkSearch({ filter }: { filter: WorkFilter }) {
  const w = useWords(words);
  const wanted = filter.query.search ?? "";
  const [typed, setTyped] = useState(wanted);
  useEffect(() => {
    if (typed.trim() === wanted) return;
    const timer = setTimeout(() => filter.search(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  // A link or Back changes the address.
  useEffect(() => setTyped((now) => (now.trim() === wanted ? now : wanted)), [wanted]);
  return <SearchBox className="grow" label={w.search} value={typed} onChange={setTyped} />;
}

/** The chosen filters, each with a way to remove it. The filters themselves may be in a closed sheet. */
function Chosen({ filter }: { filter: WorkFilter }) {
  const w = useWords(words);
  const text = useFacetText();
  const chosen = FACETS.flatMap((name) => [filter.query[name] ?? []].flat().map((value) => ({ name, value })));
  if (chosen.length === 0) return null;
  return (
    <div className="row work-chosen">
      {chosen.map(({ name, value }) => (
        <button
          key={`${name} ${value}`}
          className="badge accent"
          title={w.remove(text(name, value))}
          onClick={() => filter.toggle(name, value)}
        >
          <VisibleText text={text(name, value)} /> ×
        </button>
      ))}
    </div>
  );
}
