import type { MaybePromise } from "../../core/stage.ts";
import type { AnyTool } from "../../core/tool.ts";
import type { AuditLog } from "../../gate/audit-log.ts";
import type { PolicyLayer } from "../../gate/permit/policy-layers.ts";
import { lintRules } from "../../gate/permit/rules/lint-rules.ts";
import { RULE_LISTS } from "../../gate/permit/rules/rule.ts";
import { RuleSet } from "../../gate/permit/rules/rule-set.ts";
import { previewRule } from "../../gate/permit/rules/try-rules.ts";
import { explainVisibility } from "../../gate/permit/visible-tools.ts";
import type { Haft } from "../../runtime.ts";
import { HttpError } from "../door-error.ts";
import type { PolicyCapability, RulesCapability } from "../host-parts.ts";
import type { PolicyInfo, RuleEffect, SimulateRequest, Simulation } from "../wire.ts";

/** A call that was made, as far as rules look at it. */
export interface PastCall {
  callId: string;
  toolName: string;
  input: unknown;
  display: string;
  at: number;
}

export interface PolicyCapabilityOptions {
  haft: Haft;
  ruleSet: RuleSet;
  /** Which tools exist, layer by layer. */
  layers?: () => readonly PolicyLayer[];
  /** Newest first. */
  pastCalls(limit: number): MaybePromise<readonly PastCall[]>;
}

const MAX_SAMPLES = 20;

/** The rules of a runtime in the words of the wire. Nothing here changes them. */
export function policyCapability({
  haft,
  ruleSet,
  layers = () => [],
  pastCalls,
}: PolicyCapabilityOptions): PolicyCapability & RulesCapability {
  const cwd = haft.folder;

  /** What rules can still be asked about: the tool is there, and accepts the input. */
  const readable = (calls: readonly PastCall[]) =>
    calls.flatMap((call) => {
      const tool = haft.registry.get(call.toolName);
      const input = tool && tryBuild(tool, call.input);
      return tool && input !== undefined ? [{ call, tool, input, cwd }] : [];
    });

  return {
    show(): PolicyInfo {
      return {
        rules: ruleSet.rules().map(({ text, list, origin }) => ({
          rule: text,
          decision: list,
          origin,
          lasts: origin.startsWith("session") ? ("session" as const) : ("always" as const),
        })),
        layers: layers().map(({ name, policy: { profile, allow, alsoAllow, deny } }) => ({
          origin: name,
          profile,
          allow: allow ? [...allow] : undefined,
          alsoAllow: alsoAllow ? [...alsoAllow] : undefined,
          deny: deny ? [...deny] : undefined,
        })),
        mode: ruleSet.defaultMode,
      };
    },
    explain({ tool: name, input = {}, mode, session }, user) {
      if (!haft.registry.get(name))
        throw new HttpError("not_found", "There is no such tool", "Look at GET /api/tools.");
      const {
        verdict,
        layers: requested,
        steps,
      } = haft.policy.explain(name, input, {
        mode,
        caller: { user, session },
      });
      return {
        verdict,
        steps: [
          ...requested.map(({ layer, allowed, reason }) => ({
            by: layer,
            decision: allowed ? ("none" as const) : ("deny" as const),
            reason,
          })),
          ...steps.map(({ name: by, outcome, stepVerdict }) => ({
            by,
            decision: stepVerdict?.decision ?? ("none" as const),
            reason: stepVerdict?.reason ?? outcome,
            rule: stepVerdict?.rule === undefined ? undefined : stepVerdict.rule,
            origin: stepVerdict?.origin === undefined ? undefined : stepVerdict.origin,
          })),
        ],
      };
    },
    lint: () =>
      lintRules(ruleSet.sources(), haft.registry.list()).map(({ level, message, rule, origin }) => ({
        level: level === "error" ? "error" : "warning",
        message,
        rule,
        origin,
      })),
    async simulate({ add = [], remove = [], calls = 200 }: SimulateRequest): Promise<Simulation> {
      const trial = changedRuleSet(ruleSet, { add, remove });
      const judged = readable(await pastCalls(calls));
      const changed = judged.flatMap(({ call: { callId, toolName, display }, ...one }) => {
        const before = ruleSet.judge(one);
        const after = trial.judge(one);
        return before.decision === after.decision ? [] : [{ callId, toolName, display, before, after }];
      });
      return { judged: judged.length, changed };
    },
    verdictOf(tool) {
      const refused = explainVisibility(tool, layers()).layers.find(({ allowed }) => !allowed);
      if (refused) return { decision: "deny", by: "policy", reason: refused.reason, origin: refused.layer };
      // Rules for all of its calls; what depends on the input cannot be said yet.
      const rules = bareRules(ruleSet, tool, cwd);
      for (const list of RULE_LISTS) {
        const bare = rules?.[list].find(({ rule }) => rule.isBare)?.rule;
        if (bare)
          return {
            decision: list,
            by: "rule",
            reason: `A rule for all of its calls says ${list}.`,
            rule: bare.text,
            origin: bare.origin,
          };
      }
      return undefined;
    },
    async effect(rules, decision): Promise<RuleEffect> {
      const judged = readable(await pastCalls(1000));
      const matched = new Set<PastCall>();
      for (const text of rules.split("\n").filter((line) => line.trim() !== "")) {
        try {
          for (const { call, matches } of previewRule({ text, list: decision }, judged))
            if (matches) matched.add(call.call);
        } catch (error) {
          return { rule: rules, judged: judged.length, matched: 0, samples: [], problem: (error as Error).message };
        }
      }
      const samples = [...matched].slice(0, MAX_SAMPLES).map(({ input: _input, ...sample }) => sample);
      return { rule: rules, judged: judged.length, matched: matched.size, samples };
    },
  };
}

/** The last calls that the audit log has, with the input as it kept it. */
export function pastCallsOf(log: AuditLog): PolicyCapabilityOptions["pastCalls"] {
  return async (limit) => {
    const { entries } = await log.query({ kind: ["call_begun", "call_refused", "call_waiting"], limit });
    return entries.flatMap(({ callId, toolName, data, at }) =>
      callId === undefined || toolName === undefined || data["input"] === undefined
        ? []
        : [{ callId, toolName, input: data["input"], display: JSON.stringify(data["input"]).slice(0, 200), at }],
    );
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
    throw new HttpError("bad_request", (error as Error).message, "Correct the rule.");
  }
  return trial;
}

/** Undefined where the tool cannot say what it is about without an input. */
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
