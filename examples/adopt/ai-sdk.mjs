// A tool of the AI SDK in Haft: it still asks for large refunds.
import { tool } from "ai";
import { adopt, createHaft } from "haft";
import { z } from "zod";

const refund = tool({
  description: "Refunds an order",
  inputSchema: z.object({ amount: z.number() }),
  needsApproval: ({ amount }) => amount > 100,
  execute: async ({ amount }) => `refunded ${amount}`,
});
const haft = createHaft({ tools: [adopt(refund, { name: "refund" })] });
console.log((await haft.execute("refund", { amount: 20 })).display); //> refunded 20
console.log((await haft.execute("refund", { amount: 200 })).status); //> pending
