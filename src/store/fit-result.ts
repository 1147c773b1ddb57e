import { Buffer } from "node:buffer";
import type { ToolResult } from "../core/result.ts";

/** A result as JSON of at most `maxBytes`: without details, then without content, if it is longer; a warning says so. */
export function fitResult(result: ToolResult, maxBytes: number): string {
  const whole = JSON.stringify(result);
  if (Buffer.byteLength(whole) <= maxBytes) return whole;
  const warnings = [
    ...(result.metadata.warnings ?? []),
    "The whole result was too large to be kept for a repeated call.",
  ];
  const { details: _details, ...rest } = result;
  const short = JSON.stringify({ ...rest, metadata: { ...result.metadata, warnings } });
  if (Buffer.byteLength(short) <= maxBytes) return short;
  const { spill, known } = result.metadata;
  const text = `${result.display.slice(0, 1000)}\n[${Buffer.byteLength(whole)} bytes were too large to be kept for a repeated call]`;
  return JSON.stringify({
    ...rest,
    display: result.display.slice(0, 1000),
    content: [{ type: "text", text }],
    metadata: { warnings: warnings.slice(-1), spill, known },
    ...(result.status === "failed"
      ? { error: { ...result.error, message: result.error.message.slice(0, 1000), data: undefined } }
      : {}),
  });
}
