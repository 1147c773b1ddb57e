import type { ApiContext } from "../door.ts";
import { HttpError } from "../door-error.ts";
import { CURSOR, json, LIMIT, type Resource, route } from "../route.ts";

export const changes: Resource<ApiContext> = {
  path: "/api/changes",
  routes({ parts: { undo: part } }) {
    if (!part) return [];
    return [
      route("GET /api/changes", {
        summary: "What tools changed in files, newest first",
        scope: "read",
        query: [
          { name: "call", summary: "By this call, and by those that it made" },
          { name: "session", summary: "Of this session" },
          LIMIT,
          CURSOR,
        ],
        answers: "ChangePage",
        async handle({ query }) {
          const limit = query.number("limit", { min: 1, max: 500 }) ?? 100;
          const requested = {
            call: query.text("call"),
            session: query.text("session"),
            cursor: query.text("cursor"),
            limit,
          };
          return json(await part.list(requested));
        },
      }),
      route("GET /api/changes/{id}", {
        summary: "One change, with its difference",
        scope: "read",
        answers: "ChangeDetail",
        async handle({ params }) {
          const change = await part.find(params["id"]!);
          if (!change) throw new HttpError("not_found", "There is no such change, or it is no longer kept");
          return json(change);
        },
      }),
    ];
  },
};

export const undo: Resource<ApiContext> = {
  path: "/api/undo",
  routes({ parts: { undo: part } }) {
    if (!part) return [];
    return [
      route("POST /api/undo", {
        summary:
          "Put back what a call, or a session, changed; all or nothing. A change stands for the call it belongs to",
        scope: "approve",
        body: "UndoRequest",
        answers: "UndoOutcome",
        async handle({ body, identity }) {
          if (body.call === undefined && body.session === undefined && body.change === undefined) {
            throw new HttpError("bad_request", "What is to be undone?", "Send `call`, `change` or `session`.");
          }
          return json(await part.undo(body, identity.name));
        },
      }),
    ];
  },
};
