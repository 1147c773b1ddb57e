import type { ServerQuestion, ServerQuestions } from "../../mcp/client/elicitation.ts";
import type { QuestionsCapability } from "../host-parts.ts";
import type { QuestionInfo } from "../wire.ts";

/** What MCP servers ask people, in the words of the wire. */
export function questionsCapability(questions: ServerQuestions): QuestionsCapability {
  return {
    list: async (state) => (await questions.list(state)).map(infoOf),
    async find(id) {
      const found = await questions.get(id);
      return found && infoOf(found);
    },
    answer: async (id, { action, content }, by) =>
      infoOf(await questions.answer(id, { action, by, via: "http", content })),
  };
}

/** What was filled in is the server's alone. */
function infoOf({ content: _content, ...question }: ServerQuestion): QuestionInfo {
  return question;
}
