import type { Caller, CallMode } from "../core/call.ts";
import { ToolNotFoundError } from "../core/error.ts";
import { didYouMean } from "../core/nearest-name.ts";
import type { ToolRegistry } from "../core/registry.ts";
import { type Explanation, explainVerdict } from "./rules/explain-verdict.ts";
import { lintRules } from "./rules/lint-rules.ts";
import type { RuleBook } from "./rules/rule-book.ts";
import type { RuleFinding } from "./rules/rule-finding.ts";
import { type ExampleOutcome, type RuleExample, testRules } from "./rules/try-rules.ts";
import type { SessionGrants } from "./session-grants.ts";
import { type AnyLayer, explainVisibility } from "./visible.ts";

/** A call that is asked about and not made. */
export interface SupposedCall {
  mode?: CallMode;
  caller?: Partial<Caller>;
}

/** What may run and why, for people and programs. Nothing here runs a tool. */
export interface PolicyView {
  readonly rules: RuleBook;
  readonly grants: SessionGrants;
  /** Which tools exist for a caller. */
  layersFor(caller?: Partial<Caller>): readonly AnyLayer[];
  /** Every layer, rule and file that was looked at, and which one decided. Throws where the input is not the tool's. */
  explain(toolName: string, input: unknown, supposed?: SupposedCall): Explanation;
  /** Rules that do nothing, or something else than they seem to. */
  lint(): RuleFinding[];
  /** Plays examples against the rules. */
  test(examples: readonly RuleExample[]): ExampleOutcome[];
}

export interface PolicyViewOptions {
  registry: ToolRegistry;
  rules: RuleBook;
  grants: SessionGrants;
  layersFor(caller: Partial<Caller>): readonly AnyLayer[];
  cwd: string;
}

export function createPolicyView({ registry, rules, grants, layersFor, cwd }: PolicyViewOptions): PolicyView {
  const find = (name: string) => registry.get(name);
  return {
    rules,
    grants,
    layersFor: (caller = {}) => layersFor(caller),
    explain(toolName, input, { mode, caller = {} } = {}) {
      const tool = find(toolName);
      if (!tool) {
        const names = registry.list().map(({ name }) => name);
        throw new ToolNotFoundError(toolName, didYouMean(toolName, names) ?? `Tools are: ${names.join(", ")}.`);
      }
      const { layers } = explainVisibility(tool, layersFor(caller));
      const call = { tool, input: tool.build(input).params, mode, cwd };
      return explainVerdict(grants.bookOf(caller), call, { layers });
    },
    lint: () => lintRules(rules.sources(), registry.list()),
    test: (examples) => testRules(rules, examples, { cwd, findTool: find }),
  };
}
