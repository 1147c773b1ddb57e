import { CircleAlert, Check, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { ApprovalBatchItem } from "../../../../src/contracts/approvals.ts";
import { RiskLevel } from "../../../../src/contracts/basics.ts";
import { api, queries } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { countOf } from "../../parts/format.ts";
import { CallSubject } from "../../parts/call-subject.tsx";
import { Failure } from "../../parts/failure.tsx";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { useToolTitle } from "../../parts/tool-text.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import type { QueueItem } from "./queue.ts";
import { VirtualRows } from "./virtual-rows.tsx";

const words = defineWords({
  en: {
    title: (count: number) => `Answer ${countOf(count, "question")} together`,
    tools: "Tools",
    risks: "Risk",
    subjects: "What they are about",
    critical: (count: number) =>
      `${count} critical ${count === 1 ? "call is" : "calls are"} not approved here. Answer each on its own card.`,
    reason: "One reason for all (optional)",
    allow: (count: number) => `Approve ${count} once`,
    refuse: (count: number) => `Deny ${count}`,
    cancel: "Cancel",
    close: "Close",
    progress: (done: number, count: number) => `${done} of ${count} answered`,
    done: (count: number, failed: number) =>
      failed === 0 ? `${count} answered.` : `${count - failed} answered, ${failed} not.`,
    approved: "approved",
    denied: "denied",
    failed: (why: string) => `failed: ${why}`,
  },
  zh: {
    title: (count: number) => `一起回答 ${count} 个请求`,
    tools: "工具",
    risks: "风险",
    subjects: "内容",
    critical: (count: number) => `${count} 个极高风险的调用不会在这里批准。请在各自的卡片上回答。`,
    reason: "统一的理由（可选）",
    allow: (count: number) => `批准 ${count} 个（一次）`,
    refuse: (count: number) => `拒绝 ${count} 个`,
    cancel: "取消",
    close: "关闭",
    progress: (done: number, count: number) => `已回答 ${done} / ${count}`,
    done: (count: number, failed: number) =>
      failed === 0 ? `已回答 ${count} 个。` : `已回答 ${count - failed} 个，${failed} 个未回答。`,
    approved: "已批准",
    denied: "已拒绝",
    failed: (why: string) => `失败：${why}`,
  },
});

/** The server takes at most 200 answers at once. */
const BATCH = 100;
const ROW_HEIGHT = 40;

interface BatchDialogProps {
  items: readonly QueueItem[];
  /** Called with what was answered. */
  onAnswered: (ids: readonly string[]) => void;
  onClose: () => void;
}

/** Several questions: what they are, one answer, and what became of each. */
export function BatchDialog(props: BatchDialogProps) {
  const w = useWords(words);
  const dialog = useRef<HTMLDialogElement>(null);
  // The list is that of the moment when the dialog was opened: answered questions leave the queue.
  const [items] = useState(props.items);
  const [reason, setReason] = useState("");
  const [results, setResults] = useState<ReadonlyMap<string, ApprovalBatchItem>>(new Map());
  const [busy, setBusy] = useState<number>();
  const [problem, setProblem] = useState<Error>();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const harmless = items.filter(({ level }) => level !== "critical");
  const critical = items.length - harmless.length;
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
    <dialog ref={dialog} className="batch-dialog" aria-label={w.title(items.length)} onClose={props.onClose}>
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
              {count} ×{" "}
              <span className="mono">
                <VisibleText text={tool} />
              </span>
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
        >
          {(item) => <BatchRow item={item} result={results.get(item.id)} />}
        </VirtualRows>
      </div>
      {critical > 0 && !isDone ? <p className="notice warn">{w.critical(critical)}</p> : null}
      {problem ? <Failure error={problem} /> : null}
      <p role="status" className={isDone ? (failed > 0 ? "notice bad" : "notice ok") : "sr-only"}>
        {busy === undefined ? (isDone ? w.done(results.size, failed) : "") : w.progress(results.size, busy)}
      </p>
      {isDone ? (
        <div className="row end">
          <button className="button primary" autoFocus onClick={() => dialog.current?.close()}>
            {w.close}
          </button>
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
            <button className="button plain" onClick={() => dialog.current?.close()}>
              {w.cancel}
            </button>
            <button className="button danger" disabled={busy !== undefined} onClick={() => void answer(items, "deny")}>
              <X size={16} aria-hidden /> {w.refuse(items.length)}
            </button>
            <button
              className="button primary"
              disabled={busy !== undefined || harmless.length === 0}
              onClick={() => void answer(harmless, "once")}
            >
              <Check size={16} aria-hidden /> {w.allow(harmless.length)}
            </button>
          </div>
        </>
      )}
    </dialog>
  );
}

function BatchRow({ item, result }: { item: QueueItem; result: ApprovalBatchItem | undefined }) {
  const titleOf = useToolTitle();
  return (
    <div className="batch-row">
      <RiskBadge level={item.level} short />
      <span className="muted small batch-tool cut">{titleOf(item) ?? item.toolName}</span>
      <span className="grow">
        <CallSubject subject={item.subject} />
      </span>
      {result ? <Outcome result={result} /> : null}
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
      <span className="batch-outcome field-error small" title={why}>
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
