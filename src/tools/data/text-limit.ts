import { toolError } from "../../core/error.ts";
import type { ToolError } from "../../core/error.ts";

/** In characters. A little less than the details of a result hold: those are whole, or the call has failed. */
export const MAX_TEXT_LENGTH = 4_000_000;

export function textTooLong(what: string): ToolError {
  return toolError("input_too_large", `${what} is longer than ${MAX_TEXT_LENGTH} characters.`, {
    next: "Send it in parts, or work on it in a file with a command.",
  });
}
