import type { CallMode, Verdict } from "../../../core/call.ts";
import type { AnyTool } from "../../../core/tool.ts";
import { findCoverage } from "./evaluate-rules.ts";
import { RuleSet, type JudgedCall } from "./rule-set.ts";
import type { RuleList } from "./rule.ts";

/** What a rule that is not in force yet would do to a call. */
export interface RuleTrial<Call> {
  call: Call;
  matches: boolean;
}

/** Which of these calls a rule would have decided, standing alone in its list: shown to whoever is about to save it. */
export function previewRule<Call extends Omit<JudgedCall, "mode">>(
  rule: { text: string; list?: RuleList; folder?: string },
  calls: readonly Call[],
): RuleTrial<Call>[] {
  const list = rule.list ?? "allow";
  const ruleSet = new RuleSet();
  ruleSet.add(rule.text, list, "trial", rule.folder);
  return calls.map((call) => {
    const { subject, rules } = ruleSet.caseOf({ ...call, mode: "default" });
    if (list !== "allow") return { call, matches: rules[list].some((one) => one.rule.touches(subject, one.isNamed)) };
    const never = { mayChange: () => false, isInside: () => true };
    const isRead = subject.command?.problem === undefined && !subject.failed;
    return { call, matches: isRead && findCoverage(rules.allow, subject, never) !== undefined };
  });
}

/** An example beside the rules: a call, and what the rules are to say of it. */
export interface RuleExample {
  /** The tool by any of its names. */
  tool: string;
  /** Its input; a text alone is the command or the path. */
  input: unknown;
  expect: Verdict["decision"];
  mode?: CallMode;
}

export interface ExampleOutcome {
  example: RuleExample;
  holds: boolean;
  /** What the rules said; absent where the call could not be made. */
  verdict?: Verdict;
  why?: string;
}

export interface ExampleOptions {
  cwd: string;
  home?: string;
  findTool(name: string): AnyTool | undefined;
}

/** Plays examples against the rules. Nothing runs. */
export function testRules(
  ruleSet: RuleSet,
  examples: readonly RuleExample[],
  { cwd, home, findTool }: ExampleOptions,
): ExampleOutcome[] {
  return examples.map((example) => {
    const tool = findTool(example.tool);
    if (!tool) return { example, holds: false, why: `There is no tool "${example.tool}".` };
    let input: unknown;
    try {
      input = tool.build(inputOf(tool, example.input) as never).params;
    } catch (error) {
      return { example, holds: false, why: (error as Error).message };
    }
    const verdict = ruleSet.judge({ tool, input, cwd, home, mode: example.mode });
    const holds = verdict.decision === example.expect;
    return { example, verdict, holds, why: holds ? undefined : `${verdict.decision}: ${verdict.reason}` };
  });
}

/** `"npm test"` for `exec` is `{ command: "npm test" }`: the parameter that the tool cannot do without. */
function inputOf(tool: AnyTool, input: unknown): unknown {
  if (typeof input !== "string") return input;
  const { required, properties } = tool.parameters.jsonSchema as { required?: string[]; properties?: object };
  const [name] = required ?? Object.keys(properties ?? {});
  return name === undefined ? input : { [name]: input };
}
