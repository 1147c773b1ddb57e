import type { ApiContext } from "../door.ts";
import { HttpError } from "../door-error.ts";
import { json, type Resource, route } from "../route.ts";
import type { Page, QuestionInfo } from "../wire.ts";

const STATES = ["open", "accepted", "declined", "cancelled", "expired"] as const;

export const questions: Resource<ApiContext> = {
  path: "/api/questions",
  routes({ parts: { questions: part } }) {
    if (!part) return [];
    const find = async (id: string): Promise<QuestionInfo> => {
      // A store may fail at a NUL character, and keeps none.
      const found = id.includes("\0") ? undefined : await part.find(id);
      if (found) return found;
      throw new HttpError("not_found", "There is no such question", "Look at GET /api/questions.");
    };
    return [
      route("GET /api/questions", {
        summary: "What MCP servers ask a person, newest first",
        scope: "read",
        query: [{ name: "state", summary: STATES.join(", ") }],
        answers: "QuestionPage",
        async handle({ query }) {
          const given = query.text("state");
          const state = STATES.find((each) => each === given);
          if (given !== undefined && state === undefined) {
            throw new HttpError("bad_request", "There is no such state", `States are: ${STATES.join(", ")}.`);
          }
          return json({ items: (await part.list(state)).reverse() } satisfies Page<QuestionInfo>);
        },
      }),
      route("GET /api/questions/{id}", {
        summary: "One question, with its fields or its page",
        scope: "read",
        answers: "QuestionInfo",
        handle: async ({ params }) => json(await find(params["id"]!)),
      }),
      route("POST /api/questions/{id}/answer", {
        summary: "Answer it; the server is told",
        scope: "approve",
        body: "QuestionAnswerRequest",
        answers: "QuestionInfo",
        async handle({ params, body, identity }) {
          const { id } = await find(params["id"]!);
          return json(await part.answer(id, body, identity.name));
        },
      }),
    ];
  },
};
