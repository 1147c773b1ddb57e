import { sha256 } from "../../calls/approval-binding.ts";
import type { Calls } from "../../calls/calls.ts";
import {
  amountOf,
  badGrant,
  type ChargedCall,
  chargesOf,
  type Grant,
  type GrantCaps,
  type GrantChange,
  type GrantDraft,
  type GrantHolder,
  type GrantQuery,
  type GrantRows,
  type GrantState,
  grantStateOf,
  hasBudgetCap,
  isHolder,
  isOver,
  MAX_OPEN_GRANTS,
  newGrant,
  readBounds,
  refusalOfCharge,
  requireBounds,
} from "../../calls/grants.ts";
import { fromMicros } from "../../calls/limits.ts";
import { BoundedMap } from "../../core/bounded-map.ts";
import type { Call, Caller, Verdict } from "../../core/call.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import { definitionHash } from "../../core/definition.ts";
import { toolError } from "../../core/error.ts";
import type { EventEmitter } from "../../core/events.ts";
import { reasonText } from "../../core/localized-text.ts";
import { checkKeys, keysOf } from "../../core/options.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { AnyTool } from "../../core/tool.ts";
import { withAnswers } from "../tool-answers.ts";
import { compileRule, type CompiledRule } from "./rules/compile-rule.ts";
import { type JudgedCall, RuleSet } from "./rules/rule-set.ts";

/** How long a grant for a session lasts, if nothing else is said. */
const SESSION_MINUTES = 12 * 60;
/** The origin of the rules of a grant. */
const GRANT = "grant";
const MAX_RULE_SETS = 1000;
const MAX_REMEMBERED = 10_000;

export interface GrantsOptions {
  rules: RuleSet;
  rows: GrantRows;
  calls: Calls;
  clock: Clock;
  events: EventEmitter;
  /** Every version of every tool that there is now. */
  tools: () => readonly AnyTool[];
  /** Read when a grant is made: a host may change them. */
  caps?: () => GrantCaps;
}

// A bound or a holder with a misspelt name would be none.
const DRAFT_KEYS = keysOf<GrantDraft>({
  ...{ holder: true, rules: true, tools: true, minutes: true, maxUses: true, budget: true, why: true },
  ...{ by: true, via: true },
});
const HOLDER_KEYS = keysOf<GrantHolder>({
  ...{ user: true, session: true, agent: true, task: true, depth: true, process: true },
});
const BOUND_KEYS = keysOf<GrantBounds>({ minutes: true, maxUses: true, budget: true });

/** What may be changed of a grant. */
export type GrantBounds = Pick<GrantDraft, "minutes" | "maxUses" | "budget">;

/** What a call was judged by. */
type Judged = Omit<JudgedCall, "answers">;

/**
 * What people allowed beyond one call. Their rules are read with each call that would ask, so one that was made or revoked in another
 * process counts at once. A deny rule, an ask rule and a mode that denies win over a grant.
 */
export class Grants {
  readonly #options: GrantsOptions;
  readonly #ruleSets = new BoundedMap<string, { of: readonly CompiledRule[]; ruleSet: RuleSet }>(MAX_RULE_SETS);
  /** By the monotonic clock, from when this process first saw the grant: setting the clock back does not revive one. */
  readonly #deadlines = new BoundedMap<string, number>(MAX_REMEMBERED);
  readonly #refused = new WeakMap<Call, ReadonlySet<string>>();
  /** When the next grant that this process knows of is over. */
  #next: { at: number; timer: Timer } | undefined;

  constructor(options: GrantsOptions) {
    this.#options = options;
    options.rows.onUsedUp((grant) => this.#emit(grant, "used_up"));
  }

  /** Gives a grant. Throws if a rule is none, or a bound is beyond its cap. */
  async give(draft: GrantDraft): Promise<Grant> {
    const { rows, clock, caps } = this.#options;
    checkKeys("A grant", draft, DRAFT_KEYS);
    checkKeys("The holder of a grant", draft.holder, HOLDER_KEYS);
    for (const rule of draft.rules) new RuleSet().add(rule, "allow", GRANT);
    const grant = newGrant(draft, caps?.() ?? {}, clock.now());
    await rows.insert(grant);
    this.#isOver(grant);
    this.#emit(grant, "granted");
    return grant;
  }

  /** The definitions of the tools that the rules name now. Throws if a rule is none or names no tool, or a bound is missing or beyond its cap. */
  check({ rules, ...bounds }: Pick<GrantDraft, "rules"> & GrantBounds): Record<string, string> {
    const { clock, caps, tools } = this.#options;
    const all = tools();
    const named = rules.flatMap((text) => {
      const rule = compileRule({ text, list: "allow", origin: GRANT });
      const found = all.filter((tool) => rule.appliesTo(tool));
      if (found.length === 0) throw badGrant(`"${text}" names no tool that exists`);
      return found;
    });
    const limits = caps?.() ?? {};
    requireBounds(bounds, limits);
    readBounds(bounds, limits, clock.now());
    const paying = !bounds.budget && hasBudgetCap(limits) ? named.find(({ amount }) => amount) : undefined;
    if (paying) throw badGrant(`${paying.name} names its amount, so the grant needs a budget`);
    return definitionsOf(named);
  }

  /**
   * The caller's session may use these rules from now on, for the tools as they are defined now. `shown`: the tool of the call that
   * a person was asked about.
   */
  async add(
    rules: string | readonly string[],
    to: Partial<Caller>,
    { shown, ...more }: Partial<GrantDraft> & { shown?: AnyTool } = {},
  ): Promise<Grant> {
    const { caps, tools } = this.#options;
    const { maxMinutes = SESSION_MINUTES, maxUses } = caps?.() ?? {};
    const minutes = Math.min(SESSION_MINUTES, maxMinutes);
    const holder = this.holderOf(to, "session");
    const given = [rules].flat();
    const compiled = given.map((text) => compileRule({ text, list: "allow", origin: GRANT }));
    // The tool of a call may be that of one conversation, which is not among all tools.
    const named = tools().filter((tool) => tool.name !== shown?.name && compiled.some((rule) => rule.appliesTo(tool)));
    const definitions = definitionsOf(shown ? [...named, shown] : named);
    return this.give({ holder, rules: given, tools: definitions, why: "this session", minutes, maxUses, ...more });
  }

  /** Whom a grant covers that is given to a caller: in this session only, or wherever the person and the agent meet again. */
  holderOf({ session, user, agent, depth }: Partial<Caller>, scope: "session" | "always"): GrantHolder {
    const who = { user: user ?? null, agent: agent ?? null, depth: depth ?? 0 };
    if (scope === "always") return who;
    // Calls without a session are told apart by nothing but their process.
    const process = session === undefined ? this.#options.calls.processId : undefined;
    return { ...who, session: session ?? null, process };
  }

  /** The newest first. */
  async list({ isOpen, max = MAX_OPEN_GRANTS }: Partial<GrantQuery> = {}): Promise<Grant[]> {
    const grants = await this.#options.rows.list({ isOpen, max });
    const seen = await Promise.all(grants.map((grant) => this.#seen(grant)));
    return isOpen ? seen.filter(({ ended }) => ended === undefined) : seen;
  }

  async get(id: string): Promise<Grant | undefined> {
    const grant = await this.#options.rows.get(id);
    return grant && this.#seen(grant);
  }

  stateOf(grant: Grant): GrantState {
    return this.#isOver(grant) && !grant.ended ? "expired" : grantStateOf(grant, this.#options.clock.now());
  }

  /** Replaces bounds of a grant that has not ended. Throws if one is beyond its cap. */
  async extend(id: string, bounds: GrantBounds, by?: string): Promise<Grant> {
    const { rows, clock, caps } = this.#options;
    checkKeys("What extends a grant", bounds, BOUND_KEYS);
    if (bounds.minutes === undefined && bounds.maxUses === undefined && !bounds.budget)
      throw badGrant("Nothing was said about how to extend it");
    const known = await this.#require(id);
    const { until, maxUses, budget } = readBounds(bounds, caps?.() ?? {}, clock.now());
    if (budget && budget.unit !== known.budget?.unit) throw badGrant(`Grant "${id}" has no budget in ${budget.unit}`);
    const change = (grant: Grant): Partial<Grant> | undefined => {
      if (this.#isOver(grant)) return undefined;
      // A bound of uses or of an amount is added to a grant without one only if that narrows it.
      return { until: until ?? grant.until, maxUses: maxUses ?? grant.maxUses, budget: budget ?? grant.budget };
    };
    const extended = await rows.change(id, change, { change: "extended", by });
    if (!extended) throw hasEnded(id);
    this.#isOver(extended);
    this.#emit(extended, "extended");
    return extended;
  }

  /** From now on it covers no call. A call that has started goes on. */
  async revoke(id: string, by?: string): Promise<Grant> {
    await this.#require(id);
    const ended = { ended: "revoked", endedAt: this.#options.clock.now(), endedBy: by } as const;
    const revoked = await this.#options.rows.change(id, () => ended, { change: "revoked", by });
    if (!revoked) throw hasEnded(id);
    this.#emit(revoked, "revoked");
    return revoked;
  }

  /** Gives back what a call took: a person found out that it did nothing. Throws if several calls may be meant. */
  async giveBack(id: string, call: string | ChargedCall, by?: string): Promise<Grant> {
    await this.#require(id);
    const meant = typeof call === "string" ? { callId: call } : call;
    if (!(await this.#options.calls.giveBackCharge(meant, id)))
      throw badGrant(`No call "${meant.callId}" that has ended has taken anything from grant "${id}"`);
    const changed = await this.#options.rows.change(id, () => ({}), { change: "given_back", by });
    const grant = changed ?? (await this.#require(id));
    this.#emit(grant, "given_back");
    return grant;
  }

  /** Removes a rule from the grants of a session, or replaces it; false if none has it. */
  async remove(rule: string, session: string | undefined, to?: string, by?: string): Promise<boolean> {
    if (to !== undefined) new RuleSet().add(to, "allow", GRANT);
    const open = await this.list({ isOpen: true });
    let isFound = false;
    for (const { id, holder } of open) {
      if (holder.session !== (session ?? null)) continue;
      // From the rules that it has now: another rule may be removed at the same time.
      const change = ({ rules }: Grant): Partial<Grant> | undefined => {
        if (!rules.includes(rule)) return undefined;
        const left = [...rules.filter((text) => text !== rule && text !== to), ...(to === undefined ? [] : [to])];
        if (left.length > 0) return { rules: left };
        return { ended: "revoked", endedAt: this.#options.clock.now(), endedBy: by };
      };
      const changed = await this.#options.rows.change(id, change, { change: "extended", by });
      if (!changed) continue;
      isFound = true;
      this.#emit(changed, changed.ended ?? "extended");
    }
    return isFound;
  }

  /**
   * The verdict on a call that the rules would ask about. It asks too if a grant would cover the call, but was given for another
   * definition of the tool. Undefined if none does.
   */
  answer(
    judged: Judged,
    caller: Partial<Caller>,
    asks: Verdict,
    { call, rules = this.#options.rules }: { call?: Call; rules?: RuleSet } = {},
  ): MaybePromise<Verdict | undefined> {
    const open = this.#openFor(judged.tool, caller, call && this.#refused.get(call));
    if (open instanceof Promise) return open.then((grants) => this.#answer(grants, judged, asks, rules));
    return this.#answer(open, judged, asks, rules);
  }

  #answer(open: readonly Grant[], judged: Judged, asks: Verdict, rules: RuleSet): MaybePromise<Verdict | undefined> {
    if (open.length === 0) return undefined;
    const hash = definitionHash(judged.tool, sha256);
    const isShown = ({ tools }: Grant): boolean => {
      const shown = Object.values(tools);
      return shown.length === 0 || shown.includes(hash);
    };
    const mine = open.filter(isShown);
    const explain = async (): Promise<Verdict | undefined> => {
      if (asks.decision !== "ask") return undefined;
      const { tool } = judged;
      const before = mine.length < open.length ? await this.#allow(open, judged, rules) : undefined;
      const other = before?.grants?.find((id) => !mine.some((grant) => grant.id === id));
      if (other !== undefined)
        return { ...asks, ...reasonText("verdict.otherDefinition", { tool: tool.name, grant: other }) };
      const larger = (await this.#allow(mine, judged, rules, { isUncharged: true }))?.grants;
      const [short] = mine.flatMap((grant) =>
        larger?.includes(grant.id) ? (this.#shortage(grant, judged) ?? []) : [],
      );
      return short && { ...asks, ...short };
    };
    const allowed = this.#allow(mine, judged, rules);
    return allowed instanceof Promise ? allowed.then((found) => found ?? explain()) : (allowed ?? explain());
  }

  /** What the grant has too little of for the call, for the person who is asked. */
  #shortage(grant: Grant, { tool, input }: Judged): ReturnType<typeof reasonText> | undefined {
    const { id, maxUses: max, used, budget, spent } = grant;
    if (max !== undefined && used >= max) return reasonText("verdict.grantUses", { grant: id, used, max });
    const amount = amountOf(tool, input);
    if (!budget || (amount?.unit === budget.unit && spent + amount.micros <= budget.max)) return undefined;
    const { unit } = budget;
    if (amount?.unit !== unit) return reasonText("verdict.grantNoAmount", { grant: id, unit });
    const [left, all, takes] = [budget.max - spent, budget.max, amount.micros].map(fromMicros);
    return reasonText("verdict.grantBudget", { grant: id, left: left ?? 0, max: all ?? 0, unit, takes: takes ?? 0 });
  }

  /** The grant refused the charge of this call: it does not answer for the call any more, so judging it again comes to an end. */
  exclude(call: Call, id: string): void {
    this.#refused.set(call, new Set([...(this.#refused.get(call) ?? []), id]));
  }

  /** Grants that may cover calls by this caller, the newest first, whatever definition of the tool they were given for. */
  #openFor(tool: AnyTool, caller: Partial<Caller>, refused?: ReadonlySet<string>): MaybePromise<Grant[]> {
    const { rows, calls, caps } = this.#options;
    const needsBudget = tool.amount !== undefined && hasBudgetCap(caps?.() ?? {});
    const isFor = (grant: Grant): boolean => {
      if ((needsBudget && !grant.budget) || refused?.has(grant.id)) return false;
      if (!isHolder(grant, caller, calls.processId)) return false;
      if (this.#isOver(grant)) {
        void this.#seen(grant);
        return false;
      }
      return true;
    };
    const open = rows.list({ isOpen: true, of: caller, max: MAX_OPEN_GRANTS });
    return open instanceof Promise ? open.then((grants) => grants.filter(isFor)) : open.filter(isFor);
  }

  /** One that covers the call alone; otherwise those that cover it together, such as the parts of a command. */
  #allow(
    open: readonly Grant[],
    judged: Judged,
    rules: RuleSet,
    { isUncharged = false } = {},
  ): MaybePromise<Verdict | undefined> {
    if (open.length === 0) return undefined;
    return withAnswers((answers) => {
      const now = this.#options.clock.now();
      const covers = (grants: readonly Grant[]): boolean =>
        this.#ruleSetWith(grants, rules).judge({ ...judged, answers }).decision === "allow";
      const usable = open.filter((grant) => {
        if (isUncharged) return true;
        const [charge] = chargesOf({ verdict: verdictOf([grant]), tool: judged.tool, input: judged.input }) ?? [];
        return charge !== undefined && refusalOfCharge(grant, charge, now) === undefined;
      });
      const alone = usable.find((grant) => covers([grant]));
      if (alone) return verdictOf([alone]);
      if (usable.length < 2 || !covers(usable)) return undefined;
      let needed: readonly Grant[] = usable;
      for (const grant of usable) {
        const others = needed.filter((each) => each !== grant);
        if (covers(others)) needed = others;
      }
      return verdictOf(needed);
    });
  }

  #ruleSetWith(grants: readonly Grant[], rules: RuleSet): RuleSet {
    const of = rules.compiled();
    const allow = grants.flatMap((grant) => grant.rules);
    // Of the rules of a shadow policy beside those of the active one.
    const key = `${rules === this.#options.rules ? "" : "\0"}${allow.join("\n")}`;
    const known = this.#ruleSets.get(key);
    if (known?.of === of) return known.ruleSet;
    const ruleSet = new RuleSet([...rules.sources(), { origin: GRANT, allow }]);
    this.#ruleSets.set(key, { of, ruleSet });
    return ruleSet;
  }

  #isOver(grant: Grant): boolean {
    const { clock } = this.#options;
    const { id, until } = grant;
    if (until === undefined) return false;
    const key = `${id} ${until}`;
    const now = clock.monotonic();
    let deadline = this.#deadlines.get(key);
    if (deadline === undefined) {
      this.#deadlines.set(key, (deadline = now + until - clock.now()));
      this.#wake(deadline);
    }
    return deadline <= now || isOver(grant, clock.now());
  }

  /** The end of a grant is an event, also if no call looks at it. */
  #wake(at: number): void {
    const { clock } = this.#options;
    if (this.#next && this.#next.at <= at) return;
    this.#next?.timer.cancel();
    const timer = clock.after(Math.max(1, at - clock.monotonic()), () => {
      this.#next = undefined;
      void this.#endOver();
    });
    timer.setRef(false);
    this.#next = { at, timer };
  }

  async #endOver(): Promise<void> {
    // A store that cannot be read, or is closed by now: the end is noticed when the grant is read again.
    const open = await this.list({ isOpen: true }).catch(() => []);
    for (const { id, until } of open) {
      const deadline = this.#deadlines.get(`${id} ${until}`);
      if (deadline !== undefined) this.#wake(deadline);
    }
  }

  /** Its end is stored when it is first seen, so that setting the clock back does not revive it. */
  async #seen(grant: Grant): Promise<Grant> {
    if (grant.ended || !this.#isOver(grant)) return grant;
    const ended = { ended: "expired", endedAt: this.#options.clock.now() } as const;
    try {
      // Another process may have extended it meanwhile.
      const end = (now: Grant) => (now.until === grant.until ? ended : undefined);
      const expired = await this.#options.rows.change(grant.id, end, { change: "expired" });
      if (expired) this.#emit(expired, "expired");
    } catch {
      // The store cannot be written: it is over nevertheless.
    }
    return { ...grant, ...ended };
  }

  async #require(id: string): Promise<Grant> {
    const grant = await this.get(id);
    if (grant) return grant;
    throw toolError("invalid_input", `There is no grant "${id}"`, { next: "List the grants." });
  }

  #emit({ id, holder, used, until, endedBy, by }: Grant, change: GrantChange): void {
    const { events, clock } = this.#options;
    if (!events.hasListeners("grant_changed")) return;
    const facts = { grantId: id, session: holder.session ?? undefined, user: holder.user ?? undefined, used, until };
    events.emit({ type: "grant_changed", at: clock.now(), change, by: endedBy ?? by, ...facts });
  }
}

/** The hashes of the tools as they are now, by name and version. */
function definitionsOf(tools: readonly AnyTool[]): Record<string, string> {
  return Object.fromEntries(tools.map((tool) => [`${tool.name}@${tool.version}`, definitionHash(tool, sha256)]));
}

function verdictOf(grants: readonly Grant[]): Verdict {
  const ids = grants.map(({ id }) => id);
  const rule = grants.flatMap(({ rules }) => rules).join(", ");
  const reason = reasonText("verdict.grant", { grant: ids.join(", ") });
  return { decision: "allow", by: "grant", ...reason, rule, origin: GRANT, grants: ids };
}

function hasEnded(id: string) {
  return toolError("conflict", `Grant "${id}" has ended`, { next: "Give another one." });
}
