import { Check, OctagonAlert, X } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { ApprovalAnswerRequest, ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { Localized } from "../../parts/localized.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { useSettled } from "../../parts/use-settled.ts";
import { useScope } from "../../api.ts";
import { Delivery } from "./answer-lines.tsx";
import { Unseen } from "./call-effect.tsx";
import { GrantChoice, type GrantScope, Sentence, type Yes } from "./grant-choice.tsx";
import type { AnswerLine } from "./use-answers.ts";

const words = defineWords({
  answers: ["Answers", "回答"],
  allow: ["Approve once", "批准一次"],
  allowMore: ["Approve once…", "批准一次…"],
  session: ["This session…", "本会话…"],
  always: ["Always…", "总是…"],
  refuse: ["Deny", "拒绝"],
  reason: [
    "Reason for the model. Enter denies with it, Shift+Enter begins a line.",
    "告诉模型的理由。按 Enter 带此理由拒绝，Shift+Enter 换行。",
  ],
  refuseWith: ["Deny with this reason", "带此理由拒绝"],
  addReason: ["Reason", "理由"],
  cancel: ["Cancel", "取消"],
  sure: ["Approve it anyway?", "仍然批准吗？"],
  critical: ["This is critical.", "这是极高风险操作。"],
  confirmCritical: ["Yes, run it", "是，运行"],
  unseen: ["You have not been shown everything.", "没有向你显示全部内容。"],
  confirmUnseen: ["Approve without seeing all", "未看全部，仍然批准"],
  folded: ["Parts of the changes are folded. Open them to see them.", "部分修改已折叠，展开后才能看到。"],
  broader: ["This allows more than what is shown, and the risk is high.", "这会允许超出所示的内容，而且风险高。"],
  confirmBroader: ["Allow all of that", "全部允许"],
  keySession: ["This session: shows first what it allows", "本会话：先显示会允许什么"],
  keyAlways: ["Always: shows first what it allows", "总是：先显示会允许什么"],
  keyReason: ["Give a reason; Enter in the field denies with it", "填写理由；在输入框中按 Enter 带理由拒绝"],
  keyEscape: ["Leave a field, cancel", "离开输入框，取消"],
  keyConfirm: ["Confirm what is critical, not shown, or more than shown", "确认极高风险、未显示或超出所示的内容"],
  noScope: [
    "You can view but not answer: your sign-in lacks the scope approve.",
    "你可以查看，但不能回答：当前登录没有 approve 权限。",
  ],
});

interface AnswerBarProps {
  approval: ApprovalInfo;
  /** A part of what the call would do is folded, and was never opened. */
  isFolded: boolean;
  line: AnswerLine | undefined;
  onAnswer: (request: ApprovalAnswerRequest) => void;
}

/** A yes that needs a second step, or may need one. */
type Step = { choose: GrantScope } | { confirm: Yes };

/** The choices for one question. It stays visible however long the card is. */
export function AnswerBar({ approval, isFolded, line, onAnswer }: AnswerBarProps) {
  const w = useWords(words);
  const [reason, setReason] = useState("");
  const [hasReason, setHasReason] = useState(false);
  const [step, setStep] = useState<Step>();
  const reasonBox = useRef<HTMLTextAreaElement>(null);
  const mayAnswer = useScope("approve");
  // A key or a click that was meant for the card shown before is ignored.
  const isSettled = useSettled(approval.id) && mayAnswer && line?.state !== "sending";
  const reasonsFor = (yes: Yes): Reason[] =>
    reasonsToConfirm({ approval, yes, folded: isFolded ? w.folded : undefined });
  const needsMore = (yes: Yes): boolean => reasonsFor(yes).length > 0;
  const offers = (scope: GrantScope): boolean => approval.grants?.some((grant) => grant.scope === scope) ?? false;

  const send = (request: ApprovalAnswerRequest): void => {
    setStep(undefined);
    onAnswer({ ...request, reason: reason.trim() === "" ? undefined : reason.trim() });
  };
  const approve = (yes: Yes): void => {
    if (!isSettled) return;
    if (needsMore(yes)) setStep({ confirm: yes });
    else send({ decision: yes.decision, rule: yes.rule });
  };
  const deny = (): void => {
    if (isSettled) send({ decision: "deny" });
  };
  const choose = (scope: GrantScope): void => {
    if (isSettled && offers(scope)) setStep({ choose: scope });
  };
  const close = (): void => setStep(undefined);
  const openReason = (): void => setHasReason(true);
  useEffect(() => {
    if (hasReason) reasonBox.current?.focus();
  }, [hasReason]);
  const focusReason = (): void => {
    openReason();
    reasonBox.current?.focus();
  };
  const isFirst = step === undefined;
  useKeys({
    y: { label: w.allow, run: () => isFirst && approve({ decision: "once" }) },
    s: { label: w.keySession, run: () => isFirst && choose("session") },
    a: { label: w.keyAlways, run: () => isFirst && choose("always") },
    n: { label: w.refuse, run: deny },
    r: { label: w.keyReason, run: () => isFirst && focusReason() },
    Escape: { label: w.keyEscape, run: close },
  });

  if (!mayAnswer) return <p className="stack answer-bar notice warn">{w.noScope}</p>;
  if (step && "choose" in step) {
    return <GrantChoice approval={approval} scope={step.choose} onSave={approve} onCancel={close} />;
  }
  if (step) {
    const { confirm: yes } = step;
    const confirmed = {
      confirmUnshown: approval.unseen === undefined ? undefined : true,
      confirmBroader: isBroad(approval, yes) || undefined,
    };
    return (
      <Confirmation
        id={approval.id}
        reasons={reasonsFor(yes)}
        onConfirm={() => send({ decision: yes.decision, rule: yes.rule, ...confirmed })}
        onCancel={close}
      />
    );
  }
  const isDangerous = needsMore({ decision: "once" });
  // A value that a stranger chose gets no button that asks to be pressed.
  const isVouched = (approval.verdict?.unvouched ?? []).length === 0;
  return (
    <div className="stack answer-bar" role="group" aria-label={w.answers}>
      <Delivery line={line} onRetry={onAnswer} />
      {hasReason ? (
        <textarea
          ref={reasonBox}
          className="textarea reason"
          aria-label={w.reason}
          placeholder={w.reason}
          rows={2}
          value={reason}
          onChange={({ target }) => setReason(target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
            else if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
              event.preventDefault();
              deny();
            }
          }}
        />
      ) : null}
      <div className="row answers">
        <button
          className={isDangerous ? "button critical" : isVouched ? "button primary" : "button first"}
          disabled={!isSettled}
          onClick={() => approve({ decision: "once" })}
        >
          {isDangerous ? <OctagonAlert size={16} aria-hidden /> : <Check size={16} aria-hidden />}
          {isDangerous ? w.allowMore : w.allow} <kbd className="key">y</kbd>
        </button>
        {(["session", "always"] as const).filter(offers).map((scope) => (
          <Button
            key={scope}
            hotkey={scope === "session" ? "s" : "a"}
            disabled={!isSettled}
            onClick={() => choose(scope)}
          >
            {w[scope]}
          </Button>
        ))}
        <Button
          look="danger"
          icon={X}
          text={reason.trim() === "" ? w.refuse : w.refuseWith}
          hotkey={hasReason ? "⏎" : "n"}
          disabled={!isSettled}
          onClick={deny}
        />
        {hasReason ? null : <Button look="plain" hotkey="r" text={w.addReason} onClick={openReason} />}
      </div>
    </div>
  );
}

function isBroad({ risk }: ApprovalInfo, { isBroader = false }: Yes): boolean {
  return isBroader && (risk.level === "high" || risk.level === "critical");
}

type Doubt = "unseen" | "broader" | "critical";

/** Why a yes needs a second step, with what a person should know about it. */
function reasonsToConfirm({ approval, yes, folded }: { approval: ApprovalInfo; yes: Yes; folded?: string }): Reason[] {
  const { unseen, risk } = approval;
  const [why] = risk.reasons;
  const text = unseen === undefined ? folded : <Unseen approval={approval} />;
  return [
    ...(text === undefined ? [] : [{ doubt: "unseen" as const, text }]),
    ...(isBroad(approval, yes)
      ? [{ doubt: "broader" as const, text: yes.grant ? <Sentence grant={yes.grant} /> : null }]
      : []),
    ...(risk.level === "critical" ? [{ doubt: "critical" as const, text: why ? <Localized text={why} /> : null }] : []),
  ];
}

interface Reason {
  doubt: Doubt;
  text: ReactNode;
}

/** A second, different step: one key or click too many cannot approve what is critical, or not shown. */
function Confirmation(props: { id: string; reasons: Reason[]; onConfirm: () => void; onCancel: () => void }) {
  const w = useWords(words);
  const button = useRef<HTMLButtonElement>(null);
  const isSettled = useSettled(`confirm ${props.id}`);
  useEffect(() => {
    if (isSettled) button.current?.focus();
  }, [isSettled]);
  const confirm = (): void => {
    if (isSettled) props.onConfirm();
  };
  useKeys({ Y: { label: w.keyConfirm, run: confirm } });
  const names = { unseen: w.confirmUnseen, broader: w.confirmBroader, critical: w.confirmCritical };
  return (
    <div className="stack answer-bar confirmation" role="alertdialog" aria-label={w.sure}>
      {props.reasons.map(({ doubt, text }) => (
        <p key={doubt}>
          <OctagonAlert size={18} aria-hidden />
          <strong>{w[doubt]}</strong> <span>{text}</span>
        </p>
      ))}
      <div className="row answers">
        <Button ref={button} look="critical" hotkey="⇧Y" disabled={!isSettled} onClick={confirm}>
          {names[props.reasons[0]?.doubt ?? "critical"]}
        </Button>
        <Button hotkey="Esc" text={w.cancel} onClick={props.onCancel} />
      </div>
    </div>
  );
}
