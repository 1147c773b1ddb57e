import type { SessionState } from "../../../../src/contracts/sessions.ts";
import { defineWords, useWords } from "../../language.tsx";

const words = defineWords<Record<SessionState, string>>({
  en: { idle: "idle", running: "at work", waiting: "waiting", stopped: "stopped", failed: "failed" },
  zh: { idle: "空闲", running: "工作中", waiting: "等待中", stopped: "已停止", failed: "失败" },
});

const TONES: Record<SessionState, string> = {
  idle: "ok",
  running: "accent pulse",
  waiting: "warn",
  stopped: "",
  failed: "bad",
};

export function SessionStateBadge({ state }: { state: SessionState }) {
  return <span className={`badge ${TONES[state]}`}>{useWords(words)[state]}</span>;
}
