// One set of tools for all frameworks, and what they have done.
import { createHaft, createTool, type Haft, type HaftOptions } from "haft";
import { onTestFinished } from "vitest";
import { z } from "zod";

/** Tools that ask, fail and stream, and a list of what `pay` did. */
export function createPayTools(effects: string[] = []) {
  const pay = createTool({
    name: "pay",
    description: "Pays an amount",
    parameters: z.object({ amount: z.number(), to: z.string().default("ann") }),
    permission: ({ amount }) => (amount > 10 ? "confirm" : "auto"),
    run({ amount, to }) {
      effects.push(`paid ${amount} to ${to}`);
      return { receipt: `r-${amount}` };
    },
  });
  const fail = createTool({
    name: "fail",
    description: "Fails",
    kind: "readonly",
    parameters: [],
    run: () => Promise.reject(new Error("out of paper")),
  });
  const count = createTool({
    name: "count",
    description: "Counts, and reports each number",
    kind: "readonly",
    parameters: z.object({ to: z.number() }),
    async *run({ to }) {
      for (let at = 1; at < to; at++) yield { content: [{ type: "text" as const, text: `at ${at}` }] };
      return `counted to ${to}`;
    },
  });
  return { pay, fail, count };
}

/** A runtime in memory. */
export function createWorld(options: HaftOptions = {}) {
  const effects: string[] = [];
  const tools = createPayTools(effects);
  const haft = createHaft({ tools: Object.values(tools), ...options });
  onTestFinished(() => haft.shutdown());
  return { haft, effects, tools, toolkit: haft.tools.toolkit("agent", Object.keys(tools)) };
}

/** The only open question. */
export async function openQuestion(haft: Haft) {
  const [question, ...others] = await haft.approvals.list("pending");
  if (!question || others.length > 0) throw new Error(`There are ${others.length + (question ? 1 : 0)} questions.`);
  return question;
}
