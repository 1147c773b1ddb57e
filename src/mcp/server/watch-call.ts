import type { McpRuntime } from "./mcp-runtime.ts";

/**
 * Settles when the call is made here by whoever answered for it: once it has started, or ended without. From then on the
 * same call, made again, is given that one's result.
 */
export function watchCall(runtime: McpRuntime, callId: string): { made: Promise<void>; stop(): void } {
  let resolveMade!: () => void;
  const made = new Promise<void>((resolve) => (resolveMade = resolve));
  const onCallEvent = (event: { callId: string }): void => {
    if (event.callId === callId) resolveMade();
  };
  const stops = [
    runtime.on("tool_call_started", onCallEvent),
    runtime.on("tool_call_completed", onCallEvent),
    runtime.on("tool_call_failed", onCallEvent),
  ];
  return { made, stop: () => stops.forEach((stop) => stop()) };
}
