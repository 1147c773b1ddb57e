import type { CallInfo } from "../../../../src/contracts/calls.ts";
import { ERROR_TEXTS_ZH } from "../../error-texts.ts";
import { StatusBadge } from "../../parts/badges.tsx";
import { defineWords, useLanguage, useWords } from "../../language.tsx";

const words = defineWords({
  asks: ["waits for you", "等你处理"],
  stopped: ["stopped", "已停止"],
  queued: ["queued", "排队中"],
  denied: ["A person denied this call.", "有人拒绝了此调用。"],
  unknown: [
    "Nobody knows whether it took effect. Check before you run it again.",
    "无法得知是否已生效。再次运行之前请先检查。",
  ],
});

/** The state of a call. One that waits says what it waits for. `asks`: it runs, and a call that it made waits for a person. */
export function CallState({ call, asks = false }: { call: CallInfo; asks?: boolean }) {
  const w = useWords(words);
  const { status, approvalId, questionId } = call;
  const isWaiting = status === "waiting" || status === "pending";
  if (asks || (isWaiting && (approvalId ?? questionId) !== undefined))
    return <span className="badge warn">{w.asks}</span>;
  if (status === "failed" && call.errorCode === "cancelled") return <span className="badge">{w.stopped}</span>;
  return isWaiting ? <span className="badge">{w.queued}</span> : <StatusBadge status={status} />;
}

/** Why a call did not succeed, in a line: in words of this page, and as the tool said it, which is in English. */
export function useReason({
  status,
  errorCode,
  display,
  verdict,
}: CallInfo): { known?: string; said?: string } | undefined {
  const w = useWords(words);
  const { language } = useLanguage();
  if (status === "unknown") return { known: w.unknown };
  if (status !== "failed" && status !== "denied") return undefined;
  // The rest of what it says is for the model.
  if (errorCode === "approval_denied" && verdict)
    return {
      known: w.denied,
      said: verdict.reason.replace(/^Permission denied: a person denied this call:? ?/, "") || undefined,
    };
  const known = language === "zh" && errorCode !== undefined ? ERROR_TEXTS_ZH[errorCode] : undefined;
  // Without the words that the state says already.
  return { known, said: display?.replace(/^Permission denied: (?:a person denied this call: )?/, "") };
}
