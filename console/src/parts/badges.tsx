import type { Verdict } from "../../../src/contracts/basics.ts";
import type { CallStatus } from "../../../src/contracts/calls.ts";
import { defineWords, useWords } from "../language.tsx";

const words = defineWords({
  kind: { readonly: ["reads", "只读"], write: ["changes", "修改"], execute: ["executes", "执行"] },
  decision: { allow: ["allowed", "允许"], ask: ["asks first", "先询问"], deny: ["denied", "拒绝"] },
  status: {
    waiting: ["waits for you", "等你处理"],
    running: ["running", "运行中"],
    completed: ["completed", "完成"],
    failed: ["failed", "失败"],
    denied: ["denied", "已拒绝"],
    unknown: ["outcome unknown", "结果未知"],
    pending: ["not started", "未开始"],
  },
});

export function KindBadge({ kind }: { kind: "readonly" | "write" | "execute" }) {
  const tone = { readonly: "ok", write: "warn", execute: "accent" }[kind];
  return <span className={`badge ${tone}`}>{useWords(words).kind[kind]}</span>;
}

/** `text`: of a rule, instead of what it did to a call. */
export function DecisionBadge(props: { verdict: Pick<Verdict, "decision"> & { reason?: string }; text?: string }) {
  const { verdict, text } = props;
  const names = useWords(words).decision;
  const tone = { allow: "ok", ask: "warn", deny: "bad" }[verdict.decision];
  return (
    <span className={`badge ${tone}`} title={verdict.reason}>
      {text ?? names[verdict.decision]}
    </span>
  );
}

/** The names of the states, for filters. */
export function useStatusNames(): Readonly<Record<CallStatus, string>> {
  return useWords(words).status;
}

const FAILED = { failed: "bad", denied: "", unknown: "warn" };

export function StatusBadge({ status }: { status: CallStatus }) {
  const tone = { waiting: "", running: "accent pulse", completed: "ok", ...FAILED, pending: "warn" }[status];
  return <span className={`badge ${tone}`}>{useWords(words).status[status]}</span>;
}
