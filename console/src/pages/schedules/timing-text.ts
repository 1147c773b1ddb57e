import type { ScheduleInfo } from "../../../../src/contracts/schedules.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";

const words = defineWords({
  en: { every: (span: string) => `every ${span}`, once: (at: string) => `once, ${at}` },
  zh: { every: (span: string) => `每 ${span}`, once: (at: string) => `一次，${at}` },
});

const UNITS = [
  ["week", 604_800_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
] as const;

/** The timing in words. */
export function useTimingText(timing: ScheduleInfo["timing"]): string {
  const w = useWords(words);
  const { language } = useLanguage();
  switch (timing.type) {
    case "at":
      return w.once(new Date(timing.at).toLocaleString(language));
    case "every":
      return w.every(spanOf(timing.everyMs, language));
    case "cron":
      return `${timing.expression} (${timing.timeZone})`;
  }
}

function spanOf(milliseconds: number, language: string): string {
  const [unit, size] = UNITS.find(([, ms]) => milliseconds % ms === 0) ?? ["second", 1000];
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(milliseconds / size);
}
