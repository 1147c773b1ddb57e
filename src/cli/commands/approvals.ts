import type { ApprovalInfo } from "../../contracts/approvals.ts";
import { describeApproval } from "../../gate/permit/describe-approval.ts";
import { UsageError } from "../arguments.ts";
import { showApprovedResult } from "../calls.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { askQuestion, openQuestions, showQuestion } from "../mcp-questions.ts";
import { waitForTools } from "../mcp-servers.ts";
import { type Output, safeLine, showColumns, showDuration, showTime } from "../output.ts";
import { promptForApproval, resultOf, toShown } from "../terminal-approver.ts";
import { isInteractive, pause } from "../terminal.ts";

const CHECK_INTERVAL_MS = 1000;

const list = defineCommand({
  examples: [
    ["haft approvals list", "what waits for an answer"],
    ["haft approvals list --state denied --json", "what was denied"],
  ],
  options: {
    state: {
      type: "text",
      value: "STATE",
      about: "Default: pending",
      oneOf: ["pending", "approved", "denied", "expired", "all"],
    },
  },
  uses: ["approvals"],
  async run({ connect, output, options: { state = "pending" } }) {
    const client = await connect({ connectsMcp: false });
    const page = await client.approvals.list(state === "all" ? {} : { state });
    output.list(page, (approvals) => showApprovalList(approvals, output));
    if (page.items.length === 0) output.info(state === "pending" ? "Nothing waits for an answer." : "There are none.");
  },
});

const show = defineCommand({
  examples: [["haft approvals show apr_1", "who asks, why, and what exactly would run"]],
  operands: [{ name: "ID", completes: "approval" }],
  uses: ["approvals"],
  async run({ connect, output, operands: [id = ""] }) {
    const client = await connect({ connectsMcp: false });
    output.data(await client.approvals.get(id), showApproval);
  },
});

const approve = defineCommand({
  examples: [
    ["haft approvals approve apr_1", "this once; the call runs"],
    ["haft approvals approve apr_1 --always", "and save the suggested rule"],
    [
      "haft approvals approve apr_1 --for-session --rule 'Bash(npm test)'",
      "with your own rule, until the session ends",
    ],
  ],
  operands: [{ name: "ID", completes: "approval" }],
  options: {
    "for-session": { type: "flag", about: "Also approve what the rule matches, in this session" },
    always: { type: "flag", about: "Also approve what the rule matches, from now on" },
    rule: { type: "text", value: "RULE", about: "Instead of the suggested rule" },
  },
  uses: ["approvals", "calls", "mcp"],
  async run({ connect, url, interrupted, output, operands: [id = ""], options }) {
    const { always, "for-session": session, rule } = options;
    const decision = always ? "always" : session ? "session" : "once";
    if (rule !== undefined && decision === "once") throw new UsageError("--rule needs --always or --for-session.");
    const client = await connect();
    const requested = await client.approvals.get(id);
    for (const line of showApproval(requested)) output.info(line);
    await waitForTools(client, { url, interrupted, output }, requested.toolName);
    const answered = await client.approvals.answer(id, { decision, rule });
    if (answered.rule !== undefined) output.info(`saved: ${answered.rule}`);
    const result = await resultOf(client, answered);
    return result ? showApprovedResult(result, id, output) : EXIT.done;
  },
});

const deny = defineCommand({
  examples: [
    ["haft approvals deny apr_1", "the call does not run"],
    ["haft approvals deny apr_1 --reason 'use the staging database'", "the model gets the reason"],
  ],
  operands: [{ name: "ID", completes: "approval" }],
  options: { reason: { type: "text", value: "TEXT", about: "For the model" } },
  uses: ["approvals"],
  async run({ connect, output, operands: [id = ""], options: { reason } }) {
    const client = await connect({ connectsMcp: false });
    const { approval } = await client.approvals.answer(id, { decision: "deny", reason });
    output.data(approval, () => []);
    output.info(`${approval.id} is denied.`);
  },
});

const watch = defineCommand({
  examples: [
    ["haft approvals watch", "asks you about each, at a terminal"],
    ["haft approvals watch --jsonl", "prints each, for a program that answers"],
  ],
  notes: ["Shows the approvals of every process that works in this folder, and the questions of MCP servers."],
  uses: ["approvals", "calls", "questions"],
  async run({ connect, terminal, output, interrupted }) {
    const client = await connect();
    const asks = isInteractive(terminal) && output.format === "text";
    const seen = new Set<string>();
    output.info("Waiting for approvals. Ctrl-C ends this.");
    while (!interrupted.aborted) {
      const { items } = await client.approvals.list({ state: "pending" });
      for (const approval of items.filter(({ id }) => !seen.has(id)).toReversed()) {
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

export const commands = { list, show, approve, deny, watch };

function showApprovalList(approvals: readonly ApprovalInfo[], { paint, columns }: Output): string[] {
  const rows = approvals.map(({ id, state, toolName, askedAt, expiresAt, input }) => [
    safeLine(id),
    state === "pending" && expiresAt !== undefined ? `pending ${showDuration(expiresAt - Date.now())}` : state,
    showTime(askedAt),
    safeLine(toolName),
    safeLine(JSON.stringify(input)),
  ]);
  const styleOf = (cell: string, column: number) =>
    column === 1 && cell.startsWith("pending") ? ("yellow" as const) : undefined;
  return showColumns(rows, { paint, styles: ["bold", undefined, "dim", "cyan"], styleOf, columns });
}

/** In full: a person decides by it. */
function showApproval(approval: ApprovalInfo): string[] {
  return describeApproval(toShown(approval));
}
