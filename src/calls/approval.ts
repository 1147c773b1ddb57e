import type { Caller, CallOptions, Verdict } from "../core/call.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { Preview } from "../core/tool.ts";

/** Pending until it is answered or expires; an approval is used once. If the call changes, it is void and asked again. */
export type ApprovalState = "pending" | "approved" | "denied" | "expired" | "void" | "used";

/** What an approval covers: this call, or what a rule covers in this session or from now on. */
export type ApprovalScope = "once" | "session" | "always";

/** All that an answer is bound to. If any of it differs, the answer is not used. Hashes, except the folder. */
export interface ApprovalBinding {
  tool: string;
  input: string;
  preview: string;
  cwd: string;
  environment: string;
  caller: string;
  paths: string;
  mode: string;
  policy: string;
}

/** A call as it was made, as data: enough to make it again in another process. */
export interface MadeCall {
  name: string;
  /** What was sent, if a hook changed it to the approval's input. */
  input?: unknown;
  options: Omit<CallOptions, "signal" | "onUpdate" | "onApprovalRequested" | "taskId" | "userId">;
  /** The tool names of its toolkit, if it was made in one. */
  scope?: readonly string[];
  /** Whether the tool object was called, not a name. */
  isDirect: boolean;
}

/** A question to a person, bound to exactly one call. Plain data. */
export interface Approval {
  /** Of the question. */
  id: string;
  /** Of the call that waits. */
  callId: string;
  /** Equal for the same call made again: id, caller, tool, input and what narrows it. */
  callKey: string;
  /** The tool that would run. */
  toolName: string;
  /** The version of it that was shown. */
  toolVersion: string;
  /** The input as the approver sees it. */
  input: unknown;
  /** On whose behalf the call is made. */
  caller: Caller;
  /** Why it asks, in one sentence. */
  reason: string;
  /** What decided that it asks. */
  verdict: Verdict;
  /** What the tool shows of its effect, such as a diff. */
  preview?: Preview;
  /** Rules that "session" and "always" would save; empty if only "once" is offered. */
  suggestedRules: readonly string[];
  /** What the answer is bound to. If it changes, the approval is asked again. */
  binding: ApprovalBinding;
  /** Hash of the binding. */
  hash: string;
  /** How the call was made, to make it again after the answer. */
  made: MadeCall;
  /** Whether the caller waits for the answer, and will run the call itself. */
  waits: boolean;
  /** In milliseconds since 1970. */
  askedAt: number;
  /** After this time nobody can answer. */
  expiresAt: number;
  /** `pending` until somebody answers or it expires; `used` once the approved call began. */
  state: ApprovalState;
  /** The person who answered. */
  answeredBy?: string;
  /** The interface that the answer came from. */
  answeredVia?: string;
  /** When the answer came. */
  answeredAt?: number;
  /** Why it was denied, expired or became void. The model gets it. */
  note?: string;
  /** What was granted besides this call. */
  scope?: ApprovalScope;
  /** The rules that were saved with the answer. */
  rules?: readonly string[];
  /** Whether a saved rule was not suggested, and may allow more than was shown. */
  rulesEdited?: boolean;
  /** When the approved call began. */
  usedAt?: number;
}

/** A person's answer to a question. */
export interface ApprovalAnswer {
  /** Whether the call may run. */
  approved: boolean;
  /** The person who answers. */
  by?: string;
  /** Why; the model gets it too. */
  reason?: string;
  /** What an approval covers. Default: this call only. */
  scope?: ApprovalScope;
  /** Instead of the suggested ones. */
  rule?: string | readonly string[];
  /** The interface that it came from. */
  via?: string;
  /** The rights of the person, if the interface knows them: without "approve" the answer is refused. */
  rights?: readonly string[];
}

/** States that still decide about the call. */
const CURRENT_STATES: readonly ApprovalState[] = ["pending", "approved", "denied"];

export interface OpenLimits {
  maxOpen: number;
  maxOpenOfSession: number;
}

export type AddedApproval =
  | { outcome: "added"; approval: Approval }
  /** The call has a current approval already. */
  | { outcome: "known"; approval: Approval }
  | { outcome: "full"; open: number };

export type ApprovalChanges = Partial<Omit<Approval, "id" | "callKey">> & { state: ApprovalState };

/** Stores approvals. Several processes may share one store: each method is atomic. */
export interface ApprovalStore {
  /** Whether other processes may write to it. */
  readonly shared: boolean;
  /** A call has at most one approval that is pending, approved or denied. */
  add(approval: Approval, limits: OpenLimits): MaybePromise<AddedApproval>;
  /** By its id. */
  get(id: string): MaybePromise<Approval | undefined>;
  /** The approval of this call that is pending, approved or denied. */
  current(callKey: string): MaybePromise<Approval | undefined>;
  /** The newest `max`, oldest first. */
  list(state?: ApprovalState, max?: number): MaybePromise<Approval[]>;
  /** Changes it if the state is still `from`; otherwise undefined. */
  change(id: string, from: ApprovalState, changes: ApprovalChanges): MaybePromise<Approval | undefined>;
  /** Deletes approvals that were asked before that time, except pending and approved ones. */
  prune(before: number): MaybePromise<void>;
}

/** Lost with the process. */
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
    for (const approval of this.#approvals.values()) if (approval.state === "pending" && counts(approval)) open++;
    return open;
  }

  /** Pending and approved ones are never deleted. */
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
  return state !== "pending" && state !== "approved";
}
