// ROLE (caller | approver) LOCATION (of the store, as JSON) CALLS. The caller makes calls one after the other, each of which waits
// for the approver in its own process. The result of a call is the time at which its tool ended.
import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { DIST, importHaft } from "../harness.mjs";

const [, , role, location, count] = process.argv;
const { createHaft } = await importHaft();
const { openStore } = await import(pathToFileURL(join(DIST, "host.js")).href);
const store = await openStore(JSON.parse(location));
const tool = {
  name: "deploy",
  description: "Ends at the time that it returns",
  kind: "execute",
  parameters: [],
  permission: "confirm",
  // The clock of the machine since its start: the same in all processes.
  run: () => String(process.hrtime.bigint()),
};
const waits = role === "caller" ? { approvalWaitMs: 60_000 } : {};
const haft = createHaft({ calls: store.calls, log: store.audit, tools: [tool], ...waits });
const ms = await { caller: call, approver: approve }[role](Number(count));
await haft.shutdown();
await store.close();
process.stdout.write(JSON.stringify({ ms }), () => process.exit(0));

function millisecondsSince({ status, details, display }) {
  if (status !== "completed") throw new Error(`error: the call was not made: ${display}`);
  return Number(process.hrtime.bigint() - BigInt(details)) / 1e6;
}

async function call(calls) {
  const taken = [];
  for (let n = 0; n < calls; n++) taken.push(millisecondsSince(await haft.execute("deploy")));
  return taken;
}

async function approve(calls) {
  const taken = [];
  while (taken.length < calls) {
    const [question] = await haft.approvals.list("pending");
    if (question) taken.push(millisecondsSince(await haft.approvals.approve(question.id)));
    else await setTimeout(5);
  }
  return taken;
}
