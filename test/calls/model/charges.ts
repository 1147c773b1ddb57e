// Calls that take from one grant, as a model: a process for each call, a second one that repeats a call, a host that recovers what
// was lost, a person who revokes the grant and gives back what a call took. The transitions of rows and the charge are those of the
// product. What must hold in every schedule: no more calls start than the grant allows, none after its end; each call that started
// is charged once; an unknown outcome stays charged and counted until it is known; and no use is lost on what did not begin.
import { type Charge, type Grant, MemoryGrantRows, settlementOf } from "../../../src/calls/grants.ts";
import * as product from "../../../src/calls/stored-call.ts";
import type { StoredCall, Transition } from "../../../src/calls/stored-call.ts";
import type { Model, Step } from "./explore.ts";

export interface ChargesConfiguration {
  /** Of calls that run at once, or of jobs. */
  calls: readonly ("direct" | "job")[];
  maxUses?: number;
  /** A budget, of which each call takes one. */
  maxSum?: number;
  /** Each call may run twice: if its outcome is unknown, its job is tried again, or a second process repeats it. */
  isRepeatable?: boolean;
  /** How often each of them happens at most. */
  faults?: Partial<Faults>;
}

interface Faults {
  kills: number;
  /** A process is taken for dead although it lives. */
  lostLeases: number;
  /** The tool fails after it began. A job is tried again. */
  failures: number;
  /** A process that has started the call stops before the tool begins. */
  stops: number;
  refunds: number;
  revocations: number;
  /** The time of the grant is over. */
  ends: number;
}

/** Conditions that a mutant leaves out. */
export type ChargeCondition =
  | "charge: not revoked"
  | "charge: not over"
  | "charge: uses are left"
  | "charge: the amount is left"
  | "charge: with the claim"
  | "charge: once for a row"
  | "lose: stays charged"
  | "lose: counted as unknown"
  | "end: a late result is known"
  | "end: what began stays charged"
  | "end: what did not begin is given back"
  | "requeue: what began stays charged"
  | "requeue: what did not begin is given back"
  | "refund: only of a call that has ended"
  | "refund: only what the row has";

interface Party {
  /** `judge`: reads the grant · `claim` · `charge`: only without "charge: with the claim" · `run` · `end` · `asked`: a person is. */
  at: "judge" | "claim" | "charge" | "run" | "end" | "asked" | "done" | "dead";
  call: number;
  epoch: number;
  ending: "completed" | "failed" | "cancelled" | "";
}

interface ChargesState {
  grant: Grant;
  isOver: boolean;
  /** By call; undefined before the first claim of one that runs at once. */
  rows: (StoredCall | undefined)[];
  parties: Party[];
  deemedDead: boolean[];
  /** By call: what only an observer outside knows. */
  effects: number[];
  refunded: boolean[];
  left: Faults;
  violation: string;
}

const NONE: Faults = { kills: 0, lostLeases: 0, failures: 0, stops: 0, refunds: 0, revocations: 0, ends: 0 };
const GRANT = "g";
const NOW = 1000;
const UNTIL = 2000;
const JOB = { id: "j", seq: 1, priority: 0, runAt: 0, attempt: 0, attempts: 9, round: 1 };
const never = () => false;
const nameOf = (party: number): string => `p${party}`;

export class ChargedCalls implements Model<ChargesState> {
  readonly start: ChargesState;
  readonly #configuration: ChargesConfiguration;
  readonly #without: ChargeCondition | undefined;

  constructor(configuration: ChargesConfiguration, without?: ChargeCondition) {
    const { calls, maxUses, maxSum, isRepeatable = false, faults } = configuration;
    this.#configuration = configuration;
    this.#without = without;
    const budget = maxSum === undefined ? undefined : { unit: "EUR", max: maxSum };
    const counters = { used: 0, spent: 0, unknown: 0 };
    // The second process of a call: it repeats one that runs at once, or is another worker.
    const callers = calls.flatMap((_, call) => (isRepeatable ? [call, call] : [call]));
    this.start = {
      grant: {
        id: GRANT,
        holder: {},
        rules: ["t"],
        tools: {},
        until: UNTIL,
        maxUses,
        budget,
        ...counters,
        why: "",
        createdAt: 0,
      },
      isOver: false,
      rows: calls.map((kind, call) =>
        kind === "job" ? { ...this.#row(call), state: "approved", job: JOB } : undefined,
      ),
      parties: callers.map((call) => ({ at: "judge", call, epoch: 0, ending: "" })),
      deemedDead: callers.map(() => false),
      effects: calls.map(() => 0),
      refunded: calls.map(() => false),
      left: { ...NONE, ...faults },
      violation: "",
    };
  }

  steps(state: ChargesState): Step<ChargesState>[] {
    const steps: Step<ChargesState>[] = [];
    const add = (label: string, change: (to: ChargesState) => void, fault?: keyof Faults): void => {
      if (fault && state.left[fault] === 0) return;
      const to = structuredClone(state);
      if (fault) to.left[fault]--;
      change(to);
      steps.push({ label, to, isFault: fault !== undefined });
    };
    const { grant } = state;
    if (!grant.ended) add("the grant is revoked", (to) => (to.grant.ended = "revoked"), "revocations");
    if (!state.isOver) add("its time is over", (to) => (to.isOver = true), "ends");
    for (const [me, party] of state.parties.entries()) {
      const alter = (changes: Partial<Party>) => (to: ChargesState) => void Object.assign(to.parties[me]!, changes);
      this.#addOwn(state, me, (label, change, fault) => add(`${nameOf(me)} ${label}`, change, fault), alter);
      const isBusy = party.at === "claim" || party.at === "charge" || party.at === "run" || party.at === "end";
      if (isBusy) add(`${nameOf(me)} is killed`, alter({ at: "dead" }), "kills");
    }
    for (const [call, row] of state.rows.entries()) if (row) this.#addOthers(state, call, row, add);
    return steps;
  }

  violationIn({ violation, grant, rows, refunded }: ChargesState): string | undefined {
    if (violation !== "") return violation;
    const { maxUses = Infinity, maxSum = Infinity } = this.#configuration;
    const charges = rows.flatMap((row) => row?.charges ?? []);
    const unknown = charges.filter(({ isUnknown }) => isUnknown).length;
    if (rows.some((row) => (row?.charges?.length ?? 0) > 1)) return "charged twice";
    if (grant.used !== charges.length || grant.unknown !== unknown || (grant.budget && grant.spent !== charges.length))
      return "the counters differ from the rows";
    if (grant.used > maxUses || grant.spent > maxSum) return "more than was allowed";
    for (const [call, row] of rows.entries()) {
      if (!row || row.charges?.length || refunded[call]) continue;
      const hasStarted = row.state === "running" || row.outcome === "completed" || row.outcome === "unknown";
      if (hasStarted || (row.epoch > 0 && row.state === "approved")) return "a call that started is not charged";
    }
    return undefined;
  }

  violationAtEnd({ rows, effects, parties }: ChargesState): string | undefined {
    for (const [call, row] of rows.entries()) {
      const isCharged = (row?.charges?.length ?? 0) > 0;
      if (row?.state === "running") return "stuck: the call runs for ever";
      if (isCharged && (row?.charges?.[0]?.isUnknown ?? false) !== (row?.outcome === "unknown"))
        return "what is unknown is not what is counted as unknown";
      if (isCharged && row?.outcome === "cancelled" && effects[call] === 0) return "a use is lost";
      if (isCharged && row?.state === "approved" && row.epoch === 0) return "a use is lost";
      const isOpenJob = row?.state === "approved" && parties.some(({ at, call: of }) => of === call && at === "claim");
      if (isOpenJob) return "stuck: nobody runs the job";
    }
    return undefined;
  }

  describeEnd({ rows, grant: { used, unknown } }: ChargesState): string {
    const ends = rows.map((row) => (row ? (row.outcome ?? row.state) : "asked"));
    return `${ends.sort().join(", ")}: ${used} used${unknown > 0 ? `, ${unknown} unknown` : ""}`;
  }

  #addOwn(
    state: ChargesState,
    me: number,
    add: (label: string, change: (to: ChargesState) => void, fault?: keyof Faults) => void,
    alter: (changes: Partial<Party>) => (to: ChargesState) => void,
  ): void {
    const { at, call, epoch, ending } = state.parties[me]!;
    const row = state.rows[call];
    const isJob = row?.job !== undefined;
    switch (at) {
      case "judge": {
        // Somebody else makes the call, or has made it.
        const isFree = isJob
          ? row.state === "approved"
          : !row || row.outcome === "unknown" || row.outcome === "cancelled";
        if (isJob && row.state !== "ended" && !isFree) return;
        if (!isFree && row?.state === "running") return;
        if (!isFree) return add("learns the outcome", alter({ at: "done" }));
        if (row?.outcome === "unknown" && (!this.#configuration.isRepeatable || isJob))
          return add("learns that it is unknown", alter({ at: "done" }));
        const isCovered =
          isJob || row?.charges?.length || this.#try(structuredClone(state), undefined, [this.#charge()]);
        return add(isCovered ? "is permitted" : "asks", alter({ at: isCovered ? "claim" : "asked" }));
      }
      case "claim":
        return add("claims", (to) => this.#claim(to, me));
      case "charge":
        return add("charges", (to) => {
          const claimed = to.rows[call]!;
          const charges = [this.#charge()];
          if (!this.#try(to, claimed.charges, charges)) return alter({ at: "done" })(to);
          claimed.charges = charges;
          alter({ at: "run" })(to);
        });
      case "run":
        add("has THE EFFECT", (to) => {
          to.effects[call]!++;
          alter({ at: "end", ending: "completed" })(to);
        });
        add("stops before it begins", alter({ at: "end", ending: "cancelled" }), "stops");
        return add("fails after it began", alter({ at: "end", ending: "failed" }), "failures");
      case "end":
        return add(`ends it as ${ending}`, (to) => {
          alter({ at: "done" })(to);
          if (isJob && ending !== "completed") {
            const began = ending === "failed";
            const start = { epoch, began };
            const requeued = this.#change(
              to,
              call,
              product.requeue(nameOf(me), { start, inMs: 0, counts: true }),
              (changes, before) => {
                if (!began && this.#lacks("requeue: what did not begin is given back"))
                  changes.charges = before.charges;
                if (began && this.#lacks("requeue: what began stays charged")) changes.charges = undefined;
              },
            );
            if (requeued) alter({ at: "judge" })(to);
            return;
          }
          const ended = {
            outcome: ending || "failed",
            result: { status: "completed" } as never,
            releasesKey: false,
          } as const;
          this.#change(to, call, product.end(nameOf(me), epoch, ended), (changes, before) => {
            const isGiven = changes.outcome === "cancelled";
            if (isGiven && this.#lacks("end: what did not begin is given back")) changes.charges = before.charges;
            if (!isGiven && this.#lacks("end: what began stays charged")) changes.charges = undefined;
            if (before.outcome === "unknown" && this.#lacks("end: a late result is known"))
              changes.charges = before.charges;
          });
        });
      case "asked":
      case "done":
      case "dead":
    }
  }

  /** The host, and the person. */
  #addOthers(
    { parties, deemedDead, effects, refunded }: ChargesState,
    call: number,
    row: StoredCall,
    add: (label: string, change: (to: ChargesState) => void, fault?: keyof Faults) => void,
  ): void {
    for (const [me, { at, call: of }] of parties.entries()) {
      if (of !== call || row.state === "ended" || (row.owner !== nameOf(me) && row.holder !== nameOf(me))) continue;
      if (!deemedDead[me]) {
        const deemDead = (to: ChargesState): void => void (to.deemedDead[me] = true);
        if (at === "dead") add(`${nameOf(me)} is found dead`, deemDead);
        else add(`${nameOf(me)} is taken for dead`, deemDead, "lostLeases");
        continue;
      }
      const lose = product.lose(nameOf(me));
      if (lose(row, NOW))
        add(`the host recovers call ${call}`, (to) =>
          this.#change(to, call, lose, (changes, before) => {
            if (changes.state === "ended" && this.#lacks("lose: counted as unknown")) changes.charges = before.charges;
            if (this.#lacks("lose: stays charged")) changes.charges = undefined;
          }),
        );
      else if (product.loseTaken(nameOf(me))(row, NOW))
        add(`the host gives job ${call} to others`, (to) => this.#change(to, call, product.loseTaken(nameOf(me))));
    }
    // The person sees that nothing has happened. Of a process that lives, nobody knows whether something will.
    const mayStillRun = parties.some(({ at, call: of }) => of === call && (at === "run" || at === "end"));
    if (effects[call] !== 0 || (row.state === "ended" && mayStillRun)) return;
    add(
      `the person gives call ${call} back`,
      (to) => {
        const before = to.rows[call]!;
        const isForced = this.#lacks("refund: only of a call that has ended") && before.state !== "ended";
        const refund: Transition = isForced
          ? ({ charges }) => charges && { charges: [] }
          : product.giveBackCharges(GRANT);
        const given = this.#change(to, call, refund);
        if (given && before.state === "ended") to.refunded[call] = true;
        if (!given && refunded[call] && this.#lacks("refund: only what the row has")) to.grant.used--;
      },
      "refunds",
    );
  }

  #claim(to: ChargesState, me: number): void {
    const { call } = to.parties[me]!;
    const row = to.rows[call];
    const isLate = this.#lacks("charge: with the claim");
    const charges = isLate ? undefined : [this.#charge()];
    const go = (at: Party["at"], epoch = 0): void => void Object.assign(to.parties[me]!, { at, epoch });
    const begin = (): boolean | "refused" => {
      if (row?.job) {
        const taken = row.holder === nameOf(me) || this.#change(to, call, product.take(nameOf(me), undefined));
        return taken && this.#start(to, call, product.claim(nameOf(me), never, undefined, charges));
      }
      if (row?.outcome === "unknown") return this.#start(to, call, product.restart(nameOf(me), charges));
      if (row && row.outcome !== "cancelled") return false;
      if (charges && !this.#try(to, undefined, charges)) return "refused";
      to.rows[call] = { ...this.#row(call), state: "running", owner: nameOf(me), epoch: 1, charges };
      return true;
    };
    const begun = begin();
    if (begun === "refused") go("asked");
    else if (begun) go(isLate ? "charge" : "run", to.rows[call]!.epoch);
    else go("judge");
  }

  #start(to: ChargesState, call: number, transition: Transition): boolean | "refused" {
    const once = (changes: Partial<StoredCall>, before: StoredCall): void => {
      if (this.#lacks("charge: once for a row") && before.charges?.length && changes.charges)
        changes.charges = [...before.charges, { ...this.#charge(), grant: GRANT }];
    };
    const before = to.rows[call]!;
    const changes = transition(before, NOW);
    if (!changes) return false;
    once(changes, before);
    const after = { ...before, ...changes };
    if (!this.#try(to, before.charges, after.charges)) {
      // The job ends: its caller makes the call again.
      if (before.job) to.rows[call] = { ...before, state: "ended", outcome: "failed", holder: undefined };
      return "refused";
    }
    to.rows[call] = after;
    return true;
  }

  /** False if the transition does not apply. */
  #change(
    to: ChargesState,
    call: number,
    transition: Transition,
    mutate?: (changes: Partial<StoredCall>, before: StoredCall) => void,
  ): boolean {
    const before = to.rows[call]!;
    const changes = transition(before, NOW);
    if (!changes) return false;
    mutate?.(changes, before);
    const after = { ...before, ...changes };
    to.rows[call] = after;
    this.#try(to, before.charges, after.charges);
    return true;
  }

  /** Counts in the grant what the change of a row means. False if a charge is refused. */
  #try(to: ChargesState, before: readonly Charge[] | undefined, after: readonly Charge[] | undefined): boolean {
    const { grant, isOver } = to;
    const isTwice = (before?.length ?? 0) === 1 && (after?.length ?? 0) === 2;
    const settlement = isTwice
      ? { made: [this.#charge()], counted: [], limits: { made: [], back: [] } }
      : settlementOf(before, after);
    if (!settlement) return true;
    const rows = new MemoryGrantRows();
    rows.insert({
      ...grant,
      ended: this.#lacks("charge: not revoked") ? undefined : grant.ended,
      until: this.#lacks("charge: not over") ? undefined : grant.until,
      maxUses: this.#lacks("charge: uses are left") ? undefined : grant.maxUses,
      budget: grant.budget && this.#lacks("charge: the amount is left") ? { ...grant.budget, max: 1e9 } : grant.budget,
    });
    try {
      rows.settle(settlement, isOver ? UNTIL : NOW);
    } catch {
      return false;
    }
    const { used = 0, spent = 0, unknown = 0 } = rows.get(GRANT) ?? {};
    to.grant = { ...grant, used, spent, unknown };
    if (settlement.made.length > 0 && (grant.ended || isOver))
      to.violation = "a call starts after the end of the grant";
    return true;
  }

  #charge(): Charge {
    return { grant: GRANT, amount: 1, unit: "EUR" };
  }

  #row(call: number): StoredCall {
    const { isRepeatable = false } = this.#configuration;
    const facts = { id: `r${call}`, callId: `c${call}`, fingerprint: "", toolName: "t", caller: { depth: 0 } };
    return { ...facts, state: "running", epoch: 0, lost: 0, repeatable: isRepeatable, createdAt: 0 };
  }

  #lacks(condition: ChargeCondition): boolean {
    return this.#without === condition;
  }
}
