import { valueOf } from "../ask-question.ts";
import { defineCommand } from "../command.ts";
import { safeLine } from "../output.ts";
import { readCallInput } from "../read-call-input.ts";
import { fieldsOf, showQuestion } from "../show-question.ts";
import { UsageError } from "../usage-error.ts";

export const command = defineCommand({
  examples: [
    ["haft mcp answer ask_1 size=L gift:=true", "fill in the form"],
    ["haft mcp answer ask_1 --visited", "you have been on the page that the server named"],
    ["haft mcp answer ask_1 --decline", "no; the server is told so"],
  ],
  operands: [{ name: "ID" }, { name: "KEY=VALUE", isRest: true, isOptional: true }],
  options: {
    visited: { type: "flag", about: "The page was visited" },
    decline: { type: "flag", about: "No" },
    cancel: { type: "flag", about: "Neither yes nor no" },
  },
  notes: ["What a form asks for goes to the server: give it no password and no key."],
  async run({ connect, terminal, output, operands: [id = "", ...words], options: { visited, decline, cancel } }) {
    const client = await connect({ connectsMcp: false });
    if (decline || cancel) {
      output.data(await client.questions.answer(id, { action: decline ? "decline" : "cancel" }), showAnswer);
      return;
    }
    const question = await client.questions.get(id);
    if (question.mode === "url" ? !visited : words.length === 0 && fieldsOf(question).length > 0) {
      output.lines(showQuestion(question));
      throw new UsageError(
        question.mode === "url" ? "Have you been there? Say --visited." : "Say what is asked for: KEY=VALUE.",
        "Or --decline, or --cancel.",
      );
    }
    const given = await readCallInput(words, terminal);
    const fields = fieldsOf(question);
    const content = Object.entries(given).map(([name, value]) => {
      const field = fields.find((each) => each.name === name);
      return [name, typeof value === "string" && field ? valueOf(value, field) : value] as const;
    });
    const answer = question.mode === "url" ? {} : { content: Object.fromEntries(content) as Record<string, string> };
    output.data(await client.questions.answer(id, { action: "accept", ...answer }), showAnswer);
  },
});

function showAnswer({ id, state }: { id: string; state: string }): string[] {
  return [`${safeLine(id)}: ${state}`];
}
