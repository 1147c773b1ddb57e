import { defineCommand } from "../command.ts";
import { showRuns } from "../show-schedules.ts";

export const command = defineCommand({
  examples: [["haft cron runs sch_1", "what came of them, and which times passed while nobody was running"]],
  operands: [{ name: "ID" }],
  options: {
    limit: { type: "number", short: "n", value: "N", range: [1, 100], about: "At most so many, 20 unless said" },
  },
  async run({ connect, output, operands: [id = ""], options: { limit = 20 } }) {
    const page = await (await connect()).schedules.runs(id, { limit });
    output.list(page, (runs) => showRuns(runs, output));
    if (page.items.length === 0) output.info("It has not run yet.");
  },
});
