import { CircleStop } from "lucide-react";
import type { GrantInfo } from "../../../../src/contracts/grants.ts";
import type { ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import { api, useApi, useScope } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { SessionLink } from "../../parts/caller-name.tsx";
import { SureButton } from "../../parts/button.tsx";
import { Panel } from "../../parts/panel.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { Countdown } from "../approvals/countdown.tsx";
import "./policy.css";

const words = defineWords({
  title: ["Grants that last", "有效的授权"],
  lead: ["What you allowed beyond one call.", "你在单次调用之外允许的内容。"],
  ofCaller: ["This caller already has", "此调用者已有的授权"],
  later: [
    "A grant that was given after this question does not answer it: approve this call once.",
    "在此请求之后给出的授权不会回答它：请对此调用批准一次。",
  ],
  uses: (left: number, max: number) => [`${left} of ${max} calls left`, `剩余 ${left} / ${max} 次调用`],
  budget: (left: number, max: number, unit: string) => [
    `${left} of ${max} ${unit} left`,
    `剩余 ${left} / ${max} ${unit}`,
  ],
  unknown: (count: number) => [`${count} with an unknown outcome`, `${count} 次结果未知`],
  why: (purpose: string) => [`purpose: ${purpose}`, `用途：${purpose}`],
  may: ["may", "可以"],
  anyone: ["Anyone", "任何人"],
  task: (name: string) => [`task ${name}`, `任务 ${name}`],
  subagents: ["subagents", "子代理"],
  session: ["session", "会话"],
  aSession: ["Session", "会话"],
  end: ["End now", "立即结束"],
  sure: ["Really end it?", "确定结束？"],
});

/** Seldom changed by other processes, and each change here is an event. */
const LIVE = { everyMs: 10_000 };

/** Nothing is shown while there is nothing to end. */
export function GrantList({ canChange }: { canChange: boolean }) {
  const w = useWords(words);
  const { data } = useApi("grants", "list", [{}], LIVE);
  const lasting = data?.items.filter(({ state }) => isLasting(state)) ?? [];
  if (lasting.length === 0) return null;
  return (
    <Panel title={w.title} isBare>
      <p className="small muted rule-none">{w.lead}</p>
      <ul className="plain-list">
        {lasting.map((grant) => (
          <GrantRow key={grant.id} grant={grant} canChange={canChange} />
        ))}
      </ul>
    </Panel>
  );
}

/** What is left of the grants that this caller may use: a call asks in spite of them if it needs more. */
export function GrantsOf({ caller, askedAt }: { caller: Caller; askedAt?: number }) {
  const w = useWords(words);
  const canChange = useScope("approve");
  const { data } = useApi("grants", "list", [{}], LIVE);
  const own = data?.items.filter(({ state, holder }) => isLasting(state) && isFor(holder, caller)) ?? [];
  if (own.length === 0) return null;
  return (
    <section className="card-grants">
      <h3>{w.ofCaller}</h3>
      <ul className="plain-list">
        {own.map((grant) => (
          <GrantRow key={grant.id} grant={grant} canChange={canChange} />
        ))}
      </ul>
      {own.some(({ createdAt }) => askedAt !== undefined && createdAt > askedAt) ? (
        <p className="small muted">{w.later}</p>
      ) : null}
    </section>
  );
}

type Caller = ApprovalInfo["caller"];

function isFor(holder: GrantInfo["holder"], { depth, ...caller }: Caller): boolean {
  const is = (name: "user" | "session" | "agent" | "task"): boolean =>
    holder[name] === undefined || holder[name] === (caller[name] ?? null);
  return is("user") && is("session") && is("agent") && is("task") && (holder.depth ?? 0) === depth;
}

function isLasting(state: GrantInfo["state"]): boolean {
  return state === "active" || state === "used_up";
}

function GrantRow({ grant, canChange }: { grant: GrantInfo; canChange: boolean }) {
  const w = useWords(words);
  const [failure, act] = useAction("grants");
  const { id, rules, holder, until, maxUses, usesLeft, budget, budgetLeft, unknown, why } = grant;
  const left = [
    maxUses === undefined ? undefined : w.uses(usesLeft ?? 0, maxUses),
    budget && w.budget(budgetLeft ?? 0, budget.max, budget.unit),
    unknown > 0 ? w.unknown(unknown) : undefined,
  ].filter((text) => text !== undefined);
  const who = [
    holder.user ?? undefined,
    holder.agent ?? undefined,
    holder.task === undefined ? undefined : w.task(holder.task),
    holder.depth ? w.subagents : undefined,
  ].filter((name) => name !== undefined);
  const { session } = holder;
  return (
    <li className="list-row grant-row" aria-label={rules.join(", ")}>
      <span className="grant-text">
        <VisibleText text={who.join(", ") || (session ? "" : w.anyone)} />
        {session ? (
          <>
            {who.length > 0 ? `, ${w.session}` : w.aSession} <SessionLink session={session} />
          </>
        ) : null}{" "}
        {w.may}{" "}
        {rules.map((rule) => (
          <span key={rule}>
            <VisibleText as="code" className="rule-text" text={rule} />{" "}
          </span>
        ))}
        <VisibleText className="muted" text={`(${w.why(why)})`} />
      </span>
      {left.length > 0 ? <span className="small muted">{left.join(" · ")}</span> : null}
      <span className="row rule-actions">
        {until === undefined ? null : <Countdown until={until} what="grant" />}
        {canChange ? (
          <SureButton
            look="small danger"
            icon={CircleStop}
            text={w.end}
            sure={w.sure}
            onSure={() => act(api.grants.revoke(id))}
          />
        ) : null}
      </span>
      {failure}
    </li>
  );
}
