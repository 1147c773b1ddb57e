// The console in a real Chromium over a long history: first rows, search, scrolling, and how soon a question is shown.
import process from "node:process";
import { runChild } from "../harness.mjs";

export const name = "console";

export async function run({ report, notMeasured }) {
  const calls = Number(process.env["HAFT_BENCH_CALLS"] ?? 1_000_000);
  const figures = await runChild("time-console.mjs", [calls]);
  if (figures.missing) return notMeasured("the console", figures.missing);
  const row = (title, value, unit, limit = {}) => report({ case: title, value, unit, ...limit });
  row(`first rows, wall (${calls} calls)`, figures.firstRows, "ms", { atMost: 1000 });
  row("search, rare word, wall", figures.searchRare, "ms", { atMost: 500 });
  row("search, two words, wall", figures.searchTwo, "ms", { atMost: 500 });
  row("search, frequent word, wall", figures.searchFrequent, "ms", { atMost: 500 });
  row("filter by risk, wall", figures.filter, "ms", { atMost: 500 });
  row("filters with their counts, wall", figures.facets, "ms");
  row("scrolling: rows that were loaded", figures.scrolledRows, "rows");
  row("scrolling: rows in the document, most", figures.documentRows, "rows");
  row("scrolling: longest frame", figures.longestFrame, "ms", { atMost: 100 });
  row("scrolling: 95 % of frames within", figures.frame95, "ms");
  row("call to card, p50", figures.card50, "ms");
  row("call to card, p95 (50 calls)", figures.card95, "ms", { atMost: 200 });
  row("first load, gzip", figures.firstLoadKb, "KB", { atMost: 350 });
  if (figures.fillSeconds > 0) row("writing and indexing the history, wall", figures.fillSeconds, "s");
}
