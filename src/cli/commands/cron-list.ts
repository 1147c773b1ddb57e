import { defineCommand } from "../command.ts";
import { showSchedules } from "../show-schedules.ts";

export const command = defineCommand({
  examples: [["haft cron list", "what is done later, and when next"]],
  async run({ connect, output }) {
    const page = await (await connect()).schedules.list();
    output.list(page, (schedules) => showSchedules(schedules, output));
    if (page.items.length === 0) output.info("There is none. `haft cron add` makes one.");
    else if (!page.status.isRunning)
      output.info("Nobody runs them at the moment: start `haft serve` or `haft worker`.");
  },
});
