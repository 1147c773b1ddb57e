// A thousand trivial calls at once, and what is left in memory after a hundred thousand.
import { median, runChild } from "../harness.mjs";
import { reportCalls } from "../report-calls.mjs";

export const name = "gate-concurrent";

export async function run(context) {
  await reportCalls(context, { inFlight: 1000, atMost: 3 });

  const grown = [];
  for (let i = 0; i < 3; i++) grown.push((await runChild("grow-heap.mjs", [100_000], ["--expose-gc"])).grownBytes);
  context.report({ case: "heap growth, 100,000 calls", value: median(grown) / 1e6, unit: "MB", atMost: 1 });
}
