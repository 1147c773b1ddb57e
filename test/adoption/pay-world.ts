// One set of tools for all frameworks, and what they have done.
import { createHaft, createTool, type Haft, type HaftOptions } from "haft";
import { openStore } from "haft/host";
import { onTestFinished } from "vitest";
import { z } from "zod";

/** Tools that ask, fail, stream and wait, made anew for each runtime, with one list of effects. */
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
  const wait = createTool({
    name: "wait",
    description: "Waits until it is stopped",
    kind: "readonly",
    parameters: [],
    run: (_input, { signal }) =>
      new Promise<string>((_resolve, reject) => {
        const stop = (): void => reject(new Error("stopped"));
        if (signal.aborted) stop();
        else signal.addEventListener("abort", stop);
      }),
  });
  return { pay, fail, count, wait };
}

/** A runtime in memory. */
export function createWorld(options: HaftOptions = {}) {
  const effects: string[] = [];
  const tools = createPayTools(effects);
  const haft = createHaft({ tools: Object.values(tools), ...options });
  onTestFinished(() => haft.shutdown());
  return { haft, effects, tools, toolkit: haft.toolkit("agent", Object.keys(tools)) };
}

/** Runtimes on one store, one after the other, as before and after a restart. */
export function createStoredWorld(stateFolder: string) {
  const effects: string[] = [];
  return {
    effects,
    async open() {
      const tools = createPayTools(effects);
      const store = await openStore({ stateFolder });
      const haft = createHaft({ tools: Object.values(tools), calls: store.calls, jobs: store.jobs, log: store.audit });
      const close = async (): Promise<void> => {
        await haft.shutdown();
        await store.close();
      };
      onTestFinished(close);
      return { haft, close, toolkit: haft.toolkit("agent", Object.keys(tools)) };
    },
  };
}

/** The only open question. */
export async function openQuestion(haft: Haft) {
  const [question, ...others] = await haft.approvals.list("pending");
  if (!question || others.length > 0) throw new Error(`There are ${others.length + (question ? 1 : 0)} questions.`);
  return question;
}
