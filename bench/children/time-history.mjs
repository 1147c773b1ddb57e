// CALLS: fills a store with recorded calls, indexes them, and prints how long queries and the check of the chain take.
import { statSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { DIST, median } from "../harness.mjs";
import { HISTORY_BEGIN as begin, HISTORY_MS, openHistory, WORDS } from "./fill-history.mjs";

const ROUNDS = 5;
const calls = Number(process.argv[2]);
const load = (...path) => import(pathToFileURL(join(DIST, "store", ...path)).href);
const { openStore } = await load("store.js");

const { stateFolder, fillSeconds, indexSeconds } = await openHistory(calls);
const store = await openStore({ stateFolder });
const loop = monitorEventLoopDelay({ resolution: 5 });
loop.enable();
const { audit } = store;
const middle = begin + HISTORY_MS / 2;
const figures = {
  entries: (await audit.head()).count,
  bytes: statSync(join(stateFolder, "haft.db")).size,
  fillSeconds,
  indexSeconds,
  newest: await measure(() => audit.query({ limit: 100 })),
  old: await measure(() => audit.query({ until: middle, limit: 100 })),
  failed: await measure(() => audit.query({ tool: "deploy", status: "failed", limit: 100 })),
  none: await measure(() => audit.query({ tool: "nothing", limit: 100 })),
  facets: await measure(() => audit.facets()),
  facetsOfTime: await measure(() => audit.facets({ since: middle, tool: "edit" })),
  rareText: await measure(() => audit.query({ text: "needle", limit: 100 })),
  text: await measure(() => audit.query({ text: `${WORDS[40]} ${WORDS[700]}`, limit: 100 })),
  frequentText: await measure(() => audit.query({ text: WORDS[0], limit: 100 })),
  textFacets: await measure(() => audit.facets({ text: WORDS[700] })),
  calls: await measure(() => audit.calls({ limit: 100 })),
  callsOfRisk: await measure(() => audit.calls({ risk: ["critical"], limit: 100 })),
  callsOfUser: await measure(() => audit.calls({ user: "user-7", tool: "deploy", status: ["failed"], limit: 100 })),
  callsOfSession: await measure(() => audit.calls({ session: "session-99", limit: 100 })),
  callsOfTime: await measure(() => audit.calls({ until: middle, kind: ["execute"], limit: 100 })),
  callsOfText: await measure(() => audit.calls({ text: WORDS[700], limit: 100 })),
  callFacets: await measure(() => audit.callFacets()),
  callFacetsOfUser: await measure(() => audit.callFacets({ user: "user-7" })),
};
const cpu = process.cpuUsage();
const begun = performance.now();
const { ok, count } = await audit.verify();
figures.verifySeconds = (performance.now() - begun) / 1000;
const { user, system } = process.cpuUsage(cpu);
figures.verifyCpuSeconds = (user + system) / 1e6;
figures.sinceCheckpoint = await measure(() => audit.verify(undefined, { sinceCheckpoint: true }));
loop.disable();
figures.loopMaxMs = loop.max / 1e6;
if (!ok || count !== figures.entries) throw new Error("error: the chain is broken");
await store.close();
process.stdout.write(JSON.stringify(figures));

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function measure(work) {
  const taken = [];
  for (let round = 0; round < ROUNDS; round++) taken.push(await timed(work));
  return median(taken);
}
