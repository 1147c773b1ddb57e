import { hostname } from "node:os";
import { openHaft } from "../../host.ts";
import { isToolAllowed } from "../../gate/permit/tool-policy.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { safe } from "../output.ts";

const GRACE_MS = 30_000;

export const command = defineCommand({
  examples: [
    ["haft worker", "run the background calls of this folder's store, as many processes as you like"],
    ["haft worker --concurrency 20", "so many at a time"],
    ["haft worker --tools group:web,transcode", "only those of these tools"],
  ],
  options: {
    concurrency: { type: "number", value: "N", about: "How many jobs at a time; 8 unless said", range: [1, 1000] },
    tools: { type: "list", value: "NAMES", about: "Only jobs of these tools, groups and patterns" },
    name: {
      type: "text",
      value: "NAME",
      about: "What it is called in the jobs that it takes; this machine unless said",
    },
    grace: {
      type: "duration",
      value: "TIME",
      about: "How long running jobs have when it is told to end; 30s unless said",
    },
  },
  notes: [
    "Ctrl-C or SIGTERM ends it well: it takes no more, gives running jobs their time, and hands back the rest. Killed at any",
    "moment, another worker takes its jobs after half a minute (at once where the store is a file of this machine).",
  ],
  async run({ folder, terminal, output, interrupted, options: { concurrency, tools, name, grace } }) {
    const host = await openHaft(folder, {
      env: terminal.env,
      // A worker asks nobody: what must ask was asked when the call was made.
      approvalWaitMs: false,
      onWarning: (warning) => output.warn(safe(warning)),
    });
    try {
      const takes = (tool: Parameters<typeof isToolAllowed>[0]): boolean =>
        tools.length === 0 || isToolAllowed(tool, { allow: tools });
      const named = name ?? hostname();
      const worker = await host.haft.jobs.work({
        name: named,
        takes,
        concurrency,
      });
      // A worker for certain tools is none for whatever a schedule calls.
      if (tools.length === 0) host.schedules.start();
      const taken = host.haft.registry.list().filter(takes);
      const { store, jobs } = host.config.value;
      const queue = store.url === undefined ? "file" : jobs.redisUrl === undefined ? "postgres" : "redis";
      output.item({ worker: named, queue, tools: taken.map((tool) => tool.name), pid: process.pid }, () => [
        `Worker ${safe(named)} takes jobs of ${taken.length} tools from the ${STORE_NAMES[queue]}.`,
      ]);
      await waitForAbort(interrupted);
      output.info(worker.running > 0 ? `Ending; ${worker.running} running jobs have their time…` : "Ending…");
      await worker.close(grace ?? GRACE_MS);
    } finally {
      await host.close();
    }
    return EXIT.done;
  },
});

const STORE_NAMES = { file: "store of this folder", postgres: "PostgreSQL store", redis: "Redis queue" };

/** Holds the process meanwhile: a worker that waits for jobs has nothing else that would. */
function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const holding = setInterval(() => undefined, 60_000);
    const done = (): void => {
      clearInterval(holding);
      resolve();
    };
    if (signal.aborted) done();
    signal.addEventListener("abort", done, { once: true });
  });
}
