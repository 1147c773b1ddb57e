import type { Verdict } from "../../../core/call.ts";
import { type Case, JUDGE_STEPS, settle } from "./evaluate-rules.ts";
import type { JudgedCall, RuleSet } from "./rule-set.ts";
import type { Rule, RuleList } from "./rule.ts";

export interface ExplainedRule extends Rule {
  /** For an allow rule: whether it covers at least a part of the call. */
  matches: boolean;
}

export interface ExplainedStep {
  name: string;
  outcome: "decides" | "passes" | "would decide" | "not asked";
  /** What a person should know about the step. */
  note?: string;
  stepVerdict?: Verdict;
  /** The rules that can match the tool. */
  rules?: readonly ExplainedRule[];
}

/** A layer that decides whether the tool exists for the caller: see `explainVisibility`. */
export interface ExplainedLayer {
  layer: string;
  allowed: boolean;
  reason: string;
}

/** Why a call runs, asks or is refused. */
export interface Explanation {
  /** Its name. */
  tool: string;
  /** The mode that applies. */
  mode: string;
  /** The decision. */
  verdict: Verdict;
  /** For each policy layer, whether it allows the tool. */
  layers: readonly ExplainedLayer[];
  /** The sources of rules, and how many rules of each were checked. */
  sources: readonly { origin: string; folder?: string; rules: number }[];
  /** The checks, in order. */
  steps: readonly ExplainedStep[];
  /** The same as text for a person. */
  text: string;
}

/** Every layer, rule and file that was checked for a call, in order, and which one decided. */
export function explainVerdict(
  ruleSet: RuleSet,
  call: JudgedCall,
  { layers = [] }: { layers?: readonly ExplainedLayer[] } = {},
): Explanation {
  const one = ruleSet.caseOf(call);
  const refused = layers.find(({ allowed }) => !allowed);
  let decided: Verdict | undefined = refused && {
    decision: "deny",
    by: "policy",
    reason: `The tool does not exist for this caller: ${refused.reason}.`,
    origin: refused.layer,
  };
  const steps = JUDGE_STEPS.map(({ name, look }): ExplainedStep => {
    const rules = rulesOfStep(one, name);
    const stepVerdict = look(one);
    const shown = rules && { rules };
    if (!stepVerdict) return { name, outcome: "passes", ...shown };
    if (decided) return { name, outcome: "would decide", stepVerdict: settle(stepVerdict, one.mode), ...shown };
    decided = settle(stepVerdict, one.mode);
    return { name, outcome: "decides", stepVerdict: decided, ...shown };
  });
  const verdict = decided ?? ruleSet.judge(call);
  const sources = ruleSet.sources().map(({ origin, folder, allow = [], ask = [], deny = [] }) => ({
    origin,
    folder,
    rules: allow.length + ask.length + deny.length,
  }));
  const found = { tool: call.tool.name, mode: one.mode, verdict, layers, sources, steps };
  return { ...found, text: describe(found) };
}

function rulesOfStep({ rules, subject }: Case, step: string): ExplainedRule[] | undefined {
  const list = /^(deny|ask|allow) rules$/.exec(step)?.[1] as RuleList | undefined;
  return (
    list &&
    rules[list].map(({ rule, isNamed }) => ({
      text: rule.text,
      list,
      origin: rule.origin,
      folder: rule.folder,
      matches: rule.touches(subject, isNamed),
    }))
  );
}

function describe({ tool, mode, verdict, layers, sources, steps }: Omit<Explanation, "text">): string {
  const by = [verdict.by, verdict.rule].filter(Boolean).join(" ");
  const lines = [
    `${tool}: ${verdict.decision} (${by}${verdict.origin === undefined ? "" : `, ${verdict.origin}`})`,
    `  ${verdict.reason}`,
    `mode: ${mode}`,
    `sources: ${sources.map(({ origin, rules }) => `${origin} (${rules})`).join(", ") || "none"}`,
  ];
  for (const { layer, allowed, reason } of layers)
    lines.push(`layer ${layer}: ${allowed ? "passes" : "refuses"}: ${reason}`);
  for (const { name, outcome, stepVerdict, rules } of steps) {
    lines.push(`${name}: ${outcome}${stepVerdict ? `: ${stepVerdict.decision}. ${stepVerdict.reason}` : ""}`);
    for (const { text, origin, matches } of rules ?? []) lines.push(`  ${matches ? "+" : "-"} ${text} (${origin})`);
  }
  return lines.join("\n");
}
