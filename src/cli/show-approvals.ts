import type { ApprovalInfo } from "../http/wire.ts";
import { describeApproval } from "../gate/permit/describe-approval.ts";
import { toShown } from "./ask-person.ts";
import { type Output, safeLine } from "./output.ts";
import { showColumns } from "./show-columns.ts";
import { showDuration, showTime } from "./show-time.ts";

export function showApprovalList(approvals: readonly ApprovalInfo[], { paint, columns }: Output): string[] {
  const rows = approvals.map(({ id, state, toolName, askedAt, expiresAt, input }) => [
    safeLine(id),
    state === "pending" && expiresAt !== undefined ? `pending ${showDuration(expiresAt - Date.now())}` : state,
    showTime(askedAt),
    safeLine(toolName),
    safeLine(JSON.stringify(input)),
  ]);
  const styleOf = (cell: string, column: number) =>
    column === 1 && cell.startsWith("pending") ? ("yellow" as const) : undefined;
  return showColumns(rows, { paint, styles: ["bold", undefined, "dim", "cyan"], styleOf, columns });
}

/** Everything, with nothing left out: somebody decides by it. */
export function showApproval(approval: ApprovalInfo): string[] {
  return describeApproval(toShown(approval));
}
