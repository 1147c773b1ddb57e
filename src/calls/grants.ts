import { randomUUID } from "node:crypto";
import type { Call, Caller } from "../core/call.ts";
import { SKEW_MS } from "../core/clock.ts";
import { toolError, ToolError } from "../core/error.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import {
  fromMicros,
  type LimitCharge,
  type LimitRows,
  MemoryLimitRows,
  slotOf,
  toMicros,
  UNREADABLE_AMOUNT,
} from "./limits.ts";

/** Whom a grant covers. `null`: only callers without one. Omitted: any. A subagent is covered only by a grant of its depth. */
export interface GrantHolder {
  user?: string | null;
  session?: string | null;
  agent?: string | null;
  task?: string;
  /** Default: 0, an agent that a person talks to. */
  depth?: number;
  /** Only callers in this process: of calls without a session, which nobody could tell apart later. */
  process?: string;
}

/** How much of a parameter that the tool names as its amount. In millionths of the unit, so sums are exact. */
export interface GrantBudget {
  unit: string;
  max: number;
}

/** Why a grant does not count any more. One that is used up still counts if a charge is given back. */
export type GrantEnd = "revoked" | "expired";
export type GrantState = "active" | "used_up" | GrantEnd;

/** What a person allowed beyond one call. */
export interface Grant {
  /** Of the grant. */
  id: string;
  /** Who may use it. */
  holder: GrantHolder;
  /** What it allows: rules with their conditions, one of which must cover the call. */
  rules: readonly string[];
  /** The tools that were shown, by the hash of their definition. Empty: any that the rules name. */
  tools: Readonly<Record<string, string>>;
  /** Unix milliseconds. Omitted: no end. */
  until?: number;
  /** How many calls. Omitted: any number. */
  maxUses?: number;
  /** Omitted: no budget. */
  budget?: GrantBudget;
  /** Calls that were charged, also those whose outcome is unknown. */
  used: number;
  /** Of the budget, in millionths. */
  spent: number;
  /** Of `used`: calls whose outcome is unknown. */
  unknown: number;
  /** What for. */
  why: string;
  /** The person who granted it, and through which interface. */
  by?: string;
  via?: string;
  createdAt: number;
  ended?: GrantEnd;
  endedAt?: number;
  endedBy?: string;
}

/** What a call takes from a grant or a limit. In the row of the call, and in the counters of both, in one transaction. */
export interface Charge extends Partial<LimitCharge> {
  /** The id of the grant, or of the counter of the limit. */
  grant: string;
}

export function isLimitCharge(charge: Charge): charge is LimitCharge {
  return charge.limit !== undefined;
}

/** A new grant. */
export interface GrantDraft {
  holder: GrantHolder;
  rules: readonly string[];
  tools?: Readonly<Record<string, string>>;
  minutes?: number | undefined;
  maxUses?: number | undefined;
  /** In the unit itself, not in millionths. */
  budget?: { unit: string; max: number } | undefined;
  why: string;
  by?: string | undefined;
  via?: string | undefined;
}

/** What becomes of a grant, in the audit log and in events. */
export type GrantChange = "granted" | "extended" | "used_up" | GrantEnd | "given_back";

export interface GrantQuery {
  /** Only those that have not ended. */
  isOpen?: boolean;
  /** Only those that may cover callers of this session. */
  of?: Pick<Caller, "session">;
  max: number;
}

/**
 * The grants of a store of calls. Several processes may share them: each method is atomic among all of them. Charges are written
 * by the store of calls, in the transaction of the row.
 */
export interface GrantRows {
  insert(grant: Grant): MaybePromise<void>;
  get(id: string): MaybePromise<Grant | undefined>;
  /** The newest first. */
  list(query: GrantQuery): MaybePromise<Grant[]>;
  /** Changes a grant that has not ended; undefined if it has, or if `change` has no changes. An end is logged as that. */
  change(
    id: string,
    change: (grant: Grant) => Partial<Grant> | undefined,
    fact: { change: GrantChange; by?: string | undefined },
  ): MaybePromise<Grant | undefined>;
  /** Calls the listener when a charge of this process has used up a grant. */
  onUsedUp(listener: (grant: Grant) => void): void;
  /** What was used of limits. */
  readonly limits: LimitRows;
}

/** Whether the caller may use the grant. `processId`: of the process that the caller is in. */
export function isHolder({ holder }: Grant, caller: Partial<Caller>, processId: string): boolean {
  const { user, session, agent, task, depth = 0, process } = holder;
  const is = (own: string | null | undefined, given: string | undefined): boolean =>
    own === undefined || own === (given ?? null);
  return (
    is(user, caller.user) &&
    is(session, caller.session) &&
    is(agent, caller.agent) &&
    is(task, caller.task) &&
    depth === (caller.depth ?? 0) &&
    is(process, processId)
  );
}

/** Whether its time is over. A grant from the future was made before the clock was set back: its age is unknown. */
export function isOver({ createdAt, until }: Pick<Grant, "createdAt" | "until">, now: number): boolean {
  return until !== undefined && (until <= now || createdAt > now + SKEW_MS);
}

export function grantStateOf(grant: Grant, now: number): GrantState {
  if (grant.ended) return grant.ended;
  if (isOver(grant, now)) return "expired";
  return isUsedUp(grant) ? "used_up" : "active";
}

export function isUsedUp({ maxUses, used, budget, spent }: Grant): boolean {
  return (maxUses !== undefined && used >= maxUses) || (budget !== undefined && spent >= budget.max);
}

/** Why the grant does not cover one more call with this charge. */
export function refusalOfCharge(grant: Grant | undefined, charge: Charge, now: number): string | undefined {
  if (!grant) return "does not exist any more";
  if (grant.ended === "revoked") return "was revoked";
  if (grant.ended === "expired" || isOver(grant, now)) return "has expired";
  const { maxUses, used, budget, spent } = grant;
  if (maxUses !== undefined && used >= maxUses) return `is used up: ${used} of ${maxUses} calls`;
  if (!budget) return undefined;
  const { amount, unit } = charge;
  if (amount === undefined || unit !== budget.unit)
    return `is a budget in ${budget.unit}, and the call has no such amount`;
  if (spent + amount <= budget.max) return undefined;
  return `has ${showAmount(budget.max - spent)} of ${showAmount(budget.max)} ${unit} left, and the call takes ${showAmount(amount)}`;
}

/** The call did not run: what was left when it was permitted is not left any more. */
export function chargeRefused(grant: string, why: string): ToolError {
  return toolError("conflict", `Grant "${grant}" ${why}; nothing was run`, {
    next: "Make the call again: without the grant, a person is asked.",
    data: { grant },
  });
}

export function chargeOf({ charges }: { charges?: readonly Charge[] }, grant: string): Charge | undefined {
  return charges?.find((charge) => charge.grant === grant);
}

/** A call that a grant was charged for. Its id alone is enough if no other call of the grant has it. */
export interface ChargedCall {
  callId: string;
  /** `null`: of a caller without one. */
  session?: string | null | undefined;
  /** Unix milliseconds, if several calls of the session have the id. */
  begunAt?: number | undefined;
}

/** What a stored call has of it. */
interface ChargedRow {
  caller: Pick<Caller, "session">;
  begunAt?: number;
  charges?: readonly Charge[];
}

/** The one that is meant; undefined if there is none. Throws if several may be. */
export function chargedCall<Row extends ChargedRow>(
  rows: readonly Row[],
  { callId, session, begunAt }: ChargedCall,
  grant: string,
): Row | undefined {
  const meant = rows.filter(
    (row) =>
      (session === undefined || session === (row.caller.session ?? null)) &&
      (begunAt === undefined || begunAt === row.begunAt),
  );
  if (meant.length < 2) return meant[0];
  const choices = meant.map((row) => {
    const { amount, unit, isUnknown } = chargeOf(row, grant) ?? {};
    const took = amount === undefined ? undefined : fromMicros(amount);
    return { session: row.caller.session ?? null, begunAt: row.begunAt, amount: took, unit, isUnknown };
  });
  const shown = choices.map(({ session: of, begunAt: at = 0, amount, unit = "", isUnknown }) => {
    const facts = [amount === undefined ? "" : `${amount} ${unit}`, isUnknown ? "outcome unknown" : ""].filter(Boolean);
    const more = facts.length > 0 ? ` (${facts.join(", ")})` : "";
    return `${of === null ? "no session" : `session ${JSON.stringify(of)}`}, begun ${new Date(at).toISOString()}${more}`;
  });
  throw toolError(
    "conflict",
    `Grant "${grant}" was charged for ${meant.length} calls ${JSON.stringify(callId)}: ${shown.join("; ")}`,
    {
      next: "Say which one: its session, and if several are left, when it began.",
      data: { choices },
    },
  );
}

/** The grant that refused a charge, if that is the error. */
export function refusedGrant(error: unknown): string | undefined {
  if (!(error instanceof ToolError) || error.code !== "conflict") return undefined;
  const { grant } = (error.data ?? {}) as { grant?: unknown };
  return typeof grant === "string" ? grant : undefined;
}

/** What a call takes from the grants that permit it. */
export function chargesOf({ verdict, tool, input }: Pick<Call, "verdict" | "tool" | "input">): Charge[] | undefined {
  if (!verdict?.grants?.length || !tool) return undefined;
  const amount = amountOf(tool, input);
  return verdict.grants.map((grant) => ({ grant, amount: amount?.micros, unit: amount?.unit }));
}

/** The same and what it takes from limits, from now on. `beyond`: the limits that a person was asked about. */
export function withLimits(
  charges: readonly Charge[] | undefined,
  limits: readonly LimitCharge[],
  { beyond = [], now }: { beyond?: readonly string[] | undefined; now: number },
): readonly Charge[] | undefined {
  if (limits.length === 0) return charges;
  const own = limits.flatMap(({ limit, ...charge }): LimitCharge[] => {
    const isBeyond = beyond.includes(charge.grant) || undefined;
    // A person was asked about a call whose amount nobody can read.
    if (isBeyond && charge.amount === UNREADABLE_AMOUNT) return [];
    return [{ ...charge, limit: { ...limit, isBeyond, at: slotOf(limit.perMs, now) } }];
  });
  return [...(charges ?? []), ...own];
}

/** What the row has beside new charges of the same call: a call is charged once, however often it is started. */
export function withCharges(
  known: readonly Charge[] | undefined,
  made: readonly Charge[] | undefined,
): readonly Charge[] | undefined {
  const added = made?.filter(({ grant }) => !known?.some((each) => each.grant === grant)) ?? [];
  return added.length === 0 ? known : [...(known ?? []), ...added];
}

/** The same charges, of a call whose outcome is unknown, or is known by now. */
export function markCharges(charges: readonly Charge[] | undefined, isUnknown: boolean): readonly Charge[] | undefined {
  return charges?.map(({ isUnknown: _is, ...charge }) => (isUnknown ? { ...charge, isUnknown } : charge));
}

/** What a change of a row means for the counters of its grants. */
export interface Settlement {
  made: Charge[];
  /** Changes of counters that nothing refuses: what was given back, and what is unknown or known by now. */
  counted: { grant: string; used: number; spent: number; unknown: number }[];
  /** The same of limits. */
  limits: { made: LimitCharge[]; back: LimitCharge[] };
}

export function settlementOf(
  before: readonly Charge[] | undefined,
  after: readonly Charge[] | undefined,
): Settlement | undefined {
  if (before === after || (!before?.length && !after?.length)) return undefined;
  const settled: Settlement = { made: [], counted: [], limits: { made: [], back: [] } };
  const { limits } = settled;
  for (const charge of after ?? []) {
    const known = before?.find(({ grant }) => grant === charge.grant);
    if (isLimitCharge(charge)) {
      if (!known) limits.made.push(charge);
    } else if (!known) settled.made.push(charge);
    else if (known.isUnknown !== charge.isUnknown)
      settled.counted.push({ grant: charge.grant, used: 0, spent: 0, unknown: charge.isUnknown ? 1 : -1 });
  }
  for (const charge of before ?? []) {
    const { grant, amount = 0, isUnknown } = charge;
    if (after?.some((each) => each.grant === grant)) continue;
    if (isLimitCharge(charge)) limits.back.push(charge);
    else settled.counted.push({ grant, used: -1, spent: -amount, unknown: isUnknown ? -1 : 0 });
  }
  const changes = settled.made.length + settled.counted.length + limits.made.length + limits.back.length;
  return changes > 0 ? settled : undefined;
}

/** Millionths of a number, or of a decimal as text. Undefined if it is negative, too large or too fine: then nothing covers it. */
export function readMicros(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{1,15}(?:\.\d{1,6})?$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || !(number >= 0)) return undefined;
  const micros = toMicros(number);
  return Number.isSafeInteger(micros) && fromMicros(micros) === number ? micros : undefined;
}

/** Millionths as people write the amount. */
function showAmount(micros: number): string {
  return String(fromMicros(micros));
}

/** What a call of the tool would take, as the tool names it. */
export function amountOf({ amount }: AnyTool, input: unknown): { micros: number; unit: string } | undefined {
  if (!amount) return undefined;
  const micros = readMicros(valueAt(input, amount.parameter));
  const unit = typeof amount.unit === "string" ? amount.unit : valueAt(input, amount.unit.parameter);
  return micros === undefined || typeof unit !== "string" || unit === "" ? undefined : { micros, unit };
}

/** `path`: names of properties, with points between them. */
function valueAt(input: unknown, path: string): unknown {
  let value = input;
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** The most that a grant may have. More is an error, never less than was asked for. With a cap, a grant must say its bound. */
export interface GrantCaps {
  /** Default: 30 days, if a grant says how long. */
  maxMinutes?: number | undefined;
  /** Default: 10,000, if a grant says how many. */
  maxUses?: number | undefined;
  /** By unit; no others then, and a grant without a budget covers no call of a tool that names its amount. Default: no caps. */
  maxBudget?: Readonly<Record<string, number>> | undefined;
}

const MAX_MINUTES = 30 * 24 * 60;
const MAX_USES = 10_000;

/** The bounds of a grant, as they are stored. Throws if one of them is beyond its cap, or is none. */
export function readBounds(
  { minutes, maxUses, budget }: Pick<GrantDraft, "minutes" | "maxUses" | "budget">,
  caps: GrantCaps,
  now: number,
): Pick<Grant, "until" | "maxUses" | "budget"> {
  const { maxMinutes = MAX_MINUTES, maxUses: usesCap = MAX_USES, maxBudget = {} } = caps;
  checkBound("minutes", minutes, maxMinutes);
  checkBound("uses", maxUses, usesCap);
  if (maxUses !== undefined && !Number.isInteger(maxUses)) throw badBound(`${maxUses} is not a number of uses`);
  const until = minutes === undefined ? undefined : now + Math.round(minutes * 60_000);
  if (!budget) return { until, maxUses };
  const { unit } = budget;
  if (typeof unit !== "string" || !/^[\p{L}\p{N}_$€£¥%.-]{1,20}$/u.test(unit))
    throw badBound(`"${unit}" is not a unit`);
  if (hasBudgetCap(caps) && !Object.hasOwn(maxBudget, unit))
    throw badBound(`A budget may be in ${Object.keys(maxBudget).join(", ")}, not in ${unit}`);
  checkBound(unit, budget.max, maxBudget[unit]);
  const max = readMicros(budget.max);
  if (max === undefined) throw badBound(`${budget.max} ${unit} is not an amount with at most six decimals`);
  return { until, maxUses, budget: { unit, max } };
}

export function hasBudgetCap({ maxBudget = {} }: GrantCaps): boolean {
  return Object.keys(maxBudget).length > 0;
}

/** Throws if a new grant leaves out a bound that has a cap: without it, it would have more than the cap. */
export function requireBounds({ minutes, maxUses }: Pick<GrantDraft, "minutes" | "maxUses">, caps: GrantCaps): void {
  if (minutes === undefined && caps.maxMinutes !== undefined) throw noBound("minutes", caps.maxMinutes);
  if (maxUses === undefined && caps.maxUses !== undefined) throw noBound("uses", caps.maxUses);
}

function noBound(name: string, max: number): ToolError {
  return badBound(`A grant must say how many ${name} it has: at most ${max}`);
}

function checkBound(name: string, value: number | undefined, max: number | undefined): void {
  if (value === undefined) return;
  if (typeof value !== "number" || !(value > 0) || !Number.isFinite(value))
    throw badBound(`${value} ${name} is no bound`);
  if (max !== undefined && value > max) {
    throw toolError("invalid_input", `${value} ${name} is more than a grant may have: at most ${max}`, {
      next: "Ask for less, or raise the cap (`grants` in the configuration).",
    });
  }
}

function badBound(message: string): ToolError {
  return toolError("invalid_input", message, { next: "Give a number above zero." });
}

/** A grant without charges. Throws if its bounds are beyond the caps. */
export function newGrant(draft: GrantDraft, caps: GrantCaps, now: number): Grant {
  const { holder, rules, tools = {}, why, by, via } = draft;
  if (rules.length === 0) throw badGrant("A grant needs at least one rule");
  const counters = { used: 0, spent: 0, unknown: 0 };
  requireBounds(draft, caps);
  const bounds = readBounds(draft, caps, now);
  return { id: newGrantId(), holder, rules: [...rules], tools, ...bounds, ...counters, why, by, via, createdAt: now };
}

export function badGrant(message: string): ToolError {
  return toolError("invalid_input", message);
}

function newGrantId(): string {
  return `grt_${randomUUID().replaceAll("-", "").slice(0, 16)}`;
}

/** At most this many are read when a call is judged. */
export const MAX_OPEN_GRANTS = 1000;

/** Lost with the process. */
export class MemoryGrantRows implements GrantRows {
  readonly limits: MemoryLimitRows;
  readonly #grants = new Map<string, Grant>();
  readonly #listeners: ((grant: Grant) => void)[] = [];

  constructor(now = () => Date.now()) {
    this.limits = new MemoryLimitRows(now);
  }

  insert(grant: Grant): void {
    // Ended ones are history. Without a limit, a runtime that lives long would keep all of them.
    if (this.#grants.size >= 2 * MAX_OPEN_GRANTS)
      for (const { id, ended } of this.#grants.values()) if (ended) this.#grants.delete(id);
    this.#grants.set(grant.id, grant);
  }

  get(id: string): Grant | undefined {
    return this.#grants.get(id);
  }

  list({ isOpen, of, max }: GrantQuery): Grant[] {
    const found: Grant[] = [];
    for (const grant of this.#grants.values()) {
      const { session } = grant.holder;
      if (isOpen && grant.ended) continue;
      if (of && session !== undefined && session !== (of.session ?? null)) continue;
      found.push(grant);
    }
    return found.reverse().slice(0, max);
  }

  change(id: string, change: (grant: Grant) => Partial<Grant> | undefined): Grant | undefined {
    const grant = this.#grants.get(id);
    const changes = grant && !grant.ended ? change(grant) : undefined;
    if (!grant || !changes) return undefined;
    const changed = { ...grant, ...changes };
    this.#grants.set(id, changed);
    return changed;
  }

  onUsedUp(listener: (grant: Grant) => void): void {
    this.#listeners.push(listener);
  }

  /** Throws if one of the charges is refused; then none is made. */
  settle({ made, counted, limits }: Settlement, now: number): void {
    for (const charge of made) {
      const refusal = refusalOfCharge(this.#grants.get(charge.grant), charge, now);
      if (refusal !== undefined) throw chargeRefused(charge.grant, refusal);
    }
    this.limits.settle(limits.made, limits.back);
    for (const { grant: id, amount = 0 } of made) {
      const used = this.#count({ grant: id, used: 1, spent: amount, unknown: 0 });
      if (used && isUsedUp(used)) for (const listener of this.#listeners) listener(used);
    }
    for (const change of counted) this.#count(change);
  }

  #count({ grant: id, used, spent, unknown }: Settlement["counted"][number]): Grant | undefined {
    const grant = this.#grants.get(id);
    if (!grant) return undefined;
    const counted = {
      ...grant,
      used: grant.used + used,
      spent: grant.budget ? grant.spent + spent : grant.spent,
      unknown: grant.unknown + unknown,
    };
    this.#grants.set(id, counted);
    return counted;
  }
}
