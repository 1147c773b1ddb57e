import type { ApiContext } from "../door.ts";
import { HttpError } from "../door-error.ts";
import type { SessionsCapability } from "../host-parts.ts";
import { type Identity, requireScope } from "../identify.ts";
import { type HandlerResult, json, LIMIT, type Resource, route, HANDLED } from "../route.ts";
import { requireMode } from "../runs.ts";
import { streamSession } from "../stream-session.ts";
import type { AgentSessionDetail, SessionState } from "../wire.ts";

const STATES: readonly SessionState[] = ["idle", "running", "waiting", "stopped", "failed"];

export const sessions: Resource<ApiContext> = {
  path: "/api/sessions",
  routes(api) {
    const part = api.parts.sessions;
    if (!part) return [];
    return [
      route("GET /api/sessions", {
        summary: "Conversations with agents, those that changed last first",
        scope: "read",
        query: [
          { name: "state", summary: `One of ${STATES.join(", ")}` },
          { name: "parent", summary: "Only those that this one spawned" },
          LIMIT,
        ],
        answers: "AgentSessionPage",
        async handle({ query }) {
          const [requested, parent] = [query.text("state"), query.text("parent")];
          const state = STATES.find((known) => known === requested);
          if (requested !== undefined && !state) {
            throw new HttpError("bad_request", "There is no such state", `States are: ${STATES.join(", ")}.`);
          }
          const limit = query.number("limit", { min: 1, max: 500 }) ?? 100;
          return json(await part.list({ limit, state, parent }));
        },
      }),
      route("POST /api/sessions", {
        summary: "Begin a conversation",
        scope: "call",
        body: "NewAgentSessionRequest",
        answers: "AgentSessionInfo",
        async handle({ body, identity }) {
          requireMode(body.mode, identity);
          return json(await part.create(body, identity.name));
        },
      }),
      route("GET /api/sessions/{key}", {
        summary: "One conversation: where it stands, and what it spawned",
        scope: "read",
        answers: "AgentSessionDetail",
        handle: async ({ params }) => json(await find(part, params["key"]!)),
      }),
      route("GET /api/sessions/{key}/history", {
        summary: "What was said and done, oldest first",
        scope: "read",
        query: [{ name: "after", summary: "Only entries with a higher number", type: "integer" }, LIMIT],
        answers: "SessionEntryPage",
        async handle({ params, query }) {
          const { key } = await find(part, params["key"]!);
          const limit = query.number("limit", { min: 1, max: 500 }) ?? 500;
          const items = await part.history(key, { after: query.number("after", { min: 0 }) ?? 0, limit: limit + 1 });
          const more = items.length > limit ? { next: String(items[limit - 1]!.seq) } : {};
          return json({ items: items.slice(0, limit), ...more });
        },
      }),
      route("GET /api/sessions/{key}/updates", {
        summary: "Its entries, and what is said while it is said",
        scope: "read",
        query: [
          {
            name: "after",
            summary: "Only entries with a higher number; `Last-Event-ID` says the same",
            type: "integer",
          },
        ],
        answers: [{ mediaType: "text/event-stream", summary: "SessionFrame as server-sent events" }],
        async handle(context): Promise<HandlerResult> {
          const { key } = await find(part, context.params["key"]!);
          const last = Number(context.incoming.headers["last-event-id"]);
          const after = context.query.number("after", { min: 0 }) ?? (Number.isSafeInteger(last) ? last : 0);
          streamSession({ key, after, part }, api, context);
          return HANDLED;
        },
      }),
      route("POST /api/sessions/{key}/messages", {
        summary: "Say something to it; with waitMs, wait for the answer",
        scope: "call",
        body: "SessionMessageRequest",
        answers: "SessionMessageAnswer",
        async handle({ params, body, identity, outgoing }) {
          const { key } = await findOwn(part, params["key"]!, identity);
          const gone = new AbortController();
          outgoing.once("close", () => gone.abort());
          return json(await part.send(key, body, { by: identity.name, signal: gone.signal }));
        },
      }),
      route("POST /api/sessions/{key}/stop", {
        summary: "End its turn, and those of the sessions that it spawned",
        scope: "call",
        answers: "SessionStopped",
        async handle({ params, identity }) {
          const { key } = await findOwn(part, params["key"]!, identity);
          return json(await part.stop(key));
        },
      }),
    ];
  },
};

async function find(part: SessionsCapability, key: string): Promise<AgentSessionDetail> {
  const session = await part.find(key);
  if (session) return session;
  throw new HttpError("not_found", `There is no session "${key}"`, "Look at GET /api/sessions.");
}

/** One's own; with `admin` everybody's: what is said is done in its owner's name. */
async function findOwn(part: SessionsCapability, key: string, identity: Identity): Promise<AgentSessionDetail> {
  const session = await find(part, key);
  if (session.caller.user !== identity.name) requireScope(identity, "admin", "To steer a session of somebody else");
  return session;
}
