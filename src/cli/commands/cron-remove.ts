import { defineCommand } from "../command.ts";
import { safeLine } from "../output.ts";

export const command = defineCommand({
  examples: [["haft cron remove sch_1", "with what is known of its runs"]],
  operands: [{ name: "ID" }],
  async run({ connect, output, operands: [id = ""] }) {
    const { name } = await (await connect()).schedules.remove(id);
    output.info(`${id} (${safeLine(name)}) is removed.`);
  },
});
