import type { ApiContext } from "../door.ts";
import { json, type Resource, route } from "../route.ts";

export const configuration: Resource<ApiContext> = {
  path: "/api/configuration",
  routes({ parts: { configuration: part } }) {
    if (!part) return [];
    return [
      route("GET /api/configuration", {
        summary: "The settings in force, with where each comes from",
        scope: "read",
        answers: "ConfigurationInfo",
        handle: async () => json(await part.show()),
      }),
    ];
  },
};
