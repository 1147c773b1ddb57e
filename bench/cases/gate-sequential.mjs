// One trivial call after the other through the whole gate, against a direct call with Zod's own check.
import { interleave, median, runChild } from "../harness.mjs";
import { reportCalls } from "../report-calls.mjs";

export const name = "gate-sequential";

export async function run(context) {
  await reportCalls(context, { tool: "at-once", inFlight: 1, atMost: 5 });
  const { bare } = await interleave(
    { bare: () => runChild("time-calls.mjs", ["haft", "at-once", 1, 9, "direct-bare"]) },
    3,
  );
  const ratio = median(bare.map((pass) => pass.ratio));
  context.report({ case: "Haft, against the barest direct call", value: ratio, unit: "× bare" });
}
