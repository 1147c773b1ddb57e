import { type Call, note } from "../core/call.ts";
import { copyInput } from "./copy-input.ts";
import { notAccepted } from "../core/input-limits.ts";
import { parseJson } from "../core/parse-json.ts";

/** An input as it came, text or data, as a bounded object of our own. */
export function acceptInput(call: Call): Record<string, unknown> {
  const { input } = call;
  return objectOf(copyInput(typeof input === "string" ? parseInput(call, input) : input));
}

function parseInput(call: Call, text: string): unknown {
  // What models send for a tool without parameters.
  if (text.trim() === "") return {};
  const parsed = parseJson(text);
  if (typeof parsed !== "string") return parsed;
  // An input is always an object, so that this has one meaning only.
  note(call, "repairs", ["the input was JSON encoded twice"]);
  return parseJson(parsed);
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  const got = value === null ? "null" : Array.isArray(value) ? "a list" : `a ${typeof value}`;
  throw notAccepted(`the input must be an object of parameters, got ${value === undefined ? "nothing" : got}`, "");
}
