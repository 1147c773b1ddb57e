import { randomUUID } from "node:crypto";
import { BoundedMap } from "../core/bounded-map.ts";
import { type Call, type CallOptions, toCallData, givenContext, toolOf, type ToolScope } from "../core/call.ts";
import { type Clock, SKEW_MS } from "../core/clock.ts";
import { toFailure, toolError, type ToolError } from "../core/error.ts";
import { canonicalJson } from "../core/json.ts";
import type { PendingResult, ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import { bindingOf, changesBetween, hashOf } from "./approval-binding.ts";
import { type Approval, type ApprovalAnswer, conflictOf, isSameAnswer, readAnswer, requireRight } from "./approval.ts";
import {
  type CallStore,
  type ChangeEntry,
  type InsertedCall,
  MemoryCallStore,
  type OpenLimits,
  type QuestionQuery,
  type WithChange,
} from "./call-store.ts";
import { type Charge, type ChargedCall, chargedCall, chargesOf, type GrantRows, withLimits } from "./grants.ts";
import type { LimitCharge } from "./limits.ts";
import { redacted } from "./redact-ended.ts";
import type { QuestionDraft, WholePreview } from "./shown-question.ts";
import { replacedResult } from "./stored-result.ts";
import {
  approve,
  type CallState,
  cancel,
  change,
  claim,
  claimAgain,
  deny,
  end,
  type EndedCall,
  expire,
  giveBack,
  giveBackCharges,
  hold,
  lose,
  type Question,
  release,
  requeue,
  type RequeuedJob,
  restart,
  resume,
  saveProgram,
  type StoredCall,
  suspend,
  type Transition,
} from "./stored-call.ts";
import { RowWatch } from "./waiters.ts";

export interface CallsOptions extends Partial<OpenLimits> {
  clock: Clock;
  store?: CallStore;
  /** How long a question can be answered. Default: a day. */
  lifetimeMs?: number;
  /** How long the result of a call is kept for a caller that repeats its id. Default: 7 days. */
  replayMs?: number;
  /** Checks every answer, from every interface. A returned text refuses it and says why. */
  checkAnswer?(approval: Approval, answer: ApprovalAnswer): MaybePromise<string | undefined>;
  /** What a call takes from the limits of the policy when it starts. Default: nothing. */
  limitsOf?(call: Call): readonly LimitCharge[];
}

/** The parts of a call that cannot be stored. Known while this process lives. */
export interface LiveCall {
  tool: AnyTool;
  scope: ToolScope | undefined;
  input: unknown;
  /** The data of the host that the call was given. */
  host: unknown;
}

const DAY_MS = 24 * 60 * 60_000;
const QUESTION_RETENTION_MS = 30 * DAY_MS;
const PRUNE_EVERY_MS = 60 * 60_000;
const MAX_LIVE = 10_000;
const MAX_LISTED = 1000;
/** How often one call may be asked about because what it acts on keeps changing. */
const MAX_ROUNDS = 5;
const WRITE_RETRY_MS = 500;

/**
 * The state of calls across processes, and with `RowJobs` the only writer of it. Approvals, repeated call ids and callers that wait all
 * use it: whoever loses a race reads the row and reports what it says (docs/decisions/0023).
 */
export class Calls {
  readonly #store: CallStore;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #watch: RowWatch;
  /** Read when they are used: a host may change them. */
  readonly #options: CallsOptions;
  readonly #checkAnswer: CallsOptions["checkAnswer"];
  readonly #live = new BoundedMap<string, LiveCall>(MAX_LIVE);
  readonly #denying = new Map<string, Promise<unknown>>();
  readonly #stored = new WeakMap<CallOptions, string>();
  readonly #claimed = new WeakMap<Call, StoredCall>();
  #prunedAt: number;

  constructor(options: CallsOptions) {
    const { clock } = options;
    this.#options = options;
    this.#store = options.store ?? new MemoryCallStore(undefined, () => clock.now());
    this.#clock = clock;
    this.#deadlines = new Deadlines(clock, () => this.#lifetimeMs);
    this.#watch = new RowWatch(this.#store, clock);
    this.#store.onChange((id) => this.#watch.notify(id));
    this.#checkAnswer = options.checkAnswer;
    this.#prunedAt = clock.monotonic();
  }

  get #limits(): OpenLimits {
    const { maxOpenPerSession = 200, maxOpenPerUser = 1000 } = this.#options;
    return { maxOpenPerSession, maxOpenPerUser };
  }

  get #lifetimeMs(): number {
    return this.#options.lifetimeMs ?? DAY_MS;
  }

  get #replayMs(): number {
    return this.#options.replayMs ?? 7 * DAY_MS;
  }

  /** This process, as holder and owner of calls. */
  get processId(): string {
    return this.#store.processId;
  }

  get grants(): GrantRows {
    return this.#store.grants;
  }

  /** Whether other processes may answer and run what was asked here. */
  get isShared(): boolean {
    return this.#store.pollMs !== undefined;
  }

  async get(id: string): Promise<StoredCall | undefined> {
    const row = await this.#store.get(id);
    return row && this.#seen(row);
  }

  /** The call with this key, if there is one. */
  find(key: string): MaybePromise<StoredCall | undefined> {
    return this.#store.find(this.#store.digest(key));
  }

  isSame(row: StoredCall, call: Call): boolean {
    const { name, version } = toolOf(call);
    return row.toolName === name && this.isSameInput(row, version, call.sent ?? call.accepted);
  }

  /** `version`: of the tool, which fingerprints of earlier versions of Haft contain. */
  isSameInput({ fingerprint, toolName }: StoredCall, version: string | undefined, input: unknown): boolean {
    const isOf = (facts: unknown[]): boolean => fingerprint === this.#store.digest(canonicalJson(facts));
    return isOf([toolName, input]) || (version !== undefined && isOf([toolName, version, input]));
  }

  /** Oldest first. Of ended ones the last thousand. */
  async questions({ isOpen, of }: Omit<QuestionQuery, "max"> = {}): Promise<StoredCall[]> {
    const rows = await this.#store.questions({ isOpen, of, max: isOpen ? Number.MAX_SAFE_INTEGER : MAX_LISTED });
    const seen = await Promise.all(rows.map((row) => this.#seen(row)));
    return isOpen ? seen.filter(({ state }) => state === "waiting") : seen;
  }

  /** The newest `max` first. `next`: the last one, if there are older ones. */
  async questionPage(query: QuestionQuery): Promise<{ rows: StoredCall[]; next?: StoredCall; total: number }> {
    const { isOpen, max } = query;
    const found = (await this.#store.questions({ ...query, max: max + 1 })).reverse();
    const total = await this.#store.countQuestions({ isOpen });
    const seen = await Promise.all(found.slice(0, max).map((row) => this.#seen(row)));
    const rows = isOpen ? seen.filter(({ state }) => state === "waiting") : seen;
    return { rows, next: found.length > max ? found[max - 1] : undefined, total };
  }

  /** Resolves with the row once `isDone`, or with the row as it is after `ms`. */
  async wait(
    id: string,
    isDone: (row: StoredCall) => boolean,
    { signal, ms, keepsAlive }: { signal?: AbortSignal; ms?: number; keepsAlive?: boolean } = {},
  ): Promise<StoredCall> {
    const until = ms === undefined ? undefined : this.#clock.monotonic() + ms;
    for (;;) {
      signal?.throwIfAborted();
      // Subscribed before the row is read, so no change is missed.
      const listener = this.#watch.listen(id);
      try {
        const row = await this.get(id);
        if (!row) throw unknownApproval(id);
        const left = until === undefined ? undefined : until - this.#clock.monotonic();
        if (isDone(row) || (left !== undefined && left <= 0)) return row;
        if (this.#watch.isClosed) throw notWaiting(row);
        const untilDeadline = isUnstarted(row) ? this.#deadlines.remaining(row) : undefined;
        await listener.next({ maxMs: smaller(left, untilDeadline), signal, keepsAlive });
      } finally {
        listener.stop();
      }
    }
  }

  /** Whether the caller of this call waits in this process. */
  isHeldHere({ holder, holdUntil = 0 }: StoredCall): boolean {
    return holder === this.#store.processId && holdUntil > this.#clock.now();
  }

  /** Whether the caller of this call waits in another live process. */
  async isHeldElsewhere(row: StoredCall): Promise<boolean> {
    const { holder, holdUntil = 0 } = row;
    if (holder === undefined || holder === this.#store.processId || holdUntil <= this.#clock.now()) return false;
    return this.#store.isAlive(holder);
  }

  /** Whether the process whose caller waited is gone. */
  async hasLostCaller({ holder, state, job }: StoredCall): Promise<boolean> {
    if (holder === undefined || job || (state !== "waiting" && state !== "approved")) return false;
    return holder !== this.#store.processId && !(await this.#store.isAlive(holder));
  }

  /** The question about this call: the current one if nothing has changed, otherwise a new one. */
  async ask(call: Call, draft: QuestionDraft, previous?: StoredCall): Promise<StoredCall | { full: number }> {
    const row = this.#newQuestion(call, draft);
    const asked = await this.#ask(call, { row, draft, previous });
    if (draft.whole && "id" in asked && asked.id === row.id) await this.#store.keepWhole(row.id, draft.whole);
    return asked;
  }

  /** All that would happen, if a part of it is not in the question, and the question is open. */
  async whole(id: string): Promise<WholePreview | undefined> {
    return this.#store.whole(id);
  }

  async #ask(
    call: Call,
    { row, draft, previous }: { row: StoredCall; draft: QuestionDraft; previous: StoredCall | undefined },
  ): Promise<StoredCall | { full: number }> {
    const current = previous ?? (row.key === undefined ? undefined : await this.#store.find(row.key));
    const isOther =
      !!current && (!this.isSame(current, call) || current.question?.binding.limits !== row.question?.binding.limits);
    if (current && !previous && isUnstarted(current) && isOther) {
      // The same id with other input or other limits is another question. The first one keeps the key.
      return this.#insertQuestion({ ...row, key: undefined }, call);
    }
    if (current) {
      const seen = await this.#seen(current);
      if (!isUnstarted(seen)) return previous ? seen : this.#joinOrAsk(seen, row, call);
      const changes = changesBetween(seen.question?.binding, row.question?.binding);
      if (changes.length === 0) return this.#hold(seen, draft.holdMs, call);
      return this.#askAgain(seen, row, { changes, call });
    }
    await this.#prune();
    return this.#insertQuestion(row, call);
  }

  /** The first answer counts; a different one is refused. A denial counts until the call starts. */
  answer(id: string, answer: ApprovalAnswer): Promise<StoredCall> {
    const stored = this.#answer(id, answer);
    if (answer?.approved === false) this.delayStart(id, stored);
    return stored;
  }

  /** If a yes and a no come at the same time, the call does not start in this process before the no is stored. */
  delayStart(id: string, denial: Promise<unknown>): void {
    const denying = Promise.allSettled([this.#denying.get(id), denial]);
    this.#denying.set(id, denying);
    void denying.then(() => this.#denying.get(id) === denying && this.#denying.delete(id));
  }

  async #answer(id: string, answer: ApprovalAnswer): Promise<StoredCall> {
    const row = await this.get(id);
    if (!row?.question) throw unknownApproval(id);
    const read = readAnswer(row, answer);
    await requireRight(row, answer, this.#checkAnswer);
    const isExpired = (now: StoredCall): boolean => this.#isExpired(now);
    const answered = await this.#change(id, read.approved ? approve(read, isExpired) : deny(read, isExpired));
    if (answered) return answered;
    const now = (await this.get(id)) ?? row;
    if (isSameAnswer(now, answer)) return now;
    throw conflictOf(now);
  }

  /**
   * Starts an approved call in this process; undefined if another process starts it, or nobody may. Before an effect, the start
   * is on the disk: after a power cut the call is not started again.
   */
  async claim(row: StoredCall, call: Call): Promise<StoredCall | undefined> {
    await this.#denying.get(row.id);
    const isExpired = (now: StoredCall): boolean => this.#isExpired(now);
    const charges = this.#limitsOf(call, undefined, row);
    const start = claim(this.#store.processId, isExpired, await this.#deadHolder(row), charges);
    return this.#change(row.id, start, { synced: !toolOf(call).isReadOnly });
  }

  /** What a call takes when it starts now: from its grants, and from limits. */
  chargesOf(call: Call, row?: StoredCall): readonly Charge[] | undefined {
    return this.#limitsOf(call, chargesOf(call), row);
  }

  #limitsOf(call: Call, charges: readonly Charge[] | undefined, row: StoredCall | undefined) {
    const limits = this.#options.limitsOf?.(call) ?? [];
    return withLimits(charges, limits, { beyond: row?.question?.verdict.beyond, now: this.#clock.now() });
  }

  /** Starts a call that needs no approval: inserts its row, and takes from its grants. */
  begin(call: Call, key: string, entry?: ChangeEntry): MaybePromise<InsertedCall> {
    const row = this.#newRow(call, key, "running");
    row.owner = this.#store.processId;
    row.epoch = 1;
    row.begunAt = row.createdAt;
    row.charges = this.chargesOf(call);
    return this.#store.insert(row, { entry, synced: !toolOf(call).isReadOnly });
  }

  /** Starts a call again that may run twice, if its outcome is unknown. */
  async restart(row: StoredCall, charges?: readonly Charge[]): Promise<StoredCall | undefined> {
    return this.#change(row.id, restart(this.#store.processId, charges), { synced: true });
  }

  /** Ends a call that this process started. If that cannot be written now, it is written later, without the entry. */
  end(row: StoredCall, ended: EndedCall, entry?: ChangeEntry): MaybePromise<StoredCall | undefined> {
    const transition = end(this.#store.processId, row.epoch, { ...ended, result: this.#timed(ended.result) });
    return this.#changeSurely(row.id, transition, entry);
  }

  /** The gate sets the times when the call leaves it, which is later. */
  #timed(result: ToolResult): ToolResult {
    if (result.status === "pending" || result.completedAt) return result;
    const completedAt = this.#clock.now();
    return { ...result, completedAt, durationMs: Math.max(0, completedAt - result.startedAt) };
  }

  /** The tool did nothing. `result`: of this try, after which only a call with the same id starts it again. */
  giveBack(row: StoredCall, result?: ToolResult): Promise<StoredCall | undefined> {
    return this.#change(row.id, giveBack(this.#store.processId, row.epoch, result));
  }

  /** Inserts the row of a program without a key: another process may have to continue it. */
  async beginProgram(call: Call): Promise<StoredCall> {
    const inserted = await this.begin(call, callKey(call.caller, call.stepKey));
    if (inserted.outcome !== "inserted") throw keyConflict(call);
    return inserted.row;
  }

  /** The program of this call was saved, and waits as the result says. */
  saveProgram(row: StoredCall, result: PendingResult): Promise<StoredCall | undefined> {
    return this.#change(row.id, saveProgram(this.#store.processId, row.epoch, result));
  }

  /** The program of this call can only wait. */
  suspend(row: StoredCall, result: PendingResult): Promise<StoredCall | undefined> {
    return this.#change(row.id, suspend(this.#store.processId, row.epoch, result));
  }

  /** Continues a suspended program in this process; undefined if another one does. */
  resume(id: string): Promise<StoredCall | undefined> {
    return this.#change(id, resume(this.#store.processId), { synced: true });
  }

  /** Ends a suspended program that was refused when it should continue. */
  async endSuspended(id: string, result: ToolResult): Promise<void> {
    const row = await this.resume(id);
    if (row) await this.end(row, { outcome: "failed", result, releasesKey: false });
  }

  /** The row of a job. */
  async job(jobId: string): Promise<StoredCall | undefined> {
    return this.#store.jobs.get(jobId);
  }

  /**
   * Starts the call of a job that a worker of this process took; undefined if it may not start. If the store is lost meanwhile,
   * nobody knows whether the start was written: waits until it is, unless `isStopped`.
   */
  async claimJob(jobId: string, call: Call, isStopped: () => boolean): Promise<StoredCall | undefined> {
    const written = { synced: !toolOf(call).isReadOnly };
    const row = await this.#store.jobs.getToChange(jobId);
    if (!row) return undefined;
    const { processId } = this.#store;
    const start = claim(processId, (now) => this.#isExpired(now), undefined, this.chargesOf(call, row));
    try {
      await this.#denying.get(row.id);
      return await this.#change(row.id, start, written);
    } catch (error) {
      let lost: unknown = error;
      for (;;) {
        if (toFailure(lost).code !== "unavailable" || isStopped()) throw lost;
        await this.#pause();
        if (this.#watch.isClosed) throw lost;
        try {
          return await this.#change(row.id, claimAgain(processId, row.epoch, start), written);
        } catch (again) {
          lost = again;
        }
      }
    }
  }

  /** Gives back what a call took from a grant. False without such a charge; throws if several calls may be meant. */
  async giveBackCharge(call: ChargedCall, grant: string): Promise<boolean> {
    const row = chargedCall(await this.#store.findCharged(call.callId, grant), call, grant);
    return row !== undefined && (await this.#change(row.id, giveBackCharges(grant))) !== undefined;
  }

  /** A job of this process that started is tried again, perhaps by another worker. */
  requeue(row: StoredCall, requeued: RequeuedJob): MaybePromise<StoredCall | undefined> {
    return this.#changeSurely(row.id, requeue(this.#store.processId, requeued));
  }

  /** Deletes the row of a call that did not happen. `keepsLimits`: it goes on without the row, so it stays counted. */
  remove({ id }: StoredCall, keepsLimits = false): MaybePromise<void> {
    const removed = this.#store.remove(id, keepsLimits);
    if (removed instanceof Promise) return removed.then(() => this.#watch.notify(id));
    this.#watch.notify(id);
  }

  /** What was shown is no longer true, or not possible any more. */
  async changed(row: StoredCall, note: string): Promise<StoredCall | undefined> {
    return this.#change(row.id, change(this.#store.processId, note, await this.#deadHolder(row)));
  }

  async cancel(id: string, note: string): Promise<StoredCall | undefined> {
    return this.#change(id, cancel(note));
  }

  /** Its caller treats silence as an answer, and does not wait any longer. */
  async expire(id: string, waitedMs: number): Promise<StoredCall | undefined> {
    return this.#change(
      id,
      expire(({ state }) => state === "waiting", waitedMs),
    );
  }

  /** The caller of this call waits in this process from now on. */
  async hold(row: StoredCall, ms: number): Promise<StoredCall> {
    const until = this.#clock.now() + ms;
    const held = await this.#change(row.id, hold(this.#store.processId, until, await this.#deadHolder(row)));
    return held ?? (await this.get(row.id)) ?? row;
  }

  /** The caller does not wait any more. The question stays. Undefined if it was answered in the meantime. */
  async release(id: string): Promise<StoredCall | undefined> {
    return this.#change(id, release(this.#store.processId));
  }

  /** Ends what a dead process left running. Returns the row as it is now. */
  async settleLost(row: StoredCall): Promise<StoredCall> {
    const { owner } = row;
    if (row.state !== "running" || owner === undefined || (await this.#store.isAlive(owner))) return row;
    return (await this.#change(row.id, lose(owner))) ?? (await this.get(row.id)) ?? row;
  }

  /** The question that replaced this one, because what was shown had changed. */
  async replacementOf({ outcome, result }: StoredCall): Promise<StoredCall | undefined> {
    if (outcome !== "changed" || result?.status !== "pending") return undefined;
    return this.get(result.pending.id);
  }

  /** Calls that no live process takes care of. Expires and ends those that are over. */
  async unattended(): Promise<StoredCall[]> {
    const found: StoredCall[] = [];
    for (const row of await this.#store.unfinished()) {
      const now = await this.settleLost(await this.#seen(row));
      // Workers take jobs.
      if (now.state === "approved" && !now.job && !now.result && !(await this.isHeldElsewhere(now))) found.push(now);
    }
    await this.#prune();
    return found;
  }

  /** Marks a call with these options as the run of a stored call. Nobody outside can do that. */
  markStored(options: CallOptions, id: string): void {
    this.#stored.set(options, id);
  }

  storedIdOf(call: Call): string | undefined {
    return this.#stored.get(call.options);
  }

  /** This call runs for the row. */
  setClaimed(call: Call, row: StoredCall): void {
    this.#claimed.set(call, row);
  }

  /** The row that this call runs for, once: who takes it ends it. */
  takeClaimed(call: Call): StoredCall | undefined {
    const row = this.#claimed.get(call);
    this.#claimed.delete(call);
    return row;
  }

  /** The parts of the call that this process knows, if it made the call. */
  liveCallOf(id: string): LiveCall | undefined {
    return this.#live.get(id);
  }

  /** Those who wait for a row learn that this process does not wait any longer. */
  close(): void {
    this.#watch.close();
  }

  get isClosed(): boolean {
    return this.#watch.isClosed;
  }

  async #insertQuestion(row: StoredCall, call: Call): Promise<StoredCall | { full: number }> {
    const inserted = await this.#store.insert(row, { limits: this.#limits });
    if (inserted.outcome === "full") return { full: inserted.open };
    if (inserted.outcome === "known") return this.#joinOrAsk(await this.#seen(inserted.row), row, call);
    this.#deadlines.remaining(inserted.row);
    this.#trackLive(row.id, call);
    return inserted.row;
  }

  /** Another process asked about the same call, or ran it. */
  async #joinOrAsk(known: StoredCall, row: StoredCall, call: Call): Promise<StoredCall | { full: number }> {
    if (!this.isSame(known, call)) throw keyConflict(call);
    if (known.key === undefined) return this.#insertQuestion(row, call);
    return known;
  }

  async #hold(row: StoredCall, ms: number, call: Call): Promise<StoredCall> {
    this.#trackLive(row.id, call);
    return ms > 0 ? this.hold(row, ms) : row;
  }

  async #askAgain(
    seen: StoredCall,
    row: StoredCall,
    { changes, call }: { changes: readonly string[]; call: Call },
  ): Promise<StoredCall | { full: number }> {
    const round = (seen.question?.round ?? 1) + 1;
    const note = `changed since approval was requested: ${changes.join(", ")}`;
    // A call that was started before is never asked again: it ends as unknown.
    if (round > MAX_ROUNDS || seen.epoch > 0)
      return (await this.changed(seen, note)) ?? (await this.get(seen.id)) ?? seen;
    const question = row.question && { ...row.question, replaces: { id: seen.id, changes }, round };
    const next = { ...row, question };
    const dead = await this.#deadHolder(seen);
    const transition = change(this.#store.processId, note, dead);
    const replace: Transition = (current, now) => {
      const changes = transition(current, now);
      return changes?.outcome === "changed" ? { ...changes, result: replacedResult(seen, note, next.id) } : changes;
    };
    const changed = await this.#change(seen.id, replace, { next });
    // Answered, started or changed by another process in the meantime.
    if (changed?.outcome !== "changed") return changed ?? (await this.get(seen.id)) ?? seen;
    this.#trackLive(next.id, call);
    return next;
  }

  /** The current state. A question whose time is over is stored as expired when it is first seen. */
  async #seen(row: StoredCall): Promise<StoredCall> {
    if (!isUnstarted(row) || !this.#isExpired(row)) return row;
    const expired = await this.#change(
      row.id,
      expire((now) => this.#isExpired(now)),
    );
    return expired ?? (await this.#store.get(row.id)) ?? row;
  }

  #isExpired(row: StoredCall): boolean {
    return row.deadline !== undefined && this.#deadlines.remaining(row) <= 0;
  }

  async #deadHolder({ holder }: StoredCall): Promise<string | undefined> {
    if (holder === undefined || holder === this.#store.processId) return undefined;
    return (await this.#store.isAlive(holder)) ? undefined : holder;
  }

  async #change(id: string, transition: Transition, together?: WithChange): Promise<StoredCall | undefined> {
    return this.#changed(await this.#store.change(id, redacted(transition, this.#clock.now()), together));
  }

  #changed(row: StoredCall | undefined): StoredCall | undefined {
    if (!row) return undefined;
    this.#deadlines.forget(row.id);
    if (row.state === "ended" && row.question)
      void Promise.resolve(this.#store.dropWhole(row.id)).catch(() => undefined);
    // A denied call is run once more, to get the denial.
    if (row.state === "ended" && row.outcome !== "denied") this.#live.delete(row.id);
    return row;
  }

  #changeSurely(id: string, transition: Transition, entry?: ChangeEntry): MaybePromise<StoredCall | undefined> {
    const later = (error: unknown): never => {
      void this.#retry(id, transition);
      throw error;
    };
    try {
      const changed = this.#store.change(id, redacted(transition, this.#clock.now()), { entry });
      if (!(changed instanceof Promise)) return this.#changed(changed);
      return changed.then((row) => this.#changed(row), later);
    } catch (error) {
      return later(error);
    }
  }

  /** Only this process knows how the call ended. Others see it running until the end is written. */
  async #retry(id: string, transition: Transition): Promise<void> {
    for (;;) {
      await this.#pause();
      if (this.#watch.isClosed) return;
      try {
        this.#changed(await this.#store.change(id, redacted(transition, this.#clock.now())));
        return;
      } catch {
        // The store still cannot be written.
      }
    }
  }

  /** While the store cannot be written. */
  #pause(): Promise<void> {
    return new Promise((resolve) => this.#clock.after(WRITE_RETRY_MS, resolve).setRef(false));
  }

  #newQuestion(call: Call, draft: QuestionDraft): StoredCall {
    const { world, input, shown, unseen, summary, suggestedRules, grants, questions, holdMs } = draft;
    const now = this.#clock.now();
    const binding = bindingOf(call, world);
    const question: Question = {
      toolVersion: toolOf(call).version,
      input,
      reason: world.verdict.reason,
      verdict: world.verdict,
      preview: shown,
      unseen,
      summary,
      suggestedRules,
      grants,
      questions,
      binding,
      hash: hashOf(binding),
      parentId: call.parent?.id,
      toolKind: toolOf(call).kind,
      made: {
        ...toCallData(call),
        // The question itself has the verdict, and the input if it was not changed.
        verdict: undefined,
        input: call.sent,
        folder: world.workspace,
        environment: world.overlay,
      },
      round: 1,
    };
    return {
      ...this.#newRow(call, keyOf(call), "waiting"),
      question,
      holder: holdMs > 0 ? this.#store.processId : undefined,
      holdUntil: holdMs > 0 ? now + holdMs : undefined,
      deadline: now + this.#lifetimeMs,
    };
  }

  /** With every field: V8 takes many times longer to copy a row if fields are added to it later. */
  #newRow(call: Call, key: string | undefined, state: CallState): StoredCall {
    const tool = toolOf(call);
    return {
      id: newId(),
      callId: call.id,
      key: key === undefined ? undefined : this.#store.digest(key),
      fingerprint: this.#store.digest(fingerprintOf(call)),
      toolName: tool.name,
      caller: call.caller,
      state,
      outcome: undefined,
      question: undefined,
      answer: undefined,
      holder: undefined,
      holdUntil: undefined,
      owner: undefined,
      epoch: 0,
      lost: 0,
      deadline: undefined,
      repeatable: tool.idempotent,
      charges: undefined,
      note: undefined,
      result: undefined,
      createdAt: this.#clock.now(),
      answeredAt: undefined,
      begunAt: undefined,
      endedAt: undefined,
    };
  }

  #trackLive(id: string, call: Call): void {
    this.#live.set(id, {
      tool: toolOf(call),
      scope: call.scope,
      input: call.sent ?? call.accepted,
      host: givenContext(call),
    });
  }

  async #prune(): Promise<void> {
    if (this.#clock.monotonic() - this.#prunedAt < PRUNE_EVERY_MS) return;
    this.#prunedAt = this.#clock.monotonic();
    const now = this.#clock.now();
    await this.#store.prune({ questions: now - QUESTION_RETENTION_MS, keys: now - this.#replayMs });
  }
}

/** The same key from another caller is another call. */
export function callKey({ session, agent, user }: Call["caller"] | Partial<Call["caller"]>, key: string): string {
  return JSON.stringify([session, agent, user, key]);
}

function keyOf({ caller, idempotencyKey }: Call): string | undefined {
  return idempotencyKey === undefined ? undefined : callKey(caller, idempotencyKey);
}

/** Of the input as it was sent: a schema may turn it into an instance that looks like any other. */
function fingerprintOf(call: Call): string {
  return canonicalJson([toolOf(call).name, call.sent ?? call.accepted]);
}

/** `differs`: what is not as before. */
export function keyConflict(call: Call, differs = "another tool or other input"): ToolError {
  const { id, idempotencyKey: key = id, parent } = call;
  // Frameworks and nested calls have keys of their own, which contain the id that the caller knows.
  const isId = key === id || parent !== undefined || key.startsWith("[");
  const shown = isId ? `The call id "${id}"` : `The idempotency key "${key}"`;
  const next = `Use another ${isId ? "id" : "key"} for each call.`;
  return toolError("conflict", `${shown} was used before with ${differs}; nothing was run`, { next });
}

export function unknownApproval(id: string): ToolError {
  return toolError("invalid_input", `There is no approval "${id}"`, { next: "List the pending approvals." });
}

/** The runtime shuts down. */
function notWaiting({ id, state }: StoredCall): ToolError {
  const now = state === "waiting" ? "is still open" : state === "approved" ? "is approved" : "runs";
  return toolError("shutdown", `The runtime is shutting down and no longer waits for ${id}, which ${now}`, {
    next: "It goes on in another process, or when this one is back: ask for it by its id.",
  });
}

function isUnstarted({ state }: StoredCall): boolean {
  return state === "waiting" || state === "approved";
}

/** Cannot be guessed: some interfaces let anybody answer who knows the id. */
function newId(): string {
  // 90 random bits. Node makes UUIDs ahead, so one costs a fraction of a call to randomBytes.
  return `apr_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

const MAX_REMEMBERED = 50_000;

/**
 * When questions expire. The wall clock is read once, when this process first sees the question; after that the monotonic
 * clock is used. So setting the clock neither expires a question early nor revives one.
 */
class Deadlines {
  readonly #clock: Clock;
  readonly #maxMs: () => number;
  readonly #deadlines = new BoundedMap<string, number>(MAX_REMEMBERED);

  constructor(clock: Clock, maxMs: () => number) {
    this.#clock = clock;
    this.#maxMs = maxMs;
  }

  /** In milliseconds; zero or less if it has expired. */
  remaining(row: StoredCall): number {
    const now = this.#clock.monotonic();
    let deadline = this.#deadlines.get(row.id);
    if (deadline === undefined) this.#deadlines.set(row.id, (deadline = now + this.#leftByWallClock(row)));
    return deadline - now;
  }

  forget(id: string): void {
    this.#deadlines.delete(id);
  }

  #leftByWallClock({ createdAt, answeredAt = createdAt, deadline = Infinity }: StoredCall): number {
    const wall = this.#clock.now();
    // Asked or answered in the future: the clock was set back, and the real age is unknown.
    if (wall < Math.max(createdAt, answeredAt) - SKEW_MS) return 0;
    return Math.min(deadline - wall, this.#maxMs());
  }
}
