import { type Effect, EFFECTS } from "../../../core/signature.ts";
import type { AnyTool } from "../../../core/tool.ts";
import { isObject } from "../../../schema/json-schema.ts";
import { compileWildcard, hasWildcard, isPlainText, type TextMatcher } from "./rule-patterns.ts";
import type { Subject } from "./rule-subject.ts";

const OPERATORS = [">=", "<=", "==", "!=", ">", "<"] as const;
type Operator = (typeof OPERATORS)[number];

/** A comparison in a rule: of a parameter (`order.total>100`, `currency==EU*`) or an effect (`effect:delete>10`). */
export interface Condition {
  /** As written. */
  text: string;
  /** The names from the input to the value. */
  parameter?: readonly string[];
  effect?: Effect;
  /** `nothing else`: the parameters that the other conditions name. No other one may be given. */
  only?: readonly (readonly string[])[];
  operator: Operator;
  value: number | string;
  /** The value as written, without quotes: what a text is compared with. */
  literal: string;
  /** For an unquoted text with `*`. */
  matches?: TextMatcher;
}

/** A condition that cannot be understood: the rule would silently do nothing, so it is an error. */
export class ConditionError extends TypeError {}

/** Whether a text is meant as a condition. `\>` is a plain character. */
export function looksLikeCondition(text: string): boolean {
  return /(?<!\\)(?:[<>]|[=!]=)/.test(text) || /^\s*(?:effect:|nothing else\s*$)/i.test(text);
}

/** Conditions of other languages, such as `amount=100`, `amount≥100`, `amount gt 100`, `!amount` and `amount:1..5`. */
const FOREIGN_CONDITION =
  /^\s*(?:[A-Za-z_][\w.-]*\s*(?:=|[≥≤≠＞＜＝≧≦⩾⩽]|:\s*-?[\d.]*\.\.-?[\d.]+\s*$|\s(?:gte?|lte?|eq|neq?|is|equals)\s+\S)|[!¬]\s*[A-Za-z_])/u;

/** What is wrong with a rule whose text is no condition here, but was meant as one. `\=` is a plain character. */
export function misreadCondition(text: string): string | undefined {
  if (!FOREIGN_CONDITION.test(text)) return undefined;
  return (
    `the condition "${text}" cannot be understood: write NAME>NUMBER or NAME==VALUE, with one of ${OPERATORS.join(" ")}, ` +
    "and && between two conditions"
  );
}

/** What a rule says if it covers a call only without further parameters. */
export const NOTHING_ELSE = "nothing else";

/** `amount>100 && currency==EUR`. Throws a `ConditionError` that names the part that cannot be understood. */
export function parseConditions(text: string): Condition[] {
  const parts = splitConditions(text);
  const others = parts.filter((part) => part !== NOTHING_ELSE).map(parseCondition);
  if (others.length === parts.length) return others;
  const only = others.flatMap(({ parameter }) => (parameter ? [parameter] : []));
  return [...others, { text: NOTHING_ELSE, only, operator: "==", value: "", literal: "" }];
}

/** At `&&`, except in quotes. */
function splitConditions(text: string): string[] {
  const parts = [""];
  let quote: string | undefined;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (quote === undefined && text.startsWith("&&", at)) {
      parts.push("");
      at++;
      continue;
    }
    if (character === quote) quote = undefined;
    else if (quote === undefined && /["']/.test(character)) quote = character;
    parts[parts.length - 1] += character;
  }
  if (quote !== undefined && parts.length + text.split("&&").length > 2) {
    throw notUnderstood(text, `the quotation mark ${quote} is not closed`);
  }
  return parts.map((part) => part.trim());
}

/** A value may begin with a placeholder. */
const CONDITION = /^([^<>=!\s]+?)\s*:?\s*([<>=!]+(?=<(?:number|name|id|hex|text)>)|[<>=!]+)\s*(.*)$/s;

function parseCondition(text: string): Condition {
  // `amount:>100` is accepted: other parameters of rules are written `name:value`.
  const [, name = "", operator = "", given = ""] = CONDITION.exec(text) ?? [];
  const known = OPERATORS.find((each) => each === operator);
  if (!known) throw notUnderstood(text, `write NAME>NUMBER, with one of ${OPERATORS.join(" ")}`);
  const isEquality = known === "==" || known === "!=";
  const literal = /^(["'])(.*)\1$/s.exec(given.trim())?.[2] ?? given.trim();
  const value = isEquality ? valueOf(given.trim()) : limitOf(given.trim());
  if (value === undefined) {
    const isMissing = isEquality || given.trim() === "";
    throw notUnderstood(text, isMissing ? "its value is missing" : `${given} is not a number that can be compared`);
  }
  const [, effectName] = /^effect:(.*)$/i.exec(name) ?? [];
  if (effectName !== undefined) {
    const effect = EFFECTS.find((each) => each === effectName.toLowerCase());
    if (!effect) throw notUnderstood(text, `effects are ${EFFECTS.join(", ")}`);
    if (typeof value === "string" || !Number.isInteger(value))
      throw notUnderstood(text, "compare an effect with a whole number");
    return { text, effect, operator: known, value, literal };
  }
  if (!/^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$/.test(name)) {
    throw notUnderstood(text, `"${name}" is not the name of a parameter`);
  }
  const condition: Condition = { text, parameter: name.split("."), operator: known, value, literal };
  if (value === given.trim() && value === PLAIN_TEXT) condition.matches = isPlainText;
  else if (typeof value === "string" && value === given.trim() && hasWildcard(value)) {
    condition.matches = compileWildcard(value);
  }
  return condition;
}

/** Unquoted: any text without code, addresses and links. */
export const PLAIN_TEXT = "<text>";

const DECIMAL = /^-?\d+(?:\.\d+)?$/;

/** A number only if it is exact: `007` and the digits of a long id are texts. */
function valueOf(text: string): number | string | undefined {
  if (DECIMAL.test(text) && isExact(text)) return Number(text);
  const quoted = /^(["'])(.*)\1$/s.exec(text)?.[2];
  if (quoted !== undefined) return quoted;
  // A blank only beside a placeholder: `100 EUR` is no value.
  const isValue = /^(?:[\w@./:*-]|<(?:number|name|id|hex)>)+$/.test(
    text.includes("<") ? text.replaceAll(" ", "") : text,
  );
  return isValue || text === PLAIN_TEXT ? text : undefined;
}

function limitOf(text: string): number | undefined {
  const number = DECIMAL.test(text) ? Number(text) : NaN;
  return Number.isFinite(number) && (Number.isSafeInteger(number) || !Number.isInteger(number)) ? number : undefined;
}

function isExact(text: string): boolean {
  const number = Number(text);
  return String(number) === text && (Number.isSafeInteger(number) || !Number.isInteger(number));
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

function compare(condition: Condition, subject: Subject): boolean | undefined {
  const { parameter, effect, only, operator, value } = condition;
  if (only) return hasOnly(subject, only);
  const given = effect === undefined ? valueAt(subject, parameter ?? []) : countOf(effect, subject);
  if (given === undefined || given === null || given === "unknown") return undefined;
  if (operator === "==" || operator === "!=") {
    const isEqual = equals(condition, given);
    return isEqual === undefined ? undefined : isEqual === (operator === "==");
  }
  const number = numberOf(given);
  if (number === undefined || typeof value === "string") return undefined;
  switch (operator) {
    case ">":
      return number > value;
    case ">=":
      return number >= value;
    case "<":
      return number < value;
    case "<=":
      return number <= value;
  }
}

/** Texts are compared as texts: two long ids that differ in a digit may be the same number. */
function equals({ value, literal, matches }: Condition, given: unknown): boolean | undefined {
  // A list is compared as a whole: `tags=='["a","b"]'`.
  if (Array.isArray(given) && !matches && JSON.stringify(given) === literal) return true;
  if (typeof given === "object") return undefined;
  if (matches) return matches(String(given));
  if (typeof given !== "number") {
    if (String(given) === literal) return true;
    // `100.00` is another text than `100`, but a tool may read the same number.
    return typeof given === "string" && typeof value === "number" && Number(given) === value ? undefined : false;
  }
  if (typeof value === "number") return given === value;
  // The digits of a number are known only as far as it is exact.
  return DECIMAL.test(literal) && Number(literal) === given ? undefined : String(given) === literal;
}

/** A text is a number only if it is written in digits: not `0x64`, `1e3` or `Infinity`. */
function numberOf(given: unknown): number | bigint | undefined {
  if (typeof given === "bigint") return given;
  if (typeof given === "number") return Number.isNaN(given) ? undefined : given;
  return typeof given === "string" && DECIMAL.test(given) ? Number(given) : undefined;
}

function valueAt({ tool, input }: Subject, [first = "", ...rest]: readonly string[]): unknown {
  let value: unknown = input;
  for (const name of [tool.parameterAliases.get(first) ?? first, ...rest]) {
    value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

/** The names from the input to each value in it. Lists and empty objects are values. */
export function leavesOf(value: unknown, path: readonly string[] = []): (readonly [readonly string[], unknown])[] {
  if (value === undefined) return [];
  const names = isPlain(value) ? Object.keys(value) : [];
  if (!isPlain(value) || (names.length === 0 && path.length > 0)) return [[path, value]];
  return names.flatMap((name) => leavesOf(value[name], [...path, name]));
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function hasOnly({ tool, input }: Subject, only: readonly (readonly string[])[]): boolean {
  const named = new Set(
    only.map(([first = "", ...rest]) => JSON.stringify([tool.parameterAliases.get(first) ?? first, ...rest])),
  );
  return leavesOf(input).every(([path]) => named.has(JSON.stringify(path)));
}

/** What the tool declares, else the files that the call names. A tool that declares nothing has no such effect. */
function countOf(effect: Effect, { effects, changes, reads }: Subject): number | "unknown" {
  const declared = effects?.[effect];
  if (declared !== undefined) return declared;
  return effect === "change" ? changes.length : effect === "read" ? reads.length : 0;
}

/** Whether these are all arguments that the tool takes, so that a call cannot have another one. */
export function namesEveryArgument(
  { parameters: { jsonSchema }, parameterAliases }: AnyTool,
  paths: readonly (readonly string[])[],
): boolean {
  const { properties, additionalProperties } = jsonSchema as { properties?: object; additionalProperties?: unknown };
  // A part of an argument leaves its other parts open.
  const whole = paths.filter(({ length }) => length === 1).map(([name = ""]) => parameterAliases.get(name) ?? name);
  return additionalProperties === false && Object.keys(properties ?? {}).every((name) => whole.includes(name));
}

/** The name that users know from other tools' rules. */
export function shownName(tool: AnyTool): string {
  return tool.dialects["claude"]?.name ?? tool.name;
}

/** Whether a rule with this name is about this tool and no other. */
export function isNameOf(name: string, tool: AnyTool): boolean {
  return [tool.name, ...tool.aliases, shownName(tool)].includes(name);
}
