/** Answers to the questions of `ask_user`, typed at a terminal or given as words of a command. */
import { fieldsText, isWider, problemOfField } from "../core/questions/question-fields.ts";
import type { QuestionOption, UserAnswer, UserQuestion } from "../core/questions/user-question.ts";
import { describeChoices, readUserAnswers, takesText } from "../core/questions/user-question.ts";
import { errorMessage, toolError } from "../core/error.ts";
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
        const edited = answer && (await editFields(asked, answer, { keys, output, signal }));
        if (!edited) return undefined;
        answers.push(edited);
        break;
      } catch (error) {
        output.write(`  ${showInline(errorMessage(error))}\n`);
      }
    }
  }
  return answers;
}

/** What the chosen option lets the person change, line by line. More than was asked for needs a word. Undefined: left open. */
async function editFields(
  { options = [] }: UserQuestion,
  answer: UserAnswer,
  { keys, output, signal }: AnswerPrompt,
): Promise<UserAnswer | undefined> {
  const { fields = [] } = options.find(({ label }) => answer.choices?.includes(label)) ?? {};
  if (fields.length === 0 || answer.text !== undefined) return answer;
  output.write("  Press Enter to keep each bound, or edit it first.\n");
  const values: Record<string, string> = {};
  const wider: string[] = [];
  for (const field of fields) {
    const { name, value, kind, unit } = field;
    const given: string[] = [];
    for (const text of kind === "lines" ? value.split("\n") : [value]) {
      const prompt = `  ${name}${unit === undefined ? "" : ` (${showInline(unit)})`}: `;
      const typed = await editLine(keys, output, { prompt, text, signal });
      if (typed === undefined) return undefined;
      if (typed.trim() !== "") given.push(typed.trim());
    }
    values[name] = given.join("\n");
    if (problemOfField(field, values[name]))
      throw toolError("invalid_input", `"${values[name]}" is not a value of ${name}`);
    if (isWider(field, values[name])) wider.push(`${name} ${values[name]} (asked: ${value})`);
  }
  if (wider.length > 0) {
    output.write(`  This is more than was asked for: ${showInline(wider.join(", "))}\n`);
    const word = await editLine(keys, output, { prompt: "  type yes to allow it: ", text: "", signal });
    if (word?.trim().toLowerCase() !== "yes") return undefined;
  }
  const text = fieldsText(fields, values);
  return text === "" ? answer : { ...answer, text };
}

function hintOf(asked: UserQuestion): string {
  const { options = [], multiple } = asked;
  if (options.length === 0) return "text";
  const numbers = `1-${options.length}${multiple ? ", several with commas" : ""}`;
  return takesText(asked) ? `${numbers}, or text` : numbers;
}

/** Numbers and labels of options, or free text. Throws if a word is the number of one option and the label of another. */
export function answerOfWords({ options = [], multiple }: UserQuestion, words: string): UserAnswer {
  const text = words.trim();
  const find = (word: string): string | undefined => findOption(options, word);
  const whole = find(text);
  if (whole !== undefined) return { choices: [whole] };
  const parts = multiple ? text.split(",").map((part) => find(part.trim())) : [];
  const chosen = parts.filter((part) => part !== undefined);
  if (chosen.length > 0 && chosen.length === parts.length) return { choices: chosen };
  // A number is a slip here, not free text.
  return options.length > 0 && /^[\d\s,]+$/.test(text) ? { choices: [text] } : { text };
}

function findOption(options: readonly QuestionOption[], word: string): string | undefined {
  const [first, second] = optionsMeant(options, word);
  if (first === undefined || second === undefined) return first?.label;
  const spell = (option: QuestionOption): string => {
    const number = options.indexOf(option) + 1;
    const words = [`#${number}`, String(number), option.label];
    return words.find((each) => optionsMeant(options, each).length === 1) ?? option.label;
  };
  const [number, other] = [options.indexOf(first) + 1, options.indexOf(second) + 1];
  throw toolError("invalid_input", `"${word}" is the number of option ${number} and the label of option ${other}`, {
    next: `Write ${spell(first)} for option ${number}, or ${spell(second)} for option ${other}.`,
  });
}

/** By its number, `2` or `#2`, and by its label. */
function optionsMeant(options: readonly QuestionOption[], word: string): QuestionOption[] {
  const numbered = options[Number(/^#?(\d+)$/.exec(word)?.[1]) - 1];
  // Labels may differ only in case.
  const labelled =
    options.find(({ label }) => label === word) ??
    options.find(({ label }) => label.toLowerCase() === word.toLowerCase());
  return [...new Set([numbered, labelled])].filter((option) => option !== undefined);
}

/** For a command without a terminal. */
export function answersNeeded(questions: readonly UserQuestion[]): string {
  return questions.map((asked) => `"${showInline(asked.question)}": ${showInline(describeChoices(asked))}.`).join(" ");
}
