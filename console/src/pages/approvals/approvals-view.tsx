import { Bell, BellRing, Keyboard, ShieldCheck, Sparkles } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import type { ApprovalAnswerRequest, ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import { api, queries, useApi } from "../../api.ts";
import { pathPart } from "../../hash-location.ts";
import { defineWords, useWords } from "../../language.tsx";
import { loadWithRetry } from "../../lazy-page.tsx";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { Select } from "../../parts/select.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { useToolTitle } from "../../parts/tool-text.ts";
import { useMedia } from "../../parts/use-media.ts";
import { useKeys } from "../../parts/use-keys.ts";
import { AnswerLines } from "./answer-lines.tsx";
import { ApprovalCard } from "./approval-card.tsx";
import "./approvals.css";
import { BatchDialog } from "./batch-dialog.tsx";
import { HistoryList } from "./history-list.tsx";
import { isBatchable, type QueueItem } from "./queue.ts";
import { QueueFilters } from "./queue-filters.tsx";
import { QueueList } from "./queue-list.tsx";
import { useAlertSetting } from "./use-alerts.ts";
import { type AnswerLine, type Answers, canRevert, useAnswers } from "./use-answers.ts";
import { type Queue, useQueue, useQueueView } from "./use-queue.ts";

const words = defineWords({
  title: ["Approvals", "审批"],
  lead: [
    "Calls waiting for approval, and questions to you. An approval covers the one call on its card.",
    "等待批准的调用，以及向你提出的问题。每次批准只对卡片上的那一次调用有效。",
  ],
  open: ["Pending", "待处理"],
  answered: ["Answered", "已处理"],
  nothing: ["No pending approvals", "没有等待你处理的请求"],
  nothingLead: [
    "When a call needs approval, it appears here and in the title of this tab.",
    "需要批准的调用会出现在这里，并显示在标签页标题中。",
  ],
  noneFound: ["No pending approval matches the filters", "没有符合筛选条件的待处理请求"],
  noneAnswered: ["No approval was answered yet", "还没有处理过请求"],
  older: ["The newest 1,000. Older ones are in the audit log.", "最近 1,000 个。更早的在审计日志中。"],
  fresh: (count: number) => [`${count} new`, `${count} 个新请求`],
  arrange: ["Sort again", "重新排序"],
  selected: (count: number) => [`${count} selected`, `已选择 ${count} 个`],
  batch: ["Answer together", "一起回答"],
  clear: ["Clear", "清除"],
  keys: ["Keys", "按键"],
  alerts: ["Notifications of this browser", "此浏览器的通知"],
  alertChoices: {
    off: ["No notifications", "不通知"],
    plain: ["Notify, without details", "通知，不含详情"],
    details: ["Notify, with details", "通知，含详情"],
  },
  came: (count: number, what: string) => [
    count === 1 ? `New question: ${what}` : `${count} new questions`,
    count === 1 ? `新请求：${what}` : `${count} 个新请求`,
  ],
  gone: (count: number) => [
    count === 1 ? "A question is no longer open" : `${count} questions are no longer open`,
    count === 1 ? "一个请求已不再等待" : `${count} 个请求已不再等待`,
  ],
  keyNames: {
    down: ["Next question (also ↓)", "下一个请求（也可用 ↓）"],
    up: ["Previous question (also ↑)", "上一个请求（也可用 ↑）"],
    select: ["Select or deselect the question", "选择或取消选择该请求"],
    range: ["Select everything up to the question", "选择到该请求为止"],
    all: ["Select all, or none", "全选或全不选"],
    batch: ["Answer the selected questions together", "一起回答所选请求"],
    undo: ["Undo the last approved call", "撤销最近批准的调用"],
    redo: ["Redo what was undone last", "重做最近撤销的内容"],
    arrange: ["Sort again, with the new questions", "重新排序，包含新请求"],
  },
  said: {
    approved: ["Approved", "已批准"],
    denied: ["Denied", "已拒绝"],
    answered: ["Answered", "已回答"],
    unsent: ["Not sent", "未送达"],
  },
  saidOf: (said: string, what: string) => [`${said}: ${what}`, `${said}：${what}`],
});

/** Its form is a third of the code of this page, and few servers ask. */
const QuestionCard = lazy(() => loadWithRetry(() => import("./question-card.tsx")));

export default function ApprovalsView() {
  const w = useWords(words);
  const { tab, chooseTab } = useQueueView();
  const answers = useAnswers();
  return (
    <PageFrame
      className="approvals-page"
      title={w.title}
      lead={w.lead}
      actions={
        <>
          <AlertChoice />
          <Button look="plain show-keys" icon={Keyboard} hotkey="?" label={w.keys} onClick={showKeys} />
          <Tabs label={w.title} tabs={{ open: w.open, answered: w.answered }} chosen={tab} onChoose={chooseTab} />
        </>
      }
    >
      {tab === "open" ? <OpenApprovals answers={answers} /> : <AnsweredApprovals answers={answers} />}
    </PageFrame>
  );
}

/** The help belongs to the frame of the console. */
function showKeys(): void {
  dispatchEvent(new KeyboardEvent("keydown", { key: "?" }));
}

function AlertChoice() {
  const w = useWords(words);
  const [setting, choose] = useAlertSetting();
  const Icon = setting === "off" ? Bell : BellRing;
  if (!("Notification" in globalThis)) return null;
  return (
    <label className="inline alert-choice" title={w.alerts}>
      <Icon size={16} aria-hidden />
      <Select
        className="narrow small"
        label={w.alerts}
        value={setting}
        options={(["off", "plain", "details"] as const).map((each) => [each, w.alertChoices[each]] as const)}
        onChoose={(each) => void choose(each)}
      />
    </label>
  );
}

function OpenApprovals({ answers }: { answers: Answers }) {
  const w = useWords(words);
  const [path, go] = useLocation();
  const { view, change, addressOf } = useQueueView();
  const queue = useQueue(view, answers.answered);
  const [selection, select] = useSelection(queue.items);
  const [isBatchOpen, setBatchOpen] = useState(false);
  const isNarrow = useMedia(NARROW);
  const { items } = queue;
  const wanted = pathPart(path, 2);
  const current = items.find(({ id }) => id === wanted);
  const openItems = items.filter(({ isGone }) => !isGone);
  const announcement = useQueueNews(queue, answers);

  // A wide screen always has a card, and its address names it: nothing that comes later takes its place.
  const [first] = openItems;
  useEffect(() => {
    if (wanted === "" && first && !isNarrow) go(addressOf(first.id), { replace: true });
  }, [wanted, first, isNarrow, go, addressOf]);

  const show = (item: QueueItem | undefined): void => {
    if (item) go(addressOf(item.id), { replace: true });
  };
  const neighbour = (by: number): QueueItem | undefined => {
    const at = items.findIndex(({ id }) => id === wanted);
    for (let next = at + by; next >= 0 && next < items.length; next += by) {
      if (!items[next]?.isGone) return items[next];
    }
    return at === -1 ? first : undefined;
  };
  // If the person has left the card meanwhile, nothing moves. With nothing left the card stays, and shows the result.
  const leave = useRef<(id: string) => void>(undefined);
  leave.current = (id) => {
    if (id === wanted) show(neighbour(1) ?? neighbour(-1));
  };
  // Nor if the person has left the page: the answer may be confirmed seconds later.
  useEffect(() => () => void (leave.current = undefined), []);
  const answer = (approval: ApprovalInfo, request: ApprovalAnswerRequest): void =>
    answers.answer(approval, request, () => leave.current?.(approval.id));
  // The next card is fetched while the user reads this one.
  const nextId = neighbour(1)?.approval?.id;
  useEffect(() => {
    if (nextId === undefined) return;
    void queries.prefetchQuery({
      queryKey: ["approvals", "get", nextId],
      queryFn: ({ signal }) => api.approvals.get(nextId, { signal }),
    });
  }, [nextId]);

  // Only the last one: the same key twice does not reach an earlier call.
  const last = answers.lines.find((line) => canRevert(line) || line.state === "undoing");
  const revert = (state: AnswerLine["state"]): void => {
    if (last?.state === state) answers.revert(last);
  };
  const toggle = (isRange: boolean): void => {
    if (current && isBatchable(current)) select([current.id], { isRange });
  };
  const selectAll = (): void => {
    const ids = openItems.filter(isBatchable).map(({ id }) => id);
    select(ids, { isRange: false });
  };
  const goDown = { label: w.keyNames.down, run: () => show(neighbour(1)) };
  const goUp = { label: w.keyNames.up, run: () => show(neighbour(-1)) };
  useKeys({
    j: goDown,
    k: goUp,
    ArrowDown: goDown.run,
    ArrowUp: goUp.run,
    x: { label: w.keyNames.select, run: () => toggle(false) },
    X: { label: w.keyNames.range, run: () => toggle(true) },
    A: { label: w.keyNames.all, run: selectAll },
    b: { label: w.keyNames.batch, run: () => setBatchOpen(selection.size > 0) },
    u: { label: w.keyNames.undo, run: () => revert("ended") },
    U: { label: w.keyNames.redo, run: () => revert("undone") },
    ".": { label: w.keyNames.arrange, run: queue.arrange },
  });

  const isEmpty = queue.isLoaded && items.length === 0;
  const isFiltered = queue.all.some(({ id }) => !answers.answered.has(id));
  return (
    <>
      <p className="sr-only" role="status" aria-live="polite">
        {announcement}
      </p>
      {queue.error ? <Failure error={queue.error} again={queue.refetch} /> : null}
      <AnswerLines answers={answers} currentId={wanted} addressOf={addressOf} />
      <div className={wanted === "" ? "approvals-split" : "approvals-split has-card"}>
        <section className="panel queue-panel" aria-label={w.open}>
          <QueueFilters view={view} all={queue.all} onChange={change} />
          <FreshBar queue={queue} isSorted={view.sort === "age" && !view.bySession} />
          {!queue.isLoaded && !queue.error ? (
            <Skeleton lines={6} />
          ) : isEmpty ? (
            <Empty
              icon={ShieldCheck}
              title={isFiltered ? w.noneFound : w.nothing}
              lead={isFiltered ? undefined : w.nothingLead}
            />
          ) : (
            <QueueList
              label={w.open}
              items={items}
              bySession={view.bySession}
              currentId={wanted}
              selected={selection}
              addressOf={addressOf}
              onSelect={select}
            />
          )}
          {selection.size > 0 ? (
            <div className="line batch">
              <span className="grow">{w.selected(selection.size)}</span>
              <Button look="small plain" text={w.clear} onClick={() => select([...selection], { isRange: false })} />
              <Button look="small primary" hotkey="b" text={w.batch} onClick={() => setBatchOpen(true)} />
            </div>
          ) : null}
        </section>
        <div className="card-place">
          {current?.question ? (
            <Suspense key={current.id} fallback={<Skeleton lines={6} />}>
              <QuestionCard question={current.question} backTo={addressOf()} />
            </Suspense>
          ) : wanted !== "" && !wanted.startsWith("question-") ? (
            <LoadedCard key={wanted} id={wanted} backTo={addressOf()} lines={answers.lines} onAnswer={answer} />
          ) : null}
        </div>
      </div>
      {isBatchOpen ? (
        <BatchDialog
          items={items.filter(({ id }) => selection.has(id))}
          onAnswered={answers.markAnswered}
          onClose={() => {
            setBatchOpen(false);
            if (!current || current.isGone) show(first);
          }}
        />
      ) : null}
    </>
  );
}

/** New questions are at the end of the list; this says so, and sorts them in. */
function FreshBar({ queue, isSorted }: { queue: Queue; isSorted: boolean }) {
  const w = useWords(words);
  const { fresh } = queue;
  if (fresh.length === 0 || isSorted) return null;
  const critical = fresh.filter(({ level }) => level === "critical").length;
  return (
    <div className="line fresh-bar">
      <Sparkles size={14} aria-hidden />
      <span className="grow">
        {w.fresh(fresh.length)}{" "}
        {critical > 0 ? (
          <>
            · {critical} × <RiskBadge level="critical" short />
          </>
        ) : null}
      </span>
      <Button look="small" hotkey="." text={w.arrange} onClick={queue.arrange} />
    </div>
  );
}

function LoadedCard(props: {
  id: string;
  backTo: string;
  lines: Answers["lines"];
  onAnswer: (approval: ApprovalInfo, request: ApprovalAnswerRequest) => void;
}) {
  const { data, error, refetch } = useApi("approvals", "get", [props.id]);
  if (error && !data) return <Failure error={error} again={() => void refetch()} />;
  if (!data) {
    return (
      <div className="panel card-loading">
        <Skeleton lines={8} />
      </div>
    );
  }
  const line = props.lines.find(({ id }) => id === props.id);
  const answer = (request: ApprovalAnswerRequest): void => props.onAnswer(data, request);
  return <ApprovalCard approval={data} backTo={props.backTo} line={line} onAnswer={answer} />;
}

function AnsweredApprovals({ answers }: { answers: Answers }) {
  const w = useWords(words);
  const [path, go] = useLocation();
  const { addressOf } = useQueueView();
  const { data, error, refetch } = useApi("approvals", "list", [{ state: "answered", brief: true }]);
  const isNarrow = useMedia(NARROW);
  const shown = useMemo(
    () =>
      (data?.items ?? []).toSorted(
        (one, other) => (other.answeredAt ?? other.askedAt) - (one.answeredAt ?? one.askedAt),
      ),
    [data],
  );
  const wanted = pathPart(path, 2);
  const [first] = shown;
  useEffect(() => {
    if (wanted === "" && first && !isNarrow) go(addressOf(first.id), { replace: true });
  }, [wanted, first, isNarrow, go, addressOf]);
  const move = (by: number): void => {
    const next = shown[shown.findIndex(({ id }) => id === wanted) + by];
    if (next) go(addressOf(next.id), { replace: true });
  };
  useKeys({
    j: { label: w.keyNames.down, run: () => move(1) },
    k: { label: w.keyNames.up, run: () => move(-1) },
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
  });
  return (
    <>
      {error ? <Failure error={error} again={() => void refetch()} /> : null}
      <div className={wanted === "" ? "approvals-split" : "approvals-split has-card"}>
        <section className="panel queue-panel" aria-label={w.answered}>
          {data && shown.length === 0 ? (
            <Empty icon={ShieldCheck} title={w.noneAnswered} />
          ) : (
            <HistoryList label={w.answered} approvals={shown} currentId={wanted} addressOf={addressOf} />
          )}
          {shown.length >= 1000 ? <p className="small muted queue-note">{w.older}</p> : null}
        </section>
        <div className="card-place">
          {wanted === "" ? null : (
            <LoadedCard key={wanted} id={wanted} backTo={addressOf()} lines={answers.lines} onAnswer={answers.answer} />
          )}
        </div>
      </div>
    </>
  );
}

type Select = (ids: readonly string[], options: { isRange: boolean }) => void;

/** Selected questions that are still open. Selecting what is selected deselects it. */
function useSelection(items: readonly QueueItem[]): [ReadonlySet<string>, Select] {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<string>(undefined);
  const open = useMemo(() => new Set(items.filter(isBatchable).map(({ id }) => id)), [items]);
  const shown = useMemo(() => new Set([...selected].filter((id) => open.has(id))), [selected, open]);
  const select: Select = (ids, { isRange }) => {
    const [id] = ids;
    if (id === undefined) return;
    const order = [...open];
    const from = last.current === undefined ? -1 : order.indexOf(last.current);
    const to = order.indexOf(id);
    last.current = ids.length === 1 ? id : undefined;
    if (isRange && from !== -1 && to !== -1) {
      setSelected(new Set([...shown, ...order.slice(Math.min(from, to), Math.max(from, to) + 1)]));
      return;
    }
    const isAll = ids.every((each) => shown.has(each));
    setSelected(isAll ? new Set([...shown].filter((each) => !ids.includes(each))) : new Set([...shown, ...ids]));
  };
  return [shown, select];
}

/** What screen readers say: new questions, answers, and questions that are gone. */
function useQueueNews({ items, isLoaded }: Queue, { lines }: Answers): string {
  const w = useWords(words);
  const titleOf = useToolTitle();
  const [news, setNews] = useState("");
  const known = useRef<ReadonlyMap<string, QueueItem>>(undefined);
  useEffect(() => {
    if (!isLoaded) return;
    const before = known.current;
    known.current = new Map(items.map((item) => [item.id, item]));
    if (!before) return;
    const came = items.filter(({ id }) => !before.has(id));
    const gone = items.filter(({ id, isGone }) => isGone && before.get(id)?.isGone !== true);
    const [first] = came;
    if (first) setNews(w.came(came.length, `${titleOf(first) ?? first.toolName} ${first.subject.text}`));
    else if (gone.length > 0) setNews(w.gone(gone.length));
  }, [items, isLoaded, w]);
  const [latest] = lines;
  const state = latest?.state === "unsent" ? "unsent" : latest ? SAID[latest.request.decision] : "approved";
  const isSending = latest?.state === "sending";
  useEffect(() => {
    if (!latest || isSending) return;
    const { approval } = latest;
    setNews(w.saidOf(w.said[state], `${titleOf(approval) ?? approval.toolName} ${approval.subject.text}`));
  }, [latest?.id, isSending, state, w]);
  return news;
}

const SAID = {
  once: "approved",
  session: "approved",
  always: "approved",
  answer: "answered",
  deny: "denied",
} as const;

/** The list and the card are two screens. */
const NARROW = "(max-width: 960px)";
