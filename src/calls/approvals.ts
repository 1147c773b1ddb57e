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

/** Characters: it is told to a model. */
const MAX_REASON_LENGTH = 4000;

/** What an answer says, as it is kept with the question. Throws where it asks for what was not offered. */
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
    if (given !== undefined) throw badAnswer(`A rule was given for "${id}", but only for once`, "Say for how long.");
    return { scope };
  }
  if (scope !== "session" && scope !== "always") {
    throw badAnswer(`"${String(scope)}" is no scope of an approval`, 'Say "once", "session" or "always".');
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

/** Whether the kept answer is the one that is given now. */
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
  return toolError("conflict", `Approval "${id}" ${what[state]}.`, { next: "The first answer counts." });
}

function refusedAnswer({ id, toolName }: Approval, why: string): ToolError {
  return new ToolPermissionError(toolName, `approval "${id}" may not be answered so: ${why}`);
}

function badAnswer(message: string, next: string): ToolError {
  return toolError("invalid_input", message, { next });
}

/** Clocks of several machines differ by less; who is further back was set back. */
const SKEW_MS = 5 * 60_000;
const MAX_REMEMBERED = 10_000;

/**
 * When a question is over. The wall clock is asked once, when this process first sees a question: from then on only time
 * that never jumps counts, so that setting the clock neither ends a question early nor brings one back.
 */
class ApprovalExpiry {
  readonly #clock: Clock;
  readonly #maxDelayMs: number;
  readonly #deadlines = new Map<string, number>();

  constructor(clock: Clock, maxDelayMs: number) {
    this.#clock = clock;
    this.#maxDelayMs = maxDelayMs;
  }

  /** Milliseconds; zero or less: it is over. */
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
    // Asked or answered in the future: the clock was set back since, and how long ago that was cannot be told.
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
  /** How long a question, answered or not, may be used. */
  lifetimeMs?: number;
  /** How often answers of other processes are looked for. */
  pollMs?: number;
  /** Arguments that are longer cannot be shown in full, and are refused. */
  maxShownBytes?: number;
  /** Asked about every answer, whatever door it comes through: a text says why it does not count. */
  checkAnswer?(approval: Approval, answer: ApprovalAnswer): MaybePromise<string | undefined>;
}

/** What of a call cannot be stored, for as long as this process lives. */
export interface LiveCall {
  tool: AnyTool;
  scope: ToolScope | undefined;
  input: unknown;
}

const DAY_MS = 24 * 60 * 60_000;
const RETENTION_MS = 30 * DAY_MS;
const MAX_LIVE = 10_000;

/** Questions and their answers. An answer counts once, for the very call that was shown. */
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
  /** Refusals on their way into the store: a yes is not used before they are in it. */
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

  /** Oldest first; of what is over, the last thousand. */
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
   * The first answer wins; the same one again changes nothing, another one is refused. Of a yes and a no at the same
   * moment the no counts: both came while the question was open, and the yes was not used before.
   */
  answer(id: string, answer: ApprovalAnswer): Promise<Approval> {
    return answer.approved ? this.#approve(id, answer) : this.#deny(id, answer);
  }

  /** Until somebody, in whatever process, has answered, or nobody did in time. */
  async wait(id: string, signal?: AbortSignal): Promise<Approval> {
    for (;;) {
      signal?.throwIfAborted();
      // Listened to before the store is asked, so that nothing falls between.
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

  /** The question about this call: the one it has, where nothing changed since, else a new one. */
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
    // Asked at the same moment elsewhere, about the world as it was there: looked at again.
    if (added.outcome === "known") return this.ask(call, question);
    this.#expiry.remaining(added.approval);
    this.#trackLive(added.approval.id, call);
    return added.approval;
  }

  /** Uses up a yes; undefined where it is none any more. */
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

  /** Whether somebody else uses a yes in that time. */
  async waitUntilUsed(id: string, ms: number): Promise<boolean> {
    const until = this.#clock.monotonic() + ms;
    // A program that does nothing but answer would end while it waits here; longer than the wait, whose timers hold nothing.
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

  /** Nobody answered in the time that the caller had. */
  expire(approval: Approval, note: string): Promise<Approval> {
    return this.#end(approval, { state: "expired", note });
  }

  /** What a resumption of this question makes again, where this process made it. */
  liveCallOf(id: string): LiveCall | undefined {
    return this.#live.get(id);
  }

  /** Says that a call with these options is made because of that answer. */
  markResumed(options: CallOptions, id: string): void {
    this.#resumed.set(options, id);
  }

  resumedBy(call: Call): string | undefined {
    return this.#resumed.get(call.options);
  }

  /** The question does not fit any more; `note` says why. */
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
        // Both saw the question open.
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

  /** As it is now: what is over is so from the first time that it is seen. */
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
    // A denied call is made once more, to be told so.
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

/** What a person is to be asked about a call. */
interface Question {
  world: CallWorld;
  /** The arguments as they are kept and shown: plain data. */
  input: unknown;
  /** The preview as it is kept and shown, where the whole is too long. */
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

/** A question as it is first kept. */
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
    // A call that is made again is found again by its id, also where it had no key.
    options: { ...data, ...(idempotencyKey ? { idempotencyKey } : {}), id, caller },
    scope: scope?.names(),
    isDirect,
  };
}

/** What is over is history: it is not made again, and keeps no more than a record may. */
function withoutSecrets({ input, preview, made }: Approval): Pick<Approval, "input" | "preview" | "made"> {
  const { input: _sent, ...rest } = made;
  return {
    input: redactSecrets(input),
    preview: preview ? (redactSecrets(preview) as Preview) : undefined,
    made: rest,
  };
}

/** Not to be guessed: who knows it may be let to answer. */
function newId(): string {
  return `apr_${Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => byte.toString(36).padStart(2, "0")).join("")}`;
}
