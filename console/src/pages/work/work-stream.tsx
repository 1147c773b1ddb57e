import { Activity, ArrowUp } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { RiskLevel } from "../../../../src/contracts/basics.ts";
import type { CallInfo } from "../../../../src/contracts/calls.ts";
import type { AgentSessionInfo } from "../../../../src/contracts/sessions.ts";
import { useApi } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { useScheduleNames, useSessionPath } from "../../parts/caller-name.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { countOf, formatNumber } from "../../parts/format.ts";
import { Skeleton } from "../../parts/skeleton.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { useMedia } from "../../parts/use-media.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { SessionStateBadge } from "../sessions/session-state.tsx";
import { useCardOf, useNeedsYou } from "../../needs-you.ts";
import { type CallActions, callPath } from "./call-actions.ts";
import { keyOf, MAX_ROWS, useCallStream } from "./use-call-stream.ts";
import { useRows } from "./use-rows.ts";
import type { WorkFilter } from "./work-filter.ts";
import { type Line, lineKey, useLines } from "./work-lines.ts";
import { type RowActions, WorkRow } from "./work-row.tsx";

const words = defineWords({
  list: ["Calls, newest first", "调用，最新在前"],
  needs: ["Waiting for you", "等待你处理"],
  moreWait: (count: number) => [`${count} more ${count === 1 ? "waits" : "wait"} for you`, `还有 ${count} 个等你处理`],
  subject: ["What", "内容"],
  caller: ["Caller, session", "调用者、会话"],
  risk: ["Risk", "风险"],
  state: ["State", "状态"],
  age: ["Age, run, wait", "时间、运行、等待"],
  fresh: (count: string) => [`${count} new`, `${count} 条新调用`],
  none: ["No calls yet", "还没有调用"],
  noneLead: [
    "Call a tool from the Tools page, the command line or an agent. It appears here.",
    "从工具页、命令行或代理调用一个工具，它就会显示在这里。",
  ],
  noMatch: ["No call matches", "没有符合条件的调用"],
  noMatchLead: ["Remove a filter or a word.", "去掉一个筛选条件或词语。"],
  clear: ["Clear filters", "清除筛选"],
  more: ["Loading older calls…", "正在加载更早的调用…"],
  full: (count: string) => [
    `${countOf(count, "call is", "calls are")} loaded. Choose a time to see older ones.`,
    `已加载 ${count} 次调用。请选择时间以查看更早的。`,
  ],
  unsearched: (count: string) => [
    `${countOf(count, "entry is not indexed yet and was", "entries are not indexed yet and were")} not searched.`,
    `${count} 条记录尚未建立索引，未被搜索。`,
  ],
  noSession: ["Without a session", "无会话"],
  counts: (calls: number, failed: number, open: number) => [
    [countOf(calls, "call"), failed > 0 ? `${failed} failed` : "", open > 0 ? `${open} open` : ""]
      .filter(Boolean)
      .join(" · "),
    [`${calls} 次调用`, failed > 0 ? `${failed} 次失败` : "", open > 0 ? `${open} 次未结束` : ""]
      .filter(Boolean)
      .join(" · "),
  ],
  next: ["next call", "下一个调用"],
  previous: ["previous call", "上一个调用"],
  open: ["open the call", "打开调用"],
  undo: ["undo its changes", "撤销其修改"],
  again: ["run it again", "再次运行"],
  leave: ["leave the row", "离开此行"],
});

const ROW_PX = 52;
/** The heights of a row, and of one with a line that says why. As in `work.css`. */
const WIDE_PX = [ROW_PX, ROW_PX] as const;
const MEDIUM_PX = [ROW_PX, 72] as const;
const NARROW_PX = [78, 98] as const;
/** What needs a person stays above the list. */
const MAX_PINNED = 3;
const NO_CALLS: readonly CallInfo[] = [];
/** The same width as in `work.css`. */
const NARROW = "(max-width: 900px)";
const MEDIUM = "(max-width: 1180px)";
/** How near to the end the next page is loaded. */
const AHEAD = 30;

/** The calls that match. Only those on the screen are in the document. */
export function WorkStream({ filter, actions }: { filter: WorkFilter; actions: CallActions }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const [, go] = useLocation();
  const scroller = useRef<HTMLDivElement>(null);
  const mayAdd = useCallback(() => (scroller.current?.scrollTop ?? 0) < ROW_PX, []);
  const { stream, unsearched, error, again } = useCallStream(filter, mayAdd);
  const cardOf = useCardOf();
  const needed = useNeedsYou().count;
  const parts = useApi("server", "info", []).data?.parts;
  const agentSessions = useApi("sessions", "list", parts?.includes("sessions") ? [{}] : undefined).data?.items ?? [];
  const pathOf = useSessionPath();
  const isNarrow = useMedia(NARROW);
  const isMedium = useMedia(MEDIUM);
  const schedules = useScheduleNames();
  const [selected, setSelected] = useState<string>();
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const isPinning = filter.query.status === undefined && needed > 0;
  const needs = useApi("calls", "list", isPinning ? [{ ...filter.query, status: ["waiting"], limit: 100 }] : undefined)
    .data?.items;
  const waiting = isPinning && needs ? needs.filter((call) => cardOf(call) !== undefined).sort(byRisk) : NO_CALLS;
  const pinned = filter.isGrouped ? NO_CALLS : waiting.slice(0, isNarrow ? 2 : MAX_PINNED);
  const lines = useLines(stream, { isGrouped: filter.isGrouped, waiting: filter.isGrouped ? waiting : pinned, open });
  const heightOf = useMemo(
    () => (index: number) => sizeOf(lines.at(index), isNarrow ? NARROW_PX : isMedium ? MEDIUM_PX : WIDE_PX),
    [lines, isNarrow, isMedium],
  );
  const rows = useRows(scroller, { count: lines.length, heightOf, offset: stream.offset });
  const lastVisible = rows.visible.at(-1)?.index ?? 0;
  useEffect(() => {
    if (stream.isLoaded && lastVisible >= lines.length - AHEAD) stream.loadMore();
  }, [lastVisible, lines.length, stream]);
  useEffect(() => () => void (stream.offset = scroller.current?.scrollTop ?? 0), [stream]);

  // The pinned calls come before the first line.
  const lineAt = (index: number): Line | undefined => {
    const fixed = pinned[index];
    return fixed ? { call: fixed } : lines.at(index - pinned.length);
  };
  const indexOf = (key: string): number => {
    const fixed = pinned.findIndex((each) => keyOf(each) === key);
    const found = fixed < 0 ? lines.indexOf(key) : -1;
    return found < 0 ? fixed : pinned.length + found;
  };
  const at = selected === undefined ? -1 : indexOf(selected);
  const current = at < 0 ? undefined : lineAt(at);
  const call = current && "call" in current ? current.call : undefined;
  const move = (step: number): void => {
    let to = at < 0 ? (step > 0 ? pinned.length + (rows.visible[0]?.index ?? 0) : -1) : at + step;
    if (at < 0 && (scroller.current?.scrollTop ?? 0) === 0) to = 0;
    let line = to < 0 ? undefined : lineAt(to);
    while (line && !("call" in line)) line = lineAt((to += step));
    if (!line) return;
    setSelected(lineKey(line));
    if (to >= pinned.length) rows.show(to - pinned.length);
  };
  useKeys({
    j: { label: w.next, run: () => move(1) },
    k: { label: w.previous, run: () => move(-1) },
    Enter: { label: w.open, run: () => call && go(callPath(call.callId)) },
    Escape: { label: w.leave, run: () => setSelected(undefined) },
    u: { label: w.undo, run: () => call && actions.undo(call) },
    r: { label: w.again, run: () => call && actions.replay(call) },
  });
  const latest = useRef(actions);
  latest.current = actions;
  const on = useMemo<RowActions>(
    () => ({
      undo: (chosen) => latest.current.undo(chosen),
      stop: (chosen) => latest.current.stop(chosen),
      select: (chosen) => setSelected(keyOf(chosen)),
      open: (key) =>
        setOpen((now) => {
          const next = new Set(now);
          if (!next.delete(key)) next.add(key);
          return next;
        }),
    }),
    [],
  );
  const rowOf = (line: Extract<Line, { call: CallInfo }>) => (
    <WorkRow
      call={line.call}
      isSelected={lineKey(line) === selected}
      card={cardOf(line.call)}
      sessionPath={filter.isGrouped ? undefined : pathOf(line.call.caller.session ?? "")}
      schedules={schedules}
      repeats={line.repeats}
      isOpen={line.repeats !== undefined && open.has(line.repeats.key)}
      isRepeat={line.isRepeat}
      on={on}
    />
  );

  const isFiltered = filter.count > 0 || filter.query.search !== undefined;
  const unpinned = (isFiltered ? waiting.length : needed) - pinned.length;
  return (
    <section className="panel work-panel" aria-label={w.list} data-filter={stream.isLoaded ? filter.key : undefined}>
      {error ? <Failure error={error} again={again} /> : null}
      {unsearched > 0 ? <p className="notice warn">{w.unsearched(formatNumber(unsearched, language))}</p> : null}
      <div className="work-row work-titles" aria-hidden>
        <span>{w.subject}</span>
        <span>{w.caller}</span>
        <span>{w.risk}</span>
        <span>{w.state}</span>
        <span className="work-times">{w.age}</span>
      </div>
      {stream.freshCount > 0 ? (
        <Button
          look="primary small work-fresh"
          icon={ArrowUp}
          onClick={() => {
            stream.showFresh();
            scroller.current?.scrollTo({ top: 0 });
          }}
        >
          {w.fresh(formatNumber(stream.freshCount, language))}
        </Button>
      ) : null}
      {pinned.length > 0 ? (
        <ul className="plain-list work-rows work-pinned" aria-label={w.needs}>
          {pinned.map((each) => (
            <li key={keyOf(each)}>{rowOf({ call: each })}</li>
          ))}
          {unpinned > 0 ? (
            <li>
              <Link className="small work-more" href="/approvals">
                {w.moreWait(unpinned)}
              </Link>
            </li>
          ) : null}
        </ul>
      ) : null}
      <div
        className="work-scroll"
        ref={scroller}
        tabIndex={-1}
        onScroll={() => {
          if (stream.freshCount > 0 && mayAdd()) stream.showFresh();
        }}
      >
        {!stream.isLoaded && !error ? <Skeleton lines={12} /> : null}
        {stream.isLoaded && lines.length + pinned.length === 0 ? (
          <Empty icon={Activity} title={isFiltered ? w.noMatch : w.none} lead={isFiltered ? w.noMatchLead : w.noneLead}>
            {isFiltered ? <Button text={w.clear} onClick={filter.clear} /> : null}
          </Empty>
        ) : null}
        <ul className="plain-list virtual-list work-rows" style={{ height: rows.height }}>
          {rows.visible.map(({ index, start }) => {
            const line = lines.at(index);
            if (!line) return null;
            return (
              <li
                key={lineKey(line)}
                style={{ transform: `translateY(${start}px)` }}
                aria-posinset={index + 1}
                aria-setsize={-1}
              >
                {"call" in line ? (
                  rowOf(line)
                ) : (
                  <SessionLine
                    known={agentSessions.find(({ key: known }) => known === line.session)}
                    path={line.session === undefined ? undefined : pathOf(line.session)}
                    session={line.session}
                    calls={line.calls}
                  />
                )}
              </li>
            );
          })}
        </ul>
        {stream.isFull ? <p className="work-end muted small">{w.full(formatNumber(MAX_ROWS, language))}</p> : null}
        {stream.hasMore && !stream.isFull && lines.length > 0 ? <p className="work-end muted small">{w.more}</p> : null}
      </div>
    </section>
  );
}

/** The greatest risk first, and of these the newest: the list comes in that order. */
function byRisk(one: CallInfo, other: CallInfo): number {
  const rank = ({ risk }: CallInfo): number => (risk ? RiskLevel.options.indexOf(risk) : -1);
  return rank(other) - rank(one);
}

function sizeOf(line: Line | undefined, [plain, withReason]: readonly [number, number]): number {
  if (!line || !("call" in line)) return ROW_PX;
  return ["failed", "denied", "unknown"].includes(line.call.status) ? withReason : plain;
}

interface SessionLineProps {
  /** If it is a conversation with an agent. */
  known: AgentSessionInfo | undefined;
  session: string | undefined;
  path: string | undefined;
  calls: readonly CallInfo[];
}

/** A session with its state and the number of its loaded calls. */
function SessionLine({ known, session, path, calls }: SessionLineProps) {
  const w = useWords(words);
  const failed = calls.filter(({ status }) => status === "failed").length;
  const open = calls.filter(({ status }) => ["waiting", "running", "pending"].includes(status)).length;
  return (
    <div className="line work-group">
      <strong className="cut">
        {path === undefined || session === undefined ? (
          w.noSession
        ) : (
          <Link href={path}>
            <VisibleText text={known?.label ?? session} />
          </Link>
        )}
      </strong>
      {known ? <SessionStateBadge session={known} /> : null}
      <span className="muted small">{w.counts(calls.length, failed, open)}</span>
    </div>
  );
}
