import { textOf } from "../../core/content.ts";
import { type BookedCall, rowOf } from "../call-book.ts";
import type { Door } from "../door.ts";
import { DoorError } from "../door-error.ts";
import type { Identity } from "../identify.ts";
import { type Answer, type Ask, CURSOR, json, LIMIT, type Resource, route, TAKEN } from "../route.ts";
import { streamCall, watchCall } from "../stream-call.ts";
import type { CallDetail, CallInfo, CallRequest, CallStarted, Page } from "../wire.ts";

const MOST_OUTPUT = 1024 * 1024;

export const calls: Resource<Door> = {
  path: "/api/calls",
  routes: (door) => [
    route("POST /api/calls", {
      summary: "Call a tool",
      scope: "call",
      body: "CallRequest",
      answers: CALL_ANSWERS,
      handle: (ask) => startCall(ask.body, ask, door),
    }),
    route("GET /api/calls", {
      summary: "The last calls, newest first",
      scope: "read",
      query: [
        { name: "tool", summary: "Its name" },
        { name: "status", summary: "waiting, running, completed, failed, pending; several with commas" },
        { name: "session", summary: "Of this session" },
        { name: "parent", summary: "Made by this call" },
        LIMIT,
        CURSOR,
      ],
      answers: "CallPage",
      async handle({ query }) {
        const asked = {
          tool: query.text("tool"),
          status: query.text("status"),
          session: query.text("session"),
          parent: query.text("parent"),
          limit: query.number("limit", { least: 1, most: 500 }) ?? 100,
          cursor: query.text("cursor"),
        };
        const { items, next } = door.book.list(asked);
        const page: Page<CallInfo> = { items: await describe(items, door) };
        return json(next === undefined ? page : { ...page, next });
      },
    }),
    route("GET /api/calls/{id}", {
      summary: "One call with its input, its last updates and its result",
      scope: "read",
      answers: "CallDetail",
      async handle({ params, identity }) {
        const call = booked(door, params["id"]!, identity);
        const made = door.book.list({ parent: call.callId, caller: call.caller, limit: 500 }).items;
        const [info, ...children] = await describe([call, ...made], door);
        const { input, updates, result } = call;
        const detail: CallDetail = { ...info!, input, updates, children };
        return json(result === undefined ? detail : { ...detail, result });
      },
    }),
    route("GET /api/calls/{id}/updates", {
      summary: "Watch a call until its result",
      scope: "read",
      answers: [{ mediaType: "text/event-stream", summary: "CallFrame as server-sent events" }],
      handle({ params, identity, incoming, outgoing }) {
        watchCall(booked(door, params["id"]!, identity), door, { identity, incoming, outgoing });
        return TAKEN;
      },
    }),
    route("GET /api/calls/{id}/output", {
      summary: "The whole output as text, also where the result holds a part of it",
      scope: "read",
      query: [
        { name: "offset", summary: "From this character on", type: "integer" },
        { name: "limit", summary: `At most this many characters, up to ${MOST_OUTPUT}`, type: "integer" },
      ],
      answers: [{ mediaType: "text/plain" }],
      handle: ({ params, query, identity }) => readOutput(booked(door, params["id"]!, identity), query, door),
    }),
    route("POST /api/calls/{id}/cancel", {
      summary: "Stop a call that was made through this server",
      scope: "call",
      answers: [{ status: 202, shape: "CallStarted" }],
      handle({ params, identity }) {
        const callId = params["id"]!;
        if (!door.runs.cancel(callId, identity)) {
          throw new DoorError("not_found", "No such call is under way here", "Look at GET /api/calls?status=running.");
        }
        return json({ callId } satisfies CallStarted, 202);
      },
    }),
    route("POST /api/calls/{id}/replay", {
      summary: "Make a call again under a new id, with the same or an edited input",
      scope: "call",
      body: "ReplayRequest",
      answers: CALL_ANSWERS,
      handle(ask) {
        const { toolName, input, caller } = booked(door, ask.params["id"]!, ask.identity);
        // What was called is only told to who may see it.
        if (!("input" in ask.body) && !mayRead(ask.identity)) {
          throw new DoorError("forbidden", 'To repeat a call as it was needs the scope "read"', "Send the input.");
        }
        const session = caller.session === undefined ? {} : { session: caller.session };
        return startCall({ tool: toolName, input, ...session, ...ask.body }, ask, door);
      },
    }),
  ],
};

const CALL_ANSWERS = [
  { shape: "ToolResult", summary: "The result; of a call that failed or waits as well" },
  { mediaType: "text/event-stream", summary: "With `answer: events`: CallFrame as server-sent events" },
  { status: 202, shape: "CallStarted", summary: "With `answer: background`" },
] as const;

function startCall(
  request: CallRequest,
  { identity, incoming, outgoing }: Pick<Ask<unknown>, "identity" | "incoming" | "outgoing">,
  door: Door,
): Answer | Promise<Answer> {
  if (request.answer === "events") {
    streamCall(request, door, { identity, incoming, outgoing });
    return TAKEN;
  }
  const { callId, result, cancel } = door.runs.start(request, identity);
  if (request.answer === "background") {
    return json({ callId } satisfies CallStarted, 202, { location: `/api/calls/${encodeURIComponent(callId)}` });
  }
  if (!request.keepRunning) outgoing.once("close", () => outgoing.writableFinished || cancel("its asker went away"));
  return result.then((ended) => json(ended));
}

/** Who made a call with this id sees their own, whoever else used the id. */
function booked({ book }: Door, callId: string, { name }: Identity): BookedCall {
  const call = book.find(callId, name);
  if (call) return call;
  throw new DoorError("not_found", "That call is not known, or no longer kept", "Look for it in the audit log.");
}

async function describe(found: readonly BookedCall[], { haft, parts }: Door): Promise<CallInfo[]> {
  const undoable = await parts.undo?.undoable(found.map(({ callId }) => callId));
  return found.map((call) => {
    const kind = haft.registry.get(call.toolName)?.kind;
    return { ...rowOf(call), ...(kind ? { kind } : {}), ...(undoable?.has(call.callId) ? { canUndo: true } : {}) };
  });
}

function mayRead({ scopes }: Identity): boolean {
  return scopes.includes("read");
}

/** Only what a result named can be read: a reference that an asker makes up leads nowhere. */
async function readOutput(call: BookedCall, query: Ask["query"], { haft }: Door): Promise<Answer> {
  const { result } = call;
  if (!result) throw new DoorError("conflict", "The call has not ended", "Wait for its result.");
  const { spill } = result.metadata;
  const whole = spill ? await haft.spill.read(spill.ref) : textOf(result.content);
  if (whole === undefined) throw new DoorError("not_found", "The output is no longer kept", "Make the call again.");
  const offset = query.number("offset") ?? 0;
  const text = whole.slice(offset, offset + (query.number("limit", { least: 1, most: MOST_OUTPUT }) ?? MOST_OUTPUT));
  const end = offset + text.length;
  return {
    text,
    mediaType: "text/plain; charset=utf-8",
    headers: {
      "x-total-characters": String(whole.length),
      ...(end < whole.length ? { "x-next-offset": String(end) } : {}),
    },
  };
}
