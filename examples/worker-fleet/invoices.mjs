// The plugin that every worker loads: a tool that takes a while and has one effect.
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { createTool } from "haft";
import { z } from "zod";

const database = new pg.Pool({ connectionString: process.env.HAFT_STORE_URL, max: 2 });

const sendInvoice = createTool({
  name: "send_invoice",
  description: "Sends an invoice.",
  kind: "write",
  needsApproval: false,
  mode: "background", // the caller gets the id of a job, and a worker runs it
  // If its worker is killed, the call may run again: the primary key lets an invoice be sent once. Without this,
  // Haft does not repeat a call that had started, and the job ends as `unknown_outcome`.
  idempotent: true,
  inputSchema: z.object({ number: z.number().int() }),
  async execute({ number }, { signal }) {
    await setTimeout(400, undefined, { signal }); // writes the letter
    await database.query("INSERT INTO sent_invoices (number) VALUES ($1) ON CONFLICT DO NOTHING", [number]);
    return `Sent invoice ${number}`;
  },
});

export default { manifest: { id: "invoices" }, register: (api) => void api.registerTool(sendInvoice) };
