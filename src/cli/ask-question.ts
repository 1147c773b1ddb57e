import type { HaftClient } from "../client/create-client.ts";
import { HaftClientError } from "../client/client-error.ts";
import { systemClock } from "../core/clock.ts";
import type { QuestionAnswerRequest, QuestionInfo } from "../http/wire.ts";
import { editLine } from "./edit-line.ts";
import { safe, safeLine } from "./output.ts";
import { fieldsOf, type QuestionField, showQuestion } from "./show-question.ts";
import type { Terminal } from "./terminal.ts";
import { TerminalKeys } from "./terminal-keys.ts";

/** Who is still typing something else has not read the question. */
const QUIET_MS = 400;

/** Asks at the terminal what an MCP server wants to know. The question stays open where nothing is said. */
export async function askQuestion(
  client: HaftClient,
  question: QuestionInfo,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): Promise<void> {
  const { stdin, stderr } = terminal;
  const keys = new TerminalKeys(stdin, systemClock, typeof stdin.setRawMode === "function");
  try {
    stderr.write(`\n${showQuestion(question).join("\n")}\n`);
    await keys.untilQuiet(QUIET_MS, signal);
    for (;;) {
      const answer = await readAnswer(question, { keys, stderr, signal });
      if (!answer) return;
      try {
        await client.questions.answer(question.id, answer);
        return;
      } catch (error) {
        if (!(error instanceof HaftClientError)) throw error;
        stderr.write(`${safe(error.message)}\n`);
        if (error.code !== "invalid_input") return;
      }
    }
  } finally {
    keys.close();
  }
}

interface At {
  keys: TerminalKeys;
  stderr: Terminal["stderr"];
  signal: AbortSignal;
}

async function readAnswer(
  question: QuestionInfo,
  { keys, stderr, signal }: At,
): Promise<QuestionAnswerRequest | undefined> {
  const yes = question.mode === "url" ? "y = I visited the page" : "y = fill it in";
  const prompt = `${yes}, n = decline, empty = leave open: `;
  const reply = (await editLine(keys, stderr, { prompt, text: "", signal }))?.trim().toLowerCase();
  if (reply === "n" || reply === "no") return { action: "decline" };
  if (reply !== "y" && reply !== "yes") return undefined;
  if (question.mode === "url") return { action: "accept" };
  const content: NonNullable<QuestionAnswerRequest["content"]> = {};
  for (const field of fieldsOf(question)) {
    const text = field.given === undefined ? "" : String(field.given);
    const line = await editLine(keys, stderr, { prompt: `${safeLine(field.name)}: `, text, signal });
    if (line === undefined) return undefined;
    if (line !== "") content[field.name] = valueOf(line, field);
  }
  return { action: "accept", content };
}

/** What does not fit stays text: the question's own schema says what is wrong with it. */
export function valueOf(text: string, { type }: Pick<QuestionField, "type">): string | number | boolean | string[] {
  if (type === "array") return text.split(",").map((part) => part.trim());
  if ((type === "number" || type === "integer") && text.trim() !== "" && !Number.isNaN(Number(text))) {
    return Number(text);
  }
  if (type === "boolean" && /^(?:y(?:es)?|true)$/i.test(text)) return true;
  if (type === "boolean" && /^(?:no?|false)$/i.test(text)) return false;
  return text;
}
