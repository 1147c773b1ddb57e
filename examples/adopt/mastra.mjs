// A tool of Mastra in Haft: its requireApproval asks.
import { createTool } from "@mastra/core/tools";
import { createHaft } from "haft";
import { z } from "zod";

const inputSchema = z.object({ amount: z.number() });
const requireApproval = async ({ amount }) => amount > 100;
const refund = createTool({
  id: "refund",
  description: "Refunds",
  inputSchema,
  requireApproval,
  execute: async ({ amount }) => ({ refunded: amount }),
});
const haft = createHaft({ tools: [refund] });
console.log((await haft.execute("refund", { amount: 20 })).details.refunded); //> 20
console.log((await haft.execute("refund", { amount: 200 })).status); //> pending
