// Rows of open calls as the version before wrote them: they run after the upgrade, with all that bound them.
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { createTool } from "../core/create-tool.ts";
import { createHaft, type Haft } from "../runtime.ts";
import { openStore, type Store } from "./store.ts";

interface Opened {
  haft: Haft;
  store: Store;
  /** What ran, and with what. */
  ran: unknown[];
  close(): Promise<void>;
}

async function start(stateFolder: string, { works }: { works: boolean }): Promise<Opened> {
  const ran: unknown[] = [];
  const store = await openStore({ stateFolder });
  const send = createTool({
    name: "send",
    aliases: ["post"],
    description: "Sends a text and calls another tool",
    kind: "execute",
    permission: "confirm",
    parameters: [{ name: "text", type: "string", description: "What" }],
    async run({ text }, context) {
      const { status } = await context.call("count", { text });
      ran.push({ text, caller: context.caller, paths: context.allowedPaths, nested: status });
      return "sent";
    },
  });
  const count = createTool({
    name: "count",
    description: "Counts the characters of a text",
    kind: "readonly",
    parameters: [{ name: "text", type: "string", description: "What" }],
    run: ({ text }, { caller, allowedPaths: paths }) => void ran.push({ text, caller, paths }),
  });
  const worker = works ? {} : (false as const);
  const haft = createHaft({ tools: [send, count], calls: store.calls, jobs: store.jobs, worker });
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await haft.shutdown();
    await store.close();
  };
  onTestFinished(close);
  return { haft, store, ran, close };
}

const caller = { depth: 0, task: "t", user: "ada", session: "s" };

async function readJson(store: Store, column: string, id: string): Promise<Record<string, unknown>> {
  const [row] = await store.database.all<{ json: string }>(`SELECT ${column} AS json FROM calls WHERE id = ?`, [id]);
  return JSON.parse(row?.json ?? "{}") as Record<string, unknown>;
}

test("an open question runs after the answer: same input, caller, paths and toolkit", async () => {
  const stateFolder = temporaryFolder();
  const before = await start(stateFolder, { works: false });
  const options = { id: "c1", caller: { session: "s", user: "ada" }, taskId: "t", allowedPaths: ["/tmp"] };
  const asked = await before.haft.tools.toolkit("agent", ["send"]).execute("post", { text: "hi" }, options);
  if (asked.status !== "pending") throw new Error(asked.display);
  const { id } = asked.pending;
  const asker = { ...caller, agent: "agent" };
  const question = await readJson(before.store, "question", id);
  const made = {
    name: "post",
    options: { id: "c1", caller: asker, allowedPaths: ["/tmp"] },
    scope: ["send"],
    isDirect: false,
    folder: process.cwd(),
  };
  const earlier = JSON.stringify({ ...question, made });
  await before.store.database.run("UPDATE calls SET question = ? WHERE id = ?", [earlier, id]);
  await before.close();
  const after = await start(stateFolder, { works: false });
  expect(await after.haft.approvals.approve(id, "ann")).toMatchObject({ status: "completed", callId: "c1" });
  expect(after.ran).toEqual([{ text: "hi", caller: asker, paths: ["/tmp"], nested: "failed" }]);
});

test("a queued job runs: same input, caller and paths", async () => {
  const stateFolder = temporaryFolder();
  const before = await start(stateFolder, { works: false });
  const made = await before.haft.execute("count", { text: "hi" }, { id: "c2", caller, background: true });
  if (made.status !== "pending") throw new Error(made.display);
  const { id } = made.pending;
  const request = {
    ...{ callId: "c2", toolName: "count", toolVersion: "1.0.0", input: { text: "hi" }, caller },
    options: { mode: "acceptEdits", allowedPaths: ["/tmp"], timeoutMs: 5000 },
    idempotencyKey: "c2",
    verdict: { decision: "allow", by: "tool", reason: '"count" does not need approval for this.' },
    idempotent: true,
  };
  await before.store.database.run("UPDATE calls SET request = ? WHERE id = ?", [JSON.stringify(request), id]);
  await before.close();
  const after = await start(stateFolder, { works: true });
  await after.haft.jobs.work();
  expect(await after.haft.jobs.wait(id)).toMatchObject({ status: "completed", callId: "c2" });
  expect(after.ran).toEqual([{ text: "hi", caller, paths: ["/tmp"] }]);
});
