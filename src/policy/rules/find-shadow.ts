import type { RuleRemark } from "./rule-finding.ts";
import { parseRule, type Rule, RULE_LISTS, ruleToolName } from "./rule.ts";
import { compileWildcard } from "./wildcard.ts";

/** The rule that makes this one idle: one on a list that is looked at before, one that says the same or more. */
export function findShadow(rule: Rule, all: readonly Rule[]): RuleRemark | undefined {
  const here = all.indexOf(rule);
  for (const [at, other] of all.entries()) {
    if (other === rule || !isBroader(other, rule)) continue;
    const [mine, its] = [RULE_LISTS.indexOf(rule.list), RULE_LISTS.indexOf(other.list)];
    const where = `${other.text} (${other.list}, ${other.origin})`;
    if (its < mine) {
      return { level: "warning", code: "shadowed", message: `${where} is looked at before and always decides.` };
    }
    if (its > mine) continue;
    const isSame = isBroader(rule, other);
    if (isSame && at < here) return { level: "note", code: "duplicate", message: `${where} says the same.` };
    if (!isSame) return { level: "note", code: "shadowed", message: `${where} says it already.` };
  }
  return undefined;
}

/** Whether whatever `narrow` means, `wide` means too. Only what the texts themselves show. */
function isBroader(wide: Rule, narrow: Rule): boolean {
  const [a, b] = [parseRule(wide.text), parseRule(narrow.text)];
  if (a.problem !== undefined || b.problem !== undefined) return false;
  if (!coversName(a.name, b.name)) return false;
  if (a.spec === undefined) return true;
  if (b.spec === undefined) return false;
  const [wideSpec, narrowSpec] = [plain(a.spec), plain(b.spec)];
  if (wideSpec === narrowSpec) return !isRelativeToSource(a.spec) || wide.folder === narrow.folder;
  // Only of commands does one pattern match another as text: `git *` means all that `git push *` does.
  return ruleToolName(a.name) === "exec" && compileWildcard(wideSpec)(narrowSpec);
}

function coversName(wide: string, narrow: string): boolean {
  const [a, b] = [ruleToolName(wide), ruleToolName(narrow)];
  if (a === b || a === "*") return true;
  if (a.endsWith("*")) return b.startsWith(a.slice(0, -1));
  return /^mcp__[^*]+$/.test(a) && !/^mcp__.+?__./.test(a) && b.startsWith(`${a}__`);
}

function plain(spec: string): string {
  return spec.endsWith(":*") ? `${spec.slice(0, -2)} *` : spec.trim();
}

function isRelativeToSource(spec: string): boolean {
  return spec.startsWith("/") && !spec.startsWith("//");
}
