import { useEffect, useState } from "react";
import { useLanguage } from "../language.tsx";
import { formatDateTime, formatRelative, isoTime } from "./format.ts";

/** A relative time. The tooltip has the exact one. */
export function TimeAgo({ at }: { at: number }) {
  const { language } = useLanguage();
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 10_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <time dateTime={isoTime(at)} title={formatDateTime(at, language)}>
      {formatRelative(at - now, language)}
    </time>
  );
}
