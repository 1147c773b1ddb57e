import { resultOf } from "../ask-person.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { awaitTools } from "../settled-servers.ts";
import { showApprovedResult } from "../show-answered.ts";
import { showApproval } from "../show-approvals.ts";
import { UsageError } from "../usage-error.ts";

export const command = defineCommand({
  examples: [
    ["haft approvals approve apr_1", "this once; the call runs"],
    ["haft approvals approve apr_1 --always", "and keep the rule that was offered"],
    [
      "haft approvals approve apr_1 --for-session --rule 'Bash(npm test)'",
      "with a rule of your own, until the session ends",
    ],
  ],
  operands: [{ name: "ID", completes: "approval" }],
  options: {
    "for-session": { type: "flag", about: "Also what the rule covers, in this session" },
    always: { type: "flag", about: "Also what the rule covers, from now on" },
    rule: { type: "text", value: "RULE", about: "In place of the rule that was offered" },
  },
  async run({
    connect,
    url,
    interrupted,
    output,
    operands: [id = ""],
    options: { always, "for-session": session, rule },
  }) {
    const decision = always ? "always" : session ? "session" : "once";
    if (rule !== undefined && decision === "once") throw new UsageError("--rule goes with --always or --for-session.");
    const client = await connect();
    const requested = await client.approvals.get(id);
    for (const line of showApproval(requested)) output.info(line);
    await awaitTools(client, { url, interrupted, output }, requested.toolName);
    const answered = await client.approvals.answer(id, { decision, rule });
    if (answered.rule !== undefined) output.info(`kept: ${answered.rule}`);
    const result = await resultOf(client, answered);
    return result ? showApprovedResult(result, id, output) : EXIT.done;
  },
});
