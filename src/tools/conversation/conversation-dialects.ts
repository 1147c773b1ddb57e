import { flagOf, ForeignInput } from "../../core/adopt/foreign-input.ts";
import type { ToolDialect } from "../../core/tool.ts";
import { isObject } from "../../schema/json-schema.ts";

/** Each object of a list, with its own parameters of other clients; what is reported names its place. */
function convertEach(foreign: ForeignInput, list: unknown, name: string, convert: (item: ForeignInput) => void): void {
  if (!Array.isArray(list)) return;
  for (const [at, value] of list.entries()) {
    if (!isObject(value)) continue;
    const item = new ForeignInput(value);
    convert(item);
    foreign.repairs.push(...item.repairs.map((repair) => `${name}[${at}].${repair}`));
    foreign.problems.push(...item.problems.map((problem) => `${name}[${at}].${problem}`));
  }
}

const STATUS = { type: "string", enum: ["pending", "in_progress", "completed", "cancelled"] };

/** `todo` as another client shows it: the list and the text of a step have other names. */
function planDialect(name: string, list: string, content: string): ToolDialect {
  const step = { type: "string", minLength: 1, maxLength: 500, description: "The step, as an instruction" };
  const items = { type: "object", properties: { [content]: step, status: STATUS }, required: [content, "status"] };
  const description = "All steps in their order. An empty list deletes it";
  return {
    name,
    parameters: { todos: list },
    description: {
      short: `Keeps the list of steps of this task. Send the whole list each time; without \`${list}\` it is returned.`,
      usageNotes: [
        "Use it for work of three or more steps. Mark a step in_progress before you begin it, and completed at once.",
      ],
      examples: [{ input: { [list]: [{ [content]: "Add a test", status: "pending" }] } }],
    },
    schema: {
      type: "object",
      properties: { [list]: { type: "array", maxItems: 100, description, items } },
      additionalProperties: false,
    },
  };
}

export const CODEX_TODO = planDialect("update_plan", "plan", "step");
export const GEMINI_TODO = planDialect("write_todos", "todos", "description");

const MARKS: Readonly<Record<string, string>> = {
  " ": "pending",
  x: "completed",
  "-": "in_progress",
  "~": "in_progress",
};

/** `[x] a` for each step, as Roo Code writes them; undefined if a line is another text. */
function readChecklist(text: string): object[] | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const steps = lines.map((line) => /^\s*(?:[-*]\s+)?\[([ xX~-])\]\s+(.*\S)\s*$/.exec(line));
  if (steps.includes(null)) return undefined;
  return steps.map((step) => ({ content: step?.[2], status: MARKS[step?.[1]?.toLowerCase() ?? ""] }));
}

/** TodoWrite of Claude Code, write_todos of Gemini CLI, update_plan of Codex, update_todo_list of Roo Code. */
export function convertTodos(input: Record<string, unknown>): ForeignInput {
  const foreign = new ForeignInput(input);
  const steps = typeof input["todos"] === "string" ? readChecklist(input["todos"]) : undefined;
  if (steps) {
    foreign.take("todos");
    foreign.set("todos", steps, "the checklist");
  }
  foreign.drop("explanation", "the list says what changed");
  convertEach(foreign, input["todos"], "todos", (item) => {
    for (const name of ["description", "step"]) item.move(name, "content");
    item.drop("activeForm", "`content` is shown");
    item.drop("id", "the order of the list identifies its steps");
    item.drop("priority", "the order of the list counts");
  });
  return foreign;
}

/** AskUserQuestion of Claude Code, ask_user of Gemini CLI, request_user_input of Codex, question of opencode. */
export function convertQuestions(input: Record<string, unknown>): ForeignInput {
  const foreign = new ForeignInput(input);
  if (typeof input["question"] === "string" && !foreign.has("questions")) {
    const { question, follow_up: answers, header } = input;
    const labels = Array.isArray(answers)
      ? answers.map((each: unknown) => (isObject(each) ? each["text"] : each))
      : undefined;
    const { options = labels } = input;
    for (const name of ["question", "options", "header", "follow_up"]) foreign.take(name);
    foreign.set("questions", [{ question, options, header }], "question");
  }
  convertEach(foreign, input["questions"], "questions", (asked) => {
    for (const name of ["multiSelect", "multi_select"]) asked.move(name, "multiple", flagOf);
    for (const name of ["custom", "isOther"]) asked.move(name, "free_text", flagOf);
    convertType(asked);
    asked.drop("placeholder", "the field has a text of its own");
    asked.drop("id", "answers come in the order of the questions");
    const { options } = asked.input;
    // Options without descriptions are often sent as a list of texts.
    if (Array.isArray(options) && options.some((option) => typeof option === "string")) {
      asked.input["options"] = options.map((option: unknown) =>
        typeof option === "string" ? { label: option } : option,
      );
      asked.repairs.push("options: texts were read as labels");
    }
    convertEach(asked, asked.input["options"], "options", (option) =>
      option.drop("preview", "options show no preview"),
    );
  });
  return foreign;
}

/** Gemini: `choice`, `text` or `yesno`. */
function convertType(asked: ForeignInput): void {
  if (!asked.has("type")) return;
  const type = asked.take("type");
  const { options } = asked.input;
  const isListed = Array.isArray(options) && options.length > 0;
  if (type === "yesno" && !isListed) {
    asked.set("options", [{ label: "Yes" }, { label: "No" }], 'type "yesno"');
  } else if (type === "choice" && !isListed) asked.problems.push('type: "choice" needs `options`');
  else if (type === "text" && isListed) asked.problems.push('type: "text" has no `options`; omit one of them');
  else if (type !== "choice" && type !== "text" && type !== "yesno") {
    asked.problems.push(`type: ${JSON.stringify(type)} is not known; send \`options\` or none`);
  } else asked.repairs.push(`type: ${JSON.stringify(type)} follows from \`options\``);
}
