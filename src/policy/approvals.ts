import type { Call, CallOptions, ToolScope } from "../core/call.ts";
import { toolOf } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import { ApprovalExpiry } from "./approval-expiry.ts";
import { type ApprovalStore, MemoryApprovalStore, type OpenLimits } from "./approval-store.ts";
import { AnswerNotifier } from "../core/answer-news.ts";
import type { Approval, ApprovalAnswer, ApprovalState } from "./approval.ts";
import { bindingOf, callKeyOf, changesBetween } from "./bind-approval.ts";
import { MAX_SHOWN_BYTES } from "./bound-question.ts";
import { newApproval, type Question, withoutSecrets } from "./new-approval.ts";
import { conflictOf, isSameAnswer, readAnswer, refusedAnswer } from "./read-answer.ts";

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
        if (approval.state !== "open") return approval;
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
      const changes = seen.state === "declined" ? [] : changesBetween(seen.binding, binding);
      if (changes.length > 0) await this.#void(seen, `changed since it was asked: ${changes.join(", ")}`);
      else if (seen.state === "open" || seen.state === "approved" || seen.state === "declined") {
        if (seen.state === "open") this.#trackLive(seen.id, call);
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
    if (seen.state === "open" || (isTie && seen.state === "approved")) {
      const changes = {
        ...readAnswer(seen, answer),
        state: answer.approved ? ("approved" as const) : ("declined" as const),
        answeredAt: this.#clock.now(),
      };
      const changed =
        (await this.#store.change(id, "open", changes)) ??
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
    if (approval.state !== "open" && approval.state !== "approved") return approval;
    if (this.#expiry.remaining(approval) > 0) return approval;
    const note = approval.state === "open" ? "nobody answered in time" : "the answer was not used in time";
    return this.#end(approval, { state: "expired", note });
  }

  async #void(approval: Approval, note: string): Promise<void> {
    if (approval.state === "open" || approval.state === "approved") await this.#end(approval, { state: "void", note });
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
    // A declined call is made once more, to be told so.
    if (state !== "declined") this.#live.delete(id);
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
