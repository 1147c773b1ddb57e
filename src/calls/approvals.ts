import { type Call, type CallOptions, toolOf, type ToolScope } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import { toolError, type ToolError, ToolPermissionError } from "../core/error.ts";
import { canonicalJson } from "../core/json.ts";
import { redactSecrets } from "../core/mask-secrets.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { AnyTool, Preview } from "../core/tool.ts";
import { AnswerNotifier } from "./answer-notifier.ts";
import { bindingOf, callKeyOf, type CallWorld, changesBetween, hashOf, MAX_SHOWN_BYTES } from "./approval-binding.ts";
import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalBinding,
  type ApprovalState,
  type ApprovalStore,
  type MadeCall,
  MemoryApprovalStore,
  type OpenLimits,
} from "./approval.ts";

/** In characters. The model gets the reason. */
const MAX_REASON_LENGTH = 4000;

/** The answer as it is stored with the approval. Throws if it asks for something that was not offered. */
function readAnswer(
  approval: Approval,
  answer: ApprovalAnswer,
): Pick<Approval, "scope" | "rules" | "rulesEdited" | "answeredBy" | "answeredVia" | "note"> {
  const { approved, scope = "once", by, via, reason } = answer;
  return {
    answeredBy: by,
    answeredVia: via,
    note: reason?.slice(0, MAX_REASON_LENGTH),
    ...(approved ? readGrant(approval, scope, answer.rule) : {}),
  };
}

function readGrant(
  { id, suggestedRules }: Approval,
  scope: NonNullable<Approval["scope"]>,
  given: ApprovalAnswer["rule"],
): Pick<Approval, "scope" | "rules" | "rulesEdited"> {
  if (scope === "once") {
    if (given !== undefined)
      throw badAnswer(`A rule was given for "${id}", but the scope is "once"`, 'Give the scope "session" or "always".');
    return { scope };
  }
  if (scope !== "session" && scope !== "always") {
    throw badAnswer(`"${String(scope)}" is not a scope of an approval`, 'Use "once", "session" or "always".');
  }
  if (suggestedRules.length === 0) {
    throw badAnswer(`"${id}" can be approved once only: no rule would cover calls like it`, 'Answer with "once".');
  }
  const rules = given === undefined ? suggestedRules : rulesOf(given);
  if (rules.length === 0 || rules.some((rule) => typeof rule !== "string" || rule.trim() === "")) {
    throw badAnswer(`"${id}" was approved ${scope} with an empty rule`, "Give the rule, or answer with once.");
  }
  const isEdited = rules.some((rule) => !suggestedRules.includes(rule));
  return isEdited ? { scope, rules, rulesEdited: true } : { scope, rules };
}

function rulesOf(given: string | readonly string[]): readonly string[] {
  return typeof given === "string" ? [given] : given;
}

/** Whether the stored answer is the same as this one. */
function isSameAnswer(approval: Approval, { approved, scope, rule }: ApprovalAnswer): boolean {
  if (!approved) return approval.state === "denied";
  if (approval.state !== "approved" && approval.state !== "used") return false;
  if (scope !== undefined && scope !== approval.scope) return false;
  return rule === undefined || canonicalJson(rulesOf(rule)) === canonicalJson(approval.rules);
}

function conflictOf(approval: Approval): ToolError {
  const { id, state, answeredBy, scope, note } = approval;
  const by = answeredBy === undefined ? "" : ` by ${answeredBy}`;
  const why = note === undefined ? "" : ` (${note})`;
  const what: Record<Approval["state"], string> = {
    pending: "is pending",
    approved: `was approved already${by}, ${scope ?? "once"}`,
    used: `was approved already${by}, ${scope ?? "once"}, and the call was made`,
    denied: `was denied already${by}${why}`,
    expired: `has expired${why}`,
    void: `is void${why}`,
  };
  return toolError("conflict", `Approval "${id}" ${what[state]}.`, { next: "Only the first answer is used." });
}

function refusedAnswer({ id, toolName }: Approval, why: string): ToolError {
  return new ToolPermissionError(toolName, `approval "${id}" cannot be answered this way: ${why}`);
}

function badAnswer(message: string, next: string): ToolError {
  return toolError("invalid_input", message, { next });
}

/** Clocks of several machines differ by less. A larger difference means that a clock was set back. */
const SKEW_MS = 5 * 60_000;
const MAX_REMEMBERED = 10_000;

/**
 * When an approval expires. The wall clock is read once, when this process first sees the approval; after that the monotonic
 * clock is used. So setting the clock neither expires an approval early nor revives one.
 */
class ApprovalExpiry {
  readonly #clock: Clock;
  readonly #maxDelayMs: number;
  readonly #deadlines = new Map<string, number>();

  constructor(clock: Clock, maxDelayMs: number) {
    this.#clock = clock;
    this.#maxDelayMs = maxDelayMs;
  }

  /** In milliseconds; zero or less if it has expired. */
  remaining(approval: Approval): number {
    const now = this.#clock.monotonic();
    let deadline = this.#deadlines.get(approval.id);
    if (deadline === undefined) this.#remember(approval.id, (deadline = now + this.#leftByWallClock(approval)));
    return deadline - now;
  }

  forget(id: string): void {
    this.#deadlines.delete(id);
  }

  #leftByWallClock({ askedAt, answeredAt = askedAt, expiresAt }: Approval): number {
    const wall = this.#clock.now();
    // Asked or answered in the future: the clock was set back, and the real age is unknown.
    if (wall < Math.max(askedAt, answeredAt) - SKEW_MS) return 0;
    return Math.min(expiresAt - wall, this.#maxDelayMs);
  }

  #remember(id: string, deadline: number): void {
    for (const oldest of this.#deadlines.keys()) {
      if (this.#deadlines.size < MAX_REMEMBERED) break;
      this.#deadlines.delete(oldest);
    }
    this.#deadlines.set(id, deadline);
  }
}

export interface ApprovalsOptions extends Partial<OpenLimits> {
  clock: Clock;
  store?: ApprovalStore;
  /** How long an approval, answered or not, may be used. Default: a day. */
  lifetimeMs?: number;
  /** How often answers of other processes are looked for. Default: 250. */
  pollMs?: number;
  /** Longer arguments cannot be shown in full and are refused. */
  maxShownBytes?: number;
  /** Checks every answer, from whichever interface. A returned text refuses it and says why. */
  checkAnswer?(approval: Approval, answer: ApprovalAnswer): MaybePromise<string | undefined>;
}

/** The parts of a call that cannot be stored. Known while this process lives. */
export interface LiveCall {
  tool: AnyTool;
  scope: ToolScope | undefined;
  input: unknown;
}

const DAY_MS = 24 * 60 * 60_000;
const RETENTION_MS = 30 * DAY_MS;
const MAX_LIVE = 10_000;

/** Approvals and their answers. An answer is used once, for exactly the call that was shown. */
export class Approvals {
  readonly maxShownBytes: number;
  readonly #store: ApprovalStore;
  readonly #clock: Clock;
  readonly #expiry: ApprovalExpiry;
  readonly #answerNotifier: AnswerNotifier;
  readonly #limits: OpenLimits;
  readonly #lifetimeMs: number;
  readonly #checkAnswer: ApprovalsOptions["checkAnswer"];
  readonly #live = new Map<string, LiveCall>();
  readonly #resumed = new WeakMap<CallOptions, string>();
  /** Denials that are being stored: an approval is not used before they are. */
  readonly #denying = new Map<string, Promise<unknown>>();
  readonly #approving = new Map<string, Promise<unknown>>();
  #prunedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ApprovalsOptions) {
    const { clock, store = new MemoryApprovalStore(), lifetimeMs = DAY_MS, pollMs = 250 } = options;
    this.maxShownBytes = options.maxShownBytes ?? MAX_SHOWN_BYTES;
    this.#store = store;
    this.#clock = clock;
    this.#lifetimeMs = lifetimeMs;
    this.#expiry = new ApprovalExpiry(clock, lifetimeMs);
    this.#answerNotifier = new AnswerNotifier(clock, store.shared ? pollMs : undefined);
    this.#limits = { maxOpen: options.maxOpen ?? 1000, maxOpenOfSession: options.maxOpenOfSession ?? 200 };
    this.#checkAnswer = options.checkAnswer;
  }

  /** Whether other processes may answer, and use what was answered here. */
  get shared(): boolean {
    return this.#store.shared;
  }

  /** Oldest first. Of ended approvals the last thousand. */
  async list(state?: ApprovalState): Promise<Approval[]> {
    const all = await this.#store.list(state, this.#limits.maxOpen + 1000);
    const seen = await Promise.all(all.map((approval) => this.#seen(approval)));
    return state === undefined ? seen : seen.filter((approval) => approval.state === state);
  }

  async get(id: string): Promise<Approval | undefined> {
    const approval = await this.#store.get(id);
    return approval && this.#seen(approval);
  }

  /**
   * The first answer wins; the same one again changes nothing, another one is refused. If a yes and a no arrive at the same
   * time, the no wins: both came while the approval was pending, and the yes was not used yet.
   */
  answer(id: string, answer: ApprovalAnswer): Promise<Approval> {
    return answer.approved ? this.#approve(id, answer) : this.#deny(id, answer);
  }

  /** Resolves when it is answered in any process, or has expired. */
  async wait(id: string, signal?: AbortSignal): Promise<Approval> {
    for (;;) {
      signal?.throwIfAborted();
      // Subscribed before the store is read, so no answer is missed.
      const answerNotifier = this.#answerNotifier.listen(id);
      try {
        const approval = await this.get(id);
        if (!approval) throw unknown(id);
        if (approval.state !== "pending") return approval;
        await answerNotifier.next(this.#expiry.remaining(approval), signal);
      } finally {
        answerNotifier.stop();
      }
    }
  }

  /** The approval of this call: the current one if nothing has changed, otherwise a new one. */
  async ask(call: Call, question: Question): Promise<Approval | { full: number }> {
    const callKey = callKeyOf(call);
    const binding = bindingOf(call, question.world);
    const current = await this.#store.current(callKey);
    if (current) {
      const seen = await this.#seen(current);
      const changes = seen.state === "denied" ? [] : changesBetween(seen.binding, binding);
      if (changes.length > 0) await this.#void(seen, `changed since it was asked: ${changes.join(", ")}`);
      else if (seen.state === "pending" || seen.state === "approved" || seen.state === "denied") {
        if (seen.state === "pending") this.#trackLive(seen.id, call);
        return seen;
      }
    }
    await this.#prune();
    const approval = newApproval(call, question, {
      callKey,
      binding,
      now: this.#clock.now(),
      lifetimeMs: this.#lifetimeMs,
    });
    const added = await this.#store.add(approval, this.#limits);
    if (added.outcome === "full") return { full: added.open };
    // Another process asked at the same time, perhaps in another state: check again.
    if (added.outcome === "known") return this.ask(call, question);
    this.#expiry.remaining(added.approval);
    this.#trackLive(added.approval.id, call);
    return added.approval;
  }

  /** Uses an approval; undefined if it is not approved any more. */
  async take(id: string): Promise<Approval | undefined> {
    await this.#denying.get(id);
    const approval = await this.get(id);
    if (approval?.state !== "approved") return undefined;
    const used = await this.#store.change(id, "approved", {
      ...withoutSecrets(approval),
      state: "used",
      usedAt: this.#clock.now(),
    });
    if (used) this.#notify(used);
    return used;
  }

  /** Whether another process uses the approval within `ms`. */
  async waitUntilUsed(id: string, ms: number): Promise<boolean> {
    const until = this.#clock.monotonic() + ms;
    // Keeps the process alive during the wait, whose own timers do not.
    const held = this.#clock.after(ms + 1000, () => undefined);
    try {
      for (;;) {
        const answerNotifier = this.#answerNotifier.listen(id);
        try {
          const state = (await this.#store.get(id))?.state;
          const left = until - this.#clock.monotonic();
          if (state !== "approved" || left <= 0) return state === "used";
          await answerNotifier.next(left);
        } finally {
          answerNotifier.stop();
        }
      }
    } finally {
      held.cancel();
    }
  }

  /** Call if nobody answered within the time of the caller. */
  expire(approval: Approval, note: string): Promise<Approval> {
    return this.#end(approval, { state: "expired", note });
  }

  /** The call that is resumed after the answer, if this process made it. */
  liveCallOf(id: string): LiveCall | undefined {
    return this.#live.get(id);
  }

  /** Marks a call with these options as resumed by that approval. */
  markResumed(options: CallOptions, id: string): void {
    this.#resumed.set(options, id);
  }

  resumedBy(call: Call): string | undefined {
    return this.#resumed.get(call.options);
  }

  /** Makes the approval void; `note` says why. */
  async void(id: string, note: string): Promise<void> {
    const approval = await this.get(id);
    if (approval) await this.#void(approval, note);
  }

  #approve(id: string, answer: ApprovalAnswer): Promise<Approval> {
    const keep = (): Promise<Approval> => this.#saveAnswer(id, answer, false);
    const kept = this.#denying.get(id)?.then(keep) ?? keep();
    this.#approving.set(id, kept);
    const done = (): unknown => this.#approving.get(id) === kept && this.#approving.delete(id);
    kept.then(done, done);
    return kept;
  }

  #deny(id: string, answer: ApprovalAnswer): Promise<Approval> {
    const kept = this.#saveAnswer(id, answer, this.#approving.has(id));
    const denying = Promise.allSettled([this.#denying.get(id), kept]);
    this.#denying.set(id, denying);
    void denying.then(() => this.#denying.get(id) === denying && this.#denying.delete(id));
    return kept;
  }

  async #saveAnswer(id: string, answer: ApprovalAnswer, isTie: boolean): Promise<Approval> {
    let seen = await this.get(id);
    if (!seen) throw unknown(id);
    await this.#checkRight(seen, answer);
    if (seen.state === "pending" || (isTie && seen.state === "approved")) {
      const changes = {
        ...readAnswer(seen, answer),
        state: answer.approved ? ("approved" as const) : ("denied" as const),
        answeredAt: this.#clock.now(),
      };
      const changed =
        (await this.#store.change(id, "pending", changes)) ??
        // A yes was stored since: both saw the approval pending.
        (answer.approved ? undefined : await this.#store.change(id, "approved", changes));
      if (changed) {
        this.#notify(changed);
        return changed;
      }
      seen = (await this.get(id)) ?? seen;
    }
    if (isSameAnswer(seen, answer)) return seen;
    throw conflictOf(seen);
  }

  async #checkRight(approval: Approval, answer: ApprovalAnswer): Promise<void> {
    if (answer.rights && !answer.rights.includes("approve")) {
      throw refusedAnswer(approval, `it needs the right "approve"${answer.via ? `, also through ${answer.via}` : ""}`);
    }
    const why = await this.#checkAnswer?.(approval, answer);
    if (why !== undefined) throw refusedAnswer(approval, why);
  }

  /** The current state. An expired approval is stored as expired when it is first seen. */
  async #seen(approval: Approval): Promise<Approval> {
    if (approval.state !== "pending" && approval.state !== "approved") return approval;
    if (this.#expiry.remaining(approval) > 0) return approval;
    const note = approval.state === "pending" ? "nobody answered in time" : "the answer was not used in time";
    return this.#end(approval, { state: "expired", note });
  }

  async #void(approval: Approval, note: string): Promise<void> {
    if (approval.state === "pending" || approval.state === "approved")
      await this.#end(approval, { state: "void", note });
  }

  async #end(approval: Approval, changes: { state: ApprovalState; note: string }): Promise<Approval> {
    const ended = await this.#store.change(approval.id, approval.state, { ...withoutSecrets(approval), ...changes });
    if (ended) this.#notify(ended);
    return ended ?? (await this.#store.get(approval.id)) ?? approval;
  }

  #notify(approval: Approval): void {
    if (approval.state !== "approved") this.#forget(approval);
    this.#answerNotifier.notify(approval.id);
  }

  #forget({ id, state }: Approval): void {
    this.#expiry.forget(id);
    // A denied call is resumed once, to get the denial.
    if (state !== "denied") this.#live.delete(id);
  }

  #trackLive(id: string, call: Call): void {
    for (const oldest of this.#live.keys()) {
      if (this.#live.size < MAX_LIVE) break;
      this.#live.delete(oldest);
    }
    this.#live.set(id, { tool: toolOf(call), scope: call.scope, input: call.sent ?? call.accepted });
  }

  async #prune(): Promise<void> {
    if (this.#clock.monotonic() - this.#prunedAt < DAY_MS) return;
    this.#prunedAt = this.#clock.monotonic();
    await this.#store.prune(this.#clock.now() - RETENTION_MS);
  }
}

function unknown(id: string): RangeError {
  return new RangeError(`There is no approval "${id}".`);
}

/** What a person is asked about a call. */
interface Question {
  world: CallWorld;
  /** The arguments as they are stored and shown: plain data. */
  input: unknown;
  /** The preview as it is stored and shown; cut if it is too long. */
  shown: Preview | undefined;
  suggestedRules: readonly string[];
  waits: boolean;
}

interface BoundTo {
  callKey: string;
  binding: ApprovalBinding;
  now: number;
  lifetimeMs: number;
}

function newApproval(call: Call, question: Question, { callKey, binding, now, lifetimeMs }: BoundTo): Approval {
  const { world, input, shown, suggestedRules, waits } = question;
  return {
    id: newId(),
    callId: call.id,
    callKey,
    toolName: toolOf(call).name,
    toolVersion: toolOf(call).version,
    input,
    caller: call.caller,
    reason: world.verdict.reason,
    verdict: world.verdict,
    preview: shown,
    suggestedRules,
    binding,
    hash: hashOf(binding),
    made: madeCallOf(call),
    waits,
    askedAt: now,
    expiresAt: now + lifetimeMs,
    state: "pending",
  };
}

function madeCallOf({ id, requestedName, sent, options, caller, scope, isDirect }: Call): MadeCall {
  const { signal: _signal, onUpdate: _onUpdate, onApprovalRequested: _onApprovalRequested, ...storable } = options;
  const { taskId: _task, userId: _user, idempotencyKey, ...data } = storable;
  return {
    name: requestedName,
    input: sent,
    // The id finds the resumed call, also if it had no key.
    options: { ...data, idempotencyKey: idempotencyKey || undefined, id, caller },
    scope: scope?.names(),
    isDirect,
  };
}

/** An ended approval is not resumed, so secrets are removed. */
function withoutSecrets({ input, preview, made }: Approval): Pick<Approval, "input" | "preview" | "made"> {
  const { input: _sent, ...rest } = made;
  return {
    input: redactSecrets(input),
    preview: preview ? (redactSecrets(preview) as Preview) : undefined,
    made: rest,
  };
}

/** Cannot be guessed: some interfaces let anybody answer who knows the id. */
function newId(): string {
  return `apr_${Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => byte.toString(36).padStart(2, "0")).join("")}`;
}
