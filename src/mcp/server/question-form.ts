import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import { errorMessage } from "../../core/error.ts";
import { readUserAnswers, takesText, type UserAnswer, type UserQuestion } from "../../core/questions/user-question.ts";
import { showHiddenCharacters } from "../../io/shell/terminal-text.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { McpAnswer } from "./server-options.ts";

/** The client has shown a form, and there is no answer. */
export interface NoAnswer {
  /** Why its content is not usable. Omitted if the person closed it. */
  problem?: string;
}

type Fields = ElicitRequestFormParams["requestedSchema"]["properties"];

/** Questions of `ask_user` as a form. No field has a default or is required: an unseen form answers nothing. */
export function questionForm(
  questions: readonly UserQuestion[],
  lines: readonly string[],
  { isModern }: { isModern: boolean },
): ElicitRequestFormParams {
  const properties: Fields = {};
  for (const [at, asked] of questions.entries()) Object.assign(properties, fieldsOf(asked, at, isModern));
  return { mode: "form", message: lines.join("\n"), requestedSchema: { type: "object", properties } };
}

/** One line with nothing hidden: clients show these texts as they are. The message has the question with its lines. */
function shown(text: string): string {
  return showHiddenCharacters(text.replaceAll(/\s*[\r\n]\s*/g, " ⏎ "));
}

function fieldsOf(asked: UserQuestion, at: number, isModern: boolean): Fields {
  const { multiple, header } = asked;
  const options = (asked.options ?? []).map(({ label, description }) => ({
    label: shown(label),
    description: description && shown(description),
  }));
  const question = shown(asked.question);
  const title = header ? shown(header) : `Question ${at + 1}`;
  const fields: Fields = {};
  if (options.length > 0 && multiple) {
    // Lists are newer than forms: older clients show one box for each option.
    if (isModern) {
      const items = { anyOf: options.map(({ label }) => ({ const: label, title: label })) };
      fields[nameOf(at)] = { type: "array", title, description: question, items };
    } else {
      for (const [option, { label, description }] of options.entries())
        fields[boxOf(at, option)] = { type: "boolean", title: `${title}: ${label}`, description };
    }
  } else if (options.length > 0) {
    const labels = options.map(({ label }) => label);
    const field = { type: "string" as const, title, description: question };
    fields[nameOf(at)] = isModern
      ? {
          ...field,
          oneOf: options.map(({ label, description }) => ({ const: label, title: titleOf(label, description) })),
        }
      : { ...field, enum: labels, enumNames: options.map(({ label, description }) => titleOf(label, description)) };
  }
  if (takesText(asked)) {
    const own = options.length > 0 ? `${title}: your own answer` : title;
    fields[textOf(at)] = { type: "string", title: own, description: question };
  }
  return fields;
}

function titleOf(label: string, description: string | undefined): string {
  return description ? `${label}: ${description}` : label;
}

const nameOf = (at: number): string => `answer_${at + 1}`;
const boxOf = (at: number, option: number): string => `answer_${at + 1}_${option + 1}`;
const textOf = (at: number): string => `text_${at + 1}`;

/** The answer, or why there is none: the form was dismissed without a no, or was not filled in as it should be. */
export function readQuestionForm(questions: readonly UserQuestion[], response: unknown): McpAnswer | NoAnswer {
  if (!isObject(response)) return {};
  if (response["action"] === "decline") return { approved: false };
  if (response["action"] !== "accept") return {};
  const content = isObject(response["content"]) ? response["content"] : {};
  const answers = questions.map((asked, at) => readAnswer(asked, at, content));
  try {
    return { approved: true, answers: readUserAnswers(questions, answers) };
  } catch (error) {
    // The question stays open, for other interfaces too.
    return { problem: errorMessage(error) };
  }
}

function readAnswer({ options = [] }: UserQuestion, at: number, content: Record<string, unknown>): UserAnswer {
  const chosen = content[nameOf(at)];
  const boxes = options.filter((_option, option) => content[boxOf(at, option)] === true).map(({ label }) => label);
  const labelOf = (choice: string): string => options.find(({ label }) => shown(label) === choice)?.label ?? choice;
  const choices = [
    ...(Array.isArray(chosen) ? chosen.map(String) : typeof chosen === "string" ? [chosen] : []).map(labelOf),
    ...boxes,
  ];
  const text = content[textOf(at)];
  const answer: UserAnswer = {};
  if (choices.length > 0) answer.choices = choices.filter((choice) => choice !== "");
  if (typeof text === "string" && text.trim() !== "") answer.text = text;
  return answer;
}
