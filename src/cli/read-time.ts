import { UsageError } from "./usage-error.ts";

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `30s`, `5m`, `2h`, `30d`: always with its unit, so that nobody has to guess it. Milliseconds. */
export function readDuration(text: string, name: string): number {
  const [, amount, unit = ""] = /^(\d{1,9}(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  if (amount === undefined) throw new UsageError(`${name} takes a time such as 30s, 5m, 2h or 30d, and not "${text}".`);
  return Math.round(Number(amount) * UNITS[unit]!);
}

/** How long ago (`2h`), or a date. Unix milliseconds. */
export function readMoment(text: string, name: string, now: number = Date.now()): number {
  if (/^\d+(?:\.\d+)?(?:ms|s|m|h|d)$/.test(text)) return now - readDuration(text, name);
  const date = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(date))
    throw new UsageError(`${name} takes 2h (ago), 2026-11-15 or 2026-11-15T08:30:00Z, and not "${text}".`);
  return date;
}
