import { callKey, type Calls } from "../../calls/calls.ts";
import { amountOf, readMicros } from "../../calls/grants.ts";
import {
  explainReached,
  fits,
  type LimitAction,
  type LimitCharge,
  type LimitCounter,
  limitId,
  LimitReachedError,
  limitStateOf,
  type ReachedLimit,
  showUse,
  slotOf,
  UNREADABLE_AMOUNT,
} from "../../calls/limits.ts";
import type { StoredCall } from "../../calls/stored-call.ts";
import { abortable, type Call, type Caller, toolOf, type Verdict } from "../../core/call.ts";
import type { Clock } from "../../core/clock.ts";
import { toolError, type ToolError } from "../../core/error.ts";
import { checkKeys, keysOf } from "../../core/options.ts";
import type { ChangeCounter, MaybePromise } from "../../core/stage.ts";
import type { AnyTool } from "../../core/tool.ts";
import { type Timeouts, timeoutOf } from "../timeouts.ts";
import { compileRule } from "./rules/compile-rule.ts";
import type { Limit, RuleSource } from "./rules/rule.ts";

const KEYS = keysOf<Limit>({ tools: true, models: true, calls: true, sum: true, per: true, each: true, then: true });
const PERIODS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;
const SUBJECTS: readonly string[] = ["user", "session", "agent"] satisfies Limit["each"][];
const ACTIONS: readonly LimitAction[] = ["deny", "ask", "wait"];
/** What models use. */
const MODEL_UNITS = ["tokens", "USD"];

interface CompiledLimit extends Pick<Limit, "per" | "each"> {
  origin: string;
  /** Which calls it counts, in words. */
  subject: string;
  names(tool: AnyTool): boolean;
  namesModel(model: string): boolean;
  calls: number | undefined;
  /** Millionths by unit. */
  sums: ReadonlyMap<string, number>;
  then: LimitAction;
}

/** Throws a TypeError if the limit cannot be kept: it would limit nothing. */
export function compileLimit(limit: Limit, origin: string): CompiledLimit {
  const what = `A limit (${origin})`;
  checkKeys(what, limit, KEYS);
  const { tools, models, calls, sum = {}, per, each, then } = limit;
  const fail = (problem: string): never => {
    throw new TypeError(`${what}: ${problem}.`);
  };
  const names = [tools ?? models ?? []].flat();
  if (names.length === 0 || (tools && models)) fail("write `tools` or `models`, the names that it limits");
  const rules = [tools ?? []].flat().map((text) => {
    const rule = compileRule({ text, list: "deny", origin });
    return rule.isBare ? rule : fail(`"${text}" names a part of the calls of a tool; a limit counts all of them`);
  });
  const sums = new Map(
    Object.entries(sum).map(([unit, max]) => [unit, readMicros(max) ?? fail(`${max} ${unit} is not an amount`)]),
  );
  if (calls !== undefined && !(Number.isSafeInteger(calls) && calls > 0)) fail(`${calls} is not a number of calls`);
  if (calls === undefined && sums.size === 0) fail("write `calls`, `sum` or both, the most that there may be");
  if (per !== undefined && !Object.hasOwn(PERIODS, per)) fail(`"${per}" is not minute, hour or day`);
  if (each !== undefined && !SUBJECTS.includes(each)) fail(`"${each}" is not user, session or agent`);
  if (then !== undefined && !ACTIONS.includes(then)) fail(`"${then}" is not ask, deny or wait`);
  if (models) {
    const other = [...sums.keys()].find((unit) => !MODEL_UNITS.includes(unit));
    if (other !== undefined || calls !== undefined) fail("models use `sum: { tokens, USD }`");
    if (then !== undefined) fail("a request to a model is not made when its budget is used up; remove `then`");
  } else if (then === "wait" && per === undefined) fail("without `per` there is nothing to wait for");
  const patterns = [models ?? []].flat();
  return {
    per,
    each,
    origin,
    subject: names.toSorted().join(", "),
    names: (tool) => rules.some(({ target }) => target.names(tool)),
    namesModel: (model) => patterns.some((pattern) => matchesModel(pattern, model)),
    calls,
    sums,
    then: then ?? "deny",
  };
}

/** `provider/model`, `provider/*` or `*`. */
function matchesModel(pattern: string, model: string): boolean {
  return pattern.endsWith("*") ? model.startsWith(pattern.slice(0, -1)) : pattern === model;
}

/** What a request to a model used, or would use. */
export interface ModelUse {
  /** `provider/model`. */
  model: string;
  caller: Partial<Caller>;
}

/** How much of a limit somebody used. */
export interface LimitView {
  /** Of what was used of the limit by one user, session or agent. */
  id: string;
  /** The limit and whom it counts, in words. */
  limit: string;
  /** In the unit, or calls. */
  used: number;
  max: number;
  left: number;
  unit?: string | undefined;
  /** When the next part frees up, if nothing is left. */
  freesAt?: number | undefined;
}

export interface LimitsOptions {
  rules: { sources(): readonly RuleSource[]; readonly changes: ChangeCounter };
  calls: Calls;
  clock: Clock;
  timeouts: Timeouts;
}

/** The limits of the policy: how many calls, and how much, in which time. What was used is kept with the calls. */
export class Limits {
  readonly #options: LimitsOptions;
  readonly #lines = new Map<string, Place[]>();
  #compiled: readonly CompiledLimit[] = [];
  #compiledAt = -1;
  #ofTool = new WeakMap<AnyTool, readonly CompiledLimit[]>();

  constructor(options: LimitsOptions) {
    this.#options = options;
  }

  /** Whether a limit counts calls of the tool. */
  concerns(tool: AnyTool): boolean {
    return this.#limitsOf(tool).length > 0;
  }

  /** What the call takes when it starts. */
  chargesOf(call: Call): readonly LimitCharge[] {
    const { tool, secondPass } = call;
    // A program goes on, or a client reports what it has run: both were charged when they started.
    if (!tool || secondPass?.kind === "code" || secondPass?.kind === "client") return [];
    return this.#charges(this.#limitsOf(tool), call.caller, { tool, input: call.input });
  }

  /** What the limits say about a call before it starts. What an earlier start of it took counts for it, not against it. */
  verdictOfCall(call: Call): MaybePromise<LimitVerdict | undefined> {
    const judge = (taken?: ReadonlySet<string>) => this.verdictOf(toolOf(call), call.input, call.caller, taken);
    const withoutOwn = async (found: LimitVerdict): Promise<LimitVerdict> => {
      const taken = new Set((await this.#rowOf(call))?.charges?.map(({ grant }) => grant));
      return taken.size === 0 ? found : ((await judge(taken)) ?? { limits: found.limits, lines: [] });
    };
    const found = judge();
    if (found instanceof Promise) return found.then((first) => (first?.verdict ? withoutOwn(first) : first));
    return found?.verdict ? withoutOwn(found) : found;
  }

  #rowOf(call: Call): MaybePromise<StoredCall | undefined> {
    const { calls } = this.#options;
    const { secondPass, idempotencyKey } = call;
    if (secondPass?.kind === "job") return calls.job(secondPass.id);
    const stored = calls.storedIdOf(call);
    if (stored !== undefined) return calls.get(stored);
    return idempotencyKey === undefined ? undefined : calls.find(callKey(call.caller, call.stepKey));
  }

  /** What the limits say about a call that was not started. Undefined if none counts it. `taken`: those that count it already. */
  verdictOf(
    tool: AnyTool,
    input: unknown,
    caller: Partial<Caller>,
    taken?: ReadonlySet<string>,
  ): MaybePromise<LimitVerdict | undefined> {
    const all = this.#charges(this.#limitsOf(tool), caller, { tool, input });
    const charges = taken ? all.filter(({ grant }) => !taken.has(grant)) : all;
    if (charges.length === 0) return undefined;
    const counters = this.#options.calls.grants.limits.get(charges.map(({ grant }) => grant));
    return counters instanceof Promise
      ? counters.then((read) => this.#judge(charges, read))
      : this.#judge(charges, counters);
  }

  #judge(charges: readonly LimitCharge[], counters: readonly LimitCounter[]): LimitVerdict {
    const now = this.#options.clock.now();
    const uses = charges.map((charge) => reachedBy(charge, counters, now));
    const limits = [...new Set(charges.map(({ limit }) => limit.text))];
    const lines = uses.map(({ limit, state, unit }) => {
      const free = state.freesAt === undefined ? "" : `, frees up at ${new Date(state.freesAt).toISOString()}`;
      return `${limit.text}: ${showUse(state.used, unit)} of ${showUse(state.max, unit)} used${free}`;
    });
    const full = uses.filter(({ state, amount }) => !fits(state, amount));
    // A call that fits later waits for it when it starts.
    const deciding = full.filter(({ limit, state }) => limit.then !== "wait" || state.freesAt === undefined);
    const [first] = deciding.toSorted(
      (one, other) => Number(one.limit.then === "ask") - Number(other.limit.then === "ask"),
    );
    if (!first) return { limits, lines };
    const decision = first.limit.then === "ask" ? "ask" : "deny";
    const beyond = decision === "ask" ? deciding.map(({ id }) => id) : undefined;
    const rule = first.limit.text;
    return { limits, lines, verdict: { decision, by: "limit", ...explainReached(first, now), rule, beyond } };
  }

  /** The agent makes no request to the model if its budget is used up. Undefined: it may. */
  async refusalOf({ model, caller }: ModelUse, hasPrices: boolean): Promise<ToolError | undefined> {
    const charges = this.#modelCharges({ model, caller }, { tokens: 0, USD: 0 });
    if (charges.length === 0) return undefined;
    if (!hasPrices && charges.some(({ unit }) => unit === "USD"))
      return toolError("invalid_input", `The cost of ${model} is limited, but its prices are unknown`, {
        next: "Set `prices` of the agent, in US dollars per million tokens.",
      });
    const counters = await this.#options.calls.grants.limits.get(charges.map(({ grant }) => grant));
    const now = this.#options.clock.now();
    for (const charge of charges) {
      // One millionth must be left.
      const reached = reachedBy({ ...charge, amount: 1 }, counters, now);
      if (fits(reached.state, 1)) continue;
      const { state, limit, unit, id } = reached;
      const when = state.freesAt === undefined ? "" : ` It frees up at ${new Date(state.freesAt).toISOString()}.`;
      const used = `${showUse(state.used, unit)} of ${showUse(state.max, unit)}`;
      return toolError("too_large", `The budget of ${limit.text} is used up: ${used}.${when} No request was made`, {
        next: `A person can extend it: haft policy limits --extend ${id} --by AMOUNT.`,
        data: { limit: id, freesAt: state.freesAt },
      });
    }
    return undefined;
  }

  /** Counts what a request to a model used. `costUsd`: by the prices of the configuration. */
  async addUse(
    use: ModelUse,
    { tokens, costUsd = 0 }: { tokens: number; costUsd?: number | undefined },
  ): Promise<void> {
    const charges = this.#modelCharges(use, { tokens, USD: costUsd });
    if (charges.length === 0) return;
    if (!(tokens > 0))
      throw toolError(
        "unavailable",
        `${use.model} does not report the tokens of its requests, so its limit cannot be kept`,
        {
          next: "Remove the limit for this model, or use a provider that reports them.",
        },
      );
    await this.#options.calls.grants.limits.add(charges);
  }

  /** Those that were used last. */
  async list(max = 1000): Promise<LimitView[]> {
    const now = this.#options.clock.now();
    return (await this.#options.calls.grants.limits.list(max)).map((counter) => viewOf(counter, now));
  }

  /** Adds to a limit that was used: for one more period, or for good if it has none. `amount`: calls, or in its unit. */
  async extend(id: string, amount: number, by?: string): Promise<LimitView> {
    const { calls, clock } = this.#options;
    const { limits } = calls.grants;
    const [known] = await limits.get([id]);
    const more = known?.unit === undefined ? (Number.isSafeInteger(amount) ? amount : undefined) : readMicros(amount);
    if (known && !(more !== undefined && more > 0))
      throw toolError("invalid_input", `${amount} ${known.unit ?? "calls"} is not more`, {
        next: "Give a number above zero.",
      });
    const counter = known && (await limits.extend(id, more ?? 0, by));
    if (counter) return viewOf(counter, clock.now());
    throw toolError("invalid_input", `There is no limit "${id}" that was used`, { next: "List the limits." });
  }

  /** Starts a call. It waits for limits that have no room, in order, at most its own time limit, and holds no slot. */
  start<T>(call: Call, start: () => MaybePromise<T>, slot?: Slot): MaybePromise<T> {
    const waits = this.chargesOf(call).filter(({ limit }) => limit.then === "wait");
    if (waits.length === 0) return start();
    const line = waits.find(({ grant }) => this.#lines.has(grant))?.grant;
    if (line !== undefined) return this.#wait(call, { line, start, slot });
    const wait = (error: unknown) => this.#wait(call, { line: passingLine(error), error, start, slot });
    try {
      const started = start();
      return started instanceof Promise ? started.catch(wait) : started;
    } catch (error) {
      return wait(error);
    }
  }

  async #wait<T>(
    call: Call,
    waiting: { line: string; error?: unknown; start: () => MaybePromise<T>; slot: Slot | undefined },
  ): Promise<T> {
    const { clock, timeouts } = this.#options;
    const { start, slot } = waiting;
    const until = clock.monotonic() + timeoutOf(call, toolOf(call), timeouts);
    let { line, error } = waiting;
    slot?.release(call);
    const place: Place = { wake: undefined };
    this.#enter(line, place);
    try {
      for (;;) {
        while (this.#lines.get(line)?.[0] !== place) await this.#pause(call, place, until - clock.monotonic(), line);
        const freesAt = error instanceof LimitReachedError ? error.reached.state.freesAt : undefined;
        if (freesAt !== undefined) {
          const ms = freesAt - clock.now();
          if (clock.monotonic() + ms > until) throw error;
          const timed = clock.monotonic() + ms;
          while (clock.monotonic() < timed) await this.#pause(call, place, timed - clock.monotonic());
        }
        await slot?.enter(call);
        try {
          return await start();
        } catch (again) {
          slot?.release(call);
          error = again;
          const next = passingLine(again);
          if (next === line) continue;
          this.#leave(line, place);
          this.#enter((line = next), place);
        }
      }
    } finally {
      this.#leave(line, place);
    }
  }

  /** Until it is woken or the time is over. `line`: of a call that is not the first in it, and gives up then. */
  async #pause(call: Call, place: Place, ms: number, line?: string): Promise<void> {
    const { clock } = this.#options;
    let cancel = (): void => undefined;
    try {
      await abortable(
        call,
        new Promise<void>((resolve, reject) => {
          place.wake = resolve;
          const timer = clock.after(Math.max(0, ms), () => {
            if (line === undefined) resolve();
            else reject(waitedTooLong(line));
          });
          cancel = () => timer.cancel();
        }),
      );
    } finally {
      cancel();
      place.wake = undefined;
    }
  }

  #enter(line: string, place: Place): void {
    const places = this.#lines.get(line);
    if (places) places.push(place);
    else this.#lines.set(line, [place]);
  }

  #leave(line: string, place: Place): void {
    const places = (this.#lines.get(line) ?? []).filter((each) => each !== place);
    if (places.length === 0) this.#lines.delete(line);
    else this.#lines.set(line, places);
    places[0]?.wake?.();
  }

  #limitsOf(tool: AnyTool): readonly CompiledLimit[] {
    const compiled = this.#current();
    if (compiled.length === 0) return compiled;
    let found = this.#ofTool.get(tool);
    if (!found) this.#ofTool.set(tool, (found = compiled.filter((limit) => limit.names(tool))));
    return found;
  }

  #current(): readonly CompiledLimit[] {
    const { rules } = this.#options;
    if (this.#compiledAt !== rules.changes.count) {
      this.#compiled = rules
        .sources()
        .flatMap(({ limits = [], origin }) => limits.map((each) => compileLimit(each, origin)));
      this.#ofTool = new WeakMap();
      this.#compiledAt = rules.changes.count;
    }
    return this.#compiled;
  }

  #modelCharges({ model, caller }: ModelUse, used: { tokens: number; USD: number }): LimitCharge[] {
    const limits = this.#current().filter((limit) => limit.namesModel(model));
    const micros = { tokens: used.tokens * 1_000_000, USD: Math.ceil(used.USD * 1_000_000) };
    const now = this.#options.clock.now();
    return this.#charges(limits, caller, { micros }).map(({ limit, ...charge }) => {
      return { ...charge, limit: { ...limit, at: slotOf(limit.perMs, now) } };
    });
  }

  #charges(
    limits: readonly CompiledLimit[],
    caller: Partial<Caller>,
    of: { tool: AnyTool; input: unknown } | { micros: Readonly<Record<string, number>> },
  ): LimitCharge[] {
    const charges = new Map<string, LimitCharge>();
    for (const limit of limits) {
      const { calls, sums, each, subject, per, then } = limit;
      const who = each === undefined ? undefined : (caller[each] ?? null);
      const add = (amount: number, max: number, unit: string | undefined): void => {
        const grant = limitId([subject, per, each, who, unit, then]);
        const known = charges.get(grant);
        // The same limit in several files: the lowest holds. Those that do something else at the limit hold beside it.
        if (known && known.limit.max <= max) return;
        const text = textOf(limit, { max, unit, who });
        const perMs = per && PERIODS[per];
        charges.set(grant, { grant, amount, unit, limit: { text, max, perMs, then, at: 0 } });
      };
      if (calls !== undefined) add(1, calls, undefined);
      if ("micros" in of) {
        for (const [unit, max] of sums) add(of.micros[unit] ?? 0, max, unit);
        continue;
      }
      if (sums.size === 0 || !of.tool.amount) continue;
      const amount = amountOf(of.tool, of.input);
      const max = amount && sums.get(amount.unit);
      if (max === undefined) for (const [unit, most] of sums) add(UNREADABLE_AMOUNT, most, unit);
      else add(amount?.micros ?? UNREADABLE_AMOUNT, max, amount?.unit);
    }
    return [...charges.values()];
  }
}

/** What the limits say about a call. `lines`: how much of each is used, for explanations. */
export interface LimitVerdict {
  limits: readonly string[];
  lines: readonly string[];
  verdict?: Verdict;
}

/** The slot of a call that is admitted. */
export interface Slot {
  release(call: Call): void;
  enter(call: Call): MaybePromise<unknown>;
}

/** The place of a call in the line of a limit. */
interface Place {
  wake: (() => void) | undefined;
}

/** The line that a refused call waits in. Throws what does not pass by waiting. */
function passingLine(error: unknown): string {
  if (!(error instanceof LimitReachedError)) throw error;
  if (!error.isPassing) throw error;
  return error.reached.id;
}

function waitedTooLong(limit: string): ToolError {
  return toolError("busy", "The call was not run: others wait for the same limit, and its own time is over", {
    next: "Make it again later.",
    data: { decidedBy: "policy", limit },
  });
}

function reachedBy(charge: LimitCharge, counters: readonly LimitCounter[], now: number): ReachedLimit {
  const { grant: id, unit, amount, limit } = charge;
  const counter = counters.find((each) => each.id === id);
  return { id, unit, amount, limit, state: limitStateOf(counter, limit, amount, now) };
}

function textOf(
  { subject, per, each }: CompiledLimit,
  { max, unit, who }: { max: number; unit: string | undefined; who: string | null | undefined },
): string {
  const period = per === undefined ? "in all" : `per ${per}`;
  const whom =
    each === undefined ? "" : who === null ? `, callers without ${each}` : `, ${each} ${JSON.stringify(who)}`;
  return `${subject}: ${showUse(max, unit)} ${period}${whom}`;
}

function viewOf(counter: LimitCounter, now: number): LimitView {
  const { id, text, max, perMs, then, unit } = counter;
  const state = limitStateOf(counter, { text, max, perMs, then, at: 0 }, 1, now);
  const shown = (amount: number): number => (unit === undefined ? amount : amount / 1_000_000);
  const { used, left, freesAt } = state;
  return { id, limit: text, used: shown(used), max: shown(state.max), left: shown(left), unit, freesAt };
}
