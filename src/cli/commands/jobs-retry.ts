import { defineCommand } from "../command.ts";
import { showJob } from "../show-jobs.ts";

export const command = defineCommand({
  examples: [["haft jobs retry job_1", "an ended one is queued again, as a call of its own"]],
  operands: [{ name: "ID" }],
  notes: ["It runs where a server or a `haft worker` of this store runs."],
  async run({ connect, output, operands: [id = ""] }) {
    output.data(await (await connect()).jobs.retry(id), showJob);
  },
});
