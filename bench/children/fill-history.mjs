// A store with many recorded calls, as three months of use write them.
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { DIST } from "../harness.mjs";

const load = (...path) => import(pathToFileURL(join(DIST, "store", ...path)).href);
const { appendAudit, toDraft } = await load("audit", "audit-chain.js");

const GROUP = 2000;
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
export const WORDS = Array.from({ length: 4000 }, (_, at) => `${at.toString(36)}${"bcdfgh"[at % 6]}${"aeiou"[at % 5]}`);
export const HISTORY_MS = 90 * 24 * 3_600_000;
export const HISTORY_BEGIN = Date.now() - HISTORY_MS;
let seed = 42;
const random = () => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648;
/** Few words are frequent, and most are rare. */
const word = () => WORDS[Math.floor(random() ** 3 * WORDS.length)];
const words = (count) => Array.from({ length: count }, word).join(" ");

/** A workspace whose store has so many calls. Later runs find it again. The seconds that it took are 0 then. */
export async function openHistory(calls) {
  const kept = join(tmpdir(), `haft-bench-history-${calls}`);
  const [work, stateDir, done] = [join(kept, "work"), join(kept, "state"), join(kept, "done")];
  mkdirSync(work, { recursive: true });
  const { openStore, stateFolderOf } = await import(pathToFileURL(join(DIST, "host.js")).href);
  const stateFolder = stateFolderOf(work, { env: { HAFT_STATE_DIR: stateDir } });
  const times = { fillSeconds: 0, indexSeconds: 0 };
  if (!existsSync(done)) {
    rmSync(stateFolder, { recursive: true, force: true });
    const store = await openStore({ stateFolder });
    const begun = performance.now();
    await fillHistory(store, calls);
    const filled = performance.now();
    const { count } = await store.audit.head();
    while ((await store.audit.index.reach(count)) < count);
    Object.assign(times, { fillSeconds: (filled - begun) / 1000, indexSeconds: (performance.now() - filled) / 1000 });
    await store.close();
    writeFileSync(done, "");
  }
  return { home: join(kept, "home"), work, stateDir, stateFolder, ...times };
}

/** Entries as calls write them, in groups: one for a call that only reads, two for others. */
async function fillHistory(store, calls) {
  for (let from = 0; from < calls; from += GROUP) {
    const drafts = [];
    for (let call = from; call < Math.min(from + GROUP, calls); call++) drafts.push(...entriesOf(call, calls));
    await store.database.transaction((tx) =>
      appendAudit(
        tx,
        drafts.map((draft) => ({ draft: () => draft })),
      ),
    );
  }
}

function entriesOf(call, calls) {
  const toolName = TOOLS[Math.floor(random() ** 2 * TOOLS.length)];
  const at = Math.round(HISTORY_BEGIN + (call / calls) * HISTORY_MS);
  const isRead = ["read", "grep", "glob", "list_files", "fetch", "search", "git_diff"].includes(toolName);
  const agent = call % 3 === 0 ? "mcp:claude-code" : undefined;
  const caller = { session: `session-${call % 1000}`, user: `user-${call % 20}`, agent, depth: 0 };
  const fact = { callId: `call-${call}`, toolName, caller, verdict: random() < 0.9 ? "allow" : "ask" };
  const command = toolName === "exec" ? { command: `npm run ${word()} && git commit -m ${word()}` } : {};
  const input = {
    ...command,
    path: `src/${word()}/${word()}.ts`,
    text: words(12),
    note: call % 50_000 === 7 ? "needle" : "",
  };
  const kind = isRead ? "readonly" : toolName === "exec" || toolName === "deploy" ? "execute" : "write";
  const level = kind === "write" ? "medium" : call % 5000 === 0 ? "critical" : "high";
  const classes = isRead ? { toolKind: kind } : { risk: level, toolKind: kind };
  const whole = {
    ...classes,
    toolVersion: "1.0.0",
    definition: `sha256:${"ab".repeat(32)}`,
    input,
  };
  const failed = random() < 0.05;
  const asked = fact.verdict === "ask" ? { askedAt: at, waitedMs: Math.round(random() * 60_000) } : {};
  const end = {
    startedAt: at,
    ...asked,
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
    toDraft({ ...ended, data: { ...classes, ...end } }, at + 12, "bench"),
  ];
}
