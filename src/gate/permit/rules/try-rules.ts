import { validatedInput } from "../../../core/create-tool.ts";
import { errorMessage } from "../../../core/error.ts";
import type { CallMode, Verdict } from "../../../core/call.ts";
import type { AnyTool } from "../../../core/tool.ts";
import { withAnswers } from "../../tool-answers.ts";
import { findCoverage } from "./evaluate-rules.ts";
import { RuleSet, type JudgedCall } from "./rule-set.ts";
import type { RuleList } from "./rule.ts";

/** What a proposed rule would do to a call. */
export interface RuleTrial<Call> {
  call: Call;
  matches: boolean;
}

/** Which of these calls a rule would have decided, alone in its list: shown before the rule is saved. */
export async function previewRule<Call extends Omit<JudgedCall, "mode">>(
  rule: { text: string; list?: RuleList; folder?: string },
  calls: readonly Call[],
): Promise<RuleTrial<Call>[]> {
  const list = rule.list ?? "allow";
  const ruleSet = new RuleSet();
  ruleSet.add(rule.text, list, "trial", rule.folder);
  const trials = calls.map(async (call): Promise<RuleTrial<Call>> => {
    const { subject, rules } = await withAnswers((answers) => ruleSet.caseOf({ ...call, mode: "default", answers }));
    if (list !== "allow") return { call, matches: rules[list].some((one) => one.rule.touches(subject, one.isNamed)) };
    const never = { mayChange: () => false, isInside: () => true };
    const isRead = subject.command?.problem === undefined && !subject.failed;
    return { call, matches: isRead && findCoverage(rules.allow, subject, never) !== undefined };
  });
  return Promise.all(trials);
}

/** An example for the rules: a call and the expected decision. */
export interface RuleExample {
  /** The tool by any of its names. */
  tool: string;
  /** Its input; a string is the command or the path. */
  input: unknown;
  expect: Verdict["decision"];
  mode?: CallMode;
}

export interface ExampleOutcome {
  example: RuleExample;
  holds: boolean;
  /** The rules' decision; absent if the call is not valid. */
  verdict?: Verdict;
  why?: string;
}

export interface ExampleOptions {
  cwd: string;
  home?: string;
  findTool(name: string): AnyTool | undefined;
}

/** Checks examples against the rules. No tool runs. */
export function testRules(
  ruleSet: RuleSet,
  examples: readonly RuleExample[],
  { cwd, home, findTool }: ExampleOptions,
): Promise<ExampleOutcome[]> {
  const outcomes = examples.map(async (example): Promise<ExampleOutcome> => {
    const tool = findTool(example.tool);
    if (!tool) return { example, holds: false, why: `There is no tool "${example.tool}".` };
    let input: unknown;
    try {
      input = await validatedInput(tool, inputOf(tool, example.input));
    } catch (error) {
      return { example, holds: false, why: errorMessage(error) };
    }
    const { mode } = example;
    const verdict = await withAnswers((answers) => ruleSet.judge({ tool, input, cwd, home, mode, answers }));
    const holds = verdict.decision === example.expect;
    return { example, verdict, holds, why: holds ? undefined : `${verdict.decision}: ${verdict.reason}` };
  });
  return Promise.all(outcomes);
}

/** `"npm test"` for `exec` is `{ command: "npm test" }`: the tool's required parameter. */
function inputOf(tool: AnyTool, input: unknown): unknown {
  if (typeof input !== "string") return input;
  const { required, properties } = tool.parameters.jsonSchema as { required?: string[]; properties?: object };
  const [name] = required ?? Object.keys(properties ?? {});
  return name === undefined ? input : { [name]: input };
}
