import type { Door } from "../door.ts";
import type { HostParts } from "../host-parts.ts";
import { json, type Resource, route } from "../route.ts";
import type { Health, PartName, ServerInfo } from "../wire.ts";

export const health: Resource<Door> = {
  path: "/api/health",
  routes: () => [
    route("GET /api/health", {
      summary: "Whether the server answers",
      scope: "anybody",
      answers: "Health",
      handle: () => json({ status: "ok" } satisfies Health),
    }),
  ],
};

export const server: Resource<Door> = {
  path: "/api/server",
  routes: ({ haft, parts, info, startedAt, warnings }) => [
    route("GET /api/server", {
      summary: "What this server is and has",
      scope: "read",
      answers: "ServerInfo",
      handle: () =>
        json({
          name: "haft",
          ...info,
          startedAt,
          parts: partsOf(parts),
          warnings: [...warnings],
          load: haft.load(),
        } satisfies ServerInfo),
    }),
  ],
};

export const openApi: Resource<Door> = {
  path: "/api/openapi.json",
  routes: (door) => [
    route("GET /api/openapi.json", {
      summary: "This document",
      scope: "read",
      answers: [{ mediaType: "application/json" }],
      handle: async () => json(await door.openApi()),
    }),
  ],
};

function partsOf(parts: HostParts): PartName[] {
  const optional = (
    [
      "policy",
      "rules",
      "audit",
      "undo",
      "artifacts",
      "canvas",
      "mcp",
      "channels",
      "questions",
      "jobs",
      "schedules",
      "sessions",
      "configuration",
    ] as const
  ).filter((part) => parts[part]);
  return [...optional, "tokens"];
}
