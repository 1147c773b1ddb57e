import type { Clock, Timer } from "../../core/clock.ts";
import type { OpenRequest } from "./open-request.ts";

/** A tool that waits keeps its slot in the gate, of which there are few; a call that waits for permission has none yet. */
export type SuspendedFor = "inputs" | "permission";

export interface SuspendedLimits {
  inputs: number;
  permission: number;
}

const DEFAULT_LIMITS: SuspendedLimits = { inputs: 2, permission: 1000 };
const MAX_TAKEN = 1000;

interface SuspendedRequest {
  request: OpenRequest<unknown>;
  owner: string;
  suspendedFor: SuspendedFor;
  timer: Timer;
  /** Its client came back; kept for the case that it comes twice. */
  isTaken: boolean;
}

/** Requests whose client was asked something, and is to come back. What nobody comes back for is stopped. */
export class SuspendedRequests {
  readonly #clock: Clock;
  readonly #limits: SuspendedLimits;
  readonly #suspended = new Map<string, SuspendedRequest>();

  constructor(clock: Clock, limits: Partial<SuspendedLimits> = {}) {
    this.#clock = clock;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
  }

  add(
    request: OpenRequest<unknown>,
    { owner, suspendedFor, ms }: { owner: string; suspendedFor: SuspendedFor; ms: number },
  ): void {
    this.#forget(request.id);
    this.#evictOldest(owner, suspendedFor);
    const timer = this.#clock.after(ms, () => this.#drop(request.id, "its client did not come back in time"));
    timer.setRef(false);
    this.#suspended.set(request.id, { request, owner, suspendedFor, timer, isTaken: false });
  }

  take(id: string, owner: string): { request: OpenRequest<unknown>; isFirst: boolean } | undefined {
    const suspended = this.#suspended.get(id);
    if (suspended?.owner !== owner) return undefined;
    const isFirst = !suspended.isTaken;
    suspended.isTaken = true;
    return { request: suspended.request, isFirst };
  }

  close(): void {
    for (const id of this.#suspended.keys()) this.#drop(id, "the server ends");
  }

  /** One's own oldest goes first. */
  #evictOldest(owner: string, suspendedFor: SuspendedFor): void {
    const all = [...this.#suspended.values()];
    const taken = all.filter(({ isTaken }) => isTaken);
    if (taken.length >= MAX_TAKEN) this.#forget(taken[0]!.request.id);
    const alike = all.filter((suspended) => !suspended.isTaken && suspended.suspendedFor === suspendedFor);
    if (alike.length < this.#limits[suspendedFor]) return;
    const oldest = alike.find((suspended) => suspended.owner === owner) ?? alike[0]!;
    this.#drop(oldest.request.id, "too many requests wait for their client");
  }

  #drop(id: string, why: string): void {
    const suspended = this.#forget(id);
    if (suspended && !suspended.isTaken) suspended.request.abort(new Error(why));
  }

  #forget(id: string): SuspendedRequest | undefined {
    const suspended = this.#suspended.get(id);
    suspended?.timer.cancel();
    this.#suspended.delete(id);
    return suspended;
  }
}
