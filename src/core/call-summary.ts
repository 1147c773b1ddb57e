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

/**
 * What an argument of a call decides. `destination`: where something goes, or who gets it. `target`: the existing thing that
 * is changed. `privilege`: a right or a credential. `code`: what is executed. `content`: free text. `amount`: how much.
 */
export type Authority = (typeof AUTHORITIES)[number];
export const AUTHORITIES = ["destination", "target", "privilege", "code", "content", "amount"] as const;

/** Also `other`: a text of no known kind. `none`: a number, a date, a switch. `link`, `private`: inside a text. `call`: the call itself. */
export const UNVOUCHED_KINDS = [...AUTHORITIES, "other", "none", "link", "private", "call"] as const;

/** What a call may bring into a session or send out of it; policy combines them. */
export type TaintLabel = (typeof TAINT_LABELS)[number];
export const TAINT_LABELS = ["untrusted_input", "sensitive_data", "outside_effect"] as const;

/** Who made a field of a result: the service (`service`), the user (`own`), or somebody else (`others`). */
export type FieldTrust = (typeof FIELD_TRUSTS)[number];
export const FIELD_TRUSTS = ["service", "own", "others"] as const;

/** `off`: only the labels of tools count. `note`: results say what would have asked. `strict`: the user must have named each value. */
export type ProvenanceMode = (typeof PROVENANCE_MODES)[number];
export const PROVENANCE_MODES = ["off", "note", "ask", "strict"] as const;
