import { toolError } from "../../core/error.ts";
import type { ToolResult } from "../../core/result.ts";
import { waitWithClient } from "./hold.ts";
import type { McpService } from "./mcp-service.ts";
import type { OpenRequest } from "./open-request.ts";

/** The result of a job, for a client that waits for it; `pending` where it takes longer. Who cancels the call, cancels the job. */
export async function waitForJobResult(
  id: string,
  { call, service }: { call: OpenRequest<unknown>; service: McpService },
): Promise<ToolResult> {
  const jobs = service.runtime.jobs!;
  const result = await waitWithClient(call, service, (signal) => jobs.wait(id, { signal }));
  if (result) return result;
  if (call.signal.aborted) await jobs.cancel(id, "its client cancelled it").catch(() => undefined);
  const job = await jobs.get(id);
  if (!job)
    throw toolError("unavailable", `Job ${id} is gone`, { next: "Look at the state of things before you call again." });
  const { callId, toolName } = job.call;
  const message = `Job ${id} has not ended.`;
  return {
    ...{ callId, toolName, status: "pending", success: false, content: [{ type: "text", text: message }] },
    ...{ display: message, pending: { kind: "job", id }, metadata: {}, startedAt: job.createdAt },
  };
}
