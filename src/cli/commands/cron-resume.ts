import { defineCommand } from "../command.ts";
import { showSchedules } from "../show-schedules.ts";

export const command = defineCommand({
  examples: [["haft cron resume sch_1", "from its next time on; what passed meanwhile is not made up for"]],
  operands: [{ name: "ID" }],
  async run({ connect, output, operands: [id = ""] }) {
    output.data(await (await connect()).schedules.pause(id, false), (schedule) => showSchedules([schedule], output));
  },
});
