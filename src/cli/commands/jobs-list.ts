import { defineCommand } from "../command.ts";
import { showJobs } from "../show-jobs.ts";

export const command = defineCommand({
  examples: [
    ["haft jobs list", "background calls, newest first"],
    ["haft jobs list --state failed,cancelled --json", "what did not end well"],
  ],
  options: {
    state: { type: "list", value: "STATES", about: "delayed, queued, running, completed, failed, cancelled" },
    tool: { type: "text", value: "NAME", about: "Only of this tool" },
    limit: { type: "number", short: "n", value: "N", range: [1, 500], about: "At most so many, 50 unless said" },
  },
  async run({ connect, output, options: { state, tool, limit } }) {
    const client = await connect();
    const page = await client.jobs.list({
      state: state.length > 0 ? state.join(",") : undefined,
      tool,
      limit,
    });
    output.list(page, (jobs) => showJobs(jobs, output));
    const counted = Object.entries(page.counts).filter(([, count]) => count > 0);
    output.info(counted.map(([name, count]) => `${count} ${name}`).join(", ") || "There is none.");
  },
});
