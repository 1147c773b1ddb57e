import { ShieldCheck } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import type { ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import { useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { ApprovalCard } from "./approval-card.tsx";
import { BatchBar } from "./batch-bar.tsx";
import { ServerQuestions, useOpenQuestions } from "./server-questions.tsx";

const words = defineWords({
  en: {
    title: "Approvals",
    lead: "Calls that wait for your approval. You see everything that will run, and an approval is valid once.",
    open: "Pending",
    answered: "Answered",
    nothing: "No pending approvals",
    nothingLead: "When a call needs an approval, it appears here and in the title of this tab.",
    noneAnswered: "No approval was answered yet",
    keys: "keys",
    allow: "approve once",
    refuse: "deny",
    down: "next",
    up: "previous",
    states: { pending: "pending", approved: "approved", denied: "denied", expired: "expired" } as Record<
      string,
      string
    >,
    select: (tool: string) => `Select ${tool}`,
  },
  zh: {
    title: "审批",
    lead: "等待许可的调用。你看到的就是将要运行的全部，一次许可只算一次。",
    open: "待处理",
    answered: "已处理",
    nothing: "没有等待你处理的请求",
    nothingLead: "工具需要询问时，问题会立即出现在这里和标签页标题中。",
    noneAnswered: "还没有处理过请求",
    keys: "按键",
    allow: "批准一次",
    refuse: "拒绝",
    down: "下一个",
    up: "上一个",
    states: { pending: "待处理", approved: "已批准", denied: "已拒绝", expired: "已过期" } as Record<string, string>,
    select: (tool: string) => `选择 ${tool}`,
  },
});

export default function ApprovalsView() {
  const w = useWords(words);
  const [location, go] = useLocation();
  const wanted = decodeURIComponent(location.split("/")[2] ?? "");
  const [tab, setTab] = useState<"open" | "answered">("open");
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const { data, error, refetch } = useApi("approvals", "list", []);
  const hasQuestions = useApi("server", "info", []).data?.parts.includes("questions") ?? false;
  const questions = useOpenQuestions(hasQuestions);
  const all = data?.items ?? [];
  const shown = all.filter(({ state }) => (state === "pending") === (tab === "open"));
  const current = all.find(({ id }) => id === wanted) ?? shown[0];
  const at = shown.findIndex(({ id }) => id === current?.id);
  const move = (by: number) => () => {
    const next = shown[Math.min(Math.max(at + by, 0), shown.length - 1)];
    if (next) go(`/approvals/${next.id}`);
  };
  useKeys({ j: move(1), k: move(-1) });
  const toggle = (id: string): void => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  const chosen = shown.filter(({ id, state }) => state === "pending" && selected.has(id));

  return (
    <PageFrame
      title={w.title}
      lead={w.lead}
      actions={
        <Tabs
          label={w.title}
          tabs={[
            ["open", w.open],
            ["answered", w.answered],
          ]}
          chosen={tab}
          onChoose={(next) => {
            setTab(next);
            go("/approvals");
          }}
        />
      }
    >
      {error ? <Failure error={error} again={() => void refetch()} /> : null}
      {tab === "open" ? <ServerQuestions questions={questions} /> : null}
      {tab === "open" && questions.length > 0 && shown.length === 0 && !current ? null : data &&
        shown.length === 0 &&
        !current ? (
        <div className="panel">
          <Empty icon={ShieldCheck} title={tab === "open" ? w.nothing : w.noneAnswered}>
            {tab === "open" ? <p>{w.nothingLead}</p> : null}
          </Empty>
        </div>
      ) : (
        <div className={shown.length > 1 ? "split" : "stack"}>
          {shown.length > 1 ? (
            <section className="panel" aria-label={w[tab]}>
              <ul className="rows">
                {shown.map((approval) => (
                  <li key={approval.id} className="row-with-check">
                    {approval.state === "pending" ? (
                      <input
                        type="checkbox"
                        aria-label={w.select(approval.toolName)}
                        checked={selected.has(approval.id)}
                        onChange={() => toggle(approval.id)}
                      />
                    ) : null}
                    <Link href={`/approvals/${approval.id}`} aria-current={approval.id === current?.id}>
                      <span className="row">
                        <strong className="mono grow cut">{approval.toolName}</strong>
                        <span className="small muted">
                          <TimeAgo at={approval.askedAt} />
                        </span>
                      </span>
                      <span className="small muted cut">
                        <VisibleText
                          text={approval.state === "pending" ? summary(approval) : (w.states[approval.state] ?? "")}
                        />
                      </span>
                    </Link>
                  </li>
                ))}
              </ul>
              {chosen.length > 0 ? <BatchBar approvals={chosen} onDone={() => setSelected(new Set())} /> : null}
            </section>
          ) : null}
          {current ? <ApprovalCard key={current.id} approval={current} /> : null}
        </div>
      )}
      <p className="small muted keys">
        <kbd className="key">y</kbd> {w.allow} <kbd className="key">n</kbd> {w.refuse} <kbd className="key">j</kbd>{" "}
        {w.down} <kbd className="key">k</kbd> {w.up}
      </p>
    </PageFrame>
  );
}

function summary({ preview, input }: ApprovalInfo): string {
  return preview?.title ?? JSON.stringify(input);
}
