// CALLS: records so many calls of four people, and prints how long another policy takes to judge them, and how long it blocks.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { DIST } from "../harness.mjs";
import { PERSONAS, TOOLS, workOf } from "../personas.mjs";

const load = (...path) => import(pathToFileURL(`${join(DIST, ...path)}.js`).href);
const { createHaft } = await load("runtime");
const { createTool } = await load("core", "create-tool");
const { openWorkspace } = await load("workspace");
const { openStore } = await load("store", "store");
const { appendAudit, toDraft } = await load("store", "audit", "audit-chain");
const { digestOf } = await load("gate", "permit", "history", "call-digest");
const { createPolicyApi, pastCallsOf } = await load("api", "handlers", "policy");

const GROUP = 2000;
const calls = Number(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), "haft-bench-backtest-"));
const store = await openStore({ stateFolder: join(folder, "state") });
const workspace = openWorkspace(folder);
const tools = TOOLS.map((tool) => createTool({ ...tool, run: () => "done" }));
const haft = createHaft({ tools, workspace, log: store.audit, calls: store.calls });
const names = Object.keys(PERSONAS);
const work = names.flatMap((name) => workOf(name, { calls: Math.ceil(calls / names.length) })).slice(0, calls);
for (let from = 0; from < work.length; from += GROUP) {
  const drafts = work.slice(from, from + GROUP).map(({ id, at, session, user, tool: toolName, input }) => {
    const tool = haft.tools.registry.get(toolName);
    const digest = tool && digestOf({ tool, input, options: {}, policy: undefined, caller: {} }, input);
    const fact = { kind: "call_refused", callId: id, toolName, caller: { session, user, depth: 0 }, status: "failed" };
    const draft = toDraft({ ...fact, data: { input, digest } }, at, "bench");
    return { draft: () => draft };
  });
  await store.database.transaction((tx) => appendAudit(tx, drafts));
}
const policy = createPolicyApi(haft, {
  record: async () => undefined,
  pastCalls: pastCallsOf(store.audit),
  ruleHits: async () => ({ calls: 0, hits: new Map() }),
});
const loop = monitorEventLoopDelay({ resolution: 5 });
loop.enable();
const begun = performance.now();
const cpu = process.cpuUsage();
const add = ["Edit(src/**)", "Bash(npm test *)", "Bash(kubectl -n staging logs *)", "issue_refund(amount<=60)"];
const body = { add: add.map((rule) => ({ rule, decision: "allow" })), calls };
const report = await policy.simulate({ body });
const seconds = (performance.now() - begun) / 1000;
const used = process.cpuUsage(cpu);
const cpuSeconds = (used.user + used.system) / 1e6;
loop.disable();
const { judged, skipped, newly } = report;
process.stdout.write(JSON.stringify({ seconds, cpuSeconds, loopMaxMs: loop.max / 1e6, judged, skipped, newly }));
await haft.shutdown();
await workspace.close();
await store.close();
rmSync(folder, { recursive: true, force: true });
