import { ArrowLeft, Pencil, RotateCw, Square, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import type { CallDetail } from "../../../../src/contracts/calls.ts";
import { api, queries, useApi } from "../../api.ts";
import { pathPart } from "../../hash-location.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { useCardOf } from "../../needs-you.ts";
import { DecisionBadge, KindBadge } from "../../parts/badges.tsx";
import { Button } from "../../parts/button.tsx";
import { callerText, SessionLink } from "../../parts/caller-name.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { Facts } from "../../parts/facts.tsx";
import { formatDateTime, formatDuration } from "../../parts/format.ts";
import { JsonView } from "../../parts/json-view.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { ResultView } from "../../parts/result-view.tsx";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { VerdictText } from "../../parts/localized.tsx";
import { Panel } from "../../parts/panel.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { TerminalText } from "../../parts/terminal-text.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { callPath, useCallActions } from "./call-actions.ts";
import { CallState, useReason } from "./call-state.tsx";
import { CallTimeline } from "./call-tree.tsx";
import { CopyAs } from "./copy-as.tsx";
import { UndoChanges } from "./undo-changes.tsx";
import { News } from "./news.tsx";
import { lastListPath } from "./work-filter.ts";

const words = defineWords({
  back: ["All calls", "全部调用"],
  input: ["Input", "输入"],
  noInput: ["The input of this call was not recorded.", "记录中没有此调用的输入。"],
  result: ["Result", "结果"],
  updates: ["Output while it ran", "运行时的输出"],
  replay: ["Replay", "重放"],
  replayHint: ["The same call with the same input and a new id", "以相同输入和新 id 再次调用"],
  edit: ["Edit and run…", "修改后运行…"],
  editHint: ["Change the input first", "先修改输入"],
  cancel: ["Stop", "停止"],
  caller: ["Caller", "调用者"],
  session: ["Session", "会话"],
  nobody: ["no name given", "未命名"],
  state: ["State", "状态"],
  undone: ["undone", "已撤销"],
  verdicts: {
    allow: ["Why it was allowed", "为何允许"],
    ask: ["Why it asks", "为何询问"],
    deny: ["Why it was refused", "为何拒绝"],
  },
  when: ["When", "时间"],
  took: ["Took", "用时"],
  ran: ["ran", "运行"],
  waited: ["waited for a person", "等待审批"],
  queued: ["was queued", "排队"],
  approval: ["Approval", "审批"],
  waits: ["It waits for your answer.", "它在等待你的回答。"],
  childWaits: ["A call that it made waits for your answer.", "它发起的一个调用在等待你的回答。"],
  rule: ["The rule", "该规则"],
  show: ["Open the card", "打开卡片"],
  parent: ["Part of", "属于"],
  entries: ["Log entries", "日志记录"],
  id: ["Id", "Id"],
  keys: {
    back: ["back to the list", "返回列表"],
    undo: ["undo its changes", "撤销其修改"],
    again: ["run it again", "再次运行"],
  },
});

/** One call: what it did, why it was allowed, when each part happened, and what can be done with it. */
export default function CallDetailView() {
  const w = useWords(words);
  const [path, go] = useLocation();
  // The page of one call: another one has another key.
  const [callId] = useState(() => pathPart(path, 2));
  const query = useApi("calls", "get", [callId]);
  const actions = useCallActions({ opensReplay: true });
  const [failure, act] = useAction();
  const call = query.data;
  const isLive = call?.status === "running" || call?.status === "waiting";
  const back = (): void => go(lastListPath());
  useKeys({
    Escape: { label: w.keys.back, run: back },
    u: { label: w.keys.undo, run: () => call && actions.undo(call) },
    r: { label: w.keys.again, run: () => call && actions.replay(call) },
  });
  return (
    <PageFrame
      title={call?.toolName ?? callId}
      lead={call ? <Lead call={call} /> : undefined}
      actions={
        <>
          <Button look="plain" icon={ArrowLeft} text={w.back} href={lastListPath()} />
          {isLive ? (
            <Button look="danger" icon={Square} text={w.cancel} onClick={() => act(api.calls.cancel(callId))} />
          ) : null}
          {call ? (
            <>
              <Button icon={Pencil} text={w.edit} title={w.editHint} onClick={() => actions.edit(call)} />
              <Button icon={RotateCw} text={w.replay} title={w.replayHint} onClick={() => actions.replay(call)} />
            </>
          ) : null}
        </>
      }
    >
      <News actions={actions} />
      {failure}
      <Loaded query={query}>{(loaded) => <Detail call={loaded} />}</Loaded>
    </PageFrame>
  );
}

function Lead({ call }: { call: CallDetail }) {
  return call.subject ? <CallSubject subject={call.subject} /> : <VisibleText text={call.display ?? ""} />;
}

function Detail({ call }: { call: CallDetail }) {
  const w = useWords(words);
  const { callId } = call;
  const tree = useApi("calls", "tree", [callId]);
  const card = useCardOf()(call);
  // The log has the input of a call and why it asks only when it goes on: its card has them now.
  const isAsked = call.status === "waiting" && call.approvalId !== undefined;
  const asked = useApi("approvals", "get", isAsked ? [call.approvalId ?? ""] : undefined).data;
  const input = call.input ?? asked?.input;
  const output = call.updates.flatMap(({ content = [] }) =>
    content.map((part) => (part.type === "text" ? part.text : "")),
  );
  return (
    <>
      {card !== undefined ? (
        <div className="notice warn call-question">
          <span className="grow">{call.status === "running" ? w.childWaits : w.waits}</span>
          <Button look="small" text={w.show} href={card} />
        </div>
      ) : null}
      <CallReason call={call} />
      <section className="panel">
        <div className="body">
          <CallFacts call={asked ? { ...call, verdict: asked.verdict } : call} asks={card !== undefined} />
        </div>
      </section>
      {call.kind === "readonly" ? null : (
        <UndoChanges callId={callId} onUndone={() => void queries.invalidateQueries()} />
      )}
      {tree.data ? <CallTimeline tree={tree.data} callId={callId} /> : null}
      <Panel title={w.input} actions={<CopyAs toolName={call.toolName} input={input ?? {}} />}>
        {input === undefined ? <p className="muted">{w.noInput}</p> : <JsonView value={input} />}
      </Panel>
      {call.result === undefined && output.length > 0 ? (
        <Panel title={w.updates}>
          <pre className="code">
            <TerminalText text={output.join("")} />
          </pre>
        </Panel>
      ) : null}
      {call.result ? (
        <Panel title={w.result}>
          <ResultView result={call.result} isOfPage />
        </Panel>
      ) : null}
    </>
  );
}

/** Why it did not succeed, before everything else. */
function CallReason({ call }: { call: CallDetail }) {
  const reason = useReason(call);
  if (!reason) return null;
  return (
    <div className={`notice ${call.status === "unknown" ? "warn" : "bad"}`}>
      <TriangleAlert size={18} aria-hidden />
      <div className="grow pre words">
        {reason.known} {reason.said === undefined ? null : <VisibleText lang="en" text={reason.said} />}
        {call.errorCode && reason.known === undefined ? <span className="mono small"> ({call.errorCode})</span> : null}
      </div>
    </div>
  );
}

function CallFacts({ call, asks }: { call: CallDetail; asks: boolean }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const { caller, verdict, runMs, waitedMs, queuedMs } = call;
  const changes =
    useApi("undo", "list", call.kind === "readonly" ? undefined : [{ call: call.callId }]).data?.items ?? [];
  const isUndone = changes.length > 0 && changes.every(({ state }) => state === "undone");
  const times = [
    runMs === undefined ? "" : `${w.ran} ${formatDuration(runMs)}`,
    queuedMs === undefined ? "" : `${w.queued} ${formatDuration(queuedMs)}`,
    waitedMs === undefined ? "" : `${w.waited} ${formatDuration(waitedMs)}`,
  ].filter(Boolean);
  return (
    <Facts
      facts={[
        [
          w.state,
          <>
            <CallState call={call} asks={asks} />
            {isUndone ? <span className="badge">{w.undone}</span> : null}
            {call.kind ? <KindBadge kind={call.kind} /> : null}
            {call.risk ? <RiskBadge level={call.risk} /> : null}
          </>,
          "row",
        ],
        [
          verdict ? w.verdicts[verdict.decision] : "",
          verdict && (
            <>
              <DecisionBadge verdict={verdict} /> <VerdictText verdict={verdict} />{" "}
              {verdict.rule ? (
                <Link className="small" href={`/policy?${new URLSearchParams({ q: verdict.rule })}`}>
                  {w.rule}
                </Link>
              ) : null}
            </>
          ),
        ],
        [
          w.approval,
          call.approvalId && <Link href={`/approvals/${encodeURIComponent(call.approvalId)}`}>{w.show}</Link>,
        ],
        [w.caller, <VisibleText text={callerText(caller, w.nobody)} />],
        [w.session, caller.session && <SessionLink session={caller.session} />],
        [
          w.parent,
          call.parentId && (
            <Link className="mono" href={callPath(call.parentId)}>
              <VisibleText text={call.parentId} />
            </Link>
          ),
        ],
        [
          w.when,
          <>
            {formatDateTime(call.requestedAt, language)} (<TimeAgo at={call.requestedAt} />)
          </>,
        ],
        [w.took, times.join(" · ")],
        [
          w.id,
          <>
            <VisibleText className="mono small" text={call.callId} />
            <Link className="small" href={`/audit?call=${encodeURIComponent(call.callId)}`}>
              {w.entries}
            </Link>
          </>,
          "row",
        ],
      ]}
    />
  );
}
