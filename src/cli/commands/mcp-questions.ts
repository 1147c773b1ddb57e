import { defineCommand } from "../command.ts";
import { showQuestion, showQuestionList } from "../show-question.ts";

export const command = defineCommand({
  examples: [
    ["haft mcp questions", "what MCP servers ask you while they work"],
    ["haft mcp questions ask_1", "one of them, with every field"],
  ],
  operands: [{ name: "ID", isOptional: true }],
  options: {
    state: {
      type: "text",
      value: "STATE",
      about: "open unless said",
      oneOf: ["open", "accepted", "declined", "cancelled", "expired", "all"],
    },
  },
  async run({ connect, output, operands: [id], options: { state = "open" } }) {
    const client = await connect({ connectsMcp: false });
    if (id !== undefined) return output.data(await client.questions.get(id), showQuestion);
    const page = await client.questions.list(state === "all" ? {} : { state: state as "open" });
    output.list(page, (questions) => showQuestionList(questions, output));
    if (page.items.length === 0) output.info(state === "open" ? "No server asks anything." : "There is none.");
  },
});
