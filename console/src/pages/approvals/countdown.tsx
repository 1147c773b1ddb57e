import { Clock } from "lucide-react";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { formatDateTime } from "../../parts/format.ts";
import { useNow } from "../../parts/time-ago.tsx";

const words = defineWords({
  left: (time: string) => [`${time} left`, `剩余 ${time}`],
  waits: (time: string) => [`caller waits ${time}`, `调用者还等待 ${time}`],
  over: ["expired", "已过期"],
  stopped: ["caller no longer waits", "调用者不再等待"],
  ends: (time: string) => [`Ends at ${time}`, `${time} 结束`],
  until: (time: string) => [`Can be answered until ${time}`, `可在 ${time} 之前回答`],
  waitsUntil: (time: string) => [`The caller waits for the result until ${time}`, `调用者等待结果到 ${time}`],
  days: (days: number) => [`${days} days`, `${days} 天`],
  hours: (hours: number) => [`${hours} h`, `${hours} 小时`],
  minutes: (minutes: string) => [`${minutes} min`, `${minutes} 分`],
});

/** The time left, for a row: rough, and exact in the last hour. */
export function TimeLeft({ until }: { until: number }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const seconds = useSecondsTo(until);
  const title = w.until(formatDateTime(until, language));
  return (
    <span className={seconds < 60 ? "inline time-left soon" : "inline time-left"} title={title}>
      <Clock size={11} aria-hidden />{" "}
      {seconds === 0 ? w.over : seconds >= 3600 ? w.hours(Math.round(seconds / 3600)) : spell(seconds, w)}
    </span>
  );
}

/** How long the question can be answered, its caller waits or a grant lasts. The server enforces the same time. */
export function Countdown({ until, what = "answer" }: { until: number; what?: "answer" | "caller" | "grant" }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const seconds = useSecondsTo(until);
  const exact = formatDateTime(until, language);
  const isCaller = what === "caller";
  const text = seconds === 0 ? (isCaller ? w.stopped : w.over) : (isCaller ? w.waits : w.left)(spell(seconds, w));
  const title = { answer: w.until, caller: w.waitsUntil, grant: w.ends }[what](exact);
  return (
    <span className={seconds < 60 ? "badge bad" : "badge"} title={title}>
      <Clock size={12} aria-hidden /> {text}
    </span>
  );
}

function useSecondsTo(until: number): number {
  const now = useNow(1000);
  return Math.max(0, Math.round((until - now) / 1000));
}

function spell(seconds: number, w: typeof words.en): string {
  if (seconds >= 172_800) return w.days(Math.round(seconds / 86_400));
  if (seconds >= 3600)
    return `${w.hours(Math.floor(seconds / 3600))} ${w.minutes(pad(Math.floor((seconds % 3600) / 60)))}`;
  return `${Math.floor(seconds / 60)}:${pad(seconds % 60)}`;
}

function pad(value: number): string {
  return `${value}`.padStart(2, "0");
}
