import type { ApiContext } from "../door.ts";
import type { HostCapabilities } from "../host-parts.ts";
import { json, type Resource, route } from "../route.ts";
import type { Health, CapabilityName, ServerInfo } from "../wire.ts";

export const health: Resource<ApiContext> = {
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

export const server: Resource<ApiContext> = {
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

export const openApi: Resource<ApiContext> = {
  path: "/api/openapi.json",
  routes: (api) => [
    route("GET /api/openapi.json", {
      summary: "This document",
      scope: "read",
      answers: [{ mediaType: "application/json" }],
      handle: async () => json(await api.openApi()),
    }),
  ],
};

function partsOf(parts: HostCapabilities): CapabilityName[] {
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
