import { useEffect, useState } from "react";
import { defineWords, useWords } from "../../language.tsx";

const words = defineWords({
  en: { left: (time: string) => `${time} left`, over: "expired" },
  zh: { left: (time: string) => `剩余 ${time}`, over: "已过期" },
});

/** How long the approval stays pending. After that it expires. */
export function Countdown({ until }: { until: number }) {
  const w = useWords(words);
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.round((until - now) / 1000));
  const time =
    seconds >= 3600
      ? `${Math.floor(seconds / 3600)} h ${pad(Math.floor((seconds % 3600) / 60))} min`
      : `${Math.floor(seconds / 60)}:${pad(seconds % 60)}`;
  return <span className={seconds < 60 ? "badge bad" : "badge"}>{seconds === 0 ? w.over : w.left(time)}</span>;
}

function pad(value: number): string {
  return `${value}`.padStart(2, "0");
}
