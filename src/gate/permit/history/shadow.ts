import type { CallIn, CallMode, ShadowVerdict, Verdict } from "../../../core/call.ts";
import type { ProvenanceMode } from "../../../core/call-summary.ts";
import type { Clock, Timer } from "../../../core/clock.ts";
import { hideSecrets } from "../../../core/secrets/mask-secrets.ts";
import type { MaybePromise } from "../../../core/stage.ts";
import type { ToolPermission } from "../../../core/tool.ts";
import { isObject } from "../../../schema/json-schema.ts";
import type { Decide } from "../host-decision.ts";
import type { RuleList } from "../rules/rule.ts";
import { RuleSet } from "../rules/rule-set.ts";
import type { Grants } from "../grants.ts";
import type { Provenance } from "../provenance/provenance.ts";
import { createJudge, isAsking, type Judge, type JudgeOptions } from "../verdict.ts";

/** How a policy would differ from the active one. */
export interface PolicyChange {
  add?: { rule: string; decision: RuleList }[] | undefined;
  remove?: string[] | undefined;
  /** Instead of all active rules. `add` and `remove` apply to it. */
  policy?:
    | {
        allow?: string[] | undefined;
        ask?: string[] | undefined;
        deny?: string[] | undefined;
        defaultMode?: CallMode | undefined;
        defaultPermission?: ToolPermission | undefined;
      }
    | undefined;
  /** Another mode of provenance. */
  provenance?: ProvenanceMode | undefined;
}

/** A policy that runs beside the active one, and decides nothing. Plain JSON. */
export interface Shadow {
  id: string;
  /** The rule, or the file that it was read from. */
  name: string;
  change: PolicyChange;
  startedAt: number;
  startedBy?: string | undefined;
}

/** The rules with the change. Throws a TypeError if one of them is not a rule. */
export function changedRules(ruleSet: RuleSet, { add = [], remove = [], policy: whole }: PolicyChange): RuleSet {
  // Its origin is that of a workspace's file, which cannot set bypassPermissions.
  const mayBypass = ruleSet.sources().every((source) => source.mayBypass !== false);
  const sources = whole ? [{ origin: "project", mayBypass, ...whole }] : ruleSet.sources();
  const dropped = new Set(remove.map((text) => text.trim()));
  const keep = (rules: readonly string[] | undefined) => rules?.filter((text) => !dropped.has(text.trim())) ?? [];
  const trial = new RuleSet(
    sources.map((source) => ({
      ...source,
      allow: keep(source.allow),
      ask: keep(source.ask),
      deny: keep(source.deny),
    })),
  );
  const [problem] = whole ? trial.problems : [];
  if (problem !== undefined) throw new TypeError(problem);
  for (const { rule, decision } of add) trial.add(rule, decision, "simulation");
  return trial;
}

interface ShadowOptions extends Omit<JudgeOptions, "grants" | "provenance"> {
  grants?: Pick<Grants, "answer"> | undefined;
  provenance: Provenance;
  clock: Clock;
}

/** A shadow that waits for something longer than this has failed for the call, which goes on. */
const MAX_WAIT_MS = 250;
const MAX_RULE = 160;

/** Judges each call by another policy, with the judge of the gate, and notes where that decides in another way. */
export class ShadowPolicy {
  readonly shadow: Shadow;
  readonly #options: ShadowOptions;
  /** What the host has decided: its function is not called twice. */
  readonly #decided = new WeakMap<object, ReturnType<Decide>>();
  #judge: { at: number; judge: Judge["judge"] } | undefined;

  constructor(shadow: Shadow, options: ShadowOptions) {
    this.shadow = shadow;
    this.#options = options;
  }

  /** Remembers what the host's function answers. */
  hear(input: unknown, decided: ReturnType<Decide>): void {
    if (isObject(input)) this.#decided.set(input, decided);
  }

  /** Notes a difference with the call. Never throws or rejects, and waits no longer than a moment. */
  observe(call: CallIn<"permit">, said: Verdict): MaybePromise<void> {
    // Judged in its first pass.
    if (call.secondPass || call.policy?.shadow) return;
    const note = (verdict: Verdict | "failed"): void => {
      const shadow = this.#differenceOf(said, verdict);
      if (shadow) call.policy = { ...call.policy, shadow };
    };
    try {
      const verdict = this.#judgeNow()(call);
      if (!(verdict instanceof Promise)) return note(verdict);
      let timer: Timer | undefined;
      const tooLate = new Promise<"failed">((resolve) => {
        timer = this.#options.clock.after(MAX_WAIT_MS, () => resolve("failed"));
      });
      return Promise.race([verdict, tooLate])
        .then(note, () => note("failed"))
        .finally(() => timer?.cancel());
    } catch {
      note("failed");
    }
  }

  #differenceOf(said: Verdict, verdict: Verdict | "failed"): ShadowVerdict | undefined {
    const { id } = this.shadow;
    if (verdict === "failed") return { id, before: said.decision, after: "failed" };
    // Hooks that run before a question ran for the active policy only.
    if (verdict.decision === said.decision || (said.by === "hook" && isAsking(verdict))) return undefined;
    const { decision: after, by, rule } = verdict;
    return { id, before: said.decision, after, by, rule: rule && hideSecrets(rule).slice(0, MAX_RULE) };
  }

  /** Built again if the active rules have changed. */
  #judgeNow(): Judge["judge"] {
    const { rules: active, grants, provenance, hooks, decide, ...options } = this.#options;
    const at = active.changes.count;
    if (this.#judge?.at === at) return this.#judge.judge;
    const { change } = this.shadow;
    const rules = changedRules(active, change);
    const { judge } = createJudge({
      ...options,
      rules,
      grants: grants && {
        answer: (judged, caller, asks, given) => grants.answer(judged, caller, asks, { ...given, rules }),
      },
      provenance:
        change.provenance === undefined
          ? provenance
          : {
              taint: provenance.taint,
              mayJudge: provenance.mayJudge,
              verdictOf: (call, byRules) => provenance.verdictOf(call, byRules, change.provenance),
            },
      hooks: hooks && { verdictOf: hooks.verdictOf, judges: hooks.judges, beforeApproval: () => undefined },
      decide: decide && (({ input }) => (isObject(input) ? this.#decided.get(input) : undefined)),
    });
    this.#judge = { at, judge };
    return judge;
  }
}
