import { defineCommand } from "../command.ts";
import { showJob } from "../show-jobs.ts";

export const command = defineCommand({
  examples: [["haft jobs show job_1", "its state, its input and, once it has ended, its result"]],
  operands: [{ name: "ID" }],
  async run({ connect, output, operands: [id = ""] }) {
    output.data(await (await connect()).jobs.get(id), showJob);
  },
});
