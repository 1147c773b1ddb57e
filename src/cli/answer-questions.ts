/** Answers to the questions of `ask_user`, typed at a terminal or given as words of a command. */
import type { UserAnswer, UserQuestion } from "../core/questions/user-question.ts";
import { describeChoices, readUserAnswers, takesText } from "../core/questions/user-question.ts";
import { errorMessage } from "../core/error.ts";
import { showInline } from "../gate/permit/approval-parts.ts";
import { editLine, type TerminalKeys } from "./prompts.ts";
import type { TerminalOutput } from "./terminal.ts";

interface AnswerPrompt {
  keys: TerminalKeys;
  output: TerminalOutput;
  signal: AbortSignal;
}

const DISMISS = "-";

/** One line for each question, which is shown above. Undefined if the person leaves them open. */
export async function promptForAnswers(
  questions: readonly UserQuestion[],
  { keys, output, signal }: AnswerPrompt,
): Promise<UserAnswer[] | "dismissed" | undefined> {
  output.write(`  Empty leaves it open, ${DISMISS} dismisses it: the model then decides itself.\n`);
  const answers: UserAnswer[] = [];
  for (const [at, asked] of questions.entries()) {
    const name = questions.length > 1 ? `${at + 1}: ` : "";
    const prompt = `  ${name}${hintOf(asked)}: `;
    for (;;) {
      const typed = await editLine(keys, output, { prompt, text: "", signal });
      if (typed === undefined || typed.trim() === "") return undefined;
      if (typed.trim() === DISMISS) return "dismissed";
      try {
        const [answer] = readUserAnswers([asked], [answerOfWords(asked, typed)]);
        if (answer) answers.push(answer);
        break;
      } catch (error) {
        output.write(`  ${showInline(errorMessage(error))}\n`);
      }
    }
  }
  return answers;
}

function hintOf(asked: UserQuestion): string {
  const { options = [], multiple } = asked;
  if (options.length === 0) return "text";
  const numbers = `1-${options.length}${multiple ? ", several with commas" : ""}`;
  return takesText(asked) ? `${numbers}, or text` : numbers;
}

/** Numbers and labels of options, or an own text. */
export function answerOfWords({ options = [], multiple }: UserQuestion, words: string): UserAnswer {
  const text = words.trim();
  const find = (word: string): string | undefined =>
    options.find(({ label }) => label.toLowerCase() === word.toLowerCase())?.label ?? options[Number(word) - 1]?.label;
  const whole = find(text);
  if (whole !== undefined) return { choices: [whole] };
  const parts = multiple ? text.split(",").map((part) => find(part.trim())) : [];
  const chosen = parts.filter((part) => part !== undefined);
  if (chosen.length > 0 && chosen.length === parts.length) return { choices: chosen };
  // A number is a slip here, not an own text.
  return options.length > 0 && /^[\d\s,]+$/.test(text) ? { choices: [text] } : { text };
}

/** For a command without a terminal. */
export function answersNeeded(questions: readonly UserQuestion[]): string {
  return questions.map((asked) => `"${showInline(asked.question)}": ${showInline(describeChoices(asked))}.`).join(" ");
}
