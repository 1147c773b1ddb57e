// What a process does that may be killed at any moment. Run as a program of its own: see kills.test.ts.
// argv: the store's place as JSON, the file that every effect is appended to, the call's id, what to do.
import { appendFileSync } from "node:fs";
import type { ToolResult } from "../../src/core/result.ts";
import { createTool } from "../../src/core/create-tool.ts";
import { createHaft } from "../../src/runtime.ts";
import { failPoint } from "../../src/store/fail-point.ts";
import { openStore } from "../../src/store/store.ts";

const [, , place, ledger, callId, role] = process.argv as unknown as string[];
const say = (word: string): void => void process.stdout.write(`${word}\n`);

const store = await openStore(JSON.parse(place!));
const pay = createTool({
  name: "pay",
  description: "Does what must not happen twice",
  kind: "execute",
  parameters: [{ name: "to", type: "string", description: "Whom" }],
  permission: "confirm",
  preview: async ({ to }) => ({ title: "Pay", content: [{ type: "text", text: `Pays ${to}` }] }),
  run: ({ to }) => {
    failPoint("before effect");
    appendFileSync(ledger!, `${callId} ${to}\n`);
    failPoint("after effect");
    return "paid";
  },
});
/** The call has happened and its result is kept, but nobody was told. */
function leave(_call: unknown, result: ToolResult): ToolResult {
  if (result.status === "completed") failPoint("before ack");
  return result;
}
const haft = createHaft({
  tools: [pay],
  calls: store.calls,
  log: store.audit,

  middleware: [{ name: "acknowledge", after: "record", leave }],
  ...(role === "wait" ? { approvalWaitMs: 20_000 } : {}),
});

const options = { id: callId!, caller: { session: "kills" } };
if (role === "answer") {
  const open = await haft.approvals.list();
  const requested = open.find((approval) => approval.callId === callId && approval.state === "pending");
  if (requested) {
    say("answering");
    const result = await haft.approvals
      .approve(requested.id, "door")
      .catch((error: Error) => ({ status: error.message }));
    say(`door: ${result.status}`);
  }
} else {
  let result = await haft.execute("pay", { to: "ada" }, options);
  if (result.status === "pending" && role === "deny") {
    say("answering");
    result = await haft.approvals.deny(result.pending.id, "no", "checker");
  } else if (result.status === "pending" && role === "approve") {
    say("answering");
    result = await haft.approvals.approve(result.pending.id, "checker");
  }
  say(`result: ${result.status === "failed" ? result.error.code : result.status}`);
}
await haft.shutdown();
await store.close();
