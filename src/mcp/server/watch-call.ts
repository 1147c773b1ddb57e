import type { McpRuntime } from "./mcp-runtime.ts";

/**
 * Settles when the call is made here by whoever answered for it: once it has started, or ended without. From then on the
 * same call, made again, is given that one's result.
 */
export function watchCall(runtime: McpRuntime, callId: string): { made: Promise<void>; stop(): void } {
  let tell!: () => void;
  const made = new Promise<void>((resolve) => (tell = resolve));
  const hear = (event: { callId: string }): void => {
    if (event.callId === callId) tell();
  };
  const stops = [
    runtime.on("tool_call_started", hear),
    runtime.on("tool_call_completed", hear),
    runtime.on("tool_call_failed", hear),
  ];
  return { made, stop: () => stops.forEach((stop) => stop()) };
}
