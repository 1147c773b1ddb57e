import { pending } from "../core/build-result.ts";
import { type Call, toolOf, type Verdict } from "../core/call.ts";
import { toolError, type ToolError, ToolPermissionError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { Approval } from "./approval.ts";

// What a caller is told of a call that does not run, or not yet.

export function pendingFor(call: Call, approval: Approval): ToolResult {
  return pending(
    call,
    { kind: "approval", id: approval.id },
    `"${approval.toolName}" has not run: a person was asked for permission (${approval.id}). ` +
      "Do not repeat the call; go on with other work, or wait for the answer.",
  );
}

export function denied(call: Call, { reason, rule, origin }: Verdict): ToolError {
  const by = rule === undefined ? "" : ` (rule ${rule}${origin === undefined ? "" : `, ${origin}`})`;
  const from = rule === undefined && origin !== undefined ? ` (${origin})` : "";
  return new ToolPermissionError(
    toolOf(call).name,
    `${reason}${by}${from}`,
    "Do not repeat it or try it another way; ask what to do instead.",
  );
}

export function deniedByPerson(approval: Approval): ToolError {
  const why = approval.note ? `: ${approval.note}` : "";
  return toolError("declined", `Permission denied: the person declined this call${why}`, {
    next: "Do not repeat it; ask what to do instead.",
  });
}

export function unanswered({ note: why }: Approval): ToolError {
  return toolError("declined", `Permission denied: ${why ?? "nobody answered in time"}`, {
    next: "Go on without it, and say that it needs a person who answers.",
  });
}

export function full(call: Call, open: number): ToolError {
  return new ToolPermissionError(
    toolOf(call).name,
    `nobody can be asked, because ${open} questions are open already`,
    "Do nothing that needs permission until some of them are answered.",
  );
}

export function alreadyUsed(id: string): ToolError {
  return toolError("conflict", `Approval "${id}" was used already: the call was made`, {
    next: "Make the call again with the same id to read its result.",
  });
}
