/** Questions that MCP servers ask a person while they work: shown, asked at the terminal, and polled for. */
import type { ApiClient } from "../contracts/index.ts";
import type { QuestionAnswerRequest, QuestionInfo } from "../contracts/questions.ts";
import { isObject } from "../schema/json-schema.ts";
import { isApiError } from "./exit-codes.ts";
import { pause, showDuration, showTime } from "../core/clock.ts";
import { showColumns } from "./layout.ts";
import { type Output, safe, safeLine } from "./output.ts";
import { editLine, TerminalKeys } from "./prompts.ts";
import type { Terminal } from "./terminal.ts";

type QuestionsClient = Pick<ApiClient, "questions">;

const CHECK_INTERVAL_MS = 500;
/** Keys that were typed before the question was read were meant for something else. */
const QUIET_MS = 400;

export interface QuestionField {
  name: string;
  type: string;
  isRequired: boolean;
  choices: readonly string[];
  about: string;
  default: unknown;
}

/** The fields of a form. In MCP they are flat. */
export function fieldsOf({ schema }: Pick<QuestionInfo, "schema">): QuestionField[] {
  const properties = (schema?.["properties"] ?? {}) as Record<string, Record<string, unknown>>;
  const required = (schema?.["required"] ?? []) as readonly string[];
  return Object.entries(properties).map(([name, property]) => ({
    name,
    type: typeof property["type"] === "string" ? property["type"] : "string",
    isRequired: required.includes(name),
    choices: choicesOf(property),
    about: [property["title"], property["description"]].filter((text) => typeof text === "string").join(": "),
    default: property["default"],
  }));
}

function choicesOf(property: Record<string, unknown>): string[] {
  const items = property["items"];
  const from = isObject(items) ? items : property;
  if (Array.isArray(from["enum"])) return from["enum"].map(String);
  const variants = from["oneOf"] ?? from["anyOf"];
  if (!Array.isArray(variants)) return [];
  return variants.flatMap((each: { const?: unknown }) => (each.const === undefined ? [] : [String(each.const)]));
}

export function showQuestionList(questions: readonly QuestionInfo[], { paint, columns }: Output): string[] {
  const rows = questions.map(({ id, state, server, mode, askedAt, expiresAt, message }) => [
    safeLine(id),
    state === "open" ? `open ${showDuration(expiresAt - Date.now())}` : state,
    showTime(askedAt),
    safeLine(server),
    mode,
    safeLine(message),
  ]);
  return showColumns(rows, { paint, styles: ["bold", undefined, "dim", "cyan"], columns });
}

/** In full: the whole address of a page, every field of a form. */
export function showQuestion(question: QuestionInfo): string[] {
  const { id, server, message, url, state, note } = question;
  return [
    `MCP server "${safeLine(server)}" asks (${safeLine(id)}, ${state})`,
    ...(note === undefined ? [] : [`  ${safeLine(note)}`]),
    ...safe(message)
      .split("\n")
      .map((line) => `  | ${line}`),
    ...(url === undefined
      ? fieldsOf(question).map((field) => `  ${describeField(field)}`)
      : [`  It asks you to visit this page: ${safeLine(url)}`, "  Check the address: the server chose it."]),
  ];
}

function describeField({ name, type, isRequired, choices, about }: QuestionField): string {
  const parts = [`${safeLine(name)}${isRequired ? "*" : ""}`, type];
  if (choices.length > 0) parts.push(choices.map(safeLine).join(" | "));
  if (about !== "") parts.push(safeLine(about));
  return parts.join("  ");
}

/** Asks at the terminal and sends the answer. The question stays open if the person enters nothing. */
export async function askQuestion(
  client: QuestionsClient,
  question: QuestionInfo,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): Promise<void> {
  const { stderr } = terminal;
  const keys = new TerminalKeys(terminal.stdin);
  try {
    stderr.write(`\n${showQuestion(question).join("\n")}\n`);
    await keys.untilQuiet(QUIET_MS, signal);
    await answerQuestion(client, question, { keys, stderr, signal });
  } finally {
    keys.close();
  }
}

interface AnswerOptions {
  keys: TerminalKeys;
  stderr: Terminal["stderr"];
  signal: AbortSignal;
}

/** Reads the answer to a question that is shown, and sends it. Wrong fields are asked again. */
export async function answerQuestion(
  client: QuestionsClient,
  question: QuestionInfo,
  { keys, stderr, signal }: AnswerOptions,
): Promise<void> {
  for (;;) {
    const answer = await readAnswer(question, { keys, stderr, signal });
    if (!answer) return;
    try {
      await client.questions.answer(question.id, answer);
      return;
    } catch (error) {
      if (!isApiError(error)) throw error;
      stderr.write(`${safe([error.message, error.next].filter(Boolean).join(" "))}\n`);
      if (error.code !== "invalid_input") return;
    }
  }
}

async function readAnswer(
  question: QuestionInfo,
  { keys, stderr, signal }: AnswerOptions,
): Promise<QuestionAnswerRequest | undefined> {
  const yes = question.mode === "url" ? "y = I visited the page" : "y = fill it in";
  const prompt = `${yes}, n = decline, empty = leave open: `;
  const reply = (await editLine(keys, stderr, { prompt, text: "", signal }))?.trim().toLowerCase();
  if (reply === "n" || reply === "no") return { action: "decline" };
  if (reply !== "y" && reply !== "yes") return undefined;
  if (question.mode === "url") return { action: "accept" };
  const content: NonNullable<QuestionAnswerRequest["content"]> = {};
  for (const field of fieldsOf(question)) {
    const text = field.default === undefined ? "" : String(field.default);
    const line = await editLine(keys, stderr, { prompt: `${safeLine(field.name)}: `, text, signal });
    if (line === undefined) return undefined;
    if (line !== "") content[field.name] = fieldValue(line, field);
  }
  return { action: "accept", content };
}

/** A text that does not fit the type stays text: the schema of the question produces the error. */
export function fieldValue(text: string, { type }: Pick<QuestionField, "type">): string | number | boolean | string[] {
  if (type === "array") return text.split(",").map((part) => part.trim());
  if ((type === "number" || type === "integer") && text.trim() !== "" && !Number.isNaN(Number(text))) {
    return Number(text);
  }
  if (type === "boolean" && /^(?:y(?:es)?|true)$/i.test(text)) return true;
  if (type === "boolean" && /^(?:no?|false)$/i.test(text)) return false;
  return text;
}

/** Calls back once for each open question, until the signal aborts. */
export async function watchQuestions(
  client: QuestionsClient,
  signal: AbortSignal,
  onQuestion: (question: QuestionInfo) => Promise<void> | void,
): Promise<void> {
  const seen = new Set<string>();
  while (!signal.aborted) {
    for (const question of await openQuestions(client)) {
      if (seen.has(question.id) || signal.aborted) continue;
      seen.add(question.id);
      await onQuestion(question);
    }
    await pause(CHECK_INTERVAL_MS, signal);
  }
}

/** Oldest first. Empty if the server does not have them. */
export async function openQuestions(client: QuestionsClient, signal?: AbortSignal): Promise<QuestionInfo[]> {
  try {
    return (await client.questions.list({ state: "open" }, { signal })).items.toReversed();
  } catch (error) {
    if (isApiError(error, "not_here")) return [];
    throw error;
  }
}
