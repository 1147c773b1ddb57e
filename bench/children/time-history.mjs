// CALLS: fills a store with recorded calls, indexes them, and prints how long queries and the check of the chain take.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { DIST, median } from "../harness.mjs";

const ROUNDS = 5;
const GROUP = 2000;
const calls = Number(process.argv[2]);
const load = (...path) => import(pathToFileURL(join(DIST, "store", ...path)).href);
const { openStore } = await load("store.js");
const { appendAudit, toDraft } = await load("audit", "audit-chain.js");

const TOOLS = [
  "read",
  "grep",
  "glob",
  "list_files",
  "edit",
  "exec",
  "fetch",
  "search",
  "write",
  "git_diff",
  "deploy",
  "ask",
];
const WORDS = Array.from({ length: 4000 }, (_, at) => `${at.toString(36)}${"bcdfgh"[at % 6]}${"aeiou"[at % 5]}`);
const DAYS_90 = 90 * 24 * 3_600_000;
const begin = Date.now() - DAYS_90;
let seed = 42;
const random = () => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648;
/** Few words are frequent, and most are rare. */
const word = () => WORDS[Math.floor(random() ** 3 * WORDS.length)];
const words = (count) => Array.from({ length: count }, word).join(" ");

const folder = mkdtempSync(join(tmpdir(), "haft-bench-history-"));
const store = await openStore({ stateFolder: folder });
const filled = await timed(fill);
const indexed = await timed(index);
const loop = monitorEventLoopDelay({ resolution: 5 });
loop.enable();
const { audit } = store;
const middle = begin + DAYS_90 / 2;
const figures = {
  entries: (await audit.head()).count,
  bytes: statSync(join(folder, "haft.db")).size,
  fillSeconds: filled / 1000,
  indexSeconds: indexed / 1000,
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
rmSync(folder, { recursive: true, force: true });
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

/** Entries as calls write them, in groups: one for a call that only reads, two for others. */
async function fill() {
  for (let from = 0; from < calls; from += GROUP) {
    const drafts = [];
    for (let call = from; call < Math.min(from + GROUP, calls); call++) drafts.push(...entriesOf(call));
    await store.database.transaction((tx) =>
      appendAudit(
        tx,
        drafts.map((draft) => ({ draft: () => draft })),
      ),
    );
  }
}

function entriesOf(call) {
  const toolName = TOOLS[Math.floor(random() ** 2 * TOOLS.length)];
  const at = Math.round(begin + (call / calls) * DAYS_90);
  const isRead = ["read", "grep", "glob", "list_files", "fetch", "search", "git_diff"].includes(toolName);
  const caller = { session: `session-${call % 1000}`, user: `user-${call % 20}`, depth: 0 };
  const fact = { callId: `call-${call}`, toolName, caller, verdict: random() < 0.9 ? "allow" : "ask" };
  const input = { path: `src/${word()}/${word()}.ts`, text: words(12), note: call % 50_000 === 7 ? "needle" : "" };
  const whole = {
    toolVersion: "1.0.0",
    toolKind: isRead ? "readonly" : "write",
    definition: `sha256:${"ab".repeat(32)}`,
    input,
  };
  const failed = random() < 0.05;
  const end = {
    startedAt: at,
    completedAt: at + 12,
    durationMs: Math.round(random() ** 4 * 1e6) / 1000,
    ...(failed ? { error: { code: "failed", message: words(6) } } : {}),
    summary: words(8),
    contentBytes: Math.round(random() * 4000),
  };
  const ended = { ...fact, kind: "call_ended", status: failed ? "failed" : "completed" };
  if (isRead) return [toDraft({ ...ended, data: { ...whole, ...end } }, at, "bench")];
  return [
    toDraft({ ...fact, kind: "call_begun", data: whole }, at, "bench"),
    toDraft({ ...ended, data: end }, at + 12, "bench"),
  ];
}

async function index() {
  const { count } = await store.audit.head();
  while ((await store.audit.index.reach(count)) < count);
}
