import { pause } from "../../core/clock.ts";
import type { ApprovalAnswered, ApprovalAnswerRequest, ApprovalInfo } from "../../contracts/approvals.ts";
import type { ApiClient } from "../../contracts/index.ts";
import type { UserAnswer, UserQuestion } from "../../core/questions/user-question.ts";
import { stateFolderOf } from "../../io/files/state-folder.ts";
import { stateWord } from "../../gate/permit/approval-parts.ts";
import { answerOfWords, answersNeeded, promptForAnswers } from "../answer-questions.ts";
import { UsageError } from "../arguments.ts";
import { showApprovedResult } from "../calls.ts";
import { defineCommand, type Invocation } from "../command.ts";
import { usesMcp } from "../uses-mcp.ts";
import { CommandError, EXIT, isApiError } from "../exit-codes.ts";
import { openQuestions, showQuestion } from "../mcp-questions.ts";
import { waitForTools } from "../mcp-servers.ts";
import { safe, safeLine } from "../output.ts";
import { showApprovalInfo, showApprovalTable, readRuleEffects } from "../show-approval.ts";
import { TerminalKeys } from "../prompts.ts";
import {
  describeLeftCall,
  isAgentCall,
  MAX_WAIT_MS,
  needsItsProgram,
  toAnswers,
  waitForResult,
} from "../terminal-approver.ts";
import { columnsOf, isInteractive } from "../terminal.ts";
import { watchAtTerminal } from "../watch-approvals.ts";

const CHECK_INTERVAL_MS = 1000;
const MAX_PAGE = 500;
/** A command that ends soon runs no job, and no call of others: both would be cut off. */
const SHORT = { only: [], connectsMcp: false, runsJobs: false };

const list = defineCommand({
  examples: [
    ["haft approvals list", "what waits for an answer"],
    ["haft approvals list --state denied", "what was denied"],
  ],
  options: {
    state: {
      type: "text",
      value: "STATE",
      about: "Only in this state; default: pending",
      oneOf: ["pending", "approved", "denied", "expired", "all"],
    },
    limit: { type: "number", value: "N", about: "Max number of approvals, newest first; default: 100" },
    cursor: { type: "text", value: "CURSOR", about: "`next` of the previous page" },
  },
  uses: ["approvals"],
  async run({ connect, output, url, folder, terminal, options: { state = "pending", limit, cursor } }) {
    const client = await connect(SHORT);
    // For people the summary is enough; programs get everything.
    const brief = output.format === "text" || undefined;
    const page = await client.approvals.list({ state: state === "all" ? undefined : state, brief, limit, cursor });
    output.list(page, (approvals) => (approvals.length === 0 ? [] : showApprovalTable(approvals, output)));
    if (page.next !== undefined)
      output.info(`${page.items.length} of ${page.total}. There are more: --cursor ${page.next}`);
    if (page.items.length > 0 || page.next !== undefined) return;
    // Questions are kept per state folder, and one that was asked with another setting is not in this one.
    const where = url === undefined ? ` in the state folder ${stateFolderOf(folder, { env: terminal.env })}` : "";
    output.info(
      state === "pending"
        ? `Nothing waits for an answer${where}.`
        : `No ${state === "all" ? "" : `${state} `}approvals${where}.`,
    );
  },
});

const show = defineCommand({
  examples: [
    ["haft approvals show apr_1", "who asks, why, and what exactly would run"],
    ["haft approvals show apr_1 --whole | less", "all that would happen, however long"],
  ],
  operands: [{ name: "ID", completes: "approval", listedBy: "haft approvals list" }],
  options: {
    whole: { type: "flag", about: "Everything that would happen, also what is too long for the question" },
    arguments: { type: "flag", about: "The whole arguments, as JSON" },
  },
  notes: ["The start of an id is enough if no other one starts with it."],
  uses: ["approvals", "policy"],
  async run({ connect, output, operands: [id = ""], options: { whole, arguments: input }, ...place }) {
    const client = await connect(SHORT);
    const approval = await findApproval(client, id, place);
    if (whole || input) {
      const { approvals } = client;
      const text = input ? await approvals.input(approval.id) : await approvals.previewText(approval.id);
      output.data({ id: approval.id, text }, () => safe(text.trimEnd()).split("\n"));
      return;
    }
    const isOpen = output.format === "text" && approval.state === "pending";
    const effects = isOpen ? await readRuleEffects(client, approval) : undefined;
    const { paint, columns, isVerbose } = output;
    output.data(approval, (shown) => showApprovalInfo(shown, { paint, columns, isVerbose, effects }));
  },
});

const approve = defineCommand({
  examples: [
    ["haft approvals approve apr_1", "approve this call once; it runs"],
    ["haft approvals approve apr_1 --always", "and save the suggested rule"],
    ["haft approvals approve apr_1 --for-session --rule 'Bash(npm test)'", "with your own rule, in this session"],
  ],
  operands: [{ name: "ID", completes: "approval", listedBy: "haft approvals list" }],
  options: {
    "for-session": { type: "flag", about: "Also approve what the rule matches, in this session" },
    always: { type: "flag", about: "Also approve what the rule matches, from now on" },
    rule: { type: "text", value: "RULE", about: "Instead of the suggested rule" },
    "confirm-unshown": { type: "flag", about: "Approve it although not all of it was shown" },
    "confirm-broader": { type: "flag", about: "Save a rule that allows more than was shown, at a high risk" },
    "no-wait": { type: "flag", about: "Do not wait for the call; a running server or worker runs it" },
    timeout: { type: "text", value: "SECONDS", about: "Stop waiting after this time; the call continues" },
  },
  notes: [
    "Waits for the call and prints its result, even if another process runs it or it is a job.",
    "Exit codes: that of the call; 7 if it has not ended (--timeout, Ctrl-C); 1 if it needs --confirm-unshown.",
    "7 also if no running process has the tool: the program that asked takes the answer when it is started again.",
  ],
  uses: ["approvals", "mcp"],
  async run({ connect, url, interrupted, output, operands: [given = ""], options, ...place }) {
    const { always, "for-session": session, rule, "no-wait": noWait } = options;
    const { "confirm-unshown": confirmUnshown, "confirm-broader": confirmBroader } = options;
    const timeoutMs = readTimeout(options.timeout);
    const decision = always ? "always" : session ? "session" : "once";
    if (rule !== undefined && decision === "once") throw new UsageError("--rule needs --always or --for-session.");
    let client = await connect({ connectsMcp: false, runsJobs: false });
    const requested = await findApproval(client, given, { url, ...place });
    if (requested.questions)
      throw new UsageError(`${requested.id} is a question.`, `Use \`haft approvals answer ${requested.id}\`.`);
    // Starting MCP servers takes seconds, and most calls need none.
    if (usesMcp(requested.toolName)) client = await connect({ runsJobs: false, isNew: true });
    const { id } = requested;
    const { paintStderr: paint, isVerbose } = output;
    const columns = columnsOf(place.terminal.stderr, place.terminal.env);
    for (const line of showApprovalInfo(requested, { paint, columns, isVerbose })) output.info(line);
    if (requested.unseen !== undefined && !confirmUnshown) throw notAllShown(requested);
    await waitForTools(client, { url, interrupted, output }, requested.toolName);
    if (rule !== undefined && decision !== "once")
      output.info(safeLine((await client.approvals.grant(id, { scope: decision, rule })).sentence));
    const isAgents = isAgentCall(requested);
    const waitMs = noWait || isAgents ? 0 : timeoutMs === undefined ? undefined : Math.min(timeoutMs, MAX_WAIT_MS);
    const started = Date.now();
    const { answered, approval, result, isLeft } = await sendSurely({ client, connect, url }, async (to) => {
      const first = await sendAnswer(to, id, { decision, rule, waitMs, confirmUnshown, confirmBroader });
      if (first.rule !== undefined) output.info(describeRule(decision, first.rule));
      const left = timeoutMs === undefined ? undefined : timeoutMs - (Date.now() - started);
      const waits = !first.result && !noWait && !isAgents;
      if (waits && !needsItsProgram(first.approval)) output.info(describeOpenCall(first.approval));
      const last = noWait ? { ...first, isLeft: false } : await waitForResult(to, first, left, interrupted);
      return { answered: first, ...last };
    });
    if (result) return showApprovedResult(result, approval, output);
    output.data(answered, () => []);
    output.info(describeOpenCall(approval, isLeft));
    return noWait || isAgents ? EXIT.done : EXIT.pending;
  },
});

const answer = defineCommand({
  examples: [
    ["haft approvals answer apr_1", "shows the question and asks for the answer"],
    ["haft approvals answer apr_1 PostgreSQL", "an option, by its label or number"],
    ["haft approvals answer apr_1 1,3 'after the release'", "one word for each question: options, or your own text"],
  ],
  operands: [
    { name: "ID", completes: "approval", listedBy: "haft approvals list" },
    { name: "ANSWER", isOptional: true, isRest: true },
  ],
  notes: ["For questions of ask_user. `haft approvals deny` dismisses one: the model then decides itself."],
  uses: ["approvals"],
  async run({ connect, url, interrupted, output, operands: [given = "", ...words], ...place }) {
    const client = await connect({ connectsMcp: false, runsJobs: false });
    const info = await findApproval(client, given, { url, ...place });
    const { id, questions } = info;
    if (!questions)
      throw new UsageError(`${id} is not a question.`, `Use \`haft approvals approve ${id}\` or \`deny\`.`);
    const answers =
      words.length > 0 ? readWords(questions, words) : await promptFor(info, { interrupted, output, ...place });
    if (answers === undefined) {
      output.info("It stays open.");
      return EXIT.pending;
    }
    const request: ApprovalAnswerRequest =
      answers === "dismissed" ? { decision: "deny" } : { decision: "answer", answers: toAnswers(answers) };
    const { approval, result } = await sendSurely({ client, connect, url }, async (to) =>
      waitForResult(to, await sendAnswer(to, id, request), undefined, interrupted),
    );
    if (answers === "dismissed") output.info(`${id} is dismissed.`);
    return result && answers !== "dismissed" ? showApprovedResult(result, approval, output) : EXIT.done;
  },
});

function readWords(questions: readonly UserQuestion[], words: readonly string[]): UserAnswer[] {
  if (words.length === questions.length) {
    return questions.map((asked, at) => answerOfWords(asked, words[at] ?? ""));
  }
  const needed = questions.length === 1 ? "one answer" : `${questions.length} answers`;
  throw new UsageError(`It needs ${needed}, each in quotes if it has spaces.`, answersNeeded(questions));
}

async function promptFor(
  info: ApprovalInfo,
  { terminal, output, interrupted: signal }: Pick<Invocation, "terminal" | "output" | "interrupted">,
): Promise<UserAnswer[] | "dismissed" | undefined> {
  const { questions = [] } = info;
  if (!isInteractive(terminal)) throw new UsageError("There is no terminal to ask at.", answersNeeded(questions));
  const { paintStderr: paint, isVerbose } = output;
  const columns = columnsOf(terminal.stderr, terminal.env);
  terminal.stderr.write(`${showApprovalInfo(info, { paint, columns, isVerbose }).join("\n")}\n`);
  const keys = new TerminalKeys(terminal.stdin);
  try {
    return await promptForAnswers(questions, { keys, output: terminal.stderr, signal });
  } finally {
    keys.close();
  }
}

const deny = defineCommand({
  examples: [
    ["haft approvals deny apr_1", "the call does not run"],
    ["haft approvals deny apr_1 --reason 'use the staging database'", "the model gets the reason"],
  ],
  operands: [{ name: "ID", completes: "approval", listedBy: "haft approvals list" }],
  options: { reason: { type: "text", value: "TEXT", about: "For the model" } },
  uses: ["approvals"],
  async run({ connect, url, output, operands: [given = ""], options: { reason }, ...place }) {
    const client = await connect(SHORT);
    const { id } = await findApproval(client, given, { url, ...place });
    const { approval } = await sendSurely({ client, connect, url }, (to) =>
      sendAnswer(to, id, { decision: "deny", reason }),
    );
    output.data(approval, () => []);
    output.info(`${approval.id} is ${stateWord(approval)}.`);
  },
});

const watch = defineCommand({
  examples: [
    ["haft approvals watch", "answer them at a terminal, one by one or several at once; ? shows the keys"],
    ["haft approvals watch --jsonl", "prints each, for a program that answers"],
  ],
  notes: [
    "Shows the approvals of all processes in this folder, and the questions of MCP servers.",
    "q exits with 0, Ctrl-C with 130. Unanswered approvals stay pending.",
  ],
  uses: ["approvals", "questions", "undo", "policy"],
  async run({ connect, terminal, output, interrupted }) {
    const client = await connect();
    if (isInteractive(terminal) && output.format === "text")
      return watchAtTerminal(client, { terminal, output, interrupted });
    const seen = new Set<string>();
    output.info("Waiting for approvals. Ctrl-C ends this.");
    while (!interrupted.aborted) {
      const { items } = await client.approvals.list({ state: "pending", limit: MAX_PAGE });
      for (const approval of items.filter(({ id }) => !seen.has(id)).toReversed()) {
        seen.add(approval.id);
        output.item(approval, (shown) => showApprovalInfo(shown, output));
      }
      for (const question of (await openQuestions(client)).filter(({ id }) => !seen.has(id))) {
        seen.add(question.id);
        output.item(question, showQuestion);
      }
      await pause(CHECK_INTERVAL_MS, interrupted);
    }
    return EXIT.interrupted;
  },
});

export const commands = { list, show, approve, answer, deny, watch };

/** Questions are kept per state folder. One that was asked with another setting cannot be found here. */
async function findApproval(
  client: Pick<ApiClient, "approvals">,
  id: string,
  { url, folder, terminal }: Pick<Invocation, "url" | "folder" | "terminal">,
): Promise<ApprovalInfo> {
  try {
    return await client.approvals.get(id);
  } catch (thrown) {
    if (!isApiError(thrown, "not_found")) throw thrown;
    const found = await findByStart(client, id);
    if (found) return found;
    if (url !== undefined) throw thrown;
    const stateFolder = stateFolderOf(folder, { env: terminal.env });
    throw new CommandError(`There is no approval "${id}" in the state folder ${stateFolder}.`, {
      exitCode: EXIT.failed,
      code: "not_found",
      next:
        "`haft approvals list` shows those of this folder. " +
        "If it was asked with another HAFT_STATE_DIR, home folder or user, use the same here.",
    });
  }
}

const MIN_START = /^apr_\w{4,}$/;

/** Lists show the start of ids. */
async function findByStart(client: Pick<ApiClient, "approvals">, start: string): Promise<ApprovalInfo | undefined> {
  if (!MIN_START.test(start)) return undefined;
  const found: ApprovalInfo[] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const { items, next } = await client.approvals.list({ brief: true, limit: MAX_PAGE, cursor });
    found.push(...items.filter(({ id }) => id.startsWith(start)));
    cursor = next;
  }
  if (found.length <= 1) return found[0] && client.approvals.get(found[0].id);
  throw new UsageError(
    `${found.length} approvals start with "${start}".`,
    `Write more of the id: ${found
      .slice(0, 5)
      .map(({ id }) => id)
      .join(", ")}.`,
  );
}

/** If the server of this folder ends meanwhile, the same answer again gets what became of the call: the store has it. */
async function sendSurely<Client, Received>(
  { client, connect, url }: { client: Client; url: string | undefined; connect(options: object): Promise<Client> },
  send: (client: Client) => Promise<Received>,
): Promise<Received> {
  try {
    return await send(client);
  } catch (thrown) {
    if (url !== undefined || !isApiError(thrown, "unreachable")) throw thrown;
    return send(await connect({ runsJobs: false, isNew: true }));
  }
}

/** An answer that is not used has an exit code of its own. */
async function sendAnswer(
  client: Pick<ApiClient, "approvals">,
  id: string,
  answer: ApprovalAnswerRequest,
): Promise<ApprovalAnswered> {
  try {
    return await client.approvals.answer(id, answer);
  } catch (thrown) {
    if (!isApiError(thrown, "conflict")) throw thrown;
    throw new CommandError(thrown.message, { exitCode: EXIT.notCounted, code: "conflict", next: thrown.next });
  }
}

function readTimeout(seconds: string | undefined): number | undefined {
  if (seconds === undefined) return undefined;
  const ms = Number(seconds.replace(/s$/, "")) * 1000;
  if (!Number.isFinite(ms) || ms < 0) throw new UsageError("--timeout takes a number of seconds.");
  return ms;
}

/** Rules of a session are a grant. */
function describeRule(decision: "once" | "session" | "always", rule: string): string {
  if (decision === "always") return `saved: ${rule}`;
  return `granted for this session (\`haft grants list\` shows what is left): ${rule}`;
}

/** What is known of a call that has not ended. */
function describeOpenCall({ call, callId, toolName, caller, expiresAt }: ApprovalInfo, isLeft = false): string {
  if (isAgentCall({ callId }))
    return `Approved, once: ${safeLine(caller.agent ?? "the agent")} runs it if it waits, or makes exactly this call again.`;
  if (call.state === "running") return `Approved: ${safeLine(toolName)} is running.`;
  if (isLeft) return describeLeftCall({ toolName, expiresAt });
  return (
    `Approved, not started yet: ${safeLine(toolName)} runs as soon as a process that has it takes it. ` +
    "Its caller does if it waits, otherwise `haft serve`, `haft worker` or the program that asked, started again."
  );
}

/** The server refuses it too. */
function notAllShown({ id, unseen = "" }: ApprovalInfo): CommandError {
  return new CommandError(`${id} is not approved. ${safeLine(unseen)}`, {
    exitCode: EXIT.failed,
    code: "bad_request",
    next: `Look at all of it with \`haft approvals show ${id} --whole\`, then approve it with --confirm-unshown.`,
  });
}
