import { createHash } from "node:crypto";
import { ToolError } from "../core/error.ts";
import { reasonText } from "../core/localized-text.ts";
import { countOf } from "../core/results/count-of.ts";
import type { MaybePromise } from "../core/stage.ts";

const MICROS = 1_000_000;

export function toMicros(number: number): number {
  return Math.round(number * MICROS);
}

export function fromMicros(micros: number): number {
  return micros / MICROS;
}

/** What becomes of a call that is beyond a limit. */
export type LimitAction = "ask" | "deny" | "wait";

/** When, and from what, a call takes. */
export interface LimitUse {
  /** The limit and whom it counts, in words. */
  text: string;
  /** The most that the counter holds: calls, or millionths of the unit of the charge. */
  max: number;
  /** How long a use counts. Omitted: always. */
  perMs?: number | undefined;
  then: LimitAction;
  /** When it was used: the start of a slot. */
  at: number;
  /** A person was asked and said yes to just this call: it counts, and nothing refuses it. */
  isBeyond?: boolean | undefined;
}

/** What a call takes from a limit. */
export interface LimitCharge {
  /** The id of the counter of the limit. */
  grant: string;
  /** Calls, or millionths of the unit. */
  amount: number;
  unit?: string;
  /** The outcome of the call is unknown. It stays charged. */
  isUnknown?: boolean;
  limit: LimitUse;
}

/** What one caller, session or agent used of a limit. Several processes share it. */
export interface LimitCounter extends Pick<LimitUse, "text" | "max" | "perMs" | "then"> {
  id: string;
  /** Omitted: it counts calls. */
  unit?: string | undefined;
  /** The sums by the start of their slot. */
  slots: readonly (readonly [at: number, sum: number])[];
  /** What people added, and until when. 0: always. */
  extras: readonly (readonly [until: number, amount: number])[];
}

/** How the counter of a limit is kept: see `GrantRows`, with which a store counts both. */
export interface LimitRows {
  get(ids: readonly string[]): MaybePromise<LimitCounter[]>;
  /** Those that were used last. */
  list(max: number): MaybePromise<LimitCounter[]>;
  /** Counts what has happened already, such as the tokens of a request to a model. */
  add(charges: readonly LimitCharge[]): MaybePromise<void>;
  /** Adds to the limit for one more period, or for good if it has none. Undefined if the counter does not exist. */
  extend(id: string, amount: number, by: string | undefined): MaybePromise<LimitCounter | undefined>;
}

/** A period has as many slots: a use counts for one slot longer than the period, never shorter. */
const SLOTS = 60;

export function slotOf(perMs: number | undefined, now: number): number {
  return perMs === undefined ? 0 : Math.floor(now / slotMs(perMs)) * slotMs(perMs);
}

function slotMs(perMs: number): number {
  return perMs / SLOTS;
}

export function limitId(facts: readonly unknown[]): string {
  return `lim_${createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 16)}`;
}

/** When a slot is over. What was used after now, before a clock was set back, still counts. */
function endOf(at: number, perMs: number | undefined): number {
  return perMs === undefined ? Infinity : at + slotMs(perMs) + perMs;
}

function slotsAt({ slots }: LimitCounter, perMs: number | undefined, now: number): LimitCounter["slots"] {
  return slots.filter(([at]) => endOf(at, perMs) > now);
}

function extrasAt({ extras }: LimitCounter, now: number): LimitCounter["extras"] {
  return extras.filter(([until]) => until === 0 || until > now);
}

/** How much of the limit is used, how much there may be, and when the next part is free. */
export interface LimitState {
  used: number;
  max: number;
  left: number;
  /** When a call that takes `amount` fits. Omitted: it fits now, or never. */
  freesAt?: number;
}

export function limitStateOf(
  counter: LimitCounter | undefined,
  use: LimitUse,
  amount: number,
  now: number,
): LimitState {
  const slots = counter ? slotsAt(counter, use.perMs, now) : [];
  const extras = counter ? extrasAt(counter, now) : [];
  const used = slots.reduce((sum, [, part]) => sum + part, 0);
  const max = extras.reduce((sum, [, part]) => sum + part, use.max);
  const state = { used, max, left: Math.max(0, max - used) };
  let left = used;
  if (left + amount <= max) return state;
  for (const [at, part] of slots.toSorted(([one], [other]) => one - other)) {
    left -= part;
    const end = endOf(at, use.perMs);
    const maxThen = extras.reduce((sum, [until, extra]) => (until === 0 || until > end ? sum + extra : sum), use.max);
    if (left + amount <= maxThen) return Number.isFinite(end) ? { ...state, freesAt: end } : state;
  }
  return state;
}

/** Whether the limit has room for the charge. */
export function fits({ used, max }: LimitState, amount: number): boolean {
  return used + amount <= max;
}

/** The counter after the charge. Throws if the limit has no room for it. `isDone`: it has happened, and nothing refuses it. */
export function counted(
  counter: LimitCounter | undefined,
  { grant: id, amount, unit, limit }: LimitCharge,
  now: number,
  isDone = limit.isBeyond,
): LimitCounter {
  const { text, max, perMs, then, at } = limit;
  const state = limitStateOf(counter, limit, amount, now);
  if (!isDone && !fits(state, amount)) throw new LimitReachedError({ id, unit, amount, limit, state });
  const known = counter ?? { slots: [], extras: [] };
  const kept = counter ? slotsAt(counter, perMs, now) : [];
  return { id, text, max, perMs, then, unit, slots: added(kept, at, amount), extras: known.extras };
}

/** The counter without a charge that did nothing. */
export function givenBack(counter: LimitCounter, { amount, limit }: LimitCharge): LimitCounter {
  return { ...counter, slots: added(counter.slots, limit.at, -amount) };
}

function added(slots: LimitCounter["slots"], at: number, amount: number): LimitCounter["slots"] {
  const sum = (slots.find(([start]) => start === at)?.[1] ?? 0) + amount;
  const others = slots.filter(([start]) => start !== at);
  return sum > 0 ? [...others, [at, sum]] : others;
}

export function extended(counter: LimitCounter, amount: number, now: number): LimitCounter {
  const until = counter.perMs === undefined ? 0 : now + counter.perMs;
  return { ...counter, extras: [...extrasAt(counter, now), [until, amount]] };
}

/** As people write it: calls, or an amount with its unit. */
export function showUse(amount: number, unit: string | undefined): string {
  return unit === undefined ? countOf(amount, "call") : `${fromMicros(amount)} ${unit}`;
}

/** The time of day, with the date if it is not within a day. */
function showTime(at: number, now: number): string {
  const iso = new Date(Math.ceil(at / 1000) * 1000).toISOString();
  return at - now < 24 * 60 * 60_000 ? `${iso.slice(11, 19)} UTC` : `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/** What a limit says about a call that it has no room for. */
export interface ReachedLimit {
  id: string;
  unit: string | undefined;
  /** What the call takes. */
  amount: number;
  limit: LimitUse;
  state: LimitState;
}

/** What a call takes whose amount nobody can read. No limit has room for it. */
export const UNREADABLE_AMOUNT = Number.MAX_SAFE_INTEGER;

/** As the fields of a verdict. */
export function explainReached({ unit, amount, limit, state }: ReachedLimit, now: number) {
  const { used, max, freesAt } = state;
  const facts = { limit: limit.text, used: showUse(used, unit), max: showUse(max, unit) };
  if (amount === UNREADABLE_AMOUNT) return reasonText("verdict.limitUnreadable", { limit: limit.text });
  const takes = showUse(amount, unit);
  if (amount > max) return reasonText("verdict.limitTooMuch", { ...facts, takes });
  if (freesAt === undefined) return reasonText("verdict.limitUsedUp", { ...facts, takes });
  return reasonText("verdict.limitReached", { ...facts, takes, time: showTime(freesAt, now) });
}

/** The start of a call was refused: what was left when it was permitted is not left any more. Nothing was run. */
export class LimitReachedError extends ToolError {
  readonly reached: ReachedLimit;
  /** It has room for the call later, and calls wait for that. */
  readonly isPassing: boolean;

  constructor(reached: ReachedLimit, now = Date.now()) {
    const { then } = reached.limit;
    const { freesAt } = reached.state;
    const isPassing = then === "wait" && freesAt !== undefined;
    super("", `${explainReached(reached, now).reason} Nothing was run`, undefined, {
      code: isPassing ? "busy" : then === "ask" ? "conflict" : "denied",
      next:
        then === "ask"
          ? "Make a new call: a person is asked. A retry of the same job asks nobody."
          : "Make it again when the limit has room.",
      data: { decidedBy: "policy", limit: reached.id, freesAt },
    });
    this.name = "LimitReachedError";
    this.reached = reached;
    this.isPassing = isPassing;
  }
}

const raced = new WeakSet<object>();

/** Whether the call is to be judged again, so that a person is asked: the limit was reached between its verdict and its start. Once a call. */
export function isFirstRace(call: object, error: unknown): boolean {
  if (!(error instanceof LimitReachedError) || error.reached.limit.then !== "ask" || raced.has(call)) return false;
  raced.add(call);
  return true;
}

/** Lost with the process. */
export class MemoryLimitRows implements LimitRows {
  readonly #counters = new Map<string, LimitCounter>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  get(ids: readonly string[]): LimitCounter[] {
    return ids.flatMap((id) => this.#counters.get(id) ?? []);
  }

  list(max: number): LimitCounter[] {
    return [...this.#counters.values()].slice(-max).reverse();
  }

  add(charges: readonly LimitCharge[]): void {
    for (const charge of charges) this.#put(counted(this.#counters.get(charge.grant), charge, this.#now(), true));
  }

  extend(id: string, amount: number): LimitCounter | undefined {
    const counter = this.#counters.get(id);
    return counter && this.#put(extended(counter, amount, this.#now()));
  }

  /** All or none: throws if one of the limits has no room. */
  settle(made: readonly LimitCharge[], back: readonly LimitCharge[]): void {
    const after = made.map((charge) => counted(this.#counters.get(charge.grant), charge, this.#now()));
    for (const counter of after) this.#put(counter);
    for (const charge of back) {
      const counter = this.#counters.get(charge.grant);
      if (counter) this.#put(givenBack(counter, charge));
    }
  }

  #put(counter: LimitCounter): LimitCounter {
    const now = this.#now();
    if (this.#counters.size >= MAX_KEPT)
      for (const each of this.#counters.values()) if (isForgettable(each, now)) this.#counters.delete(each.id);
    this.#counters.delete(counter.id);
    this.#counters.set(counter.id, counter);
    return counter;
  }
}

const MAX_KEPT = 10_000;

/** Nothing of it counts any more. */
function isForgettable(counter: LimitCounter, now: number): boolean {
  const { perMs } = counter;
  return perMs !== undefined && slotsAt(counter, perMs, now).length + extrasAt(counter, now).length === 0;
}
