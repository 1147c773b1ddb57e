import { useEffect, useState } from "react";
import type { ScheduleTiming } from "../../../../src/contracts/schedules.ts";
import { defineWords, type Language, useLanguage, useWords } from "../../language.tsx";
import { formatDateTime } from "../../parts/format.ts";

const words = defineWords({
  every: (span: string) => [`Every ${span}`, `每 ${span}`],
  once: (at: string) => [`Once, ${at}`, `一次，${at}`],
});

const LOCALES: Readonly<Record<Language, string>> = { en: "en-GB", zh: "zh-CN" };
const UNITS = [
  ["week", 604_800_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
] as const;

/** The timing in words. A cron expression is shown as it is until the words are loaded, and if there are none for it. */
export function useTimingText(timing: ScheduleTiming): string {
  const w = useWords(words);
  const { language } = useLanguage();
  const cron = useCronText(timing.type === "cron" ? timing.expression : undefined);
  switch (timing.type) {
    case "at":
      return w.once(formatDateTime(timing.at, language));
    case "every":
      return w.every(spanOf(timing.everyMs, language));
    case "cron":
      return cron ?? timing.expression;
  }
}

/** "At 08:30, Monday through Friday"; undefined if the expression cannot be read. */
export function useCronText(expression: string | undefined): string | undefined {
  const { language } = useLanguage();
  const [describe, setDescribe] = useState<(expression: string, language: Language) => string | undefined>();
  const isNeeded = expression !== undefined;
  useEffect(() => {
    let isShown = true;
    if (isNeeded) {
      void loadDescriber().then(
        (loaded) => isShown && setDescribe(() => loaded),
        () => undefined,
      );
    }
    return () => {
      isShown = false;
    };
  }, [isNeeded]);
  return expression === undefined ? undefined : describe?.(expression, language);
}

async function loadDescriber() {
  const [{ default: cronstrue }] = await Promise.all([import("cronstrue"), import("cronstrue/locales/zh_CN")]);
  return (expression: string, language: Language): string | undefined => {
    try {
      return cronstrue.toString(expression, {
        locale: language === "zh" ? "zh_CN" : "en",
        use24HourTimeFormat: true,
      });
    } catch {
      return undefined;
    }
  };
}

/** A time in another time zone: `Mon 16 Nov 2026, 08:30`. */
export function formatInZone(at: number, timeZone: string, language: Language): string {
  const options = { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit" } as const;
  try {
    return new Intl.DateTimeFormat(LOCALES[language], { ...options, minute: "2-digit", timeZone }).format(at);
  } catch {
    // The server knows a zone that this browser does not.
    return formatDateTime(at, language);
  }
}

function spanOf(milliseconds: number, language: Language): string {
  const [unit, size] = UNITS.find(([, ms]) => milliseconds % ms === 0) ?? ["second", 1000];
  const style = { style: "unit", unit, unitDisplay: "long" } as const;
  return new Intl.NumberFormat(LOCALES[language], style).format(milliseconds / size);
}
