import type { LocalizedText } from "./localized-text.ts";

/** What a call is about, in one line. */
export interface CallSubject {
  type: "command" | "path" | "url" | "amount" | "text";
  text: string;
}

export const RISK_LEVELS = ["low", "medium", "high", "critical"] as const;
/**
 * `low`: it reads. `medium`: it changes what Haft can undo. `high`: it cannot be undone, or its effect is not known.
 * `critical`: it destroys, overwrites or runs what nobody has seen.
 */
export type RiskLevel = (typeof RISK_LEVELS)[number];

/** Higher for a higher level. */
export function rankOf(level: RiskLevel): number {
  return RISK_LEVELS.indexOf(level);
}

export interface Risk {
  level: RiskLevel;
  /** Why, the most important first. */
  reasons: readonly LocalizedText[];
}

/** One part of a command line. */
export interface CommandStep {
  /** As written. */
  text: string;
  /** What joins it to the step before. */
  operator?: "&&" | "||" | ";" | "|" | "&";
  level: RiskLevel;
  /** What it does. Omitted if the program is not known. */
  does?: LocalizedText;
  /** Why it needs an approval. Omitted if it needs none. */
  asks?: LocalizedText;
}

/** A call as people see it in lists, questions and logs. Plain data. */
export interface CallSummary {
  subject: CallSubject;
  risk: Risk;
  /** Of a command. */
  steps?: readonly CommandStep[];
}
