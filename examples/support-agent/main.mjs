// Answers two customers. A refund over 100 EUR waits for a person: at this terminal, or at another one.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { relative } from "node:path";
import { createInterface } from "node:readline";
import { createAgent } from "haft/agent";
import { openHaft } from "haft/host";
import { createModel } from "./model.mjs";
import { findOrder, readRefunds, refund } from "./shop.mjs";

const inbox = [
  { from: "ada", text: "My mug arrived broken (order 1001). I want my money back." },
  { from: "ben", text: "The coffee machine of order 1002 never arrived. Please refund it." },
];

const folder = relative(process.cwd(), import.meta.dirname) || ".";
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Asks here. Haft aborts the signal when somebody else has answered. */
async function askHere(approval, signal) {
  console.log(`  ? ${approval.preview.title}`);
  console.log(`    ${approval.reason}`);
  console.log(`    Type y to approve, or a reason to deny. In another terminal: haft approvals watch -C ${folder}`);
  const { value } = await Promise.race([lines.next(), once(signal, "abort").then(() => ({}))]);
  if (value === undefined) return undefined; // nobody answers here: Haft waits for an answer from elsewhere
  if (value === "y") return { approved: true, by: "terminal" };
  return { approved: false, reason: value, by: "terminal" };
}

// The store of this folder keeps the calls, so `haft approvals` and `haft audit` in another terminal see them.
const host = await openHaft(import.meta.dirname, {
  tools: [findOrder, refund],
  only: [],
  approver: askHere,
  approvalWaitMs: 10 * 60_000,
});
const { haft } = host;
// The agent cannot call anything else, such as the tools for files.
const toolkit = haft.tools.toolkit("support", ["find_order", "refund"]);
for (const type of ["tool_call_completed", "tool_call_failed"]) {
  haft.on(type, ({ toolName, result }) => console.log(`  ${toolName}: ${result.display}`));
}

for (const { from, text } of inbox) {
  console.log(`${from}: ${text}`);
  const instructions = "You answer customers of a shop. Refund what arrived broken or not at all.";
  const agent = createAgent({ name: "support", haft, toolkit, model: createModel(), instructions });
  // Each conversation is a session. Within one, a repeated call id means the same call, which runs once.
  const answer = await agent.run(text, { caller: { session: `${from}-${randomUUID()}` } });
  console.log(`agent: ${answer.text}\n`);
}
console.log("Refunds:", readRefunds());
await host.close();
process.stdin.destroy();
