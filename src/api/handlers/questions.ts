import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import type { QuestionInfo, questions as contract } from "../../contracts/questions.ts";
import type { ServerQuestion, ServerQuestions } from "../../mcp/client/elicitation.ts";

export function createQuestionsApi(questions: ServerQuestions): Handlers<typeof contract> {
  const find = async (id: string): Promise<ServerQuestion> => {
    // A store may fail on a NUL character, and keeps none.
    const found = id.includes("\0") ? undefined : await questions.get(id);
    if (found) return found;
    throw new ApiError("not_found", "There is no such question", "Look at GET /api/questions.");
  };
  return {
    list: async ({ query: { state } }) => ({ items: (await questions.list(state)).map(infoOf).reverse() }),
    get: async ({ params }) => infoOf(await find(params.id)),
    async answer({ params, body: { action, content }, identity: { name: by } }) {
      const { id } = await find(params.id);
      return infoOf(await questions.answer(id, { action, by, via: "http", content }));
    },
  };
}

/** The answers of a person are for the MCP server only. */
function infoOf({ content: _content, ...question }: ServerQuestion): QuestionInfo {
  return question;
}
