import { Check, Circle, X } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { saveEdited } from "./call-form.tsx";

const words = defineWords({
  en: {
    title: "First steps",
    call: "Call a tool",
    callHow: "list_files shows what is in this folder. Press Run.",
    approve: "Approve a write",
    approveHow: "write asks first: look at the difference, then allow it once.",
    undo: "Undo it",
    undoHow: "Open the call and press Undo: the file is as it was.",
    hide: "Hide the first steps",
  },
  zh: {
    title: "第一步",
    call: "调用一个工具",
    callHow: "list_files 列出此文件夹的内容。点“运行”。",
    approve: "批准一次写入",
    approveHow: "write 会先询问：查看差异，然后允许一次。",
    undo: "撤销它",
    undoHow: "打开该调用并点“撤销”：文件恢复原样。",
    hide: "隐藏第一步",
  },
});

const HIDDEN = "haft.first-steps-hidden";

/** Call, approve, undo: shown until each was done once or the user hides it. */
export function FirstSteps() {
  const w = useWords(words);
  const [isHidden, setHidden] = useState(() => localStorage.getItem(HIDDEN) !== null);
  const calls = useApi("calls", "list", isHidden ? undefined : [{ limit: 100 }]).data?.items;
  const changes = useApi("undo", "list", isHidden ? undefined : [{ limit: 50 }]).data?.items ?? [];
  if (isHidden || !calls) return null;
  const hasCalled = calls.some(({ status }) => status === "completed");
  const approved = calls.find(({ approvalId, status }) => approvalId !== undefined && status === "completed");
  const hasUndone = changes.some(({ state }) => state === "undone");
  if (hasCalled && approved && hasUndone) return null;
  const write = (): void => saveEdited("write", { path: "hello.txt", content: "Hello from Haft\n" });
  return (
    <section className="panel first-steps" aria-label={w.title}>
      <Step done={hasCalled} title={w.call} how={w.callHow} href="/tools/list_files" />
      <Step done={approved !== undefined} title={w.approve} how={w.approveHow} href="/tools/write" onGo={write} />
      <Step
        done={hasUndone}
        title={w.undo}
        how={w.undoHow}
        href={approved ? `/calls/${encodeURIComponent(approved.callId)}` : "/calls"}
      />
      <button
        className="button plain small"
        aria-label={w.hide}
        title={w.hide}
        onClick={() => {
          localStorage.setItem(HIDDEN, "yes");
          setHidden(true);
        }}
      >
        <X size={15} aria-hidden />
      </button>
    </section>
  );
}

function Step(props: { done: boolean; title: string; how: string; href: string; onGo?: () => void }) {
  const Icon = props.done ? Check : Circle;
  return (
    <Link href={props.href} className={props.done ? "step done" : "step"} onClick={props.onGo}>
      <Icon size={18} aria-hidden />
      <span>
        <strong>{props.title}</strong>
        <span className="muted small">{props.how}</span>
      </span>
    </Link>
  );
}
