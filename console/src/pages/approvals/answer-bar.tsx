import { Check, OctagonAlert, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { ApprovalAnswerRequest, ApprovalInfo } from "../../../../src/contracts/approvals.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Localized } from "../../parts/localized.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { useScope } from "../../use-scope.ts";
import { isWithoutEffect, RuleChoice, useRuleEffect } from "./rule-choice.tsx";
import { useSettled } from "../../parts/use-settled.ts";

const words = defineWords({
  en: {
    answers: "Answers",
    allow: "Approve once",
    allowCritical: "Approve once…",
    session: "This session",
    always: "Always…",
    saveAlways: "Save and always approve",
    saveSession: "Save for this session",
    refuse: "Deny",
    reason: "Reason for the model (optional)",
    addReason: "Reason",
    cancel: "Cancel",
    confirm: "Yes, run it",
    critical: "This is critical.",
    unshown: "Its effect cannot be shown.",
    sure: "Approve it anyway?",
    keySession: "Approve, and allow the same for this session",
    keyAlways: "Always: shows the rule first; Ctrl+Enter in the field saves it",
    keyReason: "Give a reason; Ctrl+Enter in the field denies with it",
    keyEscape: "Leave a field, cancel",
    keyConfirm: "Confirm a critical approval",
    noScope: "You can view but not answer: your sign-in lacks the scope approve.",
  },
  zh: {
    answers: "回答",
    allow: "批准一次",
    allowCritical: "批准一次…",
    session: "本会话",
    always: "总是…",
    saveAlways: "保存并总是批准",
    saveSession: "保存到本会话",
    refuse: "拒绝",
    reason: "理由，会告诉模型（可选）",
    addReason: "理由",
    cancel: "取消",
    confirm: "是，运行",
    critical: "这是极高风险操作。",
    unshown: "无法显示其效果。",
    sure: "仍然批准吗？",
    keySession: "批准，并在本会话中允许同类调用",
    keyAlways: "总是：先查看规则；在输入框中按 Ctrl+Enter 保存",
    keyReason: "填写理由；在输入框中按 Ctrl+Enter 带理由拒绝",
    keyEscape: "离开输入框，取消",
    keyConfirm: "确认极高风险的批准",
    noScope: "你可以查看，但不能回答：当前登录没有 approve 权限。",
  },
});

interface AnswerBarProps {
  approval: ApprovalInfo;
  onAnswer: (request: ApprovalAnswerRequest) => void;
}

/** The choices for one question. It stays visible however long the card is. */
export function AnswerBar({ approval, onAnswer }: AnswerBarProps) {
  const w = useWords(words);
  const [reason, setReason] = useState("");
  const [hasReason, setHasReason] = useState(false);
  const [rule, setRule] = useState(approval.rule ?? "");
  const [isEditing, setEditing] = useState(false);
  const [armed, setArmed] = useState<ApprovalAnswerRequest>();
  const reasonBox = useRef<HTMLTextAreaElement>(null);
  const ruleBox = useRef<HTMLTextAreaElement>(null);
  const mayAnswer = useScope("approve");
  // A key or a click that was meant for the card shown before is ignored.
  const isSettled = useSettled(approval.id) && mayAnswer;
  const { effect, isKnown } = useRuleEffect(rule, approval, isSettled && approval.rule !== undefined);

  const isUnshown = approval.preview?.unshown !== undefined;
  const needsConfirmation = isUnshown || approval.risk.level === "critical";
  const canSave = approval.rule !== undefined;
  const isEdited = rule.trim() !== approval.rule?.trim();
  // A choice without an effect is not offered, and a rule that was edited not before its effect is known.
  const isRuleBad =
    rule.trim() === "" || effect?.problem !== undefined || isWithoutEffect(effect) || (isEdited && !isKnown);

  const send = (request: ApprovalAnswerRequest): void => {
    const note = reason.trim() === "" ? undefined : reason.trim();
    onAnswer({ ...request, reason: note, confirmUnshown: isUnshown && request.decision !== "deny" ? true : undefined });
  };
  const approve = (decision: "once" | "session" | "always"): void => {
    if (!isSettled || (decision !== "once" && (!canSave || isRuleBad))) return;
    const request = decision === "once" ? { decision } : { decision, rule: rule.trim() };
    if (needsConfirmation) setArmed(request);
    else send(request);
  };
  const deny = (): void => {
    if (isSettled) send({ decision: "deny" });
  };
  const editRule = (): void => {
    if (canSave && mayAnswer) setEditing(true);
  };
  const openReason = (): void => setHasReason(true);
  useEffect(() => {
    if (hasReason) reasonBox.current?.focus();
  }, [hasReason]);
  useEffect(() => {
    if (isEditing) ruleBox.current?.focus();
  }, [isEditing]);
  const close = (): void => {
    setArmed(undefined);
    setEditing(false);
  };
  const focusReason = (): void => {
    openReason();
    reasonBox.current?.focus();
  };
  useKeys({
    y: { label: w.allow, run: () => approve("once") },
    s: { label: w.keySession, run: () => approve("session") },
    a: { label: w.keyAlways, run: editRule },
    n: { label: w.refuse, run: deny },
    r: { label: w.keyReason, run: focusReason },
    Escape: { label: w.keyEscape, run: close },
  });

  if (!mayAnswer) return <p className="answer-bar notice warn">{w.noScope}</p>;
  if (armed) {
    return <Confirmation approval={approval} isUnshown={isUnshown} onConfirm={() => send(armed)} onCancel={close} />;
  }
  return (
    <div className="answer-bar" role="group" aria-label={w.answers}>
      {canSave ? (
        <RuleChoice
          approval={approval}
          rule={rule}
          effect={effect}
          isEditing={isEditing}
          box={ruleBox}
          onEdit={setRule}
          onLeave={() => {
            ruleBox.current?.blur();
            setEditing(false);
          }}
          onSave={() => approve("always")}
        />
      ) : null}
      {hasReason ? (
        <textarea
          ref={reasonBox}
          className="textarea reason"
          aria-label={w.reason}
          placeholder={w.reason}
          rows={1}
          value={reason}
          onChange={({ target }) => setReason(target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
            else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) deny();
          }}
        />
      ) : null}
      {isEditing ? (
        <div className="row answers">
          <button className="button primary" disabled={!isSettled || isRuleBad} onClick={() => approve("always")}>
            {w.saveAlways}
          </button>
          <button className="button" disabled={!isSettled || isRuleBad} onClick={() => approve("session")}>
            {w.saveSession}
          </button>
          <button className="button plain" onClick={close}>
            {w.cancel}
          </button>
        </div>
      ) : (
        <div className="row answers">
          <button
            className={needsConfirmation ? "button critical" : "button primary"}
            disabled={!isSettled}
            onClick={() => approve("once")}
          >
            {needsConfirmation ? <OctagonAlert size={16} aria-hidden /> : <Check size={16} aria-hidden />}
            {needsConfirmation ? w.allowCritical : w.allow} <kbd className="key">y</kbd>
          </button>
          {canSave ? (
            <>
              <button className="button" disabled={!isSettled || isRuleBad} onClick={() => approve("session")}>
                {w.session} <kbd className="key">s</kbd>
              </button>
              <button className="button" onClick={editRule}>
                {w.always} <kbd className="key">a</kbd>
              </button>
            </>
          ) : null}
          <button className="button danger" disabled={!isSettled} onClick={deny}>
            <X size={16} aria-hidden /> {w.refuse} <kbd className="key">n</kbd>
          </button>
          {hasReason ? null : (
            <button className="button plain" onClick={openReason}>
              {w.addReason} <kbd className="key">r</kbd>
            </button>
          )}
        </div>
      )}
    </div>
  );
}

/** A second, different step: one key or click too many cannot approve what is critical. */
function Confirmation(props: {
  approval: ApprovalInfo;
  isUnshown: boolean;
  onConfirm: () => void;
  onCancel: () => void;
}) {
  const w = useWords(words);
  const button = useRef<HTMLButtonElement>(null);
  const isSettled = useSettled(`confirm ${props.approval.id}`);
  useEffect(() => {
    if (isSettled) button.current?.focus();
  }, [isSettled]);
  const confirm = (): void => {
    if (isSettled) props.onConfirm();
  };
  useKeys({ Y: { label: w.keyConfirm, run: confirm } });
  const [why] = props.approval.risk.reasons;
  return (
    <div className="answer-bar confirmation" role="alertdialog" aria-label={w.sure}>
      <p>
        <OctagonAlert size={18} aria-hidden />
        <strong>{props.isUnshown ? w.unshown : w.critical}</strong> {why ? <Localized text={why} /> : null} {w.sure}
      </p>
      <div className="row answers">
        <button ref={button} className="button critical" disabled={!isSettled} onClick={confirm}>
          {w.confirm} <kbd className="key">⇧Y</kbd>
        </button>
        <button className="button" onClick={props.onCancel}>
          {w.cancel} <kbd className="key">Esc</kbd>
        </button>
      </div>
    </div>
  );
}
