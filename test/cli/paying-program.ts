// A program with a tool of its own that waits for a person. Run as a program of its own: see processes.test.ts. argv: its folder.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { openHaft } from "../../src/host.ts";
import { createTool } from "../../src/index.ts";

const [, , folder = "."] = process.argv;
const sendMoney = createTool({
  name: "send_money",
  description: "Sends money",
  kind: "execute",
  permission: "confirm",
  parameters: [{ name: "to", type: "string", description: "Whom" }],
  run: ({ to }) => (appendFileSync(join(folder, "sent.txt"), `${to}\n`), `sent to ${to}`),
});
const { haft, close } = await openHaft(folder, { tools: [sendMoney], approvalWaitMs: 600_000 });
haft.on("permission_requested", ({ approvalId }) => process.stdout.write(`asked ${approvalId}\n`));
const result = await haft.execute("send_money", { to: "ada" }, { idempotencyKey: "invoice-1" });
process.stdout.write(`${result.status}: ${result.display}\n`);
await close();
