// Queries and the check of an audit log with 1,000,000 calls, how long the event loop is blocked meanwhile, and a backtest of a policy.
import { runChild } from "../harness.mjs";

export const name = "history";

export async function run({ report }) {
  const calls = Number(process.env["HAFT_BENCH_CALLS"] ?? 1_000_000);
  const figures = await runChild("time-history.mjs", [calls]);
  const row = (title, value, unit, limit = {}) => report({ case: `${title} (${calls} calls)`, value, unit, ...limit });
  row("newest page, wall", figures.newest, "ms", { atMost: 50 });
  row("page of an earlier time, wall", figures.old, "ms", { atMost: 50 });
  row("page by tool and status, wall", figures.failed, "ms", { atMost: 50 });
  row("page of a tool without calls, wall", figures.none, "ms", { atMost: 50 });
  row("facets, wall", figures.facets, "ms", { atMost: 100 });
  row("facets of a tool and a time, wall", figures.facetsOfTime, "ms", { atMost: 100 });
  row("text search, rare word, wall", figures.rareText, "ms", { atMost: 300 });
  row("text search, two words, wall", figures.text, "ms", { atMost: 300 });
  row("text search, frequent word, wall", figures.frequentText, "ms", { atMost: 300 });
  row("facets of a text search, wall", figures.textFacets, "ms", { atMost: 300 });
  row("verify, wall", figures.verifySeconds, "s", { atMost: 10 });
  row("verify, CPU", figures.verifyCpuSeconds, "s");
  row("verify since the checkpoint, wall", figures.sinceCheckpoint, "ms");
  row("event loop blocked meanwhile, longest", figures.loopMaxMs, "ms", { atMost: 50 });
  if (figures.indexSeconds > 0) row("indexing all entries, wall", figures.indexSeconds, "s");
  row("file, per call", figures.bytes / calls, "bytes");
  const judgedCalls = Math.min(calls, 100_000);
  const backtest = await runChild("time-backtest.mjs", [judgedCalls]);
  const title = `backtest of a policy (${judgedCalls} calls)`;
  report({ case: `${title}, wall`, value: backtest.seconds, unit: "s", atMost: 30 });
  report({ case: `${title}, CPU`, value: backtest.cpuSeconds, unit: "s" });
  report({ case: `${title}, event loop blocked, longest`, value: backtest.loopMaxMs, unit: "ms", atMost: 100 });
}
