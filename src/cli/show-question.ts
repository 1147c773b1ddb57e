import type { QuestionInfo } from "../http/wire.ts";
import { type Output, safe, safeLine } from "./output.ts";
import { showColumns } from "./show-columns.ts";
import { showDuration, showTime } from "./show-time.ts";

export interface QuestionField {
  name: string;
  type: string;
  isRequired: boolean;
  choices: readonly string[];
  about: string;
  given: unknown;
}

/** What a form asks for: flat, as the protocol has it. */
export function fieldsOf({ schema }: Pick<QuestionInfo, "schema">): QuestionField[] {
  const properties = (schema?.["properties"] ?? {}) as Record<string, Record<string, unknown>>;
  const required = (schema?.["required"] ?? []) as readonly string[];
  return Object.entries(properties).map(([name, property]) => ({
    name,
    type: typeof property["type"] === "string" ? property["type"] : "string",
    isRequired: required.includes(name),
    choices: choicesOf(property),
    about: [property["title"], property["description"]].filter((text) => typeof text === "string").join(": "),
    given: property["default"],
  }));
}

function choicesOf(property: Record<string, unknown>): string[] {
  const items = property["items"];
  const from = typeof items === "object" && items !== null ? (items as Record<string, unknown>) : property;
  if (Array.isArray(from["enum"])) return from["enum"].map(String);
  const named = from["oneOf"] ?? from["anyOf"];
  if (!Array.isArray(named)) return [];
  return named.flatMap((each: { const?: unknown }) => (each.const === undefined ? [] : [String(each.const)]));
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

/** Everything that is asked: a page with its whole address, a form with every field. */
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
      : [`  It wants this page to be visited: ${safeLine(url)}`, "  Look at the address: the server chose it."]),
  ];
}

function describeField({ name, type, isRequired, choices, about }: QuestionField): string {
  const words = [
    `${safeLine(name)}${isRequired ? "*" : ""}`,
    type,
    ...(choices.length > 0 ? [choices.map(safeLine).join(" | ")] : []),
    ...(about === "" ? [] : [safeLine(about)]),
  ];
  return words.join("  ");
}
