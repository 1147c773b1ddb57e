import { boundPreview, showableInput } from "../../calls/approval-binding.ts";
import type { Approval } from "../../calls/approval.ts";
import type { Approvals } from "../../calls/approvals.ts";
import { abortable, type Call, note, toolOf, type Verdict } from "../../core/call.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import { toolError, ToolError, ToolPermissionError } from "../../core/error.ts";
import { callEvent, type EventEmitter } from "../../core/events.ts";
import { fromThrown, pending, type ToolResult } from "../../core/result.ts";
import type { MaybePromise, Stage } from "../../core/stage.ts";
import type { Preview, ToolContext } from "../../core/tool.ts";
import { abandon, type Approver, requestApproval } from "./approver.ts";

export interface PermitOptions {
  approvals: Approvals;
  clock: Clock;
  events: EventEmitter;
  /** What a tool's preview is given. */
  contextFor(call: Call): ToolContext;
  /** What policy says of the call; the tool's own wish by default. Asked again after a person has answered. */
  judge?(call: Call): MaybePromise<Verdict>;
  approver?: Approver;
  /** How long a caller waits for an answer, from whatever door; then it is no. Without it, and without an approver, not at all. */
  waitMs?: number;
  /** Of the environment that the call would run in: a hash, or any text that differs when it does. */
  environmentOf?(call: Call): MaybePromise<string>;
  /** Rules that would allow calls like this one; the tool's own by default. */
  suggestRule?(call: Call): MaybePromise<string | readonly string[] | undefined>;
  /** Keeps a rule that a person has granted. */
  remember?(scope: "session" | "always", rule: string, call: Call): MaybePromise<void>;
}

/** The permit stage, and what the calls that wait in it will be answered. */
export interface Permit extends Stage {
  /** The result of the call that waits for this answer in this process, once there is one. */
  resultOf(approvalId: string): Promise<ToolResult> | undefined;
}

/** A question without a preview is better than none. */
const MAX_PREVIEW_MS = 30_000;
/** How often one call may be asked about because what it acts on keeps changing. */
const MAX_ROUNDS = 5;

/** What happens to this particular call: it goes on, it is refused, or a person is asked. */
export function permit(options: PermitOptions): Permit {
  const { approvals, approver, clock, events, contextFor, waitMs, judge = judgeByTool } = options;
  const waits = approver !== undefined || waitMs !== undefined;
  const waiting = new Map<string, { result: Promise<ToolResult>; resolve: (result: ToolResult) => void }>();
  const waitsFor = new WeakMap<Call, string>();

  return {
    name: "permit",
    enter(call) {
      const verdict = judge(call);
      return verdict instanceof Promise ? verdict.then((judged) => follow(call, judged)) : follow(call, verdict);
    },
    leave(call, result) {
      settle(call, result);
      return result;
    },
    resultOf: (approvalId) => waiting.get(approvalId)?.result,
  };

  function follow(call: Call, verdict: Verdict): MaybePromise<ToolResult | undefined> {
    call.verdict = verdict;
    if (verdict.decision === "allow") {
      const resumed = approvals.resumedBy(call);
      return resumed === undefined ? undefined : consumeApproval(call, resumed);
    }
    if (verdict.decision !== "ask") throw denied(call, verdict);
    return decide(call, verdict).then(
      (early) => {
        if (early) settle(call, early);
        return early;
      },
      (thrown: unknown) => {
        settle(call, fromThrown(call, thrown));
        throw thrown;
      },
    );
  }

  /** Allowed by now without the answer: which counts all the same, and is used up. */
  async function consumeApproval(call: Call, resumed: string): Promise<undefined> {
    if (await approvals.take(resumed)) return undefined;
    const approval = await approvals.get(resumed);
    throw approval && approval.state !== "used" ? refused(call, approval) : alreadyUsed(resumed);
  }

  /** Round after round: what was answered counts only where what was asked about is still so. */
  async function decide(call: Call, verdict: Verdict): Promise<ToolResult | undefined> {
    let requested = verdict;
    let previous = approvals.resumedBy(call);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      if (round > 0) requested = await judgeAgain(call, requested);
      const approval = await ask(call, requested, previous);
      previous = approval.id;
      call.verdict = { ...requested, approvalId: approval.id };
      if (approval.state === "denied") throw refused(call, approval);
      if (approval.state === "approved") {
        const used = await approvals.take(approval.id);
        if (used) return resume(call, used);
        continue;
      }
      await call.options.onApprovalRequested?.(approval.id);
      announce(call, approval);
      if (!waits) return pendingFor(call, approval);
      const same = joinWaiting(call, approval.id);
      if (same) return same;
      const answered = await requestApproval(call, approval, {
        approvals,
        clock,
        approver,
        waitMs,
      });
      if (!answered) return pendingFor(call, approval);
      if (answered.state === "expired") throw refused(call, answered);
    }
    throw toolError("stale", `"${toolOf(call).name}" was asked about ${MAX_ROUNDS} times, and changed each time`, {
      next: "Wait until nothing else changes what it acts on, then call it again.",
    });
  }

  /** Policy may have changed while a person was thinking: its no counts, its yes is not needed any more. */
  async function judgeAgain(call: Call, requested: Verdict): Promise<Verdict> {
    const verdict = await judge(call);
    if (verdict.decision === "ask") return verdict;
    if (verdict.decision === "allow") return requested;
    call.verdict = verdict;
    throw denied(call, verdict);
  }

  async function ask(call: Call, verdict: Verdict, previous: string | undefined): Promise<Approval> {
    const input = showableInput(call, approvals.maxShownBytes);
    const preview = await previewed(call, previous);
    const world = {
      verdict,
      preview,
      workspace: contextFor(call).workspace,
      environment: (await options.environmentOf?.(call)) ?? "",
    };
    const suggested = (await (options.suggestRule ?? suggestByTool)(call)) ?? [];
    if (call.aborted) throw call.aborted;
    if (previous !== undefined && (await approvals.get(previous))?.state === "used") throw alreadyUsed(previous);
    const approval = await approvals.ask(call, {
      world,
      input,
      shown: preview && boundPreview(preview, approvals.maxShownBytes),
      suggestedRules: [suggested].flat().filter((rule) => rule !== ""),
      waits,
    });
    if ("full" in approval) throw full(call, approval.full);
    if (call.aborted) {
      await abandon(approvals, approval.id, call.aborted);
      throw call.aborted;
    }
    return approval;
  }

  /** A call that its own preview finds impossible (a text that is not there) fails at once, and nobody is asked. */
  async function previewed(call: Call, previous: string | undefined): Promise<Preview | undefined> {
    const { preview } = toolOf(call);
    if (!preview) return undefined;
    let timer: Timer | undefined;
    const tooLate = new Promise<undefined>(
      (resolve) => (timer = clock.after(MAX_PREVIEW_MS, () => resolve(undefined))),
    );
    try {
      return await abortable(call, Promise.race([preview(call.input, contextFor(call)), tooLate]));
    } catch (thrown) {
      if (!(thrown instanceof ToolError)) return undefined;
      if (previous !== undefined && !call.aborted) await approvals.void(previous, "it is not possible any more");
      throw thrown;
    } finally {
      timer?.cancel();
    }
  }

  async function resume(call: Call, used: Approval): Promise<undefined> {
    const by = used.answeredBy === undefined ? "approved" : `approved by ${used.answeredBy}`;
    call.verdict = { decision: "allow", by: "approval", reason: by, approvalId: used.id };
    resolved(call, used);
    const { scope, rules = [] } = used;
    if (scope === undefined || scope === "once" || rules.length === 0) return;
    call.verdict.rule = rules.join(", ");
    try {
      for (const rule of rules) await options.remember?.(scope, rule, call);
    } catch (error) {
      note(call, "ruleNotRemembered", error instanceof Error ? error.message : String(error));
    }
  }

  function refused(call: Call, approval: Approval): ToolError {
    const reason = approval.note ?? "a person denied it";
    call.verdict = { decision: "deny", by: "approval", reason, approvalId: approval.id };
    resolved(call, approval);
    return approval.state === "denied" ? deniedByPerson(approval) : unanswered(approval);
  }

  function announce(call: Call, { id: approvalId, reason }: Approval): void {
    if (!events.hasListeners("permission_requested")) return;
    events.emit(callEvent(call, "permission_requested", clock.now(), { approvalId, reason }));
  }

  function resolved(call: Call, { id: approvalId, state, answeredBy, note: reason }: Approval): void {
    if (!events.hasListeners("permission_resolved")) return;
    events.emit(
      callEvent(call, "permission_resolved", clock.now(), {
        approvalId,
        decision: state === "used" ? "approved" : state === "denied" ? "denied" : "expired",
        by: answeredBy,
        reason,
      }),
    );
  }

  /** Two calls that are the same one wait as one: the second is given what the first is. */
  function joinWaiting(call: Call, approvalId: string): Promise<ToolResult> | undefined {
    const first = waiting.get(approvalId);
    if (first) return abortable(call, first.result.then(structuredClone<ToolResult>));
    const before = waitsFor.get(call);
    let resolve!: (result: ToolResult) => void;
    const result = new Promise<ToolResult>((done) => (resolve = done));
    // Asked anew: whoever waits for the answer to the first question waits on.
    if (before !== undefined) {
      void result.then(waiting.get(before)?.resolve);
      waiting.delete(before);
    }
    waiting.set(approvalId, { result, resolve });
    waitsFor.set(call, approvalId);
    return undefined;
  }

  function settle(call: Call, result: ToolResult): void {
    const approvalId = waitsFor.get(call);
    if (approvalId === undefined) return;
    waiting.get(approvalId)?.resolve(result);
    waiting.delete(approvalId);
    waitsFor.delete(call);
  }
}

const ALLOWED_BY_TOOL: Verdict = Object.freeze({ decision: "allow", by: "tool", reason: "the tool asks for nothing" });

function judgeByTool(call: Call): Verdict {
  const tool = toolOf(call);
  if (tool.permission(call.input) === "auto") return ALLOWED_BY_TOOL;
  return { decision: "ask", by: "tool", reason: `"${tool.name}" asks before it runs` };
}

function suggestByTool(call: Call): string | undefined {
  return toolOf(call).rule?.(call.input);
}

// What a caller is told of a call that does not run, or not yet.

function pendingFor(call: Call, approval: Approval): ToolResult {
  return pending(
    call,
    { kind: "approval", id: approval.id },
    `"${approval.toolName}" has not run: a person was asked for permission (${approval.id}). ` +
      "Do not repeat the call; go on with other work, or wait for the answer.",
  );
}

function denied(call: Call, { reason, rule, origin }: Verdict): ToolError {
  const by = rule === undefined ? "" : ` (rule ${rule}${origin === undefined ? "" : `, ${origin}`})`;
  const from = rule === undefined && origin !== undefined ? ` (${origin})` : "";
  return new ToolPermissionError(
    toolOf(call).name,
    `${reason}${by}${from}`,
    "Do not repeat it or try it another way; ask what to do instead.",
  );
}

function deniedByPerson(approval: Approval): ToolError {
  const why = approval.note ? `: ${approval.note}` : "";
  return toolError("approval_denied", `Permission denied: a person denied this call${why}`, {
    next: "Do not repeat it; ask what to do instead.",
  });
}

function unanswered({ note: why }: Approval): ToolError {
  return toolError("approval_expired", `Permission denied: ${why ?? "nobody answered in time"}`, {
    next: "Go on without it, and say that it needs a person who answers.",
  });
}

function full(call: Call, open: number): ToolError {
  return new ToolPermissionError(
    toolOf(call).name,
    `nobody can be asked, because ${open} questions are open already`,
    "Do nothing that needs permission until some of them are answered.",
  );
}

function alreadyUsed(id: string): ToolError {
  return toolError("conflict", `Approval "${id}" was used already: the call was made`, {
    next: "Make the call again with the same id to read its result.",
  });
}
