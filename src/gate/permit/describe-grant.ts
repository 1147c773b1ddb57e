import type { GrantChoice } from "../../calls/stored-call.ts";
import type { Caller } from "../../core/call.ts";
import type { GrantAct, GrantReach } from "../../core/questions/grant-texts.ts";
import { localizedText } from "../../core/localized-text.ts";
import type { AnyTool } from "../../core/tool.ts";
import { showInline } from "./approval-parts.ts";
import { type Condition, isNameOf, namesEveryArgument, NOTHING_ELSE } from "./rules/rule-conditions.ts";
import { parseRule, readTarget, type RuleText } from "./rules/rule.ts";
import type { SuggestedRules } from "./rules/suggest-rules.ts";

/** The call that a person is asked about, and where a rule for always is saved. */
export interface GrantContext {
  caller: Pick<Caller, "session" | "user" | "agent">;
  /** Without it, a rule is complete only if it says so itself. */
  tool?: AnyTool | undefined;
  savedFor: SavedFor;
  /** Of a grant for a task: until when and how much. */
  bounds?: string | undefined;
}

/** Whom a saved rule binds: the callers of this process, of the workspace, or of all processes of a store. */
export type SavedFor = Extract<GrantReach, "process" | "workspace" | "store">;

/** Each choice in one sentence: who, which tool, which values, until when. The first of each scope is the narrow one. */
export function grantChoices({ narrow, broader }: SuggestedRules, context: GrantContext): GrantChoice[] {
  return (["session", "always"] as const).flatMap((scope) => [
    ...(narrow.length > 0 ? [describeGrant(narrow, { ...context, scope, isBroader: false })] : []),
    ...broader.map((rules) => describeGrant(rules, { ...context, scope, isBroader: true })),
  ]);
}

/** Throws a TypeError if one of them is not a rule. */
export function describeGrant(
  rules: readonly string[],
  { scope, caller, tool, savedFor, isBroader, bounds }: GrantContext & Pick<GrantChoice, "scope" | "isBroader">,
): GrantChoice {
  const { session, user, agent } = caller;
  const who = [user, agent].filter((name) => name !== undefined).join(" · ") || "anonymous";
  const { act, values } = whatOf(rules, tool);
  const ofSession = session === undefined ? "noSession" : "session";
  const reach = bounds !== undefined ? "task" : scope === "always" ? savedFor : ofSession;
  const shown = { who: showInline(who), session: showInline(session ?? ""), ...(bounds && { bounds }), ...values };
  const { key, text: sentence } = localizedText(`grant.${reach}.${act}`, shown);
  return { scope, rules, sentence, key, values: shown, isBroader };
}

interface What {
  act: GrantAct;
  values: Record<string, string>;
}

/** What all rules are about. Rules of several kinds are shown as they are. */
function whatOf(rules: readonly string[], tool: AnyTool | undefined): What {
  const all = rules.map((rule) => describeRule(rule, tool));
  const [first] = all;
  const isAlike = all.every(({ act, name }) => act === first?.act && name === first.name);
  // Each of several rules with conditions allows its own values, not those of all.
  const isList = all.length < 2 || (first?.act !== "values" && first?.act !== "partial");
  if (!first || !isAlike || !isList) return { act: "rules", values: { rules: rules.map(showInline).join(", ") } };
  const { act, name } = first;
  const what = [...new Set(all.map((each) => each.what))].join(", ");
  return { act, values: { tool: name, [PLACEHOLDERS[act] ?? "values"]: what } };
}

const PLACEHOLDERS: Partial<Record<GrantAct, string>> = {
  changes: "paths",
  reads: "paths",
  commands: "commands",
  hosts: "hosts",
  rules: "rules",
};

function readRule(text: string): RuleText {
  const rule = parseRule(text);
  if (rule.problem !== undefined) throw new TypeError(`"${text}": ${rule.problem}.`);
  return rule;
}

function describeRule(rule: string, tool: AnyTool | undefined): { act: GrantAct; name: string; what: string } {
  const { name, spec, conditions } = readRule(rule);
  const shown = showInline(name);
  const { family } = readTarget(name, "allow");
  const what = showInline(spec ?? "");
  if (family === "changes" || family === "reads") return { act: family, name: "", what: what || "**" };
  const isOne = tool !== undefined && isNameOf(name, tool);
  if (spec === undefined) {
    const takesNothing = isOne && namesEveryArgument(tool, []);
    return { act: takesNothing ? "plain" : namesSeveral(name) ? "tools" : "any", name: shown, what: "" };
  }
  if (namesSeveral(name)) return { act: "rules", name: "", what: showInline(rule) };
  if (family === "command") return { act: "commands", name: "", what };
  if (spec.startsWith("domain:")) return { act: "hosts", name: shown, what: showInline(spec.slice("domain:".length)) };
  // It matches what the tool says that a call is about, and no argument.
  if (!conditions) return { act: "subject", name: shown, what };
  const paths = conditions.flatMap(({ parameter }) => (parameter ? [parameter] : []));
  const isComplete = conditions.some(({ only }) => only) || (isOne && namesEveryArgument(tool, paths));
  const named = describeConditions(conditions);
  if (named === "") return { act: "plain", name: shown, what: "" };
  return { act: isComplete ? "values" : "partial", name: shown, what: named };
}

/** A kind, a group, a server or a pattern. */
export function namesSeveral(name: string): boolean {
  return /^(?:kind|group):|\*/i.test(name) || /^mcp__(?!.+?__.)/i.test(name);
}

/** `amount 0–180, currency "EUR"`. */
function describeConditions(conditions: readonly Condition[]): string {
  const named = conditions.filter(({ text }) => text !== NOTHING_ELSE);
  const limits = new Map(
    named.map(({ parameter = [], operator, literal }) => [`${parameter.join(".")} ${operator}`, literal]),
  );
  return named
    .flatMap(({ text, parameter = [], operator, literal, value, matches }) => {
      const name = parameter.join(".");
      const max = limits.get(`${name} <=`);
      if (operator === ">=" && max !== undefined) return [`${name} ${literal}–${max}`];
      if (operator === "<=" && limits.has(`${name} >=`)) return [];
      // A pattern is not the text that it looks like.
      if (operator !== "==" || matches) return [text];
      const isText = typeof value === "string" && value !== "true" && value !== "false";
      return [`${name} ${isText ? JSON.stringify(literal) : literal}`];
    })
    .map(showInline)
    .join(", ");
}
