import type { AnyTool } from "../../core/tool.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { RuleList } from "./rule.ts";

export interface IndexedRule {
  rule: CompiledRule;
  /** The rule names this very tool; otherwise it may concern it by what a call touches. */
  isNamed: boolean;
}

export type RulesOfTool = Readonly<Record<RuleList, readonly IndexedRule[]>>;

/** The rules that can concern a tool, found once for each. */
export function createRuleIndex(rules: readonly CompiledRule[]): (tool: AnyTool) => RulesOfTool {
  const known = new WeakMap<AnyTool, RulesOfTool>();
  return (tool) => {
    let found = known.get(tool);
    if (!found) {
      const of = (list: RuleList): IndexedRule[] =>
        rules
          .filter((rule) => rule.list === list && rule.appliesTo(tool))
          .map((rule) => ({ rule, isNamed: rule.target.names(tool) }));
      found = { deny: of("deny"), ask: of("ask"), allow: of("allow") };
      known.set(tool, found);
    }
    return found;
  };
}
