import { pending } from "../core/build-result.ts";
import { callEvent } from "../core/call-event.ts";
import { type Call, toolOf } from "../core/call.ts";
import type { Clock, Timer } from "../core/clock.ts";
import type { EventEmitter } from "../core/emitter.ts";
import { toolError, ToolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { Stage } from "../core/stage.ts";
import type { Preview, ToolContext } from "../core/tool.ts";
import { untilAborted } from "../core/until-aborted.ts";
import type { Approval, ApprovalAnswer, Approvals } from "./approvals.ts";

/** Asks a person and waits; nothing means that nobody answered, and the call stays pending. */
export type Approver = (approval: Approval, signal: AbortSignal) => Promise<ApprovalAnswer | undefined>;

export interface PermitOptions {
  approvals: Approvals;
  approver?: Approver;
  clock: Clock;
  events: EventEmitter;
  /** What a tool's preview is given. */
  contextFor(call: Call): ToolContext;
}

/** A question without a preview is better than none. */
const MOST_PREVIEW_MS = 30_000;

/** What happens to this particular call: it goes on, it is refused, or a person is asked. */
export function permit({ approvals, approver, clock, events, contextFor }: PermitOptions): Stage {
  return {
    name: "permit",
    enter(call) {
      if (toolOf(call).permission(call.input) === "auto") return undefined;
      const answered = approvals.take(call);
      if (answered) return follow(call, answered);
      const { preview } = toolOf(call);
      return preview ? previewed(call).then((shown) => ask(call, shown)) : ask(call, undefined);
    },
  };

  /** A call that its own preview finds impossible (a text that is not there) fails at once, and nobody is asked. */
  async function previewed(call: Call): Promise<Preview | undefined> {
    let timer: Timer | undefined;
    const tooLate = new Promise<undefined>(
      (resolve) => (timer = clock.after(MOST_PREVIEW_MS, () => resolve(undefined))),
    );
    try {
      return await untilAborted(call, Promise.race([toolOf(call).preview?.(call.input, contextFor(call)), tooLate]));
    } catch (thrown) {
      if (thrown instanceof ToolError) throw thrown;
      return undefined;
    } finally {
      timer?.cancel();
    }
  }

  function ask(call: Call, preview: Preview | undefined): ToolResult | Promise<ToolResult | undefined> {
    const tool = toolOf(call);
    const approval = approvals.ask(call, `"${tool.name}" asks before it runs`, preview);
    if (events.hears("permission_requested")) {
      const { id: approvalId, reason } = approval;
      events.emit(callEvent(call, "permission_requested", clock.now(), { approvalId, reason }));
    }
    return approver ? askNow(call, approval, approver) : waiting(call, approval);
  }

  async function askNow(call: Call, approval: Approval, ask: Approver): Promise<ToolResult | undefined> {
    const controller = new AbortController();
    const aborted = new Promise<never>((_resolve, reject) => {
      call.onAbort = (why) => {
        controller.abort(why);
        reject(why);
      };
    });
    let answer: ApprovalAnswer | undefined;
    try {
      answer = await Promise.race([ask(approval, controller.signal), aborted]);
    } catch (thrown) {
      // The caller is told that the call failed: a later yes must not run it behind its back.
      if (approval.state === "open")
        approvals.answer(approval.id, { approved: false, reason: "nobody waits for it any more" });
      throw thrown instanceof ToolError ? thrown : askerFailed(thrown);
    } finally {
      call.onAbort = undefined;
    }
    if (!answer) return waiting(call, approval);
    approvals.answer(approval.id, answer);
    const taken = approvals.take(call);
    return taken ? follow(call, taken) : waiting(call, approval);
  }

  function follow(call: Call, approval: Approval): undefined {
    const approved = approval.state === "approved";
    if (events.hears("permission_resolved")) {
      events.emit(
        callEvent(call, "permission_resolved", clock.now(), {
          approvalId: approval.id,
          approved,
          ...(approval.answeredBy === undefined ? {} : { by: approval.answeredBy }),
          ...(approval.note === undefined ? {} : { reason: approval.note }),
        }),
      );
    }
    if (!approved) throw declined(approval);
    return undefined;
  }
}

function waiting(call: Call, approval: Approval): ToolResult {
  return pending(
    call,
    { kind: "approval", id: approval.id },
    `"${approval.toolName}" has not run: a person was asked for permission (${approval.id}). ` +
      "Do not repeat the call; go on with other work, or wait for the answer.",
  );
}

function declined(approval: Approval): ToolError {
  const why = approval.note ? `: ${approval.note}` : "";
  return toolError("declined", `Permission denied: the person declined this call${why}`, {
    next: "Do not repeat it; ask what to do instead.",
  });
}

/** Not the tool's fault: it has not run. */
function askerFailed(cause: unknown): ToolError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return toolError("unavailable", `The tool has not run: asking for permission failed (${why})`, {
    next: "Tell the person that the approver of this runtime is broken.",
    cause,
  });
}
