import { isOneLine } from "../../calls/approval.ts";
import type { Caller, CallMode, Verdict } from "../../core/call.ts";
import { validatedInput } from "../../core/create-tool.ts";
import { ToolNotFoundError } from "../../core/error.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import type { ToolRegistry } from "../../core/registry.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { AnyTool } from "../../core/tool.ts";
import type { GrantChoice } from "../../calls/stored-call.ts";
import { withAnswers } from "../tool-answers.ts";
import { askHost, type Decide } from "./host-decision.ts";
import { describeGrant, type GrantContext, type SavedFor } from "./describe-grant.ts";
import type { Grants } from "./grants.ts";
import type { Limits, LimitVerdict } from "./limits.ts";
import type { Provenance } from "./provenance/provenance.ts";
import { isAsking, stricter, withLimit, withOrigins } from "./verdict.ts";
import type { Explanation } from "./rules/explain-verdict.ts";
import { settle } from "./rules/evaluate-rules.ts";
import { lintRules, type RuleFinding } from "./rules/lint-rules.ts";
import { RuleSet } from "./rules/rule-set.ts";
import type { Rule, RuleList } from "./rules/rule.ts";
import type { ExampleOutcome, RuleExample } from "./rules/try-rules.ts";
import { type AnyLayer, explainVisibility } from "./visible-tools.ts";

/** A call to explain; it does not run. */
export interface SupposedCall {
  mode?: CallMode;
  caller?: Partial<Caller>;
}

/** What may run and why, for people and programs. None of these functions runs a tool. */
export interface PolicyView {
  readonly rules: RuleSet;
  readonly grants: Grants;
  /** How much of the limits is used. */
  readonly limits: Pick<Limits, "list" | "extend" | "refusalOf" | "addUse">;
  /** Which tools exist for a caller. */
  layersFor(caller?: Partial<Caller>): readonly AnyLayer[];
  /** Every layer, rule and file that was checked, and which one decided. Rejects if the input is not valid for the tool. */
  explain(toolName: string, input: unknown, supposed?: SupposedCall): Promise<Explanation>;
  /** Rules that have no effect, or not the effect they seem to have. */
  lint(): RuleFinding[];
  /** The verdict of rules, made stricter if calls of the tool must ask in spite of them. */
  required(tool: AnyTool, verdict: Verdict): Verdict;
  /** Saves a rule. It applies at once in this process. Throws a TypeError if it is not a rule. `by`: the person. */
  add(rule: string, list: RuleList, by?: string): Promise<Rule>;
  /**
   * What rules would allow if a person saved them with an approval, in one sentence. Saves nothing. Throws a TypeError if one
   * of them is not a rule that allows. The tool: of the call that is asked about.
   */
  describeGrant(
    rules: readonly string[],
    grant: Pick<GrantContext, "caller" | "bounds"> & Pick<GrantChoice, "scope" | "isBroader"> & { tool: string },
  ): GrantChoice;
  /** Revokes a saved rule. False if it was not saved here. What lasts for a session is a grant. */
  remove(rule: string, list: RuleList, origin: string, by?: string): Promise<boolean>;
  /** Checks examples against the rules. */
  test(examples: readonly RuleExample[]): Promise<ExampleOutcome[]>;
}

export interface PolicyViewOptions {
  registry: ToolRegistry;
  rules: RuleSet;
  grants: Grants;
  limits: Limits;
  layersFor(caller: Partial<Caller>): readonly AnyLayer[];
  /** Who chose the values; the same function that judges calls. */
  provenance: Pick<Provenance, "verdictOf" | "knowsUser" | "settings">;
  cwd: string;
  /** Why a tool must ask in spite of the rules; the same function that judges calls. */
  requiresApproval?: ((tool: AnyTool) => string | undefined) | undefined;
  /** The host's own judgement; the same function that judges calls. */
  decide?: Decide | undefined;
  savedFor: SavedFor;
  /** As in the options of the runtime. */
  saveRule?: ((rule: string, list: RuleList, by?: string) => MaybePromise<string | void>) | undefined;
  removeRule?: ((rule: string, list: RuleList, origin: string, by?: string) => MaybePromise<boolean>) | undefined;
}

export function createPolicyView({
  registry,
  rules,
  grants,
  limits,
  layersFor,
  provenance,
  cwd,
  requiresApproval,
  decide,
  savedFor,
  saveRule,
  removeRule,
}: PolicyViewOptions): PolicyView {
  const find = (name: string) => registry.get(name);
  return {
    rules,
    grants,
    limits,
    layersFor: (caller = {}) => layersFor(caller),
    async explain(toolName, input, { mode, caller = {} } = {}) {
      const tool = find(toolName);
      if (!tool) {
        const names = registry.list().map(({ name }) => name);
        throw new ToolNotFoundError(toolName, didYouMean(toolName, names) ?? `Tools are: ${names.join(", ")}.`);
      }
      const { layers } = explainVisibility(tool, layersFor(caller));
      const call = { tool, input: await validatedInput(tool, input), mode, cwd };
      const byHost = decide && (await askHost(decide, { ...call, caller, host: undefined }));
      const defaultPermission = byHost?.decision === "allow" ? "auto" : undefined;
      const { explainVerdict } = await import("./rules/explain-verdict.ts");
      const byRules = await withAnswers((answers) =>
        explainVerdict(rules, { ...call, answers, defaultPermission }, { layers }),
      );
      const granted = isAsking(byRules.verdict) ? await grants.answer(call, caller, byRules.verdict) : undefined;
      const mustAsk = requiresApproval?.(tool);
      const asks: Verdict | undefined =
        mustAsk === undefined
          ? undefined
          : settle({ decision: "ask", by: "policy", reason: mustAsk }, mode ?? "default");
      const byGrants = granted ? withGrant(byRules, granted) : byRules;
      const ruled = withStep(withStep(byGrants, "decide", byHost), "must ask", asks);
      if (ruled.verdict.decision === "deny") return ruled;
      const limited = await limits.verdictOf(tool, call.input, caller);
      const depth = caller.depth ?? 0;
      const judged = { tool, input: call.input, caller: { ...caller, depth }, parent: undefined, facts: undefined };
      const byProvenance = await provenance.verdictOf(judged, byGrants.verdict);
      const settled = byProvenance && settle(byProvenance, rules.modeOf(mode));
      const step = withLimits(withStep(ruled, "provenance", settled), limited, rules.modeOf(mode));
      if (provenance.settings.mode === "off" || (await provenance.knowsUser(caller))) return step;
      const note = "no message of a user is known here, so only the labels of tools count";
      const steps = [...step.steps, { name: "provenance", outcome: "passes", note } as const];
      return { ...step, steps, text: `${step.text}\nprovenance: ${note}` };
    },
    lint: () => lintRules(rules.sources(), registry.list()),
    required(tool, verdict) {
      const reason = verdict.decision === "deny" ? undefined : requiresApproval?.(tool);
      return reason === undefined ? verdict : stricter(verdict, { decision: "ask", by: "policy", reason });
    },
    async add(rule, list, by) {
      // Checked before it is saved.
      if (!isOneLine(rule.trim())) throw new TypeError("A rule is one line of text.");
      new RuleSet().add(rule, list, "trial");
      const file = await saveRule?.(rule.trim(), list, by);
      return rules.add(rule, list, file ?? "local", cwd);
    },
    describeGrant(given, { tool, ...grant }) {
      for (const rule of given) new RuleSet().add(rule, "allow", "trial");
      return describeGrant(given, { ...grant, tool: find(tool), savedFor });
    },
    async remove(rule, list, origin, by) {
      // Rules without a file exist in this process only.
      if (origin !== "local" && !(await removeRule?.(rule, list, origin, by))) return false;
      return rules.remove(rule, list, origin);
    },
    test: async (examples) =>
      (await import("./rules/try-rules.ts")).testRules(rules, examples, { cwd, findTool: find }),
  };
}

/** A grant answers what the rules would ask. */
function withGrant(explained: Explanation, verdict: Verdict): Explanation {
  const steps = [...explained.steps, { name: "grants", outcome: "decides", stepVerdict: verdict } as const];
  return {
    ...explained,
    verdict,
    steps,
    text: `${explained.text}\ngrants: decides: ${verdict.decision}. ${verdict.reason}`,
  };
}

/** How much of each limit is used, and whether one decides. */
function withLimits(explained: Explanation, limited: LimitVerdict | undefined, mode: CallMode): Explanation {
  if (!limited) return explained;
  const verdict = withLimit(explained.verdict, limited);
  const isDeciding = verdict.by === "limit";
  const note = limited.lines.join("; ");
  const outcome = isDeciding ? "decides" : "passes";
  const steps = [...explained.steps, { name: "limits", outcome, note, stepVerdict: limited.verdict } as const];
  const says = isDeciding ? `decides: ${verdict.decision}. ${verdict.reason}` : note;
  return { ...explained, verdict: settle(verdict, mode), steps, text: `${explained.text}\nlimits: ${says}` };
}

/** As for real calls, the strictest of the rules and what comes after them applies. */
function withStep(explained: Explanation, name: string, stepVerdict: Verdict | undefined): Explanation {
  if (!stepVerdict) return explained;
  const { decision, by } = explained.verdict;
  const isDefault = decision === "allow" && by === "policy" && stepVerdict.decision === "allow";
  const stricterOne = isDefault ? stepVerdict : stricter(explained.verdict, stepVerdict);
  const outcome = stricterOne === stepVerdict ? "decides" : "would decide";
  const verdict = withOrigins(stricterOne, stepVerdict);
  const steps = [...explained.steps, { name, outcome, stepVerdict } as const];
  const text = `${explained.text}\n${name}: ${outcome}: ${stepVerdict.decision}. ${stepVerdict.reason}`;
  return { ...explained, verdict, steps, text };
}
