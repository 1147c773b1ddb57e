import type { Language } from "../language.tsx";

/**
 * The only place that formats numbers and times. The locale is always one of ours: the one of the browser may be malformed
 * (`en-US@posix`), and `Intl` throws then.
 */
const LOCALES: Readonly<Record<Language, string>> = { en: "en-GB", zh: "zh-CN" };
const NOTHING = "–";

const dates = remember((locale) => new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" }));
const clocks = remember((locale) => new Intl.DateTimeFormat(locale, { timeStyle: "medium" }));
const numbers = remember((locale) => new Intl.NumberFormat(locale));
const relatives = remember((locale) => new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" }));

/** `16 Nov 2026, 14:05:09`. */
export function formatDateTime(at: number, language: Language): string {
  return isTime(at) ? dates(LOCALES[language]).format(at) : NOTHING;
}

/** `14:05:09`. */
export function formatClock(at: number, language: Language): string {
  return isTime(at) ? clocks(LOCALES[language]).format(at) : NOTHING;
}

/** `12,345`. */
export function formatNumber(value: number, language: Language): string {
  return numbers(LOCALES[language]).format(value);
}

/** `1 call`, `2 calls`: the number, which may be formatted, with its English noun. */
export function countOf(count: number | string, one: string, several = `${one}s`): string {
  return `${count} ${String(count) === "1" ? one : several}`;
}

/** For the attribute of a `time` element. */
export function isoTime(at: number): string | undefined {
  return isTime(at) ? new Date(at).toISOString() : undefined;
}

const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 30],
  ["month", 12],
];

/** `3 min. ago`, `in 2 hr`. */
export function formatRelative(milliseconds: number, language: Language): string {
  if (!Number.isFinite(milliseconds)) return NOTHING;
  const format = relatives(LOCALES[language]);
  let value = milliseconds / 1000;
  for (const [unit, size] of STEPS) {
    if (Math.abs(value) < size) return format.format(Math.round(value), unit);
    value /= size;
  }
  return format.format(Math.round(value), "year");
}

/** `0.42 ms`, `12 ms`, `1.4 s`, `2.5 min`, `3.1 h`, `5 d`. */
export function formatDuration(milliseconds: number): string {
  if (!Number.isFinite(milliseconds)) return NOTHING;
  if (milliseconds < 0.01) return "< 1 ms";
  if (milliseconds < 1) return `${milliseconds.toFixed(2)} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const minutes = milliseconds / 60_000;
  if (minutes < 1) return `${(milliseconds / 1000).toFixed(1)} s`;
  if (minutes < 60) return `${minutes.toFixed(1)} min`;
  return minutes < 2880 ? `${(minutes / 60).toFixed(1)} h` : `${Math.round(minutes / 1440)} d`;
}

/** The time zone of the browser. */
export function browserTimeZone(): string {
  try {
    return new Intl.DateTimeFormat(LOCALES.en).resolvedOptions().timeZone || "UTC";
  } catch {
    return "UTC";
  }
}

/** Libraries give `navigator.language` to `Intl`: a malformed one is replaced before they are loaded. */
export function repairBrowserLocale(): void {
  const isValid = (locale: string | undefined): boolean => {
    try {
      return Intl.getCanonicalLocales(locale).length > 0;
    } catch {
      return false;
    }
  };
  if (isValid(navigator.language)) return;
  const language = navigator.language?.startsWith("zh") ? LOCALES.zh : "en-US";
  Object.defineProperty(navigator, "language", { value: language, configurable: true });
  Object.defineProperty(navigator, "languages", { value: [language], configurable: true });
}

function isTime(at: number): boolean {
  return Number.isFinite(at) && Math.abs(at) <= 8.64e15;
}

/** Formatters are expensive to create. */
function remember<Format>(create: (locale: string) => Format): (locale: string) => Format {
  const known = new Map<string, Format>();
  return (locale) => {
    const format = known.get(locale) ?? create(locale);
    known.set(locale, format);
    return format;
  };
}
