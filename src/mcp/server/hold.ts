import type { McpService } from "./mcp-service.ts";
import type { OpenRequest } from "./open-request.ts";

/** Below the minute after which most clients give a request up. */
const DEFAULT_HOLD_MS = 45_000;

/** What is waited for while its client waits, too; undefined where the client is gone, or would give up soon. */
export async function waitWithClient<T>(
  call: OpenRequest<unknown>,
  { options, clock }: McpService,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  if (call.signal.aborted) abort();
  call.signal.addEventListener("abort", abort, { once: true });
  const timer = clock.after(options.holdMs ?? DEFAULT_HOLD_MS, abort);
  try {
    return await wait(controller.signal);
  } catch (error) {
    if (controller.signal.aborted) return undefined;
    throw error;
  } finally {
    timer.cancel();
    call.signal.removeEventListener("abort", abort);
  }
}
