import { HttpError } from "../door-error.ts";
import type { ApiContext } from "../door.ts";
import { json, type Resource, route } from "../route.ts";

export const canvas: Resource<ApiContext> = {
  path: "/api/canvas",
  routes({ parts: { canvas: part } }) {
    if (!part) return [];
    return [
      route("GET /api/canvas", {
        summary: "What agents show to their people, newest first",
        scope: "read",
        answers: "CanvasPage",
        handle: async () => json({ items: await part.list() }),
      }),
      route("GET /api/canvas/document", {
        summary: "What one session shows, as a document for a sandboxed frame of the console",
        scope: "read",
        query: [
          { name: "session", summary: "Absent for callers without one" },
          { name: "v", summary: "Ignored: another one is another address, so that a frame loads it anew" },
        ],
        answers: [{ mediaType: "text/html" }],
        async handle({ query }) {
          const document = await part.document(query.text("session") ?? "");
          if (!document) throw new HttpError("not_found", "Nothing is on this canvas");
          return {
            text: document.html,
            mediaType: "text/html; charset=utf-8",
            headers: {
              "x-frame-options": "SAMEORIGIN",
              // No origin, wherever it is opened: it cannot use what the console may.
              "content-security-policy": `${document.policy}; sandbox allow-scripts; frame-ancestors 'self'`,
            },
          };
        },
      }),
    ];
  },
};
