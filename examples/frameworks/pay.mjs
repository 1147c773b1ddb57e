// A tool that asks before every payment, and a runtime for it.
import { createHaft, createTool } from "haft";
import { z } from "zod";

export const pay = createTool({
  name: "pay",
  description: "Pays an amount",
  parameters: z.object({ amount: z.number() }),
  permission: "confirm",
  run: ({ amount }) => console.log(`paid ${amount}`),
});
export const haft = createHaft({ tools: [pay] });
