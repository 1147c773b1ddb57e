// A worker as a process of its own, which may be killed at any moment. Run as a program: see scale-out.test.ts.
// argv: where the jobs are, the file that every effect is appended to, and the names of the tools, as JSON.
import { createHaft } from "../../src/runtime.ts";
import { openStore } from "../../src/store/store.ts";
import { openQueue, type JobLocation } from "./open-queue.ts";
import { type LedgerTool, ledgerTool } from "./ledger-tool.ts";

export interface WorkOrder {
  place: JobLocation;
  ledger: string;
  tools: readonly LedgerTool[];
  concurrency: number;
}

const order = JSON.parse(process.argv[2]!) as WorkOrder;
const store = await openStore({ url: order.place.storeUrl });
const haft = createHaft({
  tools: order.tools.map((tool) => ledgerTool(tool, order.ledger)),
  calls: store.calls,
  log: store.audit,
  jobs: openQueue(order.place, store.calls),
});
const worker = await haft.jobs.work({ concurrency: order.concurrency });
process.stdout.write("ready\n");
process.once("SIGTERM", () => {
  void worker
    .close(5_000)
    .then(() => haft.shutdown())
    .then(() => store.close())
    .then(() => process.exit(0));
});
