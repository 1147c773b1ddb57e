import { canonicalJson } from "../core/canonical-json.ts";

export interface InputDifference {
  /** Where, as `edits[0].path`; empty for the whole. */
  at: string;
  recorded: unknown;
  now: unknown;
}

/** The places at which two inputs differ. */
export function compareInput(recorded: unknown, now: unknown, at = ""): InputDifference[] {
  if (isFields(recorded) && isFields(now)) {
    const keys = new Set([...Object.keys(recorded), ...Object.keys(now)]);
    return [...keys].flatMap((key) => compareInput(recorded[key], now[key], at === "" ? key : `${at}.${key}`));
  }
  if (Array.isArray(recorded) && Array.isArray(now)) {
    const length = Math.max(recorded.length, now.length);
    return Array.from({ length }, (_, index) => compareInput(recorded[index], now[index], `${at}[${index}]`)).flat();
  }
  return canonicalJson(recorded) === canonicalJson(now) ? [] : [{ at, recorded, now }];
}

/** In one line, for a message. */
export function describeDifferences(differences: readonly InputDifference[]): string {
  const shown = differences
    .slice(0, 5)
    .map(({ at, recorded, now }) => `${at || "the input"}: recorded ${brief(recorded)}, now ${brief(now)}`);
  return (
    shown.join("; ") + (differences.length > shown.length ? `; and ${differences.length - shown.length} more` : "")
  );
}

function brief(value: unknown): string {
  const text = value === undefined ? "nothing" : canonicalJson(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
