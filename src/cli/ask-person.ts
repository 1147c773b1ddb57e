import type { HaftClient } from "../client/create-client.ts";
import type { ToolResult } from "../core/result.ts";
import type { ApprovalAnswered, ApprovalInfo } from "../http/wire.ts";
import type { ApprovalAnswer } from "../calls/approval.ts";
import type { ShownApproval } from "../gate/permit/describe-approval.ts";
import type { Terminal } from "./terminal.ts";
import { createTerminalApprover } from "./terminal-approver.ts";

/** Asks at the terminal, and gives what came of the call; nothing where the question stays open. */
export async function promptForApproval(
  client: HaftClient,
  approvalId: string,
  { terminal, signal, onAnswered }: { terminal: Terminal; signal: AbortSignal; onAnswered?: () => void },
): Promise<ToolResult | undefined> {
  const info = await client.approvals.get(approvalId);
  const ask = createTerminalApprover({ input: terminal.stdin, output: terminal.stderr });
  const answer = await ask(toShown(info), signal);
  onAnswered?.();
  if (!answer) return undefined;
  return resultOf(client, await client.approvals.answer(approvalId, toRequest(answer)));
}

/** Of the call that an answer let run, however long that takes. */
export async function resultOf(
  client: HaftClient,
  { approval, result }: ApprovalAnswered,
): Promise<ToolResult | undefined> {
  if (result) return result;
  for await (const frame of client.calls.watch(approval.callId)) if (frame.type === "result") return frame.result;
  return undefined;
}

/** What came over the wire, in the words that questions are shown in everywhere. */
export function toShown({ rule, cwd, verdict, hash = "", expiresAt, ...info }: ApprovalInfo): ShownApproval {
  return {
    ...info,
    hash,
    expiresAt,
    ...(verdict ? { verdict } : {}),
    ...(cwd === undefined ? {} : { binding: { cwd } }),
    suggestedRules: rule === undefined ? [] : rule.split("\n"),
  };
}

function toRequest({ approved, scope = "once", rule, reason }: ApprovalAnswer) {
  const rules = rule === undefined ? undefined : [rule].flat().join("\n");
  return {
    decision: approved ? scope : ("deny" as const),
    rule: rules,
    reason,
  };
}
