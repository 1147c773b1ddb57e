import { toolError, type ToolError } from "./error.ts";

/** Bounds that hold before anything else sees an input. */
export const INPUT_LIMITS = { depth: 64, values: 100_000, characters: 16 * 1024 * 1024 };

export function tooLarge(what: string): ToolError {
  return toolError("input_too_large", `The input has ${what}`, { next: "Send less at once, or in several calls." });
}

export function notAccepted(what: string, location: string): ToolError {
  return toolError("invalid_input", `Parameter validation failed: ${location ? `${location}: ` : ""}${what}`, {
    data: { issues: [location ? `${location}: ${what}` : what] },
  });
}
