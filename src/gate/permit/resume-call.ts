import { type CallOptions, rebuildScope, type ToolScope } from "../../core/call.ts";
import { text } from "../../core/content.ts";
import { definitionHash } from "../../core/definition.ts";
import { toolError, type ToolError } from "../../core/error.ts";
import type { Gate } from "../../core/gate.ts";
import type { ToolRegistry } from "../../core/registry.ts";
import type { PendingResult, ToolResult } from "../../core/result.ts";
import type { AnyTool } from "../../core/tool.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { Approval, ApprovalAnswer } from "../../calls/approval.ts";
import type { Approvals } from "../../calls/approvals.ts";
import { sha256 } from "../../calls/approval-binding.ts";
import type { Permit } from "./permit.ts";

export interface ResumeOptions {
  approvals: Approvals;
  permit: Pick<Permit, "resultOf">;
  registry: ToolRegistry;
  gate: Gate;
  /** What the call that used this answer up was answered, as far as that is known; `running` while it is not over. */
  recorded?(approval: Approval): MaybePromise<ToolResult | "running" | undefined>;
}

/** Results of this process, for who gives an answer again. */
const MAX_RESULTS = 200;

/** How long a caller who waits in another process has to notice the answer, before the call is made here. */
const APPROVER_FIRST_MS = 1500;

/** Answers a question, and makes the call that waited for it again, through the whole gate. */
export function createResume({ approvals, permit, registry, gate, recorded }: ResumeOptions) {
  const underWay = new Map<string, Promise<ToolResult>>();
  const results = new Map<string, ToolResult>();

  return async (id: string, answer: ApprovalAnswer): Promise<ToolResult> => {
    const waiting = permit.resultOf(id);
    // Read before the answer: what is over forgets how it was made.
    const live = approvals.liveCallOf(id);
    const approval = await approvals.answer(id, answer);
    if (waiting) return waiting.then((result) => keep(id, result));
    const resuming = underWay.get(id);
    if (resuming) return resuming;
    if (approval.state === "used") return answerAgain(approval);
    const resumed = resume(approval, live ?? approvals.liveCallOf(id))
      .then((result) => keep(id, result))
      .finally(() => underWay.delete(id));
    underWay.set(id, resumed);
    return resumed;
  };

  function keep(id: string, result: ToolResult): ToolResult {
    if (result.status === "pending") return result;
    for (const oldest of results.keys()) {
      if (results.size < MAX_RESULTS) break;
      results.delete(oldest);
    }
    results.set(id, result);
    return result;
  }

  /** The same yes once more: nothing is made again, and the answer is the one that there was. */
  async function answerAgain(approval: Approval): Promise<ToolResult> {
    const known = results.get(approval.id) ?? (await recorded?.(approval));
    if (known === "running") return runsElsewhere(approval);
    if (known) return structuredClone(known);
    throw toolError("conflict", `Approval "${approval.id}" was used already: the call was made`, {
      next: "Its result is not kept any more; look at the audit log for how it ended.",
    });
  }

  async function resume(approval: Approval, live: ReturnType<Approvals["liveCallOf"]>): Promise<ToolResult> {
    if (!live && approval.waits && (await isTakenElsewhere(approval.id))) return runsElsewhere(approval);
    const { made } = approval;
    const input = live ? live.input : (made.input ?? approval.input);
    const options: CallOptions = { ...made.options };
    approvals.markResumed(options, approval.id);
    const scope = live ? live.scope : made.scope && rebuildScope(made.scope, registry);
    const tool = live?.tool ?? findShown(approval, scope);
    const refuse = (refusal: ToolError) => gate.execute(made.name, input, options, { refusal });
    if (!tool) return refuse(missing(approval));
    if (!made.isDirect && !isStillThere(tool, made.name, scope)) {
      await approvals.void(approval.id, "the tool was replaced");
      return refuse(replaced(made.name));
    }
    if (definitionHash(tool, sha256) !== approval.binding.tool) {
      await approvals.void(approval.id, "the tool's definition changed");
      return refuse(replaced(made.name));
    }
    // If there are several versions, the one that was shown.
    const isOne = scope !== undefined || registry.versions(tool.name).length === 1;
    const name = isOne ? made.name : `${tool.name}@${tool.version}`;
    return gate.execute(made.isDirect ? tool : name, input, options, { scope });
  }

  /** In another process than the one that asked: a tool that says of itself what was shown. */
  function findShown({ toolName, toolVersion, made }: Approval, scope: ToolScope | undefined): AnyTool | undefined {
    if (scope) return scope.get(made.name) ?? scope.get(toolName);
    const versions = registry.versions(toolName);
    return versions.find(({ version }) => version === toolVersion) ?? versions[0];
  }

  function isStillThere(tool: AnyTool, name: string, scope: ToolScope | undefined): boolean {
    return scope ? scope.get(name) === tool : registry.versions(tool.name).includes(tool);
  }

  async function isTakenElsewhere(id: string): Promise<boolean> {
    if (!approvals.shared) return false;
    return approvals.waitUntilUsed(id, APPROVER_FIRST_MS);
  }
}

function runsElsewhere({ id, callId, toolName, askedAt }: Approval): PendingResult {
  const message = `Approved: "${toolName}" is run by the process that asked, whose caller is given the result.`;
  return {
    callId,
    toolName,
    status: "pending",
    success: false,
    content: [text(message)],
    display: message,
    pending: { kind: "approval", id },
    metadata: {},
    startedAt: askedAt,
  };
}

/** The approval was for the tool that was shown, not for whoever has its name now. */
function replaced(name: string): ToolError {
  return toolError("conflict", `"${name}" is no longer the tool that was approved`, { next: "Make the call again." });
}

function missing({ toolName, toolVersion }: Approval): ToolError {
  return toolError("conflict", `"${toolName}" (version ${toolVersion}) is not registered in this process`, {
    next: "Register it, then approve again: the answer is kept.",
  });
}
