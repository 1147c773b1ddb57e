import type { ApprovalAnswer } from "../calls/approval.ts";
import type { ApprovalAnswered, ApprovalAnswerRequest } from "../contracts/approvals.ts";
import type { ApiClient } from "../contracts/index.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import type { UserAnswer, UserQuestion } from "../core/questions/user-question.ts";
import type { ToolResult } from "../core/result.ts";
import { showInline, type ShownApproval } from "../gate/permit/approval-parts.ts";
import { promptForAnswers } from "./answer-questions.ts";
import { type Output, type Paint, painterOf } from "./output.ts";
import { editLine, isSilent, type KeyInput, keyOf, TerminalKeys } from "./prompts.ts";
import { showApproval, toShown } from "./show-approval.ts";
import { columnsOf, type Terminal, type TerminalOutput } from "./terminal.ts";

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
}

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
  const { paint = painterOf(output, env), isVerbose } = options;
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
      if (approves && !(await confirmDanger(prompt, output))) return "ask again";
      if (key === "y") return outcomeOf("once", { approved: true, scope: "once", by, ...confirmationOf(prompt) });
      if (key === "s" && isReusable) return grant(prompt, "session", rest);
      if (key === "a" && isReusable) return grant(prompt, "always", rest);
      // The Enter that arrived with the key is the one that "why not?" waits for.
      if (key === "n" || key === "d") return deny(prompt, rest, { isEntered: typed.length > 1 });
      // Ctrl-C and Ctrl-D too: leaving is not a no.
      if (key === "q" || key === "\x03" || key === "\x04") return outcomeOf("left open", undefined);
      // Pasted text, arrow keys and reports of the terminal itself are no answer.
      if (!prompt.keys.isRaw) output.write(menu(prompt));
      else if (!isSilent(typed)) output.write(`\n  That is not an answer: press one key.\n${menu(prompt)}`);
    }
  }

  async function grant(prompt: OpenPrompt, scope: "session" | "always", given: string): Promise<Outcome> {
    const confirmed = confirmationOf(prompt);
    if (given !== "") return outcomeOf(scope, { approved: true, scope, rule: given, by, ...confirmed });
    const rules = await editRules(prompt, scope, output);
    if (!rules) return "ask again";
    const answer = { approved: true, scope, rule: rules, by, ...confirmed };
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
  approval: Pick<ShownApproval, "preview" | "summary" | "suggestedRules">;
  keys: TerminalKeys;
  signal: AbortSignal;
}

/** A call that is critical, or whose effect cannot be shown, needs more than one key. */
export async function confirmDanger({ approval, keys, signal }: Asked, output: TerminalOutput): Promise<boolean> {
  if (approval.preview?.unshown !== undefined) {
    output.write(`\n  Its effect cannot be shown. Approve it unseen? (yes/no) `);
    const typed = await keys.next(signal);
    return typed?.trim().toLowerCase().startsWith("y") === true;
  }
  if (approval.summary?.risk.level !== "critical") return true;
  output.write("\n");
  const typed = await editLine(keys, output, {
    prompt: "  The risk is critical. Type yes to approve it: ",
    text: "",
    signal,
  });
  return typed?.trim().toLowerCase() === "yes";
}

/** The rules that an approval for longer saves. Undefined if the person cancels. */
export async function editRules(
  { approval, keys, signal }: Asked,
  scope: "session" | "always",
  output: TerminalOutput,
): Promise<string[] | undefined> {
  const rules: string[] = [];
  if (keys.isRaw)
    output.write(
      `\n  Saved ${scope === "always" ? "permanently" : "for this session"}; edit the rule, or press Enter:\n`,
    );
  for (const rule of approval.suggestedRules) {
    const edited = await editLine(keys, output, { prompt: "  rule: ", text: rule, signal });
    if (edited === undefined || edited.trim() === "") return undefined;
    rules.push(edited.trim());
  }
  return rules;
}

function confirmationOf({ approval }: OpenPrompt): { confirmUnshown?: boolean } {
  return approval.preview?.unshown === undefined ? {} : { confirmUnshown: true };
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
  const ask = createTerminalApprover({ input, output: stderr, env, paint, isVerbose });
  const answer = await ask(toShown(info), signal);
  onAnswered?.();
  if (!answer) return undefined;
  const answered = await client.approvals.answer(approvalId, toRequest(answer));
  return (await waitForResult(client, answered, undefined, signal)).result;
}

/** How long one request waits. */
export const MAX_WAIT_MS = 20_000;

/** Waits for the result of the approved call, whichever process runs it; without `ms` until it has ended. */
export async function waitForResult(
  client: ApprovalsClient,
  first: ApprovalAnswered,
  ms: number | undefined,
  signal: AbortSignal,
): Promise<ApprovalAnswered> {
  const until = ms === undefined ? Infinity : Date.now() + ms;
  let answered = first;
  while (!answered.result && Date.now() < until && !signal.aborted) {
    const waitMs = Math.max(0, Math.min(MAX_WAIT_MS, Math.round(until - Date.now())));
    answered = await client.approvals.result(first.approval.id, { waitMs });
  }
  return answered;
}

function toRequest(answer: ApprovalAnswer): ApprovalAnswerRequest {
  const { approved, scope = "once", rule, reason, confirmUnshown, answers } = answer;
  if (answers) return { decision: "answer", answers: toAnswers(answers) };
  return {
    confirmUnshown,
    decision: approved ? scope : "deny",
    rule: rule === undefined ? undefined : [rule].flat().join("\n"),
    reason,
  };
}

/** As the API takes them. */
export function toAnswers(answers: readonly UserAnswer[]): NonNullable<ApprovalAnswerRequest["answers"]> {
  return answers.map(({ choices, text }) => ({ choices: choices && [...choices], text }));
}
