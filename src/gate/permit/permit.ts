import { isOneLine, missingConfirmation } from "../../calls/approval.ts";
import type { CallWorld } from "../../calls/approval-binding.ts";
import { type Calls, unknownApproval } from "../../calls/calls.ts";
import { boundPreview, MAX_SHOWN_BYTES, plainInput, unseenOf, wholePreview } from "../../calls/shown-question.ts";
import { isFirstRace, LimitReachedError } from "../../calls/limits.ts";
import type { Answer, StoredCall } from "../../calls/stored-call.ts";
import { refusalOf, storedResult } from "../../calls/stored-result.ts";
import {
  abortable,
  type AskedCall,
  type Call,
  type CallIn,
  type CallMode,
  note,
  toolOf,
  type Verdict,
} from "../../core/call.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import { errorMessage, ToolError, ToolPermissionError } from "../../core/error.ts";
import { callEvent, type EventEmitter } from "../../core/events.ts";
import { reasonText } from "../../core/localized-text.ts";
import { atTimeLimit, MAX_GO_ON_MS, MAX_PAUSE_MS } from "../../core/gate.ts";
import { questionsOf, type UserQuestion } from "../../core/questions/user-question.ts";
import { failed, type ToolResult } from "../../core/result.ts";
import type { ChangeCounter, MaybePromise, Stage, StageHooks } from "../../core/stage.ts";
import type { AnyTool, Preview, ToolContext } from "../../core/tool.ts";
import type { PausedRun } from "../../io/sandbox/paused-runs.ts";
import { endAsked, repeatResult } from "../idempotency.ts";
import { summarizeCall } from "../summarize-call.ts";
import { DEFAULT_TIMEOUTS, timeoutOf } from "../timeouts.ts";
import { withAnswers } from "../tool-answers.ts";
import { type Approver, requestApproval, stopWaiting } from "./approver.ts";
import { grantChoices, type SavedFor } from "./describe-grant.ts";
import type { ShadowPolicy } from "./history/shadow.ts";
import type { Limits } from "./limits.ts";
import { toolVerdict } from "./rules/evaluate-rules.ts";
import type { SuggestedRules } from "./rules/suggest-rules.ts";

export interface PermitOptions {
  calls: Calls;
  clock: Clock;
  events: EventEmitter;
  /** The context for the preview of a tool. */
  contextFor(call: Call): ToolContext;
  /** The decision of the policy. Default: the tool's own permission. Called again after a person has answered. */
  judge?(call: Call): MaybePromise<Verdict>;
  /** If `judge` allows every plain call of a tool: its verdict. */
  allowsAll?(tool: AnyTool): Verdict | undefined;
  /** The counters of what `allowsAll` depends on. */
  changes?: readonly ChangeCounter[];
  /** Judges calls beside the active policy, without effect. */
  readonly shadow?: Pick<ShadowPolicy, "observe"> | undefined;
  /** The mode of a call. Default: its own. */
  modeOf?(call: Call): CallMode;
  approver?: Approver;
  /** Whether the session of a call has read untrusted text: answers to such questions teach nothing. Default: it has. */
  hasReadUntrusted?(call: Call): MaybePromise<boolean>;
  /** For the host: its approver does not answer questions. */
  warn?(warning: string): void;
  /** How long a caller waits for an answer from any interface; after that it gets `pending`. Default: it does not wait. */
  waitMs?: number;
  /** Longer arguments and previews are shown in part, and approved only with a confirmation. */
  maxShownBytes?: number;
  /** What the session has set in the environment of commands. */
  overlayOf?(call: Call): Readonly<Record<string, string>> | undefined;
  /** Rules that would allow this call again. Default: none. */
  suggestRules?(call: Call): MaybePromise<SuggestedRules>;
  /** The call does not run: nobody needs what its preview has prepared. */
  discardPreview?(call: Call): MaybePromise<void>;
  /** The command of this call, if it reached the time limit of its preview and stands still in this process. */
  pausedRun?(call: Call): PausedRun | undefined;
  /** Runs, or ends, the answered call of such a command: its caller does not wait. */
  runAnswered?(row: StoredCall): void;
  /** Whether this process ends when its callers have their results: it pauses nothing for an answer that comes later. */
  isShortLived?: boolean;
  /** Saves what a person has granted with an answer. */
  remember?(answer: Answer, call: Call): MaybePromise<void>;
  /** Whom a rule for always binds. Default: the callers of this process. */
  savedFor?: SavedFor;
  /** What a call waits for before it starts. */
  limits?: Pick<Limits, "start">;
}

/** A question without a preview is better than none. */
const MAX_PREVIEW_MS = 30_000;
/** An approver may take this long. */
const APPROVER_HOLD_MS = 24 * 60 * 60_000;
/** How often the process that should run a call is checked: it may have ended. */
const LIVENESS_MS = 500;

/** Decides about a call: it continues, it is refused, or a person is asked. */
export class Permit implements Stage {
  readonly name = "permit";
  readonly #options: PermitOptions;
  readonly #calls: Calls;
  readonly #judge: (call: Call) => MaybePromise<Verdict>;
  /** Questions that the approver has been called for: a second call with the same key only waits. */
  readonly #asking = new Set<string>();
  /** Questions about paused commands whose callers do not wait. */
  readonly #left = new Set<string>();
  /** Approved calls whose command goes on here, before its effects are judged. */
  readonly #goingOn = new Set<string>();
  readonly #announced = new WeakMap<Call, string>();
  /** Undeclared tools whose question has said how to declare them. */
  readonly #explained = new Set<string>();

  constructor(options: PermitOptions) {
    this.#options = options;
    this.#calls = options.calls;
    const judge = options.judge ?? judgeByTool;
    this.#judge = (call) => {
      if (!questionsOf(toolOf(call)) || call.secondPass) return judge(call);
      const verdict = judge(call);
      return verdict instanceof Promise ? verdict.then(askQuestion) : askQuestion(verdict);
    };
  }

  get changes(): readonly ChangeCounter[] {
    return this.#options.changes ?? [];
  }

  /** The options may change while the runtime runs. */
  get #holdMs(): number {
    return this.#options.waitMs ?? (this.#options.approver ? APPROVER_HOLD_MS : 0);
  }

  compile(tool: AnyTool): StageHooks | undefined {
    const { shadow, allowsAll } = this.#options;
    const verdict = shadow || questionsOf(tool) ? undefined : allowsAll?.(tool);
    return verdict && { enter: (call: CallIn<"permit">) => void (call.verdict = verdict) };
  }

  enter(call: CallIn<"permit">): MaybePromise<ToolResult | undefined> {
    const verdict = this.#judge(call);
    return verdict instanceof Promise
      ? verdict.then((judged) => this.#observed(call, judged))
      : this.#observed(call, verdict);
  }

  #observed(call: CallIn<"permit">, verdict: Verdict): MaybePromise<ToolResult | undefined> {
    const observed = this.#options.shadow?.observe(call, verdict);
    return observed ? observed.then(() => this.#apply(call, verdict)) : this.#apply(call, verdict);
  }

  /** The call has waited since it was permitted. A person's answer still counts, but not against a denial. */
  async enterAgain(call: CallIn<"permit">): Promise<ToolResult | undefined> {
    if (!call.asked) return this.enter(call);
    const verdict = await this.#judge(call);
    if (!isPassing(verdict)) throw denied(call, verdict);
    return undefined;
  }

  /** A call that starts here and does not reach its tool: it became a job, was refused or stopped. */
  leave(call: Call, result: ToolResult): MaybePromise<ToolResult> {
    const row = this.#calls.takeClaimed(call);
    if (!row) return result;
    const done = (): ToolResult => result;
    // If that cannot be written, the outcome is unknown once this process has ended.
    return Promise.resolve(endAsked(this.#calls, call, row, result)).then(done, done);
  }

  #apply(call: CallIn<"permit">, verdict: Verdict): MaybePromise<ToolResult | undefined> {
    call.verdict = verdict;
    if (verdict.decision !== "allow") call.policy = { ...call.policy, said: verdict };
    const stored = this.#calls.storedIdOf(call);
    if (stored !== undefined) return this.#resume(call, verdict, stored);
    if (verdict.decision === "allow") return undefined;
    if (verdict.decision !== "ask") throw denied(call, verdict);
    return mayRunFirst(call, verdict) ? this.#runFirst(call, verdict) : this.#question(call, verdict);
  }

  #question(call: CallIn<"permit">, verdict: Verdict, preview?: Preview): Promise<ToolResult | undefined> {
    if (call.noQuestion && !call.answer) throw call.noQuestion;
    return this.#decide(call, verdict, preview);
  }

  /** No rule decides: if what the call did in a copy changed nothing, that is its result. */
  async #runFirst(call: CallIn<"permit">, verdict: Verdict): Promise<ToolResult | undefined> {
    const preview = await this.#preview(call, undefined);
    if (call.aborted) throw call.aborted;
    if (preview?.hasNoEffects !== true) return this.#question(call, verdict, preview);
    // The rules may have changed while it ran.
    const judged = await this.#judge(call);
    if (!mayRunFirst(call, judged)) {
      if (judged.decision !== "allow") await this.#options.discardPreview?.(call);
      return this.#apply(call, judged);
    }
    call.verdict = { decision: "allow", by: "effects", ...reasonText("verdict.noEffects") };
    return undefined;
  }

  /** The call was asked about before, perhaps in another process, and runs now if the answer allows it. */
  async #resume(call: CallIn<"permit">, verdict: Verdict, id: string): Promise<ToolResult | undefined> {
    const row = await this.#calls.get(id);
    if (!row) throw unknownApproval(id);
    if (!isPassing(verdict) && row.state !== "ended") {
      await this.#calls.changed(row, `the policy denies it now: ${verdict.reason}`);
      throw denied(call, verdict);
    }
    // A policy that allows the call by now does not ask about anything new.
    const asked = verdict.decision === "ask" ? verdict : (row.question?.verdict ?? verdict);
    return this.#follow(call, { verdict: asked, row, holdMs: 0 });
  }

  async #decide(call: CallIn<"permit">, verdict: Verdict, preview?: Preview): Promise<ToolResult | undefined> {
    const hasReadUntrusted = (await this.#options.hasReadUntrusted?.(call)) ?? true;
    call.policy = { ...call.policy, hasReadUntrusted };
    if (call.aborted) throw call.aborted;
    const row = await this.#ask(call, verdict, { holdMs: this.#holdMs, preview });
    return this.#follow(call, { verdict, row, holdMs: this.#holdMs });
  }

  /** Follows the row until the call starts here, or until it has ended or stays pending. */
  async #follow(
    call: CallIn<"permit">,
    { verdict, row: first, holdMs }: { verdict: Verdict; row: StoredCall; holdMs: number },
  ): Promise<ToolResult | undefined> {
    let row = first;
    for (;;) {
      call.verdict = { ...verdict, approvalId: row.id };
      // Workers run jobs.
      if (row.job && row.state !== "ended") return repeatResult(call, storedResult(row), "replay");
      switch (row.state) {
        case "waiting": {
          // The person has not seen all of it, and another program cannot ask them again: Haft can.
          if (call.answer?.approvalId === row.id && missingConfirmation(row, call.answer)) return pendingFor(call, row);
          const given = await this.#giveAnswer(call, row);
          if (given) {
            row = given;
            break;
          }
          // It was opened by this call, because the answered question has expired or changed. Nobody has seen it.
          if (call.noQuestion && row.key !== undefined) {
            await this.#calls.cancel(row.id, call.noQuestion.message);
            throw call.noQuestion;
          }
          await this.#announce(call, row);
          if (holdMs === 0) return this.#leaveOpen(call, row);
          const answered = await this.#requestApproval(call, row);
          // It may be answered just when nobody waits any more.
          const left = answered ?? (this.#options.pausedRun?.(call) ? undefined : await this.#calls.release(row.id));
          row = left ?? (await this.#calls.get(row.id)) ?? row;
          if (row.state === "waiting") return this.#leaveOpen(call, row);
          break;
        }
        case "approved": {
          const verified = (await this.#isElsewhere(row))
            ? await abortable(call, this.#nextState(row))
            : await this.#verify(call, { verdict, row, holdMs });
          if (verified.id !== row.id || verified.state !== "approved") {
            row = verified;
            break;
          }
          if (await this.#isElsewhere(verified)) break;
          const claimed = await this.#claim(call, verified);
          if (claimed) return this.#start(call, claimed);
          row = (await this.#calls.get(row.id)) ?? row;
          break;
        }
        case "suspended":
          return repeatResult(call, storedResult(row), "replay");
        case "running":
          row = await this.#calls.settleLost(await abortable(call, this.#nextState(row)));
          break;
        case "ended": {
          const next = await this.#calls.replacementOf(row);
          if (!next) return this.#refuseOrRepeat(call, row);
          row = holdMs > 0 && next.state !== "ended" ? await this.#calls.hold(next, holdMs) : next;
        }
      }
    }
  }

  #leaveOpen(call: Call, row: StoredCall): ToolResult {
    if (this.#options.pausedRun?.(call)) this.#left.add(row.id);
    return pendingFor(call, row);
  }

  /** Whether another call, here or in another process, goes on with this one. */
  async #isElsewhere(row: StoredCall): Promise<boolean> {
    return this.#goingOn.has(row.id) || this.#calls.isHeldElsewhere(row);
  }

  async #claim(call: CallIn<"permit">, row: StoredCall): Promise<StoredCall | undefined> {
    const claim = () => this.#calls.claim(row, call);
    try {
      return await (this.#options.limits?.start(call, claim) ?? claim());
    } catch (error) {
      if (!(error instanceof LimitReachedError) || error.isPassing) throw error;
      // It was reached since the call was judged. The person has not seen that a yes goes beyond it: they are asked again.
      if (isFirstRace(call, error)) return undefined;
      await this.#calls.changed(row, error.summary);
      throw error;
    }
  }

  /** The row after the answer that came with the call; undefined if none did. */
  async #giveAnswer({ answer }: Call, { id }: StoredCall): Promise<StoredCall | undefined> {
    if (answer?.approvalId !== id) return undefined;
    const { approvalId: _id, ...given } = answer;
    try {
      return await this.#calls.answer(id, given);
    } catch (error) {
      // Somebody else answered first.
      if (error instanceof ToolError && error.code === "conflict") return this.#calls.get(id);
      throw error;
    }
  }

  #nextState(row: StoredCall): Promise<StoredCall> {
    return this.#calls.wait(row.id, ({ state }) => state !== row.state, { ms: LIVENESS_MS });
  }

  async #requestApproval(call: CallIn<"permit">, row: StoredCall): Promise<StoredCall | undefined> {
    const { clock, waitMs, warn } = this.#options;
    const isFirst = !this.#asking.has(row.id);
    const approver = isFirst ? this.#options.approver : undefined;
    this.#asking.add(row.id);
    try {
      return await requestApproval(call, row, { calls: this.#calls, clock, approver, waitMs, warn });
    } finally {
      if (isFirst) this.#asking.delete(row.id);
    }
  }

  /** The row if the answer still applies; the new question if what was shown has changed. */
  async #verify(
    call: CallIn<"permit">,
    { verdict, row, holdMs }: { verdict: Verdict; row: StoredCall; holdMs: number },
  ): Promise<StoredCall> {
    // The policy may have changed in the meantime. Its denial applies; its permission is not needed any more.
    const judged = await this.#judge(call);
    if (!isPassing(judged)) {
      call.verdict = judged;
      await this.#calls.changed(row, `the policy denies it now: ${judged.reason}`);
      throw denied(call, judged);
    }
    const asked = judged.decision === "ask" ? judged : verdict;
    if (!maySpendTime(call, row)) return this.#ask(call, asked, { holdMs, previous: row });
    this.#goingOn.add(row.id);
    try {
      const held = await this.#calls.hold(row, MAX_GO_ON_MS);
      if (held.state !== "approved" || (await this.#calls.isHeldElsewhere(held))) return held;
      return await this.#ask(call, asked, { holdMs, previous: held });
    } finally {
      this.#goingOn.delete(row.id);
    }
  }

  /** How to declare a tool is said once. */
  #shorten(verdict: Verdict, tool: AnyTool): Verdict {
    if (verdict.key !== "verdict.undeclared") return verdict;
    if (this.#explained.has(tool.name))
      return { ...verdict, ...reasonText("verdict.undeclaredAgain", { tool: tool.name }) };
    this.#explained.add(tool.name);
    return verdict;
  }

  async #ask(
    call: Call,
    judged: Verdict,
    { holdMs, previous, preview: known }: { holdMs: number; previous?: StoredCall; preview?: Preview },
  ): Promise<StoredCall> {
    const verdict = previous ? judged : this.#shorten(judged, toolOf(call));
    const { maxShownBytes = MAX_SHOWN_BYTES, contextFor, overlayOf, suggestRules } = this.#options;
    const { savedFor = "process" } = this.#options;
    const questions = this.#questionsOf(call);
    const input = plainInput(call);
    const preview = known ?? (await this.#preview(call, previous));
    const shown = preview && boundPreview(preview, maxShownBytes);
    const goesOn = previous !== undefined && maySpendTime(call, previous);
    const hasEnded = goesOn && preview?.hasNoEffects === true;
    const world: CallWorld = { verdict, preview, workspace: contextFor(call).workspace, overlay: overlayOf?.(call) };
    if (hasEnded) world.previewHash = previous.question?.binding.preview;
    const paused = this.#options.pausedRun?.(call);
    const suggested = savable(questions ? undefined : await suggestRules?.(call));
    if (call.aborted) {
      if (previous) await stopWaiting(this.#calls, previous.id, call.aborted);
      throw call.aborted;
    }
    const row = await this.#calls.ask(
      call,
      {
        world,
        input,
        summary: summarizeCall(toolOf(call), call.input, verdict),
        shown,
        unseen: questions ? undefined : unseenOf(shown, input, maxShownBytes),
        whole: shown && preview && wholePreview(preview, shown),
        suggestedRules: suggested.narrow,
        grants: grantChoices(suggested, { caller: call.caller, tool: toolOf(call), savedFor }),
        questions,
        holdMs: paused ? Math.max(holdMs, MAX_PAUSE_MS) : holdMs,
      },
      // It may have been denied while its command went on.
      goesOn ? await this.#calls.get(previous.id) : previous,
    );
    if ("full" in row) throw full(call, row.full);
    if (paused) void this.#attend(row, paused);
    if (call.aborted) {
      await stopWaiting(this.#calls, row.id, call.aborted);
      throw call.aborted;
    }
    return row;
  }

  /** Its command is paused here: only this process can go on with it, also if its caller does not wait any more. */
  async #attend({ id }: StoredCall, paused: PausedRun): Promise<void> {
    const wait = { signal: paused.signal, keepsAlive: false };
    paused.keep();
    try {
      const row = await this.#calls.wait(id, ({ state }) => state !== "waiting", wait);
      if (this.#left.has(id)) this.#options.runAnswered?.(row);
      await this.#calls.wait(id, ({ state }) => state === "ended", wait);
    } catch {
      // It was ended, or this process ends.
      if (this.#left.has(id)) await this.#calls.release(id).catch(() => undefined);
    }
    this.#left.delete(id);
    await paused.end();
  }

  /** What the tool asks. Throws if nobody can answer. */
  #questionsOf(call: Call): readonly UserQuestion[] | undefined {
    const mode = this.#options.modeOf?.(call) ?? call.options.mode ?? "default";
    return questionsOf(toolOf(call))?.(call.input as never, { caller: call.caller, mode });
  }

  /** If the preview finds that the call is impossible (a text that is not there), it fails at once, and nobody is asked. */
  async #preview(call: Call, previous: StoredCall | undefined): Promise<Preview | undefined> {
    const { clock, contextFor } = this.#options;
    const tool = toolOf(call);
    const { preview } = tool;
    if (!preview) return undefined;
    let timer: Timer | undefined;
    // A command that ends within its own limit runs to its end.
    const maxMs = Math.max(MAX_PREVIEW_MS, timeoutOf(call, tool, DEFAULT_TIMEOUTS));
    const late = unshownPreview(call, `its preview took longer than ${maxMs / 1000} s`);
    const context = contextFor(call);
    const goesOn = previous !== undefined && maySpendTime(call, previous);
    const mayPause = isRunHere(call) && (this.#holdMs > 0 || !this.#options.isShortLived);
    if (goesOn || mayPause) atTimeLimit.set(context, goesOn ? "continue" : "pause");
    const tooLate = new Promise<Preview>((resolve) => {
      if (!goesOn) timer = clock.after(maxMs, () => resolve(late));
    });
    try {
      const made = await abortable(call, Promise.race([preview(call.input, context), tooLate]));
      const missing = [typeof made?.title !== "string" && "title", !Array.isArray(made?.content) && "content"];
      const named = missing.filter(Boolean).join(" and no ");
      return named === "" ? made : unshownPreview(call, `its preview has no ${named}`);
    } catch (thrown) {
      if (!(thrown instanceof ToolError)) return unshownPreview(call, `its preview threw: ${errorMessage(thrown)}`);
      if (previous && call.aborted) await stopWaiting(this.#calls, previous.id, call.aborted);
      else if (previous) await this.#calls.changed(previous, `it is no longer possible: ${thrown.message}`);
      throw thrown;
    } finally {
      timer?.cancel();
    }
  }

  /** The approved call continues here. */
  async #start(call: CallIn<"permit">, row: StoredCall): Promise<undefined> {
    const { answer } = row;
    this.#calls.setClaimed(call, row);
    call.asked = askedOf(call, row, this.#options.clock.now());
    const done = answer?.answers ? "verdict.answered" : "verdict.approved";
    const reason = answer?.by === undefined ? reasonText(done) : reasonText(`${done}By`, { by: answer.by });
    const { unvouched, limits } = row.question?.verdict ?? {};
    call.verdict = { decision: "allow", by: "approval", ...reason, approvalId: row.id, unvouched, limits };
    this.#emitResolved(call, row, "approved");
    const { scope, rules = [] } = answer ?? {};
    if (!answer || scope === undefined || scope === "once" || rules.length === 0) return;
    call.verdict.rule = rules.join(", ");
    try {
      await this.#options.remember?.(answer, call);
    } catch (error) {
      note(call, "ruleNotRemembered", errorMessage(error));
    }
  }

  async #refuseOrRepeat(call: CallIn<"permit">, row: StoredCall): Promise<ToolResult> {
    if (row.result) return repeatResult(call, row.result, "replay");
    call.asked = askedOf(call, row, this.#options.clock.now());
    await this.#options.discardPreview?.(call);
    const failure = refusalOf(row);
    if (row.outcome === "unknown") return failed(call, failure);
    call.verdict = { decision: "deny", by: "approval", reason: row.note ?? failure.message, approvalId: row.id };
    this.#emitResolved(call, row, row.outcome === "denied" ? "denied" : "expired");
    return failed(call, failure);
  }

  async #announce(call: Call, { id, question }: StoredCall): Promise<void> {
    if (this.#announced.get(call) === id) return;
    this.#announced.set(call, id);
    await call.options.onApprovalRequested?.(id);
    const { events, clock } = this.#options;
    if (!events.hasListeners("permission_requested")) return;
    const facts = { approvalId: id, reason: question?.reason ?? "" };
    events.emit(callEvent(call, "permission_requested", clock.now(), facts));
  }

  #emitResolved(
    call: Call,
    { id, answer, note: reason }: StoredCall,
    decision: "approved" | "denied" | "expired",
  ): void {
    const { events, clock } = this.#options;
    if (!events.hasListeners("permission_resolved")) return;
    const facts = { approvalId: id, decision, by: answer?.by, reason: reason ?? answer?.reason };
    events.emit(callEvent(call, "permission_resolved", clock.now(), facts));
  }
}

/** A caller may wait before its permitted call goes on. The rules may have changed by then. */
export function holdPermitted(permit: Permit): Stage {
  return {
    name: "hold",
    compile: () => ({}),
    enter: (call) => call.onPermitted && abortable(call, call.onPermitted()).then(() => permit.enterAgain(call)),
  };
}

/** Only the wait for the person: what a call does before and after the question is its own time. */
function askedOf({ startedAt }: Call, row: StoredCall, now: number): AskedCall {
  const { createdAt: at, answeredAt = row.endedAt ?? now } = row;
  const waitedMs = Math.max(0, answeredAt - at);
  const heldMs = Math.min(waitedMs, Math.max(0, answeredAt - startedAt));
  return { at, waitedMs, heldMs, by: row.answer?.by, answers: row.answer?.answers };
}

/** Whether only the built-in tool itself asks, as commands do: its preview may show that there is nothing to ask. */
function mayRunFirst(call: Call, { decision, by, key }: Verdict): boolean {
  const isDefault = /^verdict\.(toolAsks|otherDefinition|grant)/.test(key ?? "");
  return decision === "ask" && by === "tool" && isDefault && isRunHere(call);
}

function isRunHere(call: Call): boolean {
  const { origin, preview, mode, isDelegated } = toolOf(call);
  const isJob = call.secondPass !== undefined || Boolean(call.options.background ?? mode === "background");
  return !isJob && !isDelegated && preview !== undefined && origin.type === "builtin";
}

/** Whether the yes to this question was only that its command goes on: what it does is asked about again. */
function maySpendTime(call: Call, { question }: StoredCall): boolean {
  return isRunHere(call) && question?.preview?.facts?.some(({ key }) => key === "preview.goesOn") === true;
}

/** Everything else is a denial, also a decision that does not exist. */
function isPassing({ decision }: Verdict): boolean {
  return decision === "allow" || decision === "ask";
}

function judgeByTool(call: Call): MaybePromise<Verdict> {
  const tool = toolOf(call);
  return withAnswers((answers) => toolVerdict({ tool, input: call.input, answers }), call);
}

/** A rule, a hook or a mode may deny a question. None of them answers it. */
function askQuestion(verdict: Verdict): Verdict {
  if (!isPassing(verdict)) return verdict;
  return { decision: "ask", by: "tool", ...reasonText("verdict.question") };
}

/** None with several lines: interfaces show one rule a line, and a file name could add another rule. */
function savable({ narrow, broader }: SuggestedRules = { narrow: [], broader: [] }): SuggestedRules {
  const isSavable = (rule: string): boolean => rule !== "" && isOneLine(rule);
  return { narrow: narrow.every(isSavable) ? narrow : [], broader: broader.filter((rules) => rules.every(isSavable)) };
}

/** The person must know that there is no preview. */
function unshownPreview(call: Call, why: string): Preview {
  return { title: toolOf(call).name, content: [], unshown: why };
}

function pendingFor(call: Call, row: StoredCall): ToolResult {
  return { ...storedResult(row), callId: call.id, startedAt: call.startedAt };
}

function denied(call: Call, { reason, rule, origin, by: decidedBy, limits }: Verdict): ToolError {
  if (decidedBy === "limit") {
    const next = "Make it again when the limit has room, or ask a person to extend it.";
    return new ToolPermissionError(toolOf(call).name, reason, next, "denied", {
      data: { decidedBy: "policy", limits },
    });
  }
  const by =
    rule === undefined || reason.includes(rule) ? "" : ` (rule ${rule}${origin === undefined ? "" : `, ${origin}`})`;
  const from = rule === undefined && origin !== undefined ? ` (${origin})` : "";
  return new ToolPermissionError(
    toolOf(call).name,
    `${reason}${by}${from}`,
    "Do not repeat it or try it another way; ask what to do instead.",
    "denied",
    { data: { decidedBy: "policy" } },
  );
}

function full(call: Call, open: number): ToolError {
  return new ToolPermissionError(
    toolOf(call).name,
    `${open} approvals of this caller are already pending, which is the limit`,
    "Make no call that needs approval until some of them are answered.",
  );
}
