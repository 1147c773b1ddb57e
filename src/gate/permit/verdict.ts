import { type Call, toolOf, type Verdict } from "../../core/call.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import type { ChangeCounter, MaybePromise } from "../../core/stage.ts";
import type { AnyTool } from "../../core/tool.ts";
import { answerInTime, withAnswers } from "../tool-answers.ts";
import type { Hooks } from "./hooks/hooks.ts";
import { type Decide, hostVerdict } from "./host-decision.ts";
import { settle } from "./rules/evaluate-rules.ts";
import { type JudgedCall, RuleSet } from "./rules/rule-set.ts";
import type { Grants } from "./grants.ts";
import type { Limits, LimitVerdict } from "./limits.ts";
import type { Provenance } from "./provenance/provenance.ts";

export interface JudgeOptions {
  rules: RuleSet;
  /** What people allowed beyond one call. */
  grants?: Pick<Grants, "answer"> | undefined;
  /** How many calls, and how much, there may be. */
  limits?: Pick<Limits, "concerns" | "verdictOfCall"> | undefined;
  provenance: Pick<Provenance, "verdictOf" | "mayJudge"> & { taint: Pick<Provenance["taint"], "canLabel"> };
  hooks?: Pick<Hooks, "verdictOf" | "beforeApproval" | "judges"> | undefined;
  /** The base folder of relative paths in rules. */
  cwd: string;
  clock?: Clock | undefined;
  /** Why a call of this tool must ask although a rule allows it: its definition was not reviewed yet. */
  requiresApproval?: ((tool: AnyTool) => string | undefined) | undefined;
  /** The host's own judgement of each call. */
  decide?: Decide | undefined;
}

export interface Judge {
  judge(call: Call): MaybePromise<Verdict>;
  /** The allowing verdict on every call of the tool without a mode of its own. Undefined if it depends on the call. */
  allowsAll(tool: AnyTool): Verdict | undefined;
  /** The counters of what `allowsAll` depends on. */
  readonly changes: readonly ChangeCounter[];
}

/** The strictest verdict of rules, hooks and provenance. */
export function createJudge(options: JudgeOptions): Judge {
  const { rules, grants, limits, provenance, hooks, cwd, clock = systemClock, requiresApproval, decide } = options;
  /** Judges again after a person has answered. The hooks that run before the question do not run again. */
  const hookVerdicts = new WeakMap<Call, MaybePromise<Verdict | undefined>>();

  let allowed = new WeakMap<AnyTool, { verdict: Verdict | undefined }>();
  let allowedAt = -1;

  return { judge, allowsAll, changes: [rules.changes] };

  function judge(call: Call): MaybePromise<Verdict> {
    const tool = toolOf(call);
    const { mode } = call.options;
    // The other program has run it: this only records the end.
    if (tool.isDelegated && call.secondPass) return call.secondPass.verdict;
    if (mode === undefined && !call.secondPass && !provenance.mayJudge(tool, call.caller)) {
      const verdict = allowsAll(tool);
      if (verdict) return verdict;
    }
    const limited = limitsOn(call);
    const judgeLimited = (found: LimitVerdict | undefined): MaybePromise<Verdict> => {
      const byHost = decide && hostVerdict(decide, call, clock);
      if (byHost instanceof Promise) return byHost.then((verdict) => judgeRules(call, verdict, found));
      return judgeRules(call, byHost, found);
    };
    return limited instanceof Promise ? limited.then(judgeLimited) : judgeLimited(limited);
  }

  /** A program that goes on, and what a client has run, were counted when they started. */
  function limitsOn(call: Call): MaybePromise<LimitVerdict | undefined> {
    const tool = toolOf(call);
    if (!limits?.concerns(tool) || call.secondPass?.kind === "code" || call.secondPass?.kind === "client")
      return undefined;
    return limits.verdictOfCall(call);
  }

  function judgeRules(
    call: Call,
    byHost: Verdict | undefined,
    limited: LimitVerdict | undefined,
  ): MaybePromise<Verdict> {
    const { input, options, caller } = call;
    const judged = { tool: toolOf(call), input, mode: options.mode, cwd };
    const byRules = withAnswers((answers) => judgeWithHost(rules, { ...judged, answers }, byHost), call);
    const further = (verdict: Verdict) => judgeFurther(call, stricter(verdict, byHost), limited);
    const withGrants = (verdict: Verdict): MaybePromise<Verdict> => {
      const granted =
        grants && !call.secondPass && isAsking(verdict) ? grants.answer(judged, caller, verdict, { call }) : undefined;
      if (granted instanceof Promise) return granted.then((found) => found ?? verdict);
      return granted ?? verdict;
    };
    if (byRules instanceof Promise) return answerInTime(call, clock, byRules).then(withGrants).then(further);
    const verdict = withGrants(byRules);
    return verdict instanceof Promise ? verdict.then(further) : further(verdict);
  }

  function allowsAll(tool: AnyTool): Verdict | undefined {
    if (allowedAt !== rules.changes.count) {
      allowed = new WeakMap();
      allowedAt = rules.changes.count;
    }
    let known = allowed.get(tool);
    if (!known) allowed.set(tool, (known = { verdict: findAllowing(tool) }));
    return known.verdict;
  }

  function findAllowing(tool: AnyTool): Verdict | undefined {
    // The host's functions may change their mind at any time.
    if (decide || requiresApproval || limits?.concerns(tool) || hooks?.judges(tool) || provenance.taint.canLabel(tool))
      return undefined;
    const verdict = rules.verdictOnAll(tool, cwd);
    return verdict?.decision === "allow" ? Object.freeze(verdict) : undefined;
  }

  function judgeFurther(call: Call, byRules: Verdict, limited: LimitVerdict | undefined): MaybePromise<Verdict> {
    if (byRules.decision === "deny") return byRules;
    const strict = stricter(stricter(byRules, hooks?.verdictOf(call)), requiredVerdict(call));
    const byProvenance = provenance.verdictOf(call, byRules);
    const combine = (verdict: Verdict | undefined): MaybePromise<Verdict> => {
      const judged = withOrigins(stricter(strict, verdict), verdict);
      const strictest = settled(call, withLimit(judged, limited));
      if (call.secondPass && strictest.decision !== "deny")
        return limited ? { ...call.secondPass.verdict, limits: limited.limits } : call.secondPass.verdict;
      return strictest.decision === "ask" && hooks ? runPermissionHooks(call, strictest, hooks) : strictest;
    };
    return byProvenance instanceof Promise ? byProvenance.then(combine) : combine(byProvenance);
  }

  function settled(call: Call, verdict: Verdict): Verdict {
    if (verdict.decision !== "ask") return verdict;
    return settle(verdict, rules.modeOf(call.options.mode));
  }

  function requiredVerdict(call: Call): Verdict | undefined {
    const reason = requiresApproval?.(toolOf(call));
    return reason === undefined ? undefined : { decision: "ask", by: "policy", reason };
  }

  function runPermissionHooks(
    call: Call,
    asks: Verdict,
    { beforeApproval }: NonNullable<typeof hooks>,
  ): MaybePromise<Verdict> {
    if (!hookVerdicts.has(call)) hookVerdicts.set(call, beforeApproval(call));
    const cached = hookVerdicts.get(call);
    return cached instanceof Promise ? cached.then((verdict) => stricter(asks, verdict)) : stricter(asks, cached);
  }
}

/** What the host allows needs no question by default. Whatever asks or denies for a reason of its own still does. */
function judgeWithHost(rules: RuleSet, judged: JudgedCall, byHost: Verdict | undefined): Verdict {
  if (byHost?.decision !== "allow") return rules.judge(judged);
  const verdict = rules.judge({ ...judged, defaultPermission: "auto" });
  return verdict.decision === "allow" && verdict.by === "policy" ? byHost : verdict;
}

/** A grant answers instead of a person. In the mode dontAsk it is a denial that nobody was asked about. */
export function isAsking({ decision, key }: Verdict): boolean {
  return decision === "ask" || key === "verdict.dontAsk";
}

/** Whether these rules would allow the call. Ask rules, hooks, provenance and unreviewed definitions still ask. */
export async function wouldAllow(
  suggested: readonly string[],
  call: Call,
  { rules, hooks, ...options }: JudgeOptions,
): Promise<boolean> {
  if (suggested.length === 0) return false;
  const given = { origin: "suggested", folder: options.cwd, allow: [...suggested] };
  const { judge } = createJudge({
    ...options,
    grants: undefined,
    rules: new RuleSet([...rules.sources(), given]),
    hooks: hooks && { verdictOf: hooks.verdictOf, judges: hooks.judges, beforeApproval: () => undefined },
  });
  return (await judge(call)).decision === "allow";
}

/** Whatever asks: the person sees the values that nobody vouches for. */
export function withOrigins(verdict: Verdict, { unvouched, userText }: Partial<Verdict> = {}): Verdict {
  return unvouched && verdict.decision === "ask" ? { ...verdict, unvouched, userText } : verdict;
}

/** Of two reasons to ask the limit is named, because a yes goes beyond it. */
export function withLimit(verdict: Verdict, limited: LimitVerdict | undefined): Verdict {
  if (!limited) return verdict;
  const { limits, verdict: byLimit } = limited;
  const { unvouched, userText } = verdict;
  const isNamed =
    byLimit && STRICTNESS[byLimit.decision] >= STRICTNESS[verdict.decision] && verdict.decision !== "deny";
  return isNamed ? { ...byLimit, limits, unvouched, userText } : { ...verdict, limits };
}

const STRICTNESS = { allow: 0, ask: 1, deny: 2 } as const;

/** Of two equally strict verdicts the first; but a specific reason is preferred to the tool's default ask. */
export function stricter(one: Verdict, other: Verdict | undefined): Verdict {
  if (!other) return one;
  const difference = STRICTNESS[other.decision] - STRICTNESS[one.decision];
  return difference > 0 || (difference === 0 && other.decision === "ask" && one.by === "tool") ? other : one;
}
