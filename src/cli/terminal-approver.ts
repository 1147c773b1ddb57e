import type { ApprovalAnswer } from "../calls/approval.ts";
import type { ApprovalAnswered, ApprovalAnswerRequest, ApprovalInfo } from "../contracts/approvals.ts";
import type { ApiClient } from "../contracts/index.ts";
import { type Clock, showTime, systemClock } from "../core/clock.ts";
import { errorMessage } from "../core/error.ts";
import type { UserAnswer, UserQuestion } from "../core/questions/user-question.ts";
import type { ToolResult } from "../core/result.ts";
import { showInline, type ShownApproval } from "../gate/permit/approval-parts.ts";
import { describeGrant } from "../gate/permit/describe-grant.ts";
import { promptForAnswers } from "./answer-questions.ts";
import { type Output, type Paint, painterOf, safeLine } from "./output.ts";
import { editLine, isSilent, keyOf, TerminalKeys } from "./prompts.ts";
import { showApproval, toShown } from "./show-approval.ts";
import { columnsOf, type KeyInput, type Terminal, type TerminalOutput } from "./terminal.ts";

export interface TerminalApproverOptions {
  input: KeyInput;
  output: TerminalOutput;
  env?: Terminal["env"];
  /** Default: as the terminal and its environment say. */
  paint?: Paint;
  isVerbose?: boolean;
  clock?: Clock;
  /** The person at the terminal. */
  by?: string;
  /** Reads lines instead of keys. */
  lineMode?: boolean;
  /** What an edited rule would allow, in a sentence. Default: what its text says, without knowing the tool. */
  describeGrant?: DescribeGrant;
}

/** Rejects if one of them is not a rule. */
type DescribeGrant = (
  approval: ShownApproval,
  grant: { scope: "session" | "always"; rules: readonly string[] },
) => Promise<string>;

/** Nothing may be typed for this time after the question was drawn: earlier keys were meant for something else. */
const QUIET_MS = 400;

/** The prompt for a reason. */
export const WHY_NOT = "  why not? (Enter: no reason) ";

interface OpenPrompt {
  approval: ShownApproval;
  keys: TerminalKeys;
  signal: AbortSignal;
  /** A typed line must contain it. It is shown with the question, so no earlier line has it. */
  code: string;
}

type Outcome = { answer: ApprovalAnswer | undefined } | "ask again";

/** An `Approver` for `createHaft`; also used for approvals of a server. */
export type TerminalApprover = (approval: ShownApproval, signal: AbortSignal) => Promise<ApprovalAnswer | undefined>;

/** Asks one question at a time, in full. Without a terminal it asks nobody, and the approval stays pending. */
export function createTerminalApprover(options: TerminalApproverOptions): TerminalApprover {
  const { input, output, clock = systemClock, by = "terminal", lineMode = false, env = {} } = options;
  const { paint = painterOf(output, env), isVerbose, describeGrant: describe = describeByText } = options;
  let queue: Promise<unknown> = Promise.resolve();

  return (approval, signal) => {
    if (!input.isTTY || !output.isTTY) return Promise.resolve(undefined);
    const requested = queue.then(() => ask(approval, signal));
    queue = requested.catch(() => undefined);
    return requested;
  };

  async function ask(approval: ShownApproval, signal: AbortSignal): Promise<ApprovalAnswer | undefined> {
    if (signal.aborted) return undefined;
    const raw = !lineMode && typeof input.setRawMode === "function";
    const keys = new TerminalKeys(input, { clock, raw });
    const prompt = { approval, keys, signal, code: approval.id.slice(-3) };
    try {
      const shown = showApproval(approval, { paint, columns: columnsOf(output, env), isVerbose, now: clock.now() });
      output.write(`\n${shown.join("\n")}\n`);
      if (approval.questions) return await askQuestions(approval.questions, keys, signal);
      for (;;) {
        // After a cancelled line only the choices are shown again: the question is above.
        output.write(menu(prompt));
        await keys.untilQuiet(QUIET_MS, signal);
        const outcome = await readAnswer(prompt);
        if (outcome !== "ask again") return outcome.answer;
      }
    } finally {
      keys.close();
      if (signal.aborted) output.write("\n  (no longer needed)\n");
    }
  }

  async function askQuestions(
    questions: readonly UserQuestion[],
    keys: TerminalKeys,
    signal: AbortSignal,
  ): Promise<ApprovalAnswer | undefined> {
    await keys.untilQuiet(QUIET_MS, signal);
    const answers = await promptForAnswers(questions, { keys, output, signal });
    output.write(`  → ${answers === undefined ? "left open" : answers === "dismissed" ? answers : "answered"}\n`);
    if (answers === undefined) return undefined;
    return answers === "dismissed" ? { approved: false, by } : { approved: true, answers, by };
  }

  async function readAnswer(prompt: OpenPrompt): Promise<Outcome> {
    for (;;) {
      const typed = await prompt.keys.next(prompt.signal);
      if (typed === undefined) return { answer: undefined };
      const { key, rest } = prompt.keys.isRaw ? { key: keyOf(typed), rest: "" } : readLine(typed, prompt.code);
      const isReusable = prompt.approval.suggestedRules.length > 0;
      const approves = key === "y" || (isReusable && (key === "s" || key === "a"));
      if (approves) {
        const confirmed = await confirmDanger(prompt, output);
        if (!confirmed) return "ask again";
        if (key === "y") return outcomeOf("once", { approved: true, scope: "once", by, ...confirmed });
        return grant(prompt, key === "s" ? "session" : "always", { given: rest, confirmed });
      }
      // The Enter that arrived with the key is the one that "why not?" waits for.
      if (key === "n" || key === "d") return deny(prompt, rest, { isEntered: typed.length > 1 });
      // Ctrl-C and Ctrl-D too: leaving is not a no.
      if (key === "q" || key === "\x03" || key === "\x04") return outcomeOf("left open", undefined);
      // Pasted text, arrow keys and reports of the terminal itself are no answer.
      if (!prompt.keys.isRaw) output.write(menu(prompt));
      else if (!isSilent(typed)) output.write(`\n  That is not an answer: press one key.\n${menu(prompt)}`);
    }
  }

  async function grant(
    prompt: OpenPrompt,
    scope: "session" | "always",
    { given, confirmed }: { given: string; confirmed: { confirmUnshown?: true } },
  ): Promise<Outcome> {
    const rules = given === "" ? await editRules(prompt, scope, output) : [given];
    const sentence = (edited: readonly string[]) => describe(prompt.approval, { scope, rules: edited });
    const confirmedRules = rules && (await confirmRules(prompt, { rules, sentence }, output));
    if (!confirmedRules) return "ask again";
    const answer = { approved: true, scope, rule: rules, by, ...confirmed, ...confirmedRules };
    return outcomeOf(`${scope}: ${rules.map(showInline).join(", ")}`, answer);
  }

  async function deny(
    { keys, signal }: OpenPrompt,
    given: string,
    { isEntered }: { isEntered: boolean },
  ): Promise<Outcome> {
    if (keys.isRaw) output.write("\n");
    const why =
      given !== "" || !keys.isRaw || isEntered
        ? given
        : await editLine(keys, output, { prompt: WHY_NOT, text: "", signal });
    if (why === undefined) return "ask again";
    return outcomeOf("no", { approved: false, by, reason: why.trim() === "" ? undefined : why.trim() });
  }

  function outcomeOf(word: string, answer: ApprovalAnswer | undefined): Outcome {
    output.write(`  → ${word}\n`);
    return { answer };
  }
}

/** What is asked about, and where the answer is typed. */
export interface Asked {
  approval: Pick<ShownApproval, "unseen" | "grants" | "summary" | "suggestedRules">;
  keys: TerminalKeys;
  signal: AbortSignal;
}

/**
 * A call that is critical, or of which something is not shown, needs more than one key. Undefined if the person does not
 * confirm it.
 */
export async function confirmDanger(
  { approval, keys, signal }: Asked,
  output: TerminalOutput,
): Promise<{ confirmUnshown?: true } | undefined> {
  const { unseen, summary } = approval;
  if (summary?.risk.level === "critical") {
    const typed = await typeWord({ keys, signal }, output, "The risk is critical. Type yes to approve it: ");
    if (typed !== "yes") return undefined;
  }
  if (unseen === undefined) return {};
  output.write(`\n  ${showInline(unseen)}`);
  const typed = await typeWord({ keys, signal }, output, "Type unseen to approve it without seeing that: ");
  return typed === "unseen" ? { confirmUnshown: true } : undefined;
}

/**
 * Other rules than the suggested ones are saved only after the person has read what they allow. If the risk is high, that
 * needs a word of its own. Undefined if it is not given.
 */
export async function confirmRules(
  { approval, keys, signal }: Asked,
  { rules, sentence }: { rules: readonly string[]; sentence: (rules: readonly string[]) => Promise<string> },
  output: TerminalOutput,
): Promise<{ confirmBroader?: true } | undefined> {
  if (rules.every((rule) => approval.suggestedRules.includes(rule))) return {};
  try {
    output.write(`\n  ${showInline(await sentence(rules))}`);
  } catch (thrown) {
    output.write(`\n  ${showInline(errorMessage(thrown))}\n`);
    return undefined;
  }
  const { level = "high" } = approval.summary?.risk ?? {};
  if (level === "high" || level === "critical") {
    const prompt = `The rule allows more than was shown, and the risk is ${level}. Type broader to save it: `;
    const typed = await typeWord({ keys, signal }, output, prompt);
    return typed === "broader" ? { confirmBroader: true } : undefined;
  }
  // The Enter that ended the editing, pressed twice, is no answer to what was not read yet.
  await keys.untilQuiet(QUIET_MS, signal);
  const [word, prompt] = keys.isRaw
    ? ["", "Press Enter to save it, Esc to go back: "]
    : ["yes", "Type yes to save it: "];
  return (await typeWord({ keys, signal }, output, prompt)) === word ? {} : undefined;
}

const describeByText: DescribeGrant = async ({ caller, grants = [] }, { scope, rules }) => {
  const saved = grants.find((grant) => grant.scope === "always")?.key.split(".")[1];
  const savedFor = saved === "store" || saved === "process" ? saved : "workspace";
  return describeGrant(rules, { scope, caller, savedFor, isBroader: true }).sentence;
};

/** As the server describes it, which knows the tool. */
export function describeAt(client: ApprovalsClient): DescribeGrant {
  return async ({ id }, { scope, rules }) =>
    (await client.approvals.grant(id, { scope, rule: rules.join("\n") })).sentence;
}

async function typeWord(
  { keys, signal }: Pick<Asked, "keys" | "signal">,
  output: TerminalOutput,
  prompt: string,
): Promise<string | undefined> {
  output.write("\n");
  const typed = await editLine(keys, output, { prompt: `  ${prompt}`, text: "", signal });
  return typed?.trim().toLowerCase();
}

/** The rules that an approval for longer saves. Undefined if the person cancels. */
export async function editRules(
  { approval, keys, signal }: Asked,
  scope: "session" | "always",
  output: TerminalOutput,
): Promise<string[] | undefined> {
  const rules: string[] = [];
  const sentence = approval.grants?.find((grant) => grant.scope === scope && !grant.isBroader)?.sentence;
  if (sentence !== undefined) output.write(`\n  ${showInline(sentence)}`);
  if (keys.isRaw)
    output.write(
      `\n  Press Enter to save this rule ${scope === "always" ? "permanently" : "for this session"}, or edit it first:\n`,
    );
  for (const rule of approval.suggestedRules) {
    const edited = await editLine(keys, output, { prompt: "  rule: ", text: rule, signal });
    if (edited === undefined || edited.trim() === "") return undefined;
    rules.push(edited.trim());
  }
  return rules;
}

function menu({ approval, keys, code }: OpenPrompt): string {
  const reusable = approval.suggestedRules.length > 0 ? ["s = this session", "a = always"] : [];
  const choices = ["y = approve once", ...reusable, "n = no", "q = leave open"].join(", ");
  if (keys.isRaw) return `  ${choices}: `;
  return `  ${choices}, each with the code ${code} ("y ${code}", "n ${code} because …"): `;
}

/** `y 4f2`, `n 4f2 a reason`, `a 4f2 a rule`. `q` needs no code. */
function readLine(line: string, code: string): { key: string; rest: string } {
  const [key = "", given, ...rest] = line.trim().split(/\s+/);
  if (key === "q") return { key, rest: "" };
  return given === code ? { key: key.toLowerCase(), rest: rest.join(" ") } : { key: "", rest: "" };
}

type ApprovalsClient = Pick<ApiClient, "approvals">;

export interface PromptOptions {
  terminal: Terminal;
  output: Output;
  signal: AbortSignal;
  onAnswered?: () => void;
}

/** Asks at the terminal and sends the answer. Returns the result of the call; undefined if the approval stays pending. */
export async function promptForApproval(
  client: ApprovalsClient,
  approvalId: string,
  { terminal, output, signal, onAnswered }: PromptOptions,
): Promise<ToolResult | undefined> {
  const info = await client.approvals.get(approvalId);
  const { stdin: input, stderr, env } = terminal;
  const { paintStderr: paint, isVerbose } = output;
  const describeGrant = describeAt(client);
  const ask = createTerminalApprover({ input, output: stderr, env, paint, isVerbose, describeGrant });
  const answer = await ask(toShown(info), signal);
  onAnswered?.();
  if (!answer) return undefined;
  const answered = await client.approvals.answer(approvalId, toRequest(answer));
  return (await waitForResult(client, answered, undefined, signal)).result;
}

/** How long one request waits. */
export const MAX_WAIT_MS = 20_000;

/** A process that has the tool looks for approved calls each second. */
const MAX_START_MS = 3_000;

/** The call is approved, its caller does not wait, and the process that answers requests does not have its tool. */
export function needsItsProgram({ call, kind, waitsUntil = 0 }: ApprovalInfo): boolean {
  return call.state === "approved" && kind === undefined && waitsUntil <= Date.now();
}

/** Waits for the result of the approved call in any process; without `ms`, until it ended or no process takes it. */
export async function waitForResult(
  client: ApprovalsClient,
  first: ApprovalAnswered,
  ms: number | undefined,
  signal: AbortSignal,
): Promise<ApprovalAnswered & { isLeft: boolean }> {
  const until = ms === undefined ? Infinity : Date.now() + ms;
  let answered = first;
  let isLeft = false;
  while (!answered.result && !isLeft && !isAgentCall(first.approval) && Date.now() < until && !signal.aborted) {
    const wasFree = needsItsProgram(answered.approval);
    const waitMs = Math.max(0, Math.min(wasFree ? MAX_START_MS : MAX_WAIT_MS, Math.round(until - Date.now())));
    answered = await client.approvals.result(first.approval.id, { waitMs });
    isLeft = wasFree && waitMs === MAX_START_MS && needsItsProgram(answered.approval);
  }
  return { ...answered, isLeft };
}

export function describeLeftCall({ toolName, expiresAt = 0 }: Pick<ApprovalInfo, "toolName" | "expiresAt">): string {
  return (
    `Approved. No running process has "${safeLine(toolName)}". Start the program that asked again: ` +
    `the same idempotencyKey and input takes this answer, until ${showTime(expiresAt)}.`
  );
}

/** Another agent runs it, when it makes the call again: nobody knows when that is. */
export function isAgentCall({ callId }: { callId: string }): boolean {
  return callId.startsWith("hook_");
}

function toRequest(answer: ApprovalAnswer): ApprovalAnswerRequest {
  const { approved, scope = "once", rule, reason, confirmUnshown, confirmBroader, answers } = answer;
  if (answers) return { decision: "answer", answers: toAnswers(answers) };
  return {
    confirmUnshown,
    confirmBroader,
    decision: approved ? scope : "deny",
    rule: rule === undefined ? undefined : [rule].flat().join("\n"),
    reason,
  };
}

/** As the API takes them. */
export function toAnswers(answers: readonly UserAnswer[]): NonNullable<ApprovalAnswerRequest["answers"]> {
  return answers.map(({ choices, text }) => ({ choices: choices && [...choices], text }));
}
