import { type ToolError, toolError } from "../../core/error.ts";

export type BadPatchReason = "syntax" | "empty" | "duplicate_path";

/** A patch that cannot be read; the reason and the line, from 1, are data for programs. */
export function badPatch(reason: BadPatchReason, message: string, next: string, line?: number): ToolError {
  const where = line === undefined ? "" : ` (patch line ${line})`;
  return toolError("bad_patch", `${message}${where}`, { next, data: { reason, ...(line !== undefined && { line }) } });
}
