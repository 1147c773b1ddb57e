import type { ApiContext } from "../door.ts";
import { HttpError } from "../door-error.ts";
import type { ToolEventType } from "../../core/events.ts";
import type { EventFilter } from "../event-feed.ts";
import { isCurrent } from "../identify.ts";
import { type Query, type QueryParameter, type Resource, route, HANDLED } from "../route.ts";
import { EventStream } from "../streams.ts";

const EVENT_TYPES: readonly ToolEventType[] = [
  "tool_call_requested",
  "permission_requested",
  "permission_resolved",
  "job_queued",
  "tool_call_started",
  "tool_call_updated",
  "tool_call_pending",
  "tool_call_completed",
  "tool_call_failed",
  "tool_call_settled_late",
  "tool_registered",
  "tool_unregistered",
];

export const EVENT_QUERY: readonly QueryParameter[] = [
  { name: "types", summary: "Only these, with commas" },
  { name: "tool", summary: "Only of this tool" },
  { name: "session", summary: "Only of this session" },
  { name: "call", summary: "Only of this call and of those that it makes" },
  { name: "after", summary: "What was missed since this id comes first; `Last-Event-ID` says the same" },
];

export const events: Resource<ApiContext> = {
  path: "/api/events",
  routes: (api) => [
    route("GET /api/events", {
      summary: "Everything that happens, as it happens",
      scope: "read",
      query: EVENT_QUERY,
      answers: [{ mediaType: "text/event-stream", summary: "EventMessage as server-sent events" }],
      handle({ query, identity, incoming, outgoing }) {
        const filter = filterOf(query);
        const { feed, streams, tokens, clock, startedAt } = api;
        streams.admit();
        const lastId = incoming.headers["last-event-id"];
        const after = query.text("after") ?? (typeof lastId === "string" ? lastId : undefined);
        const stream = new EventStream(outgoing, {
          maxUnread: streams.maxUnread,
          headers: api.streamHeaders(incoming),
        });
        stream.send(feed.hello(after, { startedAt }).stream);
        const stop = feed.read(filter, after, (entry) => stream.send(entry.stream));
        const remove = streams.add({
          heartbeat: () => {
            stream.send(feed.createEntry("heartbeat", { at: clock.now() }).stream);
            void isCurrent(identity, tokens, clock).then((current) => current || stream.end());
          },
          close: () => stream.end(),
        });
        stream.onClosed(() => {
          stop();
          remove();
        });
        return HANDLED;
      },
    }),
  ],
};

export function filterOf(query: Query): EventFilter {
  const types = query.text("types")?.split(",");
  const unknown = types?.find((type) => !(EVENT_TYPES as readonly string[]).includes(type));
  if (unknown !== undefined) {
    throw new HttpError(
      "bad_request",
      `There is no event type "${unknown.slice(0, 50)}"`,
      `There are: ${EVENT_TYPES.join(", ")}.`,
    );
  }
  const filter: EventFilter = {};
  if (types) filter.types = new Set(types);
  for (const name of ["tool", "session", "call"] as const) {
    const value = query.text(name);
    if (value !== undefined) filter[name] = value;
  }
  return filter;
}
