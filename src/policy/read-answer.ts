import { canonicalJson } from "../core/canonical-json.ts";
import { toolError, type ToolError, ToolPermissionError } from "../core/error.ts";
import type { Approval, ApprovalAnswer } from "./approval.ts";

/** Characters: it is told to a model. */
const MAX_REASON_LENGTH = 4000;

/** What an answer says, as it is kept with the question. Throws where it asks for what was not offered. */
export function readAnswer(
  approval: Approval,
  answer: ApprovalAnswer,
): Pick<Approval, "scope" | "rules" | "rulesEdited" | "answeredBy" | "answeredVia" | "note"> {
  const { approved, scope = "once", by, via, reason } = answer;
  return {
    ...(by === undefined ? {} : { answeredBy: by }),
    ...(via === undefined ? {} : { answeredVia: via }),
    ...(reason === undefined ? {} : { note: reason.slice(0, MAX_REASON_LENGTH) }),
    ...(approved ? readGrant(approval, scope, answer.rule) : {}),
  };
}

function readGrant(
  { id, suggestedRules }: Approval,
  scope: NonNullable<Approval["scope"]>,
  given: ApprovalAnswer["rule"],
): Pick<Approval, "scope" | "rules" | "rulesEdited"> {
  if (scope === "once") {
    if (given !== undefined) throw badAnswer(`A rule was given for "${id}", but only for once`, "Say for how long.");
    return { scope };
  }
  if (scope !== "session" && scope !== "always") {
    throw badAnswer(`"${String(scope)}" is no scope of an approval`, 'Say "once", "session" or "always".');
  }
  if (suggestedRules.length === 0) {
    throw badAnswer(`"${id}" can be approved once only: no rule would cover calls like it`, 'Answer with "once".');
  }
  const rules = given === undefined ? suggestedRules : rulesOf(given);
  if (rules.length === 0 || rules.some((rule) => typeof rule !== "string" || rule.trim() === "")) {
    throw badAnswer(`"${id}" was approved ${scope} with an empty rule`, "Give the rule, or answer with once.");
  }
  const isEdited = rules.some((rule) => !suggestedRules.includes(rule));
  return isEdited ? { scope, rules, rulesEdited: true } : { scope, rules };
}

function rulesOf(given: string | readonly string[]): readonly string[] {
  return typeof given === "string" ? [given] : given;
}

/** Whether the kept answer is the one that is given now. */
export function isSameAnswer(approval: Approval, { approved, scope, rule }: ApprovalAnswer): boolean {
  if (!approved) return approval.state === "declined";
  if (approval.state !== "approved" && approval.state !== "used") return false;
  if (scope !== undefined && scope !== approval.scope) return false;
  return rule === undefined || canonicalJson(rulesOf(rule)) === canonicalJson(approval.rules);
}

export function conflictOf(approval: Approval): ToolError {
  const { id, state, answeredBy, scope, note } = approval;
  const by = answeredBy === undefined ? "" : ` by ${answeredBy}`;
  const why = note === undefined ? "" : ` (${note})`;
  const what: Record<Approval["state"], string> = {
    open: "is open",
    approved: `was approved already${by}, ${scope ?? "once"}`,
    used: `was approved already${by}, ${scope ?? "once"}, and the call was made`,
    declined: `was declined already${by}${why}`,
    expired: `has expired${why}`,
    void: `is void${why}`,
  };
  return toolError("conflict", `Approval "${id}" ${what[state]}.`, { next: "The first answer counts." });
}

export function refusedAnswer({ id, toolName }: Approval, why: string): ToolError {
  return new ToolPermissionError(toolName, `approval "${id}" may not be answered so: ${why}`);
}

function badAnswer(message: string, next: string): ToolError {
  return toolError("invalid_input", message, { next });
}
