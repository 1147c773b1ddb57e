import { copyInput } from "./copy-input.ts";
import { notAccepted } from "./input-limits.ts";
import { parseJson } from "./parse-json.ts";

/** An input as it came, text or data, as a bounded object of our own. */
export function acceptInput(raw: unknown): { input: Record<string, unknown>; repair: string | undefined } {
  if (typeof raw !== "string") return { input: objectOf(copyInput(raw ?? undefined)), repair: undefined };
  if (raw.trim() === "") return { input: {}, repair: undefined };
  const parsed = parseJson(raw);
  if (typeof parsed !== "string") return { input: objectOf(copyInput(parsed)), repair: undefined };
  // Encoded twice: an input is always an object, so there is one meaning only.
  return { input: objectOf(copyInput(parseJson(parsed))), repair: "the input was JSON encoded twice" };
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  const got = value === null ? "null" : Array.isArray(value) ? "a list" : `a ${typeof value}`;
  throw notAccepted(`the input must be an object of parameters, got ${value === undefined ? "nothing" : got}`, "");
}
