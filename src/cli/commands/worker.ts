import { countOf } from "../../core/results/count-of.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { safe } from "../output.ts";
import type { Tool } from "../../core/tool.ts";
import { engineOf } from "../../store/store-engines.ts";

const GRACE_MS = 30_000;

export const worker = defineCommand({
  examples: [
    ["haft worker", "run the background calls of this folder; start as many workers as you like"],
    ["haft worker --concurrency 20", "up to 20 jobs at a time"],
    ["haft worker --tools group:web,transcode", "only jobs of these tools"],
  ],
  options: {
    concurrency: { type: "number", value: "N", about: "Max number of jobs at a time; default: 8", range: [1, 1000] },
    tools: { type: "list", value: "NAMES", about: "Only jobs of these tools, groups and patterns" },
    name: { type: "text", value: "NAME", about: "Name shown with its jobs; default: the machine's name" },
    grace: { type: "duration", value: "TIME", about: "How long running jobs may take after Ctrl-C; default: 30s" },
  },
  notes: [
    "After Ctrl-C or SIGTERM it takes no more jobs, waits for the running ones, and returns the rest to the queue. If it is",
    "killed, another worker takes its jobs after half a minute (at once if the store is a local file).",
  ],
  async run({ folder, terminal, output, interrupted, options: { concurrency, tools, name, grace } }) {
    const [{ openHaft }, { isToolAllowed }, { hostname }] = await Promise.all([
      import("../../host.ts"),
      import("../../gate/permit/tool-policy.ts"),
      import("node:os"),
    ]);
    // The reader of the log may end before the worker does.
    terminal.ignoreClosedOutput?.();
    const host = await openHaft(folder, {
      ownsProcess: true,
      env: terminal.env,
      // A worker asks nobody: approval was given when the call was made.
      approvalWaitMs: false,
      onWarning: (warning) => output.warn(safe(warning)),
    });
    try {
      const takes = (tool: Pick<Tool, "name">): boolean =>
        tools.length === 0 || isToolAllowed(tool as Tool, { allow: tools });
      const workerName = name ?? hostname();
      const running = await host.haft.jobs.work({ name: workerName, takes, concurrency });
      // A schedule can call any tool, so a worker for some tools does not run schedules.
      if (tools.length === 0) host.schedules.start();
      const taken = host.haft.tools.registry.list().filter(takes);
      const { store, jobs } = host.config.value;
      const queue =
        store.url === undefined ? "file" : jobs.redisUrl === undefined ? host.store.database.engine : "redis";
      output.item({ worker: workerName, queue, tools: taken.map((tool) => tool.name), pid: process.pid }, () => [
        `Worker ${safe(workerName)} runs jobs of ${countOf(taken.length, "tool", "tools")} from the ${nameOfQueue(queue, store.url)}.`,
      ]);
      await waitForAbort(interrupted);
      output.info(running.running > 0 ? `Ending; waiting for ${running.running} running jobs…` : "Ending…");
      await running.close(grace ?? GRACE_MS);
    } finally {
      await host.close();
    }
    return EXIT.done;
  },
});

function nameOfQueue(queue: string, url: string | undefined): string {
  if (queue === "redis") return "Redis queue";
  return url === undefined ? "store of this folder" : `${engineOf({ url }).engine.title} store`;
}

/** Keeps the process alive: a worker that waits for jobs has no other handle that would. */
function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const keepAlive = setInterval(() => undefined, 60_000);
    const done = (): void => {
      clearInterval(keepAlive);
      resolve();
    };
    if (signal.aborted) done();
    signal.addEventListener("abort", done, { once: true });
  });
}
