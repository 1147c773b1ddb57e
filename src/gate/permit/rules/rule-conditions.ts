import { type Effect, EFFECTS } from "../../../core/signature.ts";
import { isObject } from "../../../schema/json-schema.ts";
import { compileWildcard, hasWildcard, type TextMatcher } from "./rule-patterns.ts";
import type { Subject } from "./rule-subject.ts";

const OPERATORS = [">=", "<=", "==", "!=", ">", "<"] as const;
type Operator = (typeof OPERATORS)[number];

/**
 * A comparison in a rule: of a parameter (`amount>100`, `order.total>100`, `currency==EU*`) or of an effect
 * (`effect:delete>10`).
 */
export interface Condition {
  /** As written. */
  text: string;
  /** The names from the input to the value. */
  parameter?: readonly string[];
  effect?: Effect;
  operator: Operator;
  value: number | string;
  /** For an unquoted text with `*`. */
  matches?: TextMatcher;
}

/** A condition that cannot be understood: the rule would silently do nothing, so it is an error. */
export class ConditionError extends TypeError {}

/** Whether a text is meant as a condition. `\>` is a plain character. */
export function looksLikeCondition(text: string): boolean {
  return /(?<!\\)(?:[<>]|[=!]=)/.test(text) || text.trim().toLowerCase().startsWith("effect:");
}

/** `amount>100 && currency==EUR`. Throws a `ConditionError` that names the part that cannot be understood. */
export function parseConditions(text: string): Condition[] {
  return text.split("&&").map((part) => parseCondition(part.trim()));
}

function parseCondition(text: string): Condition {
  // `amount:>100` is accepted: other parameters of rules are written `name:value`.
  const [, name = "", operator = "", given = ""] = /^([^<>=!\s]+?)\s*:?\s*([<>=!]+)\s*(.*)$/s.exec(text) ?? [];
  const known = OPERATORS.find((each) => each === operator);
  if (!known) throw notUnderstood(text, `write NAME>NUMBER, with one of ${OPERATORS.join(" ")}`);
  const value = valueOf(given.trim());
  if (value === undefined) throw notUnderstood(text, "its value is missing");
  const isEquality = known === "==" || known === "!=";
  if (typeof value === "string" && !isEquality) throw notUnderstood(text, `${given} is not a number`);
  const [, effectName] = /^effect:(.*)$/i.exec(name) ?? [];
  if (effectName !== undefined) {
    const effect = EFFECTS.find((each) => each === effectName.toLowerCase());
    if (!effect) throw notUnderstood(text, `effects are ${EFFECTS.join(", ")}`);
    if (typeof value === "string" || !Number.isInteger(value)) throw notUnderstood(text, "an effect is counted");
    return { text, effect, operator: known, value };
  }
  if (!/^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$/.test(name)) {
    throw notUnderstood(text, `"${name}" is not the name of a parameter`);
  }
  const condition: Condition = { text, parameter: name.split("."), operator: known, value };
  if (typeof value === "string" && value === given.trim() && hasWildcard(value)) {
    condition.matches = compileWildcard(value);
  }
  return condition;
}

function valueOf(text: string): number | string | undefined {
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  const quoted = /^(["'])(.*)\1$/s.exec(text)?.[2];
  if (quoted !== undefined) return quoted;
  return /^[\w@./:*-]+$/.test(text) ? text : undefined;
}

function notUnderstood(text: string, why: string): ConditionError {
  return new ConditionError(`the condition "${text}" cannot be understood: ${why}`);
}

/** Whether all conditions hold; undefined if that is not known, because a value is missing or cannot be compared. */
export function conditionsHold(conditions: readonly Condition[], subject: Subject): boolean | undefined {
  const results = conditions.map((condition) => compare(condition, subject));
  if (results.includes(false)) return false;
  return results.includes(undefined) ? undefined : true;
}

function compare({ parameter, effect, operator, value, matches }: Condition, subject: Subject): boolean | undefined {
  const given = effect === undefined ? valueAt(subject, parameter ?? []) : countOf(effect, subject);
  if (given === undefined || given === null || given === "unknown") return undefined;
  if (typeof value === "string") {
    if (typeof given === "object") return undefined;
    const isEqual = matches ? matches(String(given)) : String(given) === value;
    return operator === "==" ? isEqual : !isEqual;
  }
  const number =
    typeof given === "number" ? given : typeof given === "string" && given.trim() !== "" ? Number(given) : NaN;
  if (Number.isNaN(number)) return undefined;
  switch (operator) {
    case ">":
      return number > value;
    case ">=":
      return number >= value;
    case "<":
      return number < value;
    case "<=":
      return number <= value;
    case "==":
      return number === value;
    case "!=":
      return number !== value;
  }
}

function valueAt({ tool, input }: Subject, [first = "", ...rest]: readonly string[]): unknown {
  let value: unknown = input;
  for (const name of [tool.parameterAliases.get(first) ?? first, ...rest]) {
    value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

/** What the tool declares, else the files that the call names. A tool that declares nothing has no such effect. */
function countOf(effect: Effect, { effects, changes, reads }: Subject): number | "unknown" {
  const declared = effects?.[effect];
  if (declared !== undefined) return declared;
  return effect === "change" ? changes.length : effect === "read" ? reads.length : 0;
}
