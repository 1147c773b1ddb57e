import { ChevronDown, ChevronRight, CircleAlert, Check, X } from "lucide-react";
import { useCallback, useEffect, useState } from "react";
import type { ApprovalBatchItem } from "../../../../src/contracts/approvals.ts";
import { RiskLevel } from "../../../../src/contracts/basics.ts";
import { api, queries, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { countOf } from "../../parts/format.ts";
import { CallSubject } from "../../parts/call-subject.tsx";
import { openModal } from "../../parts/dialog.tsx";
import { Failure } from "../../parts/failure.tsx";
import { useFolds } from "../../parts/folds.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { useToolTitle } from "../../parts/tool-text.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { CallEffect } from "./call-effect.tsx";
import type { QueueItem } from "./queue.ts";
import { VirtualRows } from "./virtual-rows.tsx";

const words = defineWords({
  title: (count: number) => [`Answer ${countOf(count, "question")} together`, `一起回答 ${count} 个请求`],
  tools: ["Tools", "工具"],
  risks: ["Risk", "风险"],
  subjects: ["What they are about", "内容"],
  critical: (count: number) => [
    `${count} critical ${count === 1 ? "call is" : "calls are"} not approved here. Answer each on its own card.`,
    `${count} 个极高风险的调用不会在这里批准。请在各自的卡片上回答。`,
  ],
  unseen: (count: number) => [
    `${countOf(count, "call")} of which not everything is shown: not approved here. Answer each on its own card.`,
    `${count} 个调用没有显示全部内容，不会在这里批准。请在各自的卡片上回答。`,
  ],
  part: ["not all shown", "未全部显示"],
  reason: ["One reason for all (optional)", "统一的理由（可选）"],
  folded: (count: number) => [
    `${countOf(count, "call has", "calls have")} folded changes: not approved here until you unfold them.`,
    `${count} 个调用有折叠的修改，展开后才会在这里批准。`,
  ],
  allow: (count: number) => [`Approve ${count} once`, `批准 ${count} 个（一次）`],
  allowOpened: (count: number) => [`Approve the ${count} that you opened`, `批准你打开过的 ${count} 个`],
  refuse: (count: number) => [`Deny ${count}`, `拒绝 ${count} 个`],
  cancel: ["Cancel", "取消"],
  close: ["Close", "关闭"],
  progress: (done: number, count: number) => [`${done} of ${count} answered`, `已回答 ${done} / ${count}`],
  done: (count: number, failed: number) => [
    failed === 0 ? `${count} answered.` : `${count - failed} answered, ${failed} not.`,
    failed === 0 ? `已回答 ${count} 个。` : `已回答 ${count - failed} 个，${failed} 个未回答。`,
  ],
  approved: ["approved", "已批准"],
  denied: ["denied", "已拒绝"],
  failed: (why: string) => [`failed: ${why}`, `失败：${why}`],
});

/** The server takes at most 200 answers at once. */
const BATCH = 100;
const ROW_HEIGHT = 40;
/** So many rows are open at first. Of more calls, a person opens those to approve. */
const MAX_OPEN = 20;

interface BatchDialogProps {
  items: readonly QueueItem[];
  /** Called with what was answered. */
  onAnswered: (ids: readonly string[]) => void;
  onClose: () => void;
}

/** Several questions: what they are, one answer, and what became of each. */
export function BatchDialog(props: BatchDialogProps) {
  const w = useWords(words);
  // The list is that of the moment when the dialog was opened: answered questions leave the queue.
  const [items] = useState(props.items);
  const [reason, setReason] = useState("");
  const [results, setResults] = useState<ReadonlyMap<string, ApprovalBatchItem>>(new Map());
  const [busy, setBusy] = useState<number>();
  const [problem, setProblem] = useState<Error>();
  const [opened, setOpened] = useState<ReadonlySet<string>>(
    () => new Set(items.length > MAX_OPEN ? [] : items.map(({ id }) => id)),
  );
  // Whether what an opened row shows has no folded part. Only that is approved.
  const [seen, setSeen] = useState<ReadonlyMap<string, boolean>>(new Map());
  const markSeen = useCallback<BatchRowProps["onSeen"]>(
    (id, isWhole) => setSeen((now) => new Map([...now, [id, isWhole]])),
    [],
  );
  const toggle = (id: string): void =>
    setOpened(new Set(opened.has(id) ? [...opened].filter((each) => each !== id) : [...opened, id]));
  // What needs a second step is not approved by one yes for all.
  const critical = items.filter(({ level }) => level === "critical");
  const unseen = items.filter(({ level, approval }) => level !== "critical" && approval?.unseen !== undefined);
  const harmless = items.filter((item) => !critical.includes(item) && !unseen.includes(item));
  const shown = harmless.filter(({ id }) => seen.get(id));
  const folded = harmless.filter(({ id }) => seen.get(id) === false);
  const isDone = results.size > 0 && busy === undefined;

  const answer = async (chosen: readonly QueueItem[], decision: "once" | "deny"): Promise<void> => {
    setBusy(chosen.length);
    setProblem(undefined);
    const note = reason.trim() === "" ? undefined : reason.trim();
    try {
      for (let from = 0; from < chosen.length; from += BATCH) {
        const answers = chosen.slice(from, from + BATCH).map(({ id }) => ({ id, decision, reason: note }));
        const page = await api.approvals.answerMany({ answers });
        setResults((now) => new Map([...now, ...page.items.map((item) => [item.id, item] as const)]));
        props.onAnswered(page.items.flatMap((item) => ("answered" in item ? [item.id] : [])));
      }
    } catch (error) {
      setProblem(error instanceof Error ? error : new Error(String(error)));
    } finally {
      setBusy(undefined);
      void queries.invalidateQueries({ queryKey: ["approvals"] });
    }
  };
  const failed = [...results.values()].filter((item) => "error" in item).length;
  return (
    <dialog ref={openModal} className="dialog wide-dialog" aria-label={w.title(items.length)} onClose={props.onClose}>
      <h2>{w.title(items.length)}</h2>
      <dl className="facts">
        <dt>{w.risks}</dt>
        <dd className="row">
          {RiskLevel.options.toReversed().map((level) => {
            const count = items.filter((item) => item.level === level).length;
            return count === 0 ? null : (
              <span key={level}>
                {count} × <RiskBadge level={level} short />
              </span>
            );
          })}
        </dd>
        <dt>{w.tools}</dt>
        <dd>
          {countsOf(items).map(([tool, count], at) => (
            <span key={tool}>
              {at > 0 ? ", " : null}
              {count} × <VisibleText className="mono" text={tool} />
            </span>
          ))}
        </dd>
      </dl>
      <div className="batch-list">
        <VirtualRows
          label={w.subjects}
          rows={items}
          keyOf={({ id }) => id}
          heightOf={() => ROW_HEIGHT}
          currentKey={undefined}
          isMeasured
          overscan={MAX_OPEN}
        >
          {(item) => (
            <BatchRow
              item={item}
              result={results.get(item.id)}
              isOpen={opened.has(item.id)}
              onToggle={() => toggle(item.id)}
              onSeen={markSeen}
            />
          )}
        </VirtualRows>
      </div>
      {critical.length > 0 && !isDone ? <p className="notice warn">{w.critical(critical.length)}</p> : null}
      {unseen.length > 0 && !isDone ? <p className="notice warn">{w.unseen(unseen.length)}</p> : null}
      {folded.length > 0 && !isDone ? <p className="notice warn">{w.folded(folded.length)}</p> : null}
      {problem ? <Failure error={problem} /> : null}
      <p role="status" className={isDone ? (failed > 0 ? "notice bad" : "notice ok") : "sr-only"}>
        {busy === undefined ? (isDone ? w.done(results.size, failed) : "") : w.progress(results.size, busy)}
      </p>
      {isDone ? (
        <div className="row end">
          <Button
            look="primary"
            text={w.close}
            autoFocus
            onClick={({ currentTarget }) => currentTarget.closest("dialog")?.close()}
          />
        </div>
      ) : (
        <>
          <textarea
            className="textarea reason"
            aria-label={w.reason}
            placeholder={w.reason}
            rows={1}
            value={reason}
            onChange={({ target }) => setReason(target.value)}
          />
          <div className="row end">
            <Button
              look="plain"
              text={w.cancel}
              onClick={({ currentTarget }) => currentTarget.closest("dialog")?.close()}
            />
            <Button look="danger" icon={X} disabled={busy !== undefined} onClick={() => void answer(items, "deny")}>
              {w.refuse(items.length)}
            </Button>
            <Button
              look="primary"
              icon={Check}
              disabled={busy !== undefined || shown.length === 0}
              onClick={() => void answer(shown, "once")}
            >
              {shown.length === harmless.length ? w.allow(shown.length) : w.allowOpened(shown.length)}
            </Button>
          </div>
        </>
      )}
    </dialog>
  );
}

interface BatchRowProps {
  item: QueueItem;
  result: ApprovalBatchItem | undefined;
  isOpen: boolean;
  onToggle: () => void;
  onSeen: (id: string, isWhole: boolean) => void;
}

/** One question. It opens to what its call would do. */
function BatchRow({ item, result, isOpen, onToggle, onSeen }: BatchRowProps) {
  const w = useWords(words);
  const titleOf = useToolTitle();
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <div className="grow">
      <button type="button" className="line row-button batch-row" aria-expanded={isOpen} onClick={onToggle}>
        <Chevron size={15} aria-hidden />
        <RiskBadge level={item.level} short />
        <span className="muted small batch-tool cut">{titleOf(item) ?? item.toolName}</span>
        <span className="grow">
          <CallSubject subject={item.subject} />
        </span>
        {item.approval?.unseen === undefined || result ? null : <span className="badge warn">{w.part}</span>}
        {result ? <Outcome result={result} /> : null}
      </button>
      {isOpen ? <BatchEffect id={item.id} onSeen={onSeen} /> : null}
    </div>
  );
}

function BatchEffect({ id, onSeen }: { id: string; onSeen: BatchRowProps["onSeen"] }) {
  const query = useApi("approvals", "get", [id]);
  const [folded, countFolds] = useFolds();
  const isLoaded = query.data !== undefined;
  useEffect(() => {
    if (isLoaded) onSeen(id, folded === 0);
  }, [isLoaded, folded, id, onSeen]);
  return (
    <div className="batch-effect stack">
      <Loaded query={query} lines={4}>
        {(approval) => (
          <>
            {countFolds(<CallEffect approval={approval} />)}
            {approval.preview || approval.steps ? null : <JsonView value={approval.input} />}
          </>
        )}
      </Loaded>
    </div>
  );
}

function Outcome({ result }: { result: ApprovalBatchItem }) {
  const w = useWords(words);
  const why =
    "error" in result
      ? result.error.message
      : result.answered.approval.state === "approved" && result.answered.result?.status === "failed"
        ? result.answered.result.error.message
        : undefined;
  if (why !== undefined) {
    return (
      <span className="cut batch-outcome field-error small" title={why}>
        <CircleAlert size={13} aria-hidden /> <VisibleText text={w.failed(why)} />
      </span>
    );
  }
  const isApproved = "answered" in result && result.answered.approval.state === "approved";
  return <span className={isApproved ? "badge ok" : "badge bad"}>{isApproved ? w.approved : w.denied}</span>;
}

function countsOf(items: readonly QueueItem[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const { toolName } of items) counts.set(toolName, (counts.get(toolName) ?? 0) + 1);
  return [...counts].sort(([, one], [, other]) => other - one);
}
