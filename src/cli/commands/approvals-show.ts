import { defineCommand } from "../command.ts";
import { showApproval } from "../show-approvals.ts";

export const command = defineCommand({
  examples: [["haft approvals show apr_1", "who asks, why, and what exactly would run"]],
  operands: [{ name: "ID", completes: "approval" }],
  async run({ connect, output, operands: [id = ""] }) {
    const client = await connect();
    output.data(await client.approvals.get(id), showApproval);
  },
});
