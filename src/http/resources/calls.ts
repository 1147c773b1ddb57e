import { textOf } from "../../core/content.ts";
import { type RecentCall, rowOf } from "../call-book.ts";
import type { ApiContext } from "../door.ts";
import { HttpError } from "../door-error.ts";
import type { Identity } from "../identify.ts";
import {
  type HandlerResult,
  type RequestContext,
  CURSOR,
  json,
  LIMIT,
  type Resource,
  route,
  HANDLED,
} from "../route.ts";
import { streamCall, watchCall } from "../stream-call.ts";
import type { CallDetail, CallInfo, CallRequest, CallStarted, Page } from "../wire.ts";

const MAX_OUTPUT_LENGTH = 1024 * 1024;

export const calls: Resource<ApiContext> = {
  path: "/api/calls",
  routes: (api) => [
    route("POST /api/calls", {
      summary: "Call a tool",
      scope: "call",
      body: "CallRequest",
      answers: CALL_RESPONSES,
      handle: (context) => startCall(context.body, context, api),
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
        const requested = {
          tool: query.text("tool"),
          status: query.text("status"),
          session: query.text("session"),
          parent: query.text("parent"),
          limit: query.number("limit", { min: 1, max: 500 }) ?? 100,
          cursor: query.text("cursor"),
        };
        const { items, next } = api.recentCalls.list(requested);
        const page: Page<CallInfo> = { items: await describe(items, api) };
        return json(next === undefined ? page : { ...page, next });
      },
    }),
    route("GET /api/calls/{id}", {
      summary: "One call with its input, its last updates and its result",
      scope: "read",
      answers: "CallDetail",
      async handle({ params, identity }) {
        const call = requireRecentCall(api, params["id"]!, identity);
        const made = api.recentCalls.list({ parent: call.callId, caller: call.caller, limit: 500 }).items;
        const [info, ...children] = await describe([call, ...made], api);
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
        watchCall(requireRecentCall(api, params["id"]!, identity), api, { identity, incoming, outgoing });
        return HANDLED;
      },
    }),
    route("GET /api/calls/{id}/output", {
      summary: "The whole output as text, also where the result holds a part of it",
      scope: "read",
      query: [
        { name: "offset", summary: "From this character on", type: "integer" },
        { name: "limit", summary: `At most this many characters, up to ${MAX_OUTPUT_LENGTH}`, type: "integer" },
      ],
      answers: [{ mediaType: "text/plain" }],
      handle: ({ params, query, identity }) => readOutput(requireRecentCall(api, params["id"]!, identity), query, api),
    }),
    route("POST /api/calls/{id}/cancel", {
      summary: "Stop a call that was made through this server",
      scope: "call",
      answers: [{ status: 202, shape: "CallStarted" }],
      handle({ params, identity }) {
        const callId = params["id"]!;
        if (!api.runs.cancel(callId, identity)) {
          throw new HttpError("not_found", "No such call is under way here", "Look at GET /api/calls?status=running.");
        }
        return json({ callId } satisfies CallStarted, 202);
      },
    }),
    route("POST /api/calls/{id}/replay", {
      summary: "Make a call again under a new id, with the same or an edited input",
      scope: "call",
      body: "ReplayRequest",
      answers: CALL_RESPONSES,
      handle(context) {
        const { toolName, input, caller } = requireRecentCall(api, context.params["id"]!, context.identity);
        // What was called is only told to who may see it.
        if (!("input" in context.body) && !mayRead(context.identity)) {
          throw new HttpError("forbidden", 'To repeat a call as it was needs the scope "read"', "Send the input.");
        }
        const session = caller.session === undefined ? {} : { session: caller.session };
        return startCall({ tool: toolName, input, ...session, ...context.body }, context, api);
      },
    }),
  ],
};

const CALL_RESPONSES = [
  { shape: "ToolResult", summary: "The result; of a call that failed or waits as well" },
  { mediaType: "text/event-stream", summary: "With `answer: events`: CallFrame as server-sent events" },
  { status: 202, shape: "CallStarted", summary: "With `answer: background`" },
] as const;

function startCall(
  request: CallRequest,
  { identity, incoming, outgoing }: Pick<RequestContext<unknown>, "identity" | "incoming" | "outgoing">,
  api: ApiContext,
): HandlerResult | Promise<HandlerResult> {
  if (request.answer === "events") {
    streamCall(request, api, { identity, incoming, outgoing });
    return HANDLED;
  }
  const { callId, result, cancel } = api.runs.start(request, identity);
  if (request.answer === "background") {
    return json({ callId } satisfies CallStarted, 202, { location: `/api/calls/${encodeURIComponent(callId)}` });
  }
  if (!request.keepRunning) outgoing.once("close", () => outgoing.writableFinished || cancel("its asker went away"));
  return result.then((ended) => json(ended));
}

/** Who made a call with this id sees their own, whoever else used the id. */
function requireRecentCall({ recentCalls }: ApiContext, callId: string, { name }: Identity): RecentCall {
  const call = recentCalls.find(callId, name);
  if (call) return call;
  throw new HttpError("not_found", "That call is not known, or no longer kept", "Look for it in the audit log.");
}

async function describe(found: readonly RecentCall[], { haft, parts }: ApiContext): Promise<CallInfo[]> {
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
async function readOutput(
  call: RecentCall,
  query: RequestContext["query"],
  { haft }: ApiContext,
): Promise<HandlerResult> {
  const { result } = call;
  if (!result) throw new HttpError("conflict", "The call has not ended", "Wait for its result.");
  const { spill } = result.metadata;
  const whole = spill ? await haft.spill.read(spill.ref) : textOf(result.content);
  if (whole === undefined) throw new HttpError("not_found", "The output is no longer kept", "Make the call again.");
  const offset = query.number("offset") ?? 0;
  const text = whole.slice(
    offset,
    offset + (query.number("limit", { min: 1, max: MAX_OUTPUT_LENGTH }) ?? MAX_OUTPUT_LENGTH),
  );
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
