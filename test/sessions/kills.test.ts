// A session and the one that it spawns, in a process that is killed at every moment where something was just written, and in
// one that comes after it. What counts is looked at from outside: a ledger that a tool writes, and the store.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openHaft } from "haft/host";
import { prepareChildren, type TestChildren } from "../../src/store/start-child.fixture.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const WORKER = `
import { appendFileSync } from "node:fs";
import { openHaft } from "./bundle/host.js";
import { createAgent } from "./bundle/agent.js";
const [folder, ledger] = process.argv.slice(2);
const turn = (text, calls = []) => ({
  parts: [{ type: "text", text }, ...calls.map(([name, input]) => ({ type: "tool_call", callId: "", name, input }))],
  usage: { inputTokens: 1, outputTokens: 1 },
  finish: calls.length > 0 ? "calls" : "ended",
});
const model = {
  id: "test/plan",
  async respond({ messages }) {
    const asked = messages.findLast(({ role }) => role === "user").content;
    if (messages.at(-1).role === "tool") return turn(asked === "go" ? "I wait for the report." : "The sub is done.");
    if (asked === "go") return turn("", [["keep", { line: "one" }], ["sessions_spawn", { task: "sub task", label: "sub" }]]);
    if (asked.includes("sub task")) return turn("", [["keep", { line: "two" }]]);
    return turn("I have the report.");
  },
};
const keep = createTool({
  name: "keep",
  description: "Writes a line into the ledger",
  kind: "write",
  needsApproval: false,
  parameters: [{ name: "line", type: "string", required: true }],
  run: ({ line }) => (appendFileSync(ledger, line + "\\n"), "kept"),
});
const host = await openHaft(folder, {
  home: folder,
  env: {},
  tools: [keep],
  agentFor: (_session, haft) => createAgent({ haft, model, name: "main", systemPrompt: "" }),
});
if (!(await host.sessions.get("main"))) await host.sessions.create({ key: "main" });
// Said again after the kill: the same id is the same message.
await host.sessions.send("main", { id: "go", kind: "message", text: "go" });
await host.sessions.start();
for (;;) {
  await host.sessions.settled();
  const { lastText } = await host.sessions.get("main");
  if (lastText === "I have the report.") break;
  await new Promise((resolve) => setTimeout(resolve, 20));
}
await host.close();
`;

const MOMENTS = ["said", "results kept", "before turn end", "turn ended"];
const ROUNDS = Array.from({ length: process.env["HAFT_FULL"] ? 10 : 1 }).flatMap(() =>
  MOMENTS.flatMap((moment) => [`${moment}:1`, `${moment}:2`]),
);

let children: TestChildren;
beforeAll(async () => {
  children = await prepareChildren({ host: "host.ts", agent: "agent.ts" });
}, 60_000);
afterAll(() => children.remove());

test.each(ROUNDS)(
  "killed at %s, a session goes on: no call is made twice, and the report of its child comes once",
  async (moment) => {
    const folder = temporaryFolder("haft-session-kill-");
    const ledger = join(folder, "ledger.txt");
    const run = (failAt?: string) => {
      if (failAt !== undefined) process.env["HAFT_FAIL_AT"] = failAt;
      try {
        return children.start(WORKER, [folder, ledger]).ended;
      } finally {
        delete process.env["HAFT_FAIL_AT"];
      }
    };
    try {
      expect(await run(moment)).toMatchObject({ signal: "SIGKILL" });
      expect(await run()).toMatchObject({ code: 0, errors: "" });
      const lines = existsSync(ledger) ? readFileSync(ledger, "utf8").split("\n").sort() : [];
      const host = await openHaft(folder, { home: folder, env: {} });
      const histories: unknown[] = [];
      for (const { key } of await host.sessions.list()) histories.push(await host.sessions.history(key));
      // A call that was killed after its start was written is not made again: nobody knows whether it took effect.
      const isUnknown = JSON.stringify(histories).includes('"unknown_outcome"');
      expect([["", "one", "two"], ...(isUnknown ? [["", "one"]] : [])]).toContainEqual(lines);
      const history = await host.sessions.history("main");
      expect(history.filter(({ incoming }) => incoming?.kind === "announce")).toHaveLength(1);
      expect(history.filter(({ incoming }) => incoming?.id === "go")).toHaveLength(1);
      expect((await host.sessions.list()).map(({ label, state }) => `${label} ${state}`).sort()).toEqual([
        "sub idle",
        "undefined idle",
      ]);
      await host.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  60_000,
);
