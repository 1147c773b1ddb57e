import { defineCommand } from "../command.ts";
import { showJob } from "../show-jobs.ts";

export const command = defineCommand({
  examples: [["haft jobs cancel job_1 --reason 'not needed any more'", "ends it, waiting or running"]],
  operands: [{ name: "ID" }],
  options: { reason: { type: "text", value: "TEXT", about: "Told to whoever made the call" } },
  async run({ connect, output, operands: [id = ""], options: { reason } }) {
    const client = await connect();
    output.data(await client.jobs.cancel(id, reason === undefined ? {} : { reason }), showJob);
  },
});
