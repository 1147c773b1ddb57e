import { ArrowLeft, History, MessageCircleQuestionMark } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { Link } from "wouter";
import type { ApprovalAnswerRequest, ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import { contracts } from "../../../../src/contracts/index.ts";
import { useApi } from "../../api.ts";
import { defineWords, type Pair, useWords } from "../../language.tsx";
import { loadWithRetry } from "../../lazy-page.tsx";
import { KindBadge } from "../../parts/badges.tsx";
import { Button } from "../../parts/button.tsx";
import { callerText, SessionLink } from "../../parts/caller-name.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { looksLikeDiff } from "../../parts/diff/parse-diff.ts";
import { Facts as FactList } from "../../parts/facts.tsx";
import { useFolds } from "../../parts/folds.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { Localized } from "../../parts/localized.tsx";
import { ResultView } from "../../parts/result-view.tsx";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { useToolTitle } from "../../parts/tool-text.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { AnswerBar } from "./answer-bar.tsx";
import { GrantsOf } from "../policy/grant-list.tsx";
import { CallEffect, DownloadLink } from "./call-effect.tsx";
import { Countdown } from "./countdown.tsx";
import type { AnswerLine } from "./use-answers.ts";
import { AnsweredQuestions, UserQuestions } from "./user-questions.tsx";

/** Only people with a habit see one. */
const CardProposal = lazy(() => loadWithRetry(() => import("../policy/card-proposal.tsx")));

const words = defineWords({
  wants: ["wants to run", "请求运行"],
  asks: ["asks you", "向你提问"],
  by: ["Asked by", "请求者"],
  someone: ["a program without a name", "未命名的程序"],
  session: ["session", "会话"],
  folder: ["Folder", "文件夹"],
  hook: ["its hook", "其钩子"],
  server: ["MCP server", "MCP 服务器"],
  definition: ["its definition and lock file", "其定义与锁文件"],
  why: ["Why it asks", "为何询问"],
  byRule: ["You have a rule that asks about calls like this:", "你有一条规则要求询问此类调用："],
  byTool: ["No rule of yours allows it, and the tool asks by default.", "没有规则允许它，而该工具默认会询问。"],
  unclear: [
    "What it does is only known when it runs, so no rule can allow it in advance.",
    "它做什么要到运行时才知道，因此没有规则能提前允许它。",
  ],
  noCurrency: ["currency not given", "未给出币种"],
  values: {
    amount: ["Amount", "金额"],
    total: ["Total", "总额"],
    price: ["Price", "价格"],
    iban: ["To (IBAN)", "收款账户 (IBAN)"],
    to: ["To", "收款方"],
    recipient: ["To", "收款方"],
    payee: ["To", "收款方"],
    account: ["To (account)", "收款账户"],
    reference: ["Reference", "附言"],
    order: ["Order", "订单"],
  } as Record<string, Pair>,
  toPolicy: ["Rules and grants", "规则与授权"],
  risk: ["Risk", "风险"],
  replaces: ["This replaces an earlier request. What changed since:", "此请求取代了之前的一个。此后的变化："],
  earlier: ["the earlier question", "之前的请求"],
  request: ["The exact request", "完整请求"],
  download: ["Download the arguments", "下载参数"],
  hash: ["Fingerprint of this call", "此调用的指纹"],
  hashHint: [
    "The hash of what will run. Two people can compare it to check that they see the same call.",
    "将要运行内容的哈希。两个人可以比对，确认看到的是同一个调用。",
  ],
  answered: ["Answered", "已处理"],
  state: {
    approved: ["Approved", "已批准"],
    denied: ["Denied", "已拒绝"],
    answered: ["Answered", "已回答"],
    dismissed: ["Dismissed: the model decides itself", "未回答：由模型自行决定"],
    expired: ["Expired: nobody answered in time", "已过期：没有人及时处理"],
    cancelled: ["Cancelled: the caller no longer wants the call", "已取消：调用者不再需要此调用"],
    changed: ["Replaced: what it showed is out of date", "已被取代：所示内容已不再属实"],
  } as Record<string, Pair>,
  answeredBy: (by: string) => [`by ${by}`, `由 ${by}`],
  call: ["The call", "该调用"],
  running: ["The call is running.", "调用正在运行。"],
  notStarted: ["The call has not started yet.", "调用尚未开始。"],
  back: ["All approvals", "全部审批"],
  expand: ["Show or hide the exact request", "显示或隐藏完整请求"],
});

interface ApprovalCardProps {
  approval: ApprovalInfo;
  onAnswer: (request: ApprovalAnswerRequest) => void;
  /** Of the last answer to it. */
  line: AnswerLine | undefined;
  /** The address of the list, for screens that show one or the other. */
  backTo?: string;
}

/** A question of ask_user: there is no effect to judge, only an answer to give. */
function UserQuestionCard({ approval, questions, onAnswer, line, backTo }: ApprovalCardProps & AskedQuestions) {
  const w = useWords(words);
  const isOpen = approval.state === "pending";
  const title = useToolTitle()(approval) ?? approval.toolName;
  return (
    <article className="panel approval" aria-label={`${approval.toolName} ${w.asks}`}>
      <header>
        {backTo === undefined ? null : (
          <Button look="plain small card-back" icon={ArrowLeft} text={w.back} href={backTo} />
        )}
        <MessageCircleQuestionMark size={18} aria-hidden />
        <h2 className="grow card-title">{title}</h2>
        {isOpen && approval.waitsUntil !== undefined ? <Countdown until={approval.waitsUntil} what="caller" /> : null}
        {isOpen && approval.expiresAt !== undefined ? <Countdown until={approval.expiresAt} /> : null}
      </header>
      {isOpen ? (
        <UserQuestions key={approval.id} id={approval.id} questions={questions} line={line} onAnswer={onAnswer}>
          <Facts approval={approval} />
        </UserQuestions>
      ) : (
        <div className="stack card-body" tabIndex={0} role="region" aria-label={title}>
          <AnsweredQuestions questions={questions} answers={approval.answers} />
          <Facts approval={approval} />
          <Answered approval={approval} />
        </div>
      )}
    </article>
  );
}

type AskedQuestions = Required<Pick<ApprovalInfo, "questions">>;

export function ApprovalCard(props: ApprovalCardProps) {
  const { questions } = props.approval;
  return questions ? <UserQuestionCard {...props} questions={questions} /> : <PermissionCard {...props} />;
}

/** Everything about one question, and its answers. What was asked never changes; only whether it is still open. */
function PermissionCard({ approval, onAnswer, line, backTo }: ApprovalCardProps) {
  const w = useWords(words);
  const isOpen = approval.state === "pending";
  const { toolName, risk, steps, subject } = approval;
  const title = useToolTitle()(approval);
  const preview = approval.preview?.content;
  const showsAll = approval.unseen === undefined && (preview !== undefined || steps !== undefined);
  const [showsRequest, setShowsRequest] = useState(!showsAll);
  const [folded, countFolds] = useFolds();
  useKeys({ e: { label: w.expand, run: () => setShowsRequest(!showsRequest) } });
  // A diff names its file, and the steps are the command.
  const isSubjectShown = !steps && subject.text !== "" && !(subject.type === "path" && preview?.some(isDiff));
  return (
    <article className={`panel approval risk-${risk.level}`} aria-label={`${toolName} ${w.wants}`}>
      <header>
        {backTo === undefined ? null : (
          <Button look="plain small card-back" icon={ArrowLeft} text={w.back} href={backTo} />
        )}
        <RiskBadge level={risk.level} />
        <h2 className="grow card-title">
          {title === undefined ? null : `${title} `}
          <VisibleText className={title === undefined ? "mono" : "mono muted"} text={toolName} />
        </h2>
        {approval.kind ? <KindBadge kind={approval.kind} /> : null}
        {isOpen && approval.waitsUntil !== undefined ? <Countdown until={approval.waitsUntil} what="caller" /> : null}
        {isOpen && approval.expiresAt !== undefined ? <Countdown until={approval.expiresAt} /> : null}
      </header>
      <div className="stack card-body" tabIndex={0} role="region" aria-label={title ?? toolName}>
        {isSubjectShown ? (
          <p className="card-subject">
            <CallSubject subject={subject} />
          </p>
        ) : null}
        {subject.type === "amount" ? <Payment input={approval.input} /> : null}
        {approval.replaces ? (
          <div className="notice warn">
            <History size={16} aria-hidden />
            <div>
              {w.replaces}
              <ul className="notes">
                {approval.replaces.changes.map((change) => (
                  <VisibleText key={change} as="li" text={change} />
                ))}
              </ul>
              <Link href={`/approvals/${encodeURIComponent(approval.replaces.id)}`}>{w.earlier}</Link>
            </div>
          </div>
        ) : null}
        {countFolds(<CallEffect approval={approval} />)}
        <Facts approval={approval} />
        <details open={showsRequest} onToggle={({ currentTarget }) => setShowsRequest(currentTarget.open)}>
          <summary className="muted" title={w.expand}>
            {w.request} <kbd className="key">e</kbd>
          </summary>
          <JsonView value={approval.input} />
          <p className="row small muted call-hash" title={w.hashHint}>
            <span>
              {w.hash} <span className="mono">{approval.hash}</span>
            </span>
            <DownloadLink path={contracts.approvals.input.path} id={approval.id} label={w.download} />
          </p>
        </details>
        {isOpen ? (
          <>
            <GrantsOf caller={approval.caller} askedAt={approval.askedAt} />
            <Suspense fallback={null}>
              <CardProposal key={approval.id} approval={approval} />
            </Suspense>
          </>
        ) : (
          <Answered approval={approval} />
        )}
      </div>
      {isOpen ? (
        <AnswerBar key={approval.id} approval={approval} isFolded={folded > 0} line={line} onAnswer={onAnswer} />
      ) : null}
    </article>
  );
}

function Facts({ approval }: { approval: ApprovalInfo }) {
  const w = useWords(words);
  const { caller, risk, steps = [], questions } = approval;
  const besideSteps = new Set(steps.map(({ asks }) => asks?.text));
  const reasons = questions ? [] : risk.reasons.filter(({ text }) => !besideSteps.has(text));
  const { cwd, preview } = approval;
  const server = useServerOf(approval.toolName);
  const showsFolder = !questions && !preview?.facts?.some(({ key }) => key === "preview.folder");
  return (
    <FactList
      facts={[
        [
          w.risk,
          reasons.length > 0 && (
            <ul className="risk-reasons">
              {reasons.map((reason) => (
                <li key={reason.text}>
                  <Localized text={reason} />
                </li>
              ))}
            </ul>
          ),
        ],
        [w.why, !questions && <Why approval={approval} />],
        [
          w.by,
          <>
            <VisibleText text={callerText(caller, w.someone)} />
            {caller.session ? (
              <span className="muted">
                {" "}
                · {w.session} <SessionLink session={caller.session} />
              </span>
            ) : null}{" "}
            · <TimeAgo at={approval.askedAt} />
            {hookOf(caller) === undefined ? null : (
              <>
                {" · "}
                <Link href={`/settings?hook=${encodeURIComponent(caller.agent ?? "")}`}>{w.hook}</Link>
              </>
            )}
          </>,
        ],
        [
          w.server,
          server !== undefined && (
            <>
              <VisibleText className="mono" text={server} />{" "}
              <Link href={`/mcp/${encodeURIComponent(server)}`}>{w.definition}</Link>
            </>
          ),
        ],
        [w.folder, showsFolder && cwd !== undefined && <VisibleText text={cwd} />, "mono"],
      ]}
    />
  );
}

/** What a payer checks, one value a row. */
function Payment({ input }: { input: unknown }) {
  const w = useWords(words);
  const { currency, ...values } = Object(input) as Record<string, unknown>;
  return (
    <FactList
      className="payment"
      facts={Object.entries(values)
        .sort(([one], [other]) => Number(AMOUNTS.has(other)) - Number(AMOUNTS.has(one)))
        .flatMap(([name, value]) => {
          if (typeof value !== "string" && typeof value !== "number") return [];
          const isAmount = AMOUNTS.has(name);
          const shown = (
            <>
              <VisibleText text={isAmount && typeof currency === "string" ? `${value} ${currency}` : `${value}`} />
              {isAmount && typeof currency !== "string" ? <span className="badge warn">{w.noCurrency}</span> : null}
            </>
          );
          return [[w.values[name] ?? name, shown, "row mono"] as const];
        })}
    />
  );
}

const AMOUNTS = new Set(["amount", "total", "price"]);

/** Calls of other agents come through a hook, in a session that begins with the name of the agent. */
function hookOf({ agent, session }: ApprovalInfo["caller"]): string | undefined {
  return agent !== undefined && session?.startsWith(`${agent}:`) ? agent : undefined;
}

/** The MCP server of a tool that is one. */
function useServerOf(toolName: string): string | undefined {
  const origin = useApi("tools", "get", toolName.includes("__") ? [toolName] : undefined).data?.origin;
  return origin?.type === "mcp" ? origin.server : undefined;
}

const FOR_PEOPLE: ReadonlyMap<string, "byRule" | "byTool" | "unclear"> = new Map([
  ["verdict.askRule", "byRule"],
  ["verdict.toolAsks", "byTool"],
  ["verdict.undeclared", "byTool"],
  ["verdict.undeclaredAgain", "byTool"],
  ["verdict.hidden", "unclear"],
  ["verdict.mayBeProtected", "unclear"],
]);

/** For a person who decides now. The reason itself also tells a model what to write instead. */
function Why({ approval: { id, verdict, reason } }: { approval: ApprovalInfo }) {
  const w = useWords(words);
  const { key = "", values, rule } = verdict ?? {};
  const known = FOR_PEOPLE.get(key);
  // Of what is unclear, the rule is one that this call may touch, not the reason.
  const shownRule = known === "byRule" ? rule : undefined;
  const where = new URLSearchParams(shownRule === undefined ? { tab: "why", approval: id } : { q: shownRule });
  return (
    <>
      {known === undefined ? <Localized text={{ key, values, text: reason }} /> : w[known]}{" "}
      {shownRule === undefined ? null : <VisibleText as="code" text={shownRule} />}{" "}
      <Link className="small" href={`/policy?${where}`}>
        {w.toPolicy}
      </Link>
    </>
  );
}

const RESULT_INTERVAL_MS = 1_000;

function Answered({ approval }: { approval: ApprovalInfo }) {
  const w = useWords(words);
  const isApproved = approval.state === "approved";
  const [isEnded, setEnded] = useState(false);
  // The question is answered before its call has ended, and no event about approvals follows.
  const { data } = useApi("approvals", "result", [approval.id, { waitMs: 0 }], {
    everyMs: isEnded ? undefined : RESULT_INTERVAL_MS,
  });
  const callState = data?.approval.call.state;
  const hasEnded = data?.result !== undefined || callState === "ended";
  useEffect(() => setEnded(hasEnded), [hasEnded]);
  return (
    <section className="stack">
      <p className="row">
        <span className={isApproved ? "badge ok" : "badge bad"}>{w.state[endOf(approval)] ?? w.answered}</span>
        {approval.answeredBy ? <span className="muted">{w.answeredBy(approval.answeredBy)}</span> : null}
        {approval.answeredAt ? <TimeAgo at={approval.answeredAt} /> : null}
        {approval.note ? <VisibleText text={`“${approval.note}”`} /> : null}
        <Link href={`/work/${encodeURIComponent(approval.callId)}`}>{w.call}</Link>
      </p>
      {callState === "running" ? <p className="muted">{w.running}</p> : null}
      {callState === "approved" ? <p className="muted">{w.notStarted}</p> : null}
      {data?.result ? <ResultView result={data.result} /> : null}
    </section>
  );
}

/** An `expired` question may also have been cancelled or replaced: its call says so. */
export function endOf({ state, call, questions }: ApprovalInfo): string {
  if (questions && state === "approved") return "answered";
  if (questions && state === "denied") return "dismissed";
  return state === "expired" ? (call.outcome ?? state) : state;
}

function isDiff(block: Content[number]): boolean {
  return block.type === "text" && looksLikeDiff(block.text);
}

type Content = NonNullable<ApprovalInfo["preview"]>["content"];
