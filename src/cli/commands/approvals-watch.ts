import { promptForApproval } from "../ask-person.ts";
import { askQuestion } from "../ask-question.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { pause } from "../pause.ts";
import { showApprovedResult } from "../show-answered.ts";
import { showApproval } from "../show-approvals.ts";
import { showQuestion } from "../show-question.ts";
import { isInteractive } from "../terminal.ts";
import { openQuestions } from "../watch-questions.ts";

const CHECK_INTERVAL_MS = 1000;

export const command = defineCommand({
  examples: [
    ["haft approvals watch", "asks you about each, at a terminal"],
    ["haft approvals watch --jsonl", "prints each, for a program that answers"],
  ],
  notes: ["Questions of every process that works in this folder are seen; also what MCP servers ask while they work."],
  async run({ connect, terminal, output, interrupted }) {
    const client = await connect();
    const asks = isInteractive(terminal) && output.format === "text";
    const seen = new Set<string>();
    output.info("Waiting for questions. Ctrl-C ends this.");
    while (!interrupted.aborted) {
      const { items } = await client.approvals.list({ state: "pending" });
      for (const approval of items.filter(({ id }) => !seen.has(id)).reverse()) {
        seen.add(approval.id);
        if (!asks) output.item(approval, showApproval);
        else {
          const result = await promptForApproval(client, approval.id, { terminal, signal: interrupted });
          if (result) showApprovedResult(result, approval.id, output);
        }
      }
      for (const question of (await openQuestions(client)).filter(({ id }) => !seen.has(id))) {
        seen.add(question.id);
        if (!asks) output.item(question, showQuestion);
        else await askQuestion(client, question, { terminal, signal: interrupted });
      }
      await pause(CHECK_INTERVAL_MS, interrupted);
    }
    return EXIT.interrupted;
  },
});
