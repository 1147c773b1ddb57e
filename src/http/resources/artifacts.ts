import type { ApiContext } from "../door.ts";
import { CURSOR, json, LIMIT, type Query, type Resource, route } from "../route.ts";

const SESSION = { name: "session", summary: "The session that it belongs to; absent for those without one" };
const NEWEST = 1_000_000;

export const artifacts: Resource<ApiContext> = {
  path: "/api/artifacts",
  routes({ parts: { artifacts: part } }) {
    if (!part) return [];
    return [
      route("GET /api/artifacts", {
        summary: "Documents with versions, what was changed last first",
        scope: "read",
        query: [{ name: "session", summary: "Of this session" }, LIMIT, CURSOR],
        answers: "ArtifactPage",
        async handle({ query }) {
          const limit = query.number("limit", { min: 1, max: 500 }) ?? 100;
          const offset = query.number("cursor") ?? 0;
          return json(await part.list({ session: query.text("session"), limit, offset }));
        },
      }),
      route("GET /api/artifacts/{id}", {
        summary: "A document, the newest version or another one",
        scope: "read",
        query: [SESSION, { name: "version", summary: "From 1; the newest where absent" }],
        answers: "ArtifactDetail",
        handle: async ({ params, query }) => json(await part.read(keyOf(params, query), version(query, "version"))),
      }),
      route("GET /api/artifacts/{id}/versions", {
        summary: "How its versions came about, newest first",
        scope: "read",
        query: [SESSION],
        answers: "ArtifactVersionPage",
        handle: async ({ params, query }) => json({ items: await part.versions(keyOf(params, query)) }),
      }),
      route("GET /api/artifacts/{id}/diff", {
        summary: "What changed between two versions",
        scope: "read",
        query: [
          SESSION,
          { name: "from", summary: "The one before `to` where absent" },
          { name: "to", summary: "The newest where absent" },
        ],
        answers: "ArtifactDiff",
        async handle({ params, query }) {
          const between = { from: version(query, "from"), to: version(query, "to") };
          return json(await part.diff(keyOf(params, query), between));
        },
      }),
    ];
  },
};

function keyOf(params: Readonly<Record<string, string>>, query: Query): { id: string; session: string } {
  return { id: params["id"]!, session: query.text("session") ?? "" };
}

function version(query: Query, name: string): number | undefined {
  return query.number(name, { min: 1, max: NEWEST });
}
