import type { CallAuthority } from "../../core/call.ts";
import type { ApiContext } from "../door.ts";
import type { SchedulesCapability } from "../host-parts.ts";
import { type Identity, requireScope } from "../identify.ts";
import { authorityOf } from "../parts/schedules-part.ts";
import { json, LIMIT, type Resource, route } from "../route.ts";
import { requireMode } from "../runs.ts";
import type { ScheduleChangeRequest, ScheduleInfo } from "../wire.ts";

export const schedules: Resource<ApiContext> = {
  path: "/api/schedules",
  routes({ parts: { schedules: part } }) {
    if (!part) return [];
    return [
      route("GET /api/schedules", {
        summary: "What is done later, with its next times, and whether somebody runs it",
        scope: "read",
        answers: "SchedulePage",
        handle: async () => json(await part.list()),
      }),
      route("POST /api/schedules", {
        summary: "Add one; it runs with the rights of the asker",
        scope: "call",
        body: "NewScheduleRequest",
        answers: "ScheduleInfo",
        async handle({
          body: { session: _session, mode: _mode, policy: _policy, allowedPaths: _paths, ...request },
          body,
          identity,
        }) {
          return json(await part.add(request, rightsOf(body, identity), identity.name));
        },
      }),
      route("GET /api/schedules/{id}", {
        summary: "One of them",
        scope: "read",
        answers: "ScheduleInfo",
        handle: async ({ params }) => json(await part.find(params["id"]!)),
      }),
      route("POST /api/schedules/{id}", {
        summary: "Change it; from now on it runs with the rights of the asker",
        scope: "call",
        body: "ScheduleChangeRequest",
        answers: "ScheduleInfo",
        async handle({ params, body, identity }) {
          const { session: _session, mode: _mode, policy: _policy, allowedPaths: _paths, ...changes } = body;
          const { id } = await findOwn(part, params["id"]!, identity);
          return json(await part.update(id, changes, rightsOf(body, identity), identity.name));
        },
      }),
      route("DELETE /api/schedules/{id}", {
        summary: "Remove it, with its runs",
        scope: "call",
        answers: "ScheduleInfo",
        handle: async ({ params, identity }) =>
          json(await part.remove((await findOwn(part, params["id"]!, identity)).id, identity.name)),
      }),
      route("POST /api/schedules/{id}/pause", {
        summary: "Pause or resume it",
        scope: "call",
        body: "SchedulePauseRequest",
        answers: "ScheduleInfo",
        handle: async ({ params, body, identity }) =>
          json(await part.pause((await findOwn(part, params["id"]!, identity)).id, body.isPaused, identity.name)),
      }),
      route("POST /api/schedules/{id}/run", {
        summary: "Run it now, with the rights that it has",
        scope: "call",
        answers: "ScheduleRun",
        handle: async ({ params, identity }) =>
          json(await part.run((await findOwn(part, params["id"]!, identity)).id, identity.name)),
      }),
      route("GET /api/schedules/{id}/runs", {
        summary: "What came of its runs, and which times were missed; newest first",
        scope: "read",
        query: [LIMIT, { name: "before", summary: "Only runs with a lower number", type: "integer" }],
        answers: "ScheduleRunPage",
        async handle({ params, query }) {
          const before = query.number("before", { min: 1 });
          const limit = query.number("limit", { min: 1, max: 500 }) ?? 50;
          return json({
            items: await part.runs(params["id"]!, { limit, before }),
          });
        },
      }),
    ];
  },
};

function rightsOf(request: ScheduleChangeRequest, identity: Identity): CallAuthority {
  requireMode(request.mode, identity);
  return authorityOf(identity.name, request);
}

/** One's own; with `admin` everybody's. */
async function findOwn(part: SchedulesCapability, id: string, identity: Identity): Promise<ScheduleInfo> {
  const schedule = await part.find(id);
  if (schedule.authority.caller.user !== identity.name) {
    requireScope(identity, "admin", "To steer a schedule of somebody else");
  }
  return schedule;
}
