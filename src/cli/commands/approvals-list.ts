import { defineCommand } from "../command.ts";
import { showApprovalList } from "../show-approvals.ts";

export const command = defineCommand({
  examples: [
    ["haft approvals list", "what waits for an answer"],
    ["haft approvals list --state denied --json", "what was answered with no"],
  ],
  options: {
    state: {
      type: "text",
      value: "STATE",
      about: "default: pending",
      oneOf: ["pending", "approved", "denied", "expired", "all"],
    },
  },
  async run({ connect, output, options: { state = "pending" } }) {
    const client = await connect();
    const page = await client.approvals.list(state === "all" ? {} : { state: state as "pending" });
    output.list(page, (approvals) => showApprovalList(approvals, output));
    if (page.items.length === 0) output.info(state === "pending" ? "Nothing waits for an answer." : "There is none.");
  },
});
