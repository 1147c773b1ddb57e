import { z } from "zod";

// The tool that every caller offers.
export const name = "add";
export const description = "Adds two numbers.";
export const parameters = z.object({ a: z.number(), b: z.number() });
export const run = async ({ a, b }) => a + b;
