import type { Rule } from "./rule.ts";

/** Something about a rule that its author probably did not mean. */
export interface RuleFinding {
  /** `error`: it does nothing, or not what it says. `warning`: it does more or less than it seems. `note`: worth knowing. */
  level: "error" | "warning" | "note";
  code:
    | "malformed"
    | "unknown_tool"
    | "ignored"
    | "never_matches"
    | "too_wide"
    | "shadowed"
    | "duplicate"
    | "only_here"
    | "mode_ignored";
  rule: string;
  list: Rule["list"] | "defaultMode";
  origin: string;
  /** What is so, and what to write instead. */
  message: string;
}

/** What a check has to say of one rule. */
export type RuleRemark = Pick<RuleFinding, "level" | "code" | "message">;
