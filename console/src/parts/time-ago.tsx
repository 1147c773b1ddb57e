import { useEffect, useState } from "react";
import { useLanguage } from "../language.tsx";
import { formatDateTime, formatRelative, isoTime } from "./format.ts";

/** A relative time. The tooltip has the exact one. */
export function TimeAgo({ at }: { at: number }) {
  const { language } = useLanguage();
  const now = useNow(10_000);
  return (
    <time dateTime={isoTime(at)} title={formatDateTime(at, language)}>
      {formatRelative(at - now, language)}
    </time>
  );
}

/** The time, read again after each interval. Without one it stands still. */
export function useNow(everyMs: number | undefined): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
