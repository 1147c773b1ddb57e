// A thousand calls in flight, each waiting for a turn of the event loop; and what a hundred thousand leave in memory.
import { median, runChild, SMOKE } from "../harness.mjs";
import { reportCalls } from "../report-calls.mjs";

export const name = "gate-concurrent";

const IN_FLIGHT = 1000;
const CALLS = SMOKE ? 2000 : 100_000;

export async function run(context) {
  await reportCalls(context, { tool: "in-turn", inFlight: IN_FLIGHT, atMost: 3 });
  const { ratio } = await runChild("time-calls.mjs", ["haft", "at-once", IN_FLIGHT, 9]);
  context.report({ case: "Haft, a tool that never waits", value: ratio, unit: "× direct" });

  const grown = [];
  for (let i = 0; i < 3; i++) grown.push((await runChild("grow-heap.mjs", [CALLS], ["--expose-gc"])).grownBytes);
  context.report({ case: "heap growth, 100,000 calls", value: median(grown) / 1e6, unit: "MB", atMost: 1 });
}
