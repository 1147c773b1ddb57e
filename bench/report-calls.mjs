import { PEERS } from "./callers/peers.mjs";
import { interleave, median, runChild } from "./harness.mjs";

const PASSES = 3;
const ROUNDS = 9;

/** Calls of Haft and of every peer, each in processes of its own that take turns, as multiples of the direct call. */
export async function reportCalls({ report, notMeasured, withoutPeers }, { tool, inFlight, atMost }) {
  const failures = new Map();
  const callers = ["haft", ...(withoutPeers ? [] : Object.keys(PEERS))];
  const subjects = Object.fromEntries(
    callers.map((caller) => [
      caller,
      async () => {
        if (failures.has(caller)) return undefined;
        try {
          return await runChild("time-calls.mjs", [caller, tool, inFlight, ROUNDS]);
        } catch (error) {
          if (caller === "haft") throw error;
          failures.set(caller, error.message);
          return undefined;
        }
      },
    ]),
  );
  const { haft, ...peers } = await interleave(subjects, PASSES);

  const ratio = (passes) => median(passes.map((pass) => pass.ratio));
  report({ case: "Haft, the whole gate", value: ratio(haft), unit: "× direct", atMost });
  report({ case: "Haft, one call", value: median(haft.map((pass) => pass.subject)), unit: "µs" });
  report({ case: "direct call + safeParse", value: median(haft.map((pass) => pass.direct)), unit: "µs" });
  for (const [caller, title] of Object.entries(PEERS)) {
    const why = withoutPeers ?? failures.get(caller);
    if (why === undefined) report({ case: title, value: ratio(peers[caller]), unit: "× direct" });
    else notMeasured(title, why);
  }
}
