import { JOB_STATES } from "../../calls/job.ts";
import type { ApiContext } from "../door.ts";
import { HttpError } from "../door-error.ts";
import type { JobsCapability } from "../host-parts.ts";
import { type Identity, requireScope } from "../identify.ts";
import { type HandlerResult, CURSOR, json, LIMIT, type Resource, route, HANDLED } from "../route.ts";
import { streamJob } from "../stream-job.ts";
import type { JobDetail } from "../wire.ts";

export const jobs: Resource<ApiContext> = {
  path: "/api/jobs",
  routes(api) {
    const part = api.parts.jobs;
    if (!part) return [];
    return [
      route("GET /api/jobs", {
        summary: "Background calls, newest first, and how many there are in each state",
        scope: "read",
        query: [
          { name: "state", summary: `Only these, with commas: ${JOB_STATES.join(", ")}` },
          { name: "tool", summary: "Only of this tool" },
          { name: "session", summary: "Only of this session" },
          LIMIT,
          CURSOR,
        ],
        answers: "JobPage",
        async handle({ query }) {
          const states = query.text("state")?.split(",");
          const known = JOB_STATES.filter((state) => states?.includes(state));
          if (states && known.length !== new Set(states).size) {
            throw new HttpError("bad_request", "There is no such state", `States are: ${JOB_STATES.join(", ")}.`);
          }
          const [toolName, session, before] = [query.text("tool"), query.text("session"), query.text("cursor")];
          return json(
            await part.list({
              limit: query.number("limit", { min: 1, max: 500 }) ?? 50,
              states: states ? known : undefined,
              toolName,
              session,
              before,
            }),
          );
        },
      }),
      route("GET /api/jobs/{id}", {
        summary: "One job, with its input and, once it has ended, its result",
        scope: "read",
        answers: "JobDetail",
        handle: async ({ params }) => json(await find(part, params["id"]!)),
      }),
      route("GET /api/jobs/{id}/log", {
        summary: "What happened to it and what it said, oldest first",
        scope: "read",
        query: [{ name: "after", summary: "Only lines with a higher number", type: "integer" }],
        answers: "JobLogPage",
        async handle({ params, query }) {
          const { id } = await find(part, params["id"]!);
          return json({ items: await part.log(id, query.number("after", { min: 0 }) ?? 0) });
        },
      }),
      route("GET /api/jobs/{id}/updates", {
        summary: "Its log, then what comes to it as it comes, until it ends",
        scope: "read",
        answers: [{ mediaType: "text/event-stream", summary: "JobFrame as server-sent events" }],
        async handle(context): Promise<HandlerResult> {
          streamJob(await find(part, context.params["id"]!), part, api, context);
          return HANDLED;
        },
      }),
      route("POST /api/jobs/{id}/cancel", {
        summary: "End it: at once where it waits, soon where it runs",
        scope: "call",
        body: "JobCancelRequest",
        answers: "JobDetail",
        async handle({ params, body, identity }) {
          const { id } = await findOwn(part, params["id"]!, identity);
          return json(await part.cancel(id, body.reason));
        },
      }),
      route("POST /api/jobs/{id}/retry", {
        summary: "Run an ended one again, as a call of its own",
        scope: "call",
        answers: "JobDetail",
        handle: async ({ params, identity }) =>
          json(await part.retry((await findOwn(part, params["id"]!, identity)).id)),
      }),
    ];
  },
};

async function find(part: JobsCapability, id: string): Promise<JobDetail> {
  // A store may fail at a NUL character, and keeps none.
  const job = id.includes("\0") ? undefined : await part.find(id);
  if (job) return job;
  throw new HttpError("not_found", "There is no such job", "Look at GET /api/jobs.");
}

/** One's own; with `admin` everybody's. */
async function findOwn(part: JobsCapability, id: string, identity: Identity): Promise<JobDetail> {
  const job = await find(part, id);
  if (job.caller.user !== identity.name) requireScope(identity, "admin", "To steer a job of somebody else");
  return job;
}
