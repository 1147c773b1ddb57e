// A tool that asks before every payment, and a runtime for it.
import { createHaft, createTool } from "haft";
import { z } from "zod";

export const pay = createTool({
  name: "pay",
  description: "Pays an amount",
  inputSchema: z.object({ amount: z.number() }),
  needsApproval: true,
  execute: ({ amount }) => console.log(`paid ${amount}`),
});
export const haft = createHaft({ tools: [pay] });
