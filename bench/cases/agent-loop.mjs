// What the agent loop adds to a tool call, with a model that answers at once: against generateText of the AI SDK.
import { interleave, median, medianRatio, runChild } from "../harness.mjs";

export const name = "agent-loop";

const CALLS = 50;
const RUNS = 40;
const ROUNDS = 5;

export async function run({ report, notMeasured, withoutPeers }) {
  const loop = (whose) => async () => (await runChild("time-agent-loop.mjs", [whose, CALLS, RUNS])).perCall;
  if (withoutPeers) {
    report({
      case: "Haft, a call",
      value: median((await interleave({ haft: loop("haft") }, ROUNDS)).haft),
      unit: "µs",
    });
    return notMeasured("AI SDK generateText", withoutPeers);
  }
  const { haft, sdk } = await interleave({ haft: loop("haft"), sdk: loop("ai-sdk") }, ROUNDS);
  report({ case: "Haft", value: medianRatio(haft, sdk), unit: "× generateText", atMost: 0.25 });
  report({ case: "Haft, a call", value: median(haft), unit: "µs" });
  report({ case: "AI SDK generateText, a call", value: median(sdk), unit: "µs" });
}
