// A tool of Google's Agent Development Kit in Haft: its requireConfirmation asks.
import { FunctionTool } from "@google/adk";
import { createHaft } from "haft";
import { z } from "zod";

const parameters = z.object({ amount: z.number() });
const requireConfirmation = ({ amount }) => amount > 100;
const refund = new FunctionTool({
  name: "refund",
  description: "Refunds",
  parameters,
  requireConfirmation,
  execute: ({ amount }) => `refunded ${amount}`,
});
const haft = createHaft({ tools: [refund] });
console.log((await haft.execute("refund", { amount: 20 })).display); //> refunded 20
console.log((await haft.execute("refund", { amount: 200 })).status); //> pending
