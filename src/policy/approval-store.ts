import type { MaybePromise } from "../core/stage.ts";
import { type Approval, type ApprovalState, CURRENT_STATES } from "./approval.ts";

export interface OpenLimits {
  maxOpen: number;
  maxOpenOfSession: number;
}

export type AddedApproval =
  | { outcome: "added"; approval: Approval }
  /** The call has a question already that still counts. */
  | { outcome: "known"; approval: Approval }
  | { outcome: "full"; open: number };

export type ApprovalChanges = Partial<Omit<Approval, "id" | "callKey">> & { state: ApprovalState };

/** Where questions and answers are kept. Several processes may share one: each method is one step for all of them. */
export interface ApprovalStore {
  /** Whether others than this process may write to it. */
  readonly shared: boolean;
  /** At most one question of a call is open, approved or declined at a time. */
  add(approval: Approval, limits: OpenLimits): MaybePromise<AddedApproval>;
  get(id: string): MaybePromise<Approval | undefined>;
  /** The question of this call that is open, approved or declined. */
  current(callKey: string): MaybePromise<Approval | undefined>;
  /** The newest so many, oldest first. */
  list(state?: ApprovalState, max?: number): MaybePromise<Approval[]>;
  /** Only where the state is still `from`; undefined where it is not. */
  change(id: string, from: ApprovalState, changes: ApprovalChanges): MaybePromise<Approval | undefined>;
  /** Drops what was asked before that time and decides nothing any more; an old no as well. */
  prune(before: number): MaybePromise<void>;
}

/** Nothing outlives this process. */
export class MemoryApprovalStore implements ApprovalStore {
  readonly shared = false;
  readonly #approvals = new Map<string, Approval>();
  readonly #current = new Map<string, string>();
  readonly #capacity: number;

  constructor(capacity = 1000) {
    this.#capacity = capacity;
  }

  add(approval: Approval, { maxOpen, maxOpenOfSession }: OpenLimits): AddedApproval {
    const known = this.current(approval.callKey);
    if (known) return { outcome: "known", approval: known };
    const open = this.#countOpen(() => true);
    const ofSession = this.#countOpen(({ caller }) => caller.session === approval.caller.session);
    if (open >= maxOpen) return { outcome: "full", open };
    if (ofSession >= maxOpenOfSession) return { outcome: "full", open: ofSession };
    const kept = structuredClone(approval);
    this.#approvals.set(approval.id, kept);
    this.#current.set(approval.callKey, approval.id);
    this.#dropAnswered();
    return { outcome: "added", approval: structuredClone(kept) };
  }

  get(id: string): Approval | undefined {
    const approval = this.#approvals.get(id);
    return approval && structuredClone(approval);
  }

  current(callKey: string): Approval | undefined {
    const id = this.#current.get(callKey);
    return id === undefined ? undefined : this.get(id);
  }

  list(state?: ApprovalState, max = Number.MAX_SAFE_INTEGER): Approval[] {
    const all = [...this.#approvals.values()].filter((approval) => state === undefined || approval.state === state);
    return all.slice(-max).map((approval) => structuredClone(approval));
  }

  change(id: string, from: ApprovalState, changes: ApprovalChanges): Approval | undefined {
    const approval = this.#approvals.get(id);
    if (approval?.state !== from) return undefined;
    const changed = { ...approval, ...structuredClone(changes) };
    this.#approvals.set(id, changed);
    if (!CURRENT_STATES.includes(changed.state)) this.#current.delete(changed.callKey);
    return structuredClone(changed);
  }

  prune(before: number): void {
    for (const approval of this.#approvals.values()) {
      if (approval.askedAt < before && isOver(approval)) this.#drop(approval);
    }
  }

  #countOpen(counts: (approval: Approval) => boolean): number {
    let open = 0;
    for (const approval of this.#approvals.values()) if (approval.state === "open" && counts(approval)) open++;
    return open;
  }

  /** Open questions and answers that wait to be used are never dropped. */
  #dropAnswered(): void {
    for (const approval of this.#approvals.values()) {
      if (this.#approvals.size <= this.#capacity) return;
      if (isOver(approval)) this.#drop(approval);
    }
  }

  #drop({ id, callKey }: Approval): void {
    this.#approvals.delete(id);
    if (this.#current.get(callKey) === id) this.#current.delete(callKey);
  }
}

function isOver({ state }: Approval): boolean {
  return state !== "open" && state !== "approved";
}
