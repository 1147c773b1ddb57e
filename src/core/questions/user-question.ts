import { sharedByCopies } from "../../schema/schema.ts";
import type { Caller, CallMode } from "../call.ts";
import { toolError, type ToolError } from "../error.ts";
import { didYouMean } from "../nearest-name.ts";
import { type AnyTool, bodyOf, type ToolBody } from "../tool.ts";
import type { QuestionField } from "./question-fields.ts";

/** A question that a tool asks a person. Plain data. */
export interface UserQuestion {
  question: string;
  /** A short title. */
  header?: string;
  /** What the person can choose from. Without any the answer is text. */
  options?: readonly QuestionOption[];
  /** Whether several options may be chosen. Default: one. */
  multiple?: boolean;
  /** Whether the person may write their own answer. Default: yes. */
  free_text?: boolean;
}

export interface QuestionOption {
  label: string;
  description?: string;
  /** What the person may change who chooses it: lines of the answer's `text`, such as `minutes: 10`. */
  fields?: readonly QuestionField[];
}

/** A person's answer to one question: labels of options, free text, or both. */
export interface UserAnswer {
  /** The labels of the chosen options. */
  choices?: readonly string[];
  /** In the person's own words. */
  text?: string;
}

/** What a tool knows of a call before it asks. */
export interface Asking {
  caller: Caller;
  mode: CallMode;
}

/** The questions of one call. Throws a ToolError if nobody can answer. */
export type AskQuestions = (input: never, asking: Asking) => readonly UserQuestion[];

let shared: WeakMap<ToolBody, AskQuestions> | undefined;

/** By the code of the tool: a copy of the tool with the same code asks too. */
function asking(): WeakMap<ToolBody, AskQuestions> {
  return (shared ??= sharedByCopies("questions", () => new WeakMap<ToolBody, AskQuestions>()));
}

/** Every call of this tool asks a person. The answers are in `call.asked` when its code runs. */
export function attachQuestions<T extends AnyTool>(tool: T, ask: AskQuestions): T {
  asking().set(bodyOf(tool), ask);
  return tool;
}

/** How a tool asks a person; undefined for a tool that does not. */
export function questionsOf(tool: AnyTool): AskQuestions | undefined {
  return asking().get(bodyOf(tool));
}

/** What a model does without an answer. */
export const DECIDE = "Decide yourself with what you know, say what you assumed, and do not ask again.";

/** In characters, for each answer. */
const MAX_ANSWER_LENGTH = 4000;

/** The answers as they are stored. Throws an error that says what can be answered. */
export function readUserAnswers(questions: readonly UserQuestion[], given: unknown): UserAnswer[] {
  if (!Array.isArray(given) || given.length !== questions.length) {
    const got = Array.isArray(given) ? given.length : "no";
    throw badAnswer(`Got ${got} answers, expected ${questions.length}`, questions);
  }
  return questions.map((question, at) => readUserAnswer(question, given[at]));
}

function readUserAnswer(asked: UserQuestion, given: unknown): UserAnswer {
  const { choices = [], text = "" } = (typeof given === "object" && given !== null ? given : {}) as UserAnswer;
  if (!Array.isArray(choices) || choices.some((choice) => typeof choice !== "string") || typeof text !== "string") {
    throw badAnswer("An answer has `choices`, a list of labels, or `text`", [asked]);
  }
  const labels = (asked.options ?? []).map(({ label }) => label);
  const unknown = choices.find((choice) => !labels.includes(choice));
  if (unknown !== undefined) {
    const near = didYouMean(unknown, labels);
    throw badAnswer(`"${unknown.slice(0, 200)}" is not one of the options${near ? `. ${near}` : ""}`, [asked]);
  }
  const chosen = labels.filter((label) => choices.includes(label));
  const own = text.trim();
  if (chosen.length > 1 && !asked.multiple) throw badAnswer("Only one option can be chosen", [asked]);
  if (own !== "" && !takesText(asked)) throw badAnswer("It does not accept text", [asked]);
  if (own.length > MAX_ANSWER_LENGTH) {
    throw badAnswer(`The text has ${own.length} characters; the maximum is ${MAX_ANSWER_LENGTH}`, [asked]);
  }
  if (chosen.length === 0 && own === "") throw badAnswer("No option was chosen and no text was written", [asked]);
  const answer: UserAnswer = {};
  if (chosen.length > 0) answer.choices = chosen;
  if (own !== "") answer.text = own;
  return answer;
}

/** Without options there is nothing else to answer with. */
export function takesText({ options = [], free_text: isFree = true }: UserQuestion): boolean {
  return isFree || options.length === 0;
}

/** The answer in one line, for lists and models. */
export function answerLine({ choices = [], text }: UserAnswer): string {
  const chosen = choices.join(", ");
  if (text === undefined) return chosen;
  return chosen === "" ? text : `${chosen} (${text})`;
}

function badAnswer(problem: string, questions: readonly UserQuestion[]): ToolError {
  const next = questions.map((asked) => `"${asked.question}": ${describeChoices(asked)}.`).join(" ");
  return toolError("invalid_input", `The answer cannot be used: ${problem}`, { next });
}

/** What a person can answer, in words. */
export function describeChoices(asked: UserQuestion): string {
  const labels = (asked.options ?? []).map(({ label }) => `"${label}"`).join(", ");
  if (labels === "") return "answer with text";
  const choose = `choose ${asked.multiple ? "one or more of" : "one of"} ${labels}`;
  return takesText(asked) ? `${choose}, or answer with text` : choose;
}
