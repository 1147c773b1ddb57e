import { defineCommand } from "../command.ts";

export const command = defineCommand({
  examples: [
    ["haft approvals deny apr_1", "the call does not run"],
    ["haft approvals deny apr_1 --reason 'use the staging database'", "the model is told why"],
  ],
  operands: [{ name: "ID", completes: "approval" }],
  options: { reason: { type: "text", value: "TEXT", about: "Told to the model" } },
  async run({ connect, output, operands: [id = ""], options: { reason } }) {
    const client = await connect();
    const { approval } = await client.approvals.answer(id, {
      decision: "deny",
      reason,
    });
    output.data(approval, () => []);
    output.info(`${approval.id} was denied.`);
  },
});
