// One trivial call after the other through the whole gate, against a direct call with Zod's own check.
import { reportCalls } from "../report-calls.mjs";

export const name = "gate-sequential";

export function run(context) {
  return reportCalls(context, { tool: "at-once", inFlight: 1, atMost: 5 });
}
