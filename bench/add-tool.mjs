import { z } from "zod";

// The tool that every caller offers.
const add = {
  name: "add",
  description: "Adds two numbers.",
  parameters: z.object({ a: z.number(), b: z.number() }),
};

export const TOOLS = {
  "at-once": { ...add, run: async ({ a, b }) => a + b },
  /** Waits for a turn of the event loop, so that calls made together really are in flight together. */
  "in-turn": {
    ...add,
    run: async ({ a, b }) => {
      await new Promise((resolve) => setImmediate(resolve));
      return a + b;
    },
  },
};
