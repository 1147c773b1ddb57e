// Ranked search over 10,000 tools: how long the index takes, how long a query.
import { interleave, median, runChild, SMOKE } from "../harness.mjs";

export const name = "search";

const TOOLS = SMOKE ? 100 : 10_000;
const QUERIES = 1000;
/** Slow enough for a tenth of them to tell. */
const PEER_QUERIES = 100;
const ROUNDS = 5;

export async function run({ report, notMeasured, withoutPeers }) {
  const time = (whose, queries) => () => runChild("time-search.mjs", [whose, TOOLS, queries]);
  const subjects = { haft: time("haft", QUERIES), zod: time("haft-zod", 1) };
  const { haft, zod } = await interleave(subjects, ROUNDS);
  const over = (rounds, read) => median(rounds.map(read));

  report({ case: "Haft, index of 10,000 tools", value: over(haft, (round) => round.indexMs), unit: "ms", atMost: 300 });
  report({ case: "Haft, query, median", value: over(haft, (round) => round.queryUs.median), unit: "µs", atMost: 300 });
  report({
    case: "Haft, query, 95th percentile",
    value: over(haft, (round) => round.queryUs.p95),
    unit: "µs",
    atMost: 300,
  });
  report({ case: "Haft, index with Zod's first conversion", value: over(zod, (round) => round.indexMs), unit: "ms" });
  try {
    if (withoutPeers) throw new Error(withoutPeers);
    const { indexMs, queryUs } = await time("minisearch", PEER_QUERIES)();
    report({ case: "minisearch, index of 10,000 tools", value: indexMs, unit: "ms" });
    report({ case: "minisearch, query, median", value: queryUs.median, unit: "µs" });
    report({ case: "minisearch, query, 95th percentile", value: queryUs.p95, unit: "µs" });
  } catch (error) {
    notMeasured("minisearch", error.message);
  }
}
