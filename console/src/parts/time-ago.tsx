import { useLanguage } from "../language.tsx";
import { formatDateTime, formatRelative, isoTime } from "./format.ts";
import { useNow } from "./use-now.ts";

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
