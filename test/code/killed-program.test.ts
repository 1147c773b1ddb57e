// A program waits for a person, its process is killed, and another process resumes it after the answer, once.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { prepareChildren, type TestChildren } from "../../src/store/start-child.fixture.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const ROUNDS = process.env["HAFT_FULL"] ? 200 : 2;

/** argv: the folder of the store, the file for all effects, whether the call waits inline, the role. */
const CHILD = `
import { appendFileSync } from "node:fs";
const [, , folder, ledger, waits, role] = process.argv;
const store = await openStore({ stateFolder: folder });
const effect = (name, permission) => createTool({
  name, description: "Writes a line", kind: "write", permission,
  parameters: [{ name: "n", type: "number", description: "Which" }],
  run: ({ n }) => { appendFileSync(ledger, name + " " + n + "\\n"); return { n }; },
});
const haft = createHaft({
  tools: [effect("note", "auto"), effect("pay", "confirm")],
  calls: store.calls, log: store.audit, code: { store: store.programs },
  ...(waits === "true" ? { approvalWaitMs: 20000 } : {}),
});
haft.on("tool_call_completed", ({ toolName, result }) => toolName === "run_code" && say("ended: " + JSON.stringify(result.details.value)));
haft.on("tool_call_failed", ({ toolName, error }) => toolName === "run_code" && say("ended: " + error.code));
haft.on("permission_requested", () => say("asked"));
if (role === "run") {
  const code = "let sum = 0; for (const n of [1, 2]) sum += (await tools.note({ n })).n; sum += (await tools.pay({ n: 10 })).n; sum += (await tools.note({ n: 3 })).n; return sum";
  await haft.execute("run_code", { code }, { id: "program", caller: { session: "s" } });
  say("answered");
  setInterval(() => undefined, 1000);
} else if (role === "approve") {
  const [asked] = await haft.approvals.list();
  // It may be used already: then the program resumes when the store is opened.
  if (asked) await haft.approvals.approve(asked.id, "ada").catch((error) => say(error.message));
  say("approved");
  setInterval(() => undefined, 1000);
} else {
  await haft.calls.recover();
  say("recovered");
  await haft.shutdown();
  await store.close();
}
`;

let children: TestChildren;
beforeAll(async () => {
  children = await prepareChildren();
}, 60_000);
afterAll(() => children.remove());

test.each([false, true])(
  "a program survives kill -9 at any moment (waiting inline: %s)",
  { timeout: 600_000 },
  async (waits) => {
    for (let round = 0; round < ROUNDS; round++) {
      const folder = temporaryFolder("haft-program-");
      const ledger = join(folder, "ledger");
      writeFileSync(ledger, "");
      try {
        const first = children.start(CHILD, [folder, ledger, String(waits), "run"]);
        await first.waitForOutput(waits ? "asked" : "answered");
        first.process.kill("SIGKILL");
        await first.ended;
        const second = children.start(CHILD, [folder, ledger, "false", "approve"]);
        const delay = (round * 37) % 400;
        await Promise.race([
          second.waitForOutput("approved"),
          new Promise((resolve) => setTimeout(resolve, 300 + delay)),
        ]).catch(() => undefined);
        second.process.kill("SIGKILL");
        await second.ended;
        const third = children.start(CHILD, [folder, ledger, "false", "approve"]);
        await third.waitForOutput("approved");
        third.process.kill("SIGKILL");
        await third.ended;
        const fourth = children.start(CHILD, [folder, ledger, "false", "recover"]);
        await fourth.waitForOutput("recovered");
        await fourth.ended;
        const all = [first, second, third, fourth];
        if (fourth.lines().includes("asked")) {
          // The approval was used, but the call had not started when the process was killed: it is asked again.
          const fifth = children.start(CHILD, [folder, ledger, "false", "approve"]);
          all.push(fifth);
          await fifth.waitForOutput("ended");
          fifth.process.kill("SIGKILL");
          await fifth.ended;
        }
        const ends = all.flatMap((child) => child.lines()).filter((line) => line.startsWith("ended"));
        const effects = readFileSync(ledger, "utf8").trim().split("\n");
        const seen = `round ${round}: ${JSON.stringify(all.map((child) => child.lines()))}`;
        expect(ends, seen).toHaveLength(1);
        // Killed during the payment: the outcome is unknown, and the program gets that instead of paying again.
        const whole = ["ended: 16", "note 1", "note 2", "pay 10", "note 3"];
        const cut = ["ended: unknown_outcome", "note 1", "note 2", ...effects.slice(2, 3)];
        expect([ends[0], ...effects], seen).toEqual(ends[0] === "ended: 16" ? whole : cut);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }
  },
);
