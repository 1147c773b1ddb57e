import { errorMessage } from "../../core/error.ts";
import type { Verdict } from "../../contracts/basics.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import type { ExplainRequest, Explanation, policy, SimulateRequest } from "../../contracts/policy.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { AnyTool } from "../../core/tool.ts";
import type { AuditEntry, AuditLog } from "../../gate/audit-log.ts";
import type { PolicyLayer } from "../../gate/permit/policy-layers.ts";
import { lintRules } from "../../gate/permit/rules/lint-rules.ts";
import { RULE_LISTS } from "../../gate/permit/rules/rule.ts";
import { RuleSet } from "../../gate/permit/rules/rule-set.ts";
import { previewRule } from "../../gate/permit/rules/try-rules.ts";
import { explainVisibility } from "../../gate/permit/visible-tools.ts";
import { withAnswers } from "../../gate/tool-answers.ts";
import type { Haft } from "../../runtime.ts";

/** A call that was made, with what rules are matched against. */
export interface PastCall {
  callId: string;
  toolName: string;
  input: unknown;
  display: string;
  at: number;
}

/** Newest first. */
export type PastCalls = (limit: number) => MaybePromise<readonly PastCall[]>;

const DEFAULT_CALLS = 200;
const EFFECT_CALLS = 1000;
const MAX_SAMPLES = 20;

/** The rules of a runtime. Nothing here changes them. */
export function createPolicyApi(haft: Haft, pastCalls: PastCalls): Handlers<typeof policy> {
  const cwd = haft.folder;
  const ruleSet = haft.policy.rules;

  /** The past calls that rules can still be tried on: the tool exists and accepts the input. */
  const readCalls = async (limit: number) =>
    (await pastCalls(limit)).flatMap((call) => {
      const tool = haft.registry.get(call.toolName);
      const input = tool && tryBuild(tool, call.input);
      return tool && input !== undefined ? [{ call, tool, input, cwd }] : [];
    });

  return {
    show: () => ({
      rules: ruleSet.rules().map(({ text, list, origin }) => ({
        rule: text,
        decision: list,
        origin,
        lasts: origin.startsWith("session") ? "session" : "always",
      })),
      layers: layersOf(haft).map(({ name, policy: { profile, allow, alsoAllow, deny } }) => ({
        origin: name,
        profile,
        allow,
        alsoAllow,
        deny,
      })),
      mode: ruleSet.defaultMode,
    }),
    explain: ({ body, identity }) => explainCall(haft, body, identity.name),
    lint: () => ({
      items: lintRules(ruleSet.sources(), haft.registry.list()).map(({ level, message, rule, origin }) => ({
        level: level === "error" ? "error" : "warning",
        message,
        rule,
        origin,
      })),
    }),
    async simulate({ body: { add = [], remove = [], calls = DEFAULT_CALLS } }) {
      const trial = changedRuleSet(ruleSet, { add, remove });
      const judged = await readCalls(calls);
      const verdicts = judged.map(async ({ call: { callId, toolName, display }, ...one }) => {
        const [before, after] = await withAnswers((answers) => [
          ruleSet.judge({ ...one, answers }),
          trial.judge({ ...one, answers }),
        ]);
        return { callId, toolName, display, before: before!, after: after! };
      });
      const changed = (await Promise.all(verdicts)).filter(({ before, after }) => before.decision !== after.decision);
      return { judged: judged.length, changed };
    },
    /** The past calls that this rule would decide, through all other rules. */
    async effect({ query: { rule, decision = "allow" } }) {
      const judged = await readCalls(EFFECT_CALLS);
      const matched = new Set<PastCall>();
      try {
        const lines = rule.split("\n").filter((line) => line.trim() !== "");
        const trial = changedRuleSet(ruleSet, { add: lines.map((text) => ({ rule: text, decision })), remove: [] });
        for (const text of lines)
          for (const { call, matches } of await previewRule({ text, list: decision }, judged)) {
            if (!matches) continue;
            const verdict = await withAnswers((answers) => trial.judge({ ...call, answers }));
            if (verdict.decision === decision) matched.add(call.call);
          }
      } catch (error) {
        return { rule, judged: judged.length, matched: 0, samples: [], problem: errorMessage(error) };
      }
      const samples = [...matched].slice(0, MAX_SAMPLES).map(({ input: _input, ...sample }) => sample);
      return { rule, judged: judged.length, matched: matched.size, samples };
    },
  };
}

/** What would happen to a call, and why. */
export async function explainCall(haft: Haft, request: ExplainRequest, user: string): Promise<Explanation> {
  const { tool, input = {}, mode, session } = request;
  if (!haft.registry.get(tool)) throw new ApiError("not_found", "There is no such tool", "Look at GET /api/tools.");
  const { verdict, layers, steps } = await haft.policy.explain(tool, input, { mode, caller: { user, session } });
  return {
    verdict,
    steps: [
      ...layers.map(({ layer, allowed, reason }) => ({
        by: layer,
        decision: allowed ? ("none" as const) : ("deny" as const),
        reason,
      })),
      ...steps.map(({ name, outcome, stepVerdict }) => ({
        by: name,
        decision: stepVerdict?.decision ?? ("none" as const),
        reason: stepVerdict?.reason ?? outcome,
        rule: stepVerdict?.rule,
        origin: stepVerdict?.origin,
      })),
    ],
  };
}

/** What is decided about every call of a tool. Undefined if it depends on the input. */
export function verdictOf(haft: Haft, tool: AnyTool): Verdict | undefined {
  const refused = explainVisibility(tool, layersOf(haft)).layers.find(({ allowed }) => !allowed);
  if (refused) return { decision: "deny", by: "policy", reason: refused.reason, origin: refused.layer };
  const rules = bareRules(haft.policy.rules, tool, haft.folder);
  for (const list of RULE_LISTS) {
    const bare = rules?.[list].find(({ rule }) => rule.isBare)?.rule;
    if (!bare) continue;
    const reason = `A rule for all of its calls says ${list}.`;
    return { decision: list, by: "rule", reason, rule: bare.text, origin: bare.origin };
  }
  return undefined;
}

function layersOf(haft: Haft): PolicyLayer[] {
  return haft.policy.layersFor().flatMap((layer) => ("policy" in layer ? [layer] : []));
}

/** A call that only reads has its input in `call_ended`, others before. */
const INPUT_KINDS = ["call_begun", "call_ended", "call_refused", "call_waiting"] as const;
/** The ends of calls that write have no input: at most every second entry. */
const MAX_PAGES = 3;

function pastCallOf({ callId, toolName, data, at }: AuditEntry): PastCall[] {
  const { input } = data;
  if (callId === undefined || toolName === undefined || input === undefined) return [];
  return [{ callId, toolName, input, display: JSON.stringify(input).slice(0, 200), at }];
}

/** The last calls of the audit log, with the input that it kept. */
export function pastCallsOf(log: AuditLog): PastCalls {
  return async (limit) => {
    const calls: PastCall[] = [];
    let cursor: string | undefined;
    for (let pages = 0; pages < MAX_PAGES && calls.length < limit; pages++) {
      const page = await log.query({ kind: INPUT_KINDS, limit, cursor });
      calls.push(...page.entries.flatMap(pastCallOf));
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    return calls.slice(0, limit);
  };
}

function changedRuleSet(ruleSet: RuleSet, { add, remove }: Required<Pick<SimulateRequest, "add" | "remove">>): RuleSet {
  const dropped = new Set(remove.map((text) => text.trim()));
  const keep = (rules: readonly string[] | undefined) => rules?.filter((text) => !dropped.has(text.trim())) ?? [];
  const trial = new RuleSet(
    ruleSet
      .sources()
      .map((source) => ({ ...source, allow: keep(source.allow), ask: keep(source.ask), deny: keep(source.deny) })),
  );
  try {
    for (const { rule, decision } of add) trial.add(rule, decision, "simulation");
  } catch (error) {
    throw new ApiError("bad_request", errorMessage(error), "Correct the rule.");
  }
  return trial;
}

/** Undefined if the tool has no signature without an input. */
function bareRules(ruleSet: RuleSet, tool: AnyTool, cwd: string) {
  try {
    return ruleSet.caseOf({ tool, input: {}, cwd }).rules;
  } catch {
    return undefined;
  }
}

function tryBuild(tool: AnyTool, input: unknown): unknown {
  try {
    return tool.build(input as never).params as unknown;
  } catch {
    return undefined;
  }
}
