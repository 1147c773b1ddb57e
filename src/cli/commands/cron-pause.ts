import { defineCommand } from "../command.ts";
import { showSchedules } from "../show-schedules.ts";

export const command = defineCommand({
  examples: [["haft cron pause sch_1", "it does not run until it is resumed"]],
  operands: [{ name: "ID" }],
  async run({ connect, output, operands: [id = ""] }) {
    output.data(await (await connect()).schedules.pause(id, true), (schedule) => showSchedules([schedule], output));
  },
});
