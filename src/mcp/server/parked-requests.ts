import type { Clock, Timer } from "../../core/clock.ts";
import type { OpenRequest } from "./open-request.ts";

/** A tool that waits keeps its slot in the gate, of which there are few; a call that waits for permission has none yet. */
export type ParkedFor = "inputs" | "permission";

export interface ParkedLimits {
  inputs: number;
  permission: number;
}

const DEFAULT_LIMITS: ParkedLimits = { inputs: 2, permission: 1000 };
const MOST_TAKEN = 1000;

interface Parked {
  request: OpenRequest<unknown>;
  owner: string;
  parkedFor: ParkedFor;
  timer: Timer;
  /** Its client came back; kept for the case that it comes twice. */
  isTaken: boolean;
}

/** Requests whose client was asked something, and is to come back. What nobody comes back for is stopped. */
export class ParkedRequests {
  readonly #clock: Clock;
  readonly #limits: ParkedLimits;
  readonly #parked = new Map<string, Parked>();

  constructor(clock: Clock, limits: Partial<ParkedLimits> = {}) {
    this.#clock = clock;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
  }

  keep(
    request: OpenRequest<unknown>,
    { owner, parkedFor, ms }: { owner: string; parkedFor: ParkedFor; ms: number },
  ): void {
    this.#forget(request.id);
    this.#makeRoom(owner, parkedFor);
    const timer = this.#clock.after(ms, () => this.#drop(request.id, "its client did not come back in time"));
    timer.hold(false);
    this.#parked.set(request.id, { request, owner, parkedFor, timer, isTaken: false });
  }

  take(id: string, owner: string): { request: OpenRequest<unknown>; isFirst: boolean } | undefined {
    const parked = this.#parked.get(id);
    if (parked?.owner !== owner) return undefined;
    const isFirst = !parked.isTaken;
    parked.isTaken = true;
    return { request: parked.request, isFirst };
  }

  close(): void {
    for (const id of this.#parked.keys()) this.#drop(id, "the server ends");
  }

  /** One's own oldest goes first. */
  #makeRoom(owner: string, parkedFor: ParkedFor): void {
    const all = [...this.#parked.values()];
    const taken = all.filter(({ isTaken }) => isTaken);
    if (taken.length >= MOST_TAKEN) this.#forget(taken[0]!.request.id);
    const alike = all.filter((parked) => !parked.isTaken && parked.parkedFor === parkedFor);
    if (alike.length < this.#limits[parkedFor]) return;
    const oldest = alike.find((parked) => parked.owner === owner) ?? alike[0]!;
    this.#drop(oldest.request.id, "too many requests wait for their client");
  }

  #drop(id: string, why: string): void {
    const parked = this.#forget(id);
    if (parked && !parked.isTaken) parked.request.abort(new Error(why));
  }

  #forget(id: string): Parked | undefined {
    const parked = this.#parked.get(id);
    parked?.timer.cancel();
    this.#parked.delete(id);
    return parked;
  }
}
