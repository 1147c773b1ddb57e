import type { ToolResult } from "../core/result.ts";
import { EXIT } from "./exit-code.ts";
import { type Output, safe } from "./output.ts";
import { showResult } from "./show-result.ts";

/** What came of a call that was approved, and the exit code that says the same. */
export function showApprovedResult(result: ToolResult, approvalId: string, output: Output): number {
  const isElsewhere = result.status === "pending" && result.pending.id === approvalId;
  if (!isElsewhere) return showResult(result, output);
  // The question that was just answered: whoever asked it runs the call.
  output.data(result, () => []);
  if (output.format === "text") output.info(safe(result.display ?? "Approved: it runs where it was asked."));
  return EXIT.done;
}
