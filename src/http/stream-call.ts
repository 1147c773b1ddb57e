import type { IncomingMessage, ServerResponse } from "node:http";
import type { EventOf, ToolEvent } from "../core/events.ts";
import type { RecentCall } from "./call-book.ts";
import type { ApiContext } from "./door.ts";
import { type Identity, isCurrent } from "./identify.ts";
import type { Run } from "./runs.ts";
import { EventStream } from "./streams.ts";
import type { CallFrame, CallRequest } from "./wire.ts";

interface Connection {
  identity: Identity;
  incoming: IncomingMessage;
  outgoing: ServerResponse;
}

/** Makes a call and tells what happens to it as it happens; the last frame is the result. */
export function streamCall(request: CallRequest, api: ApiContext, connection: Connection): void {
  api.streams.admit();
  const early: CallFrame[] = [];
  let send = (frame: CallFrame): void => void early.push(frame);
  // Before the headers: a call that may not be made is refused as any request is.
  const run = startRun(request, api, connection.identity, (frame) => send(frame));
  const stream = openStream(api, connection);
  send = stream.send;
  send({ type: "started", callId: run.callId });
  early.forEach(send);
  if (!request.keepRunning) stream.onGone(() => run.cancel("its asker went away"));
  void run.result.then(() => stream.end());
}

/** A run whose frames, the result as the last one, go to `send`. */
export function startRun(
  request: CallRequest,
  { runs, feed }: ApiContext,
  identity: Identity,
  send: (frame: CallFrame) => void,
): Run {
  const run = runs.start(request, identity, (update) => send({ type: "update", update }));
  // Nobody is asked before the call has been announced, which it was: from here on nothing is missed.
  const filter = { call: run.callId, types: new Set(["permission_requested"]) };
  const stop = feed.read(filter, undefined, ({ data }) => {
    const { approvalId, reason } = data as EventOf<"permission_requested">;
    send({ type: "approval", approvalId, reason });
  });
  const result = run.result.then((ended) => {
    stop();
    send({ type: "result", result: ended });
    return ended;
  });
  return { ...run, result };
}

/** Joins a call that was made before, by whomever. */
export function watchCall(call: RecentCall, api: ApiContext, connection: Connection): void {
  api.streams.admit();
  const stream = openStream(api, connection);
  const { callId } = call;
  stream.send({ type: "started", callId });
  for (const update of call.updates) stream.send({ type: "update", update });
  const finish = (): void => {
    if (call.result) stream.send({ type: "result", result: call.result });
    stream.end();
  };
  if (call.result) return finish();
  const stop = api.feed.read({ call: callId }, undefined, ({ data }) => {
    const event = data as ToolEvent;
    if (!("callId" in event) || event.callId !== callId) return;
    if (event.type === "tool_call_updated") stream.send({ type: "update", update: event.update });
    else if (event.type === "permission_requested") {
      stream.send({ type: "approval", approvalId: event.approvalId, reason: event.reason });
    } else if (call.result) {
      stop();
      finish();
    }
  });
  stream.onGone(stop);
}

function openStream(api: ApiContext, { identity, incoming, outgoing }: Connection) {
  const { maxUnread } = api.streams;
  const stream = new EventStream(outgoing, { maxUnread, headers: api.streamHeaders(incoming) });
  const remove = api.streams.add({
    heartbeat: () => {
      stream.send(": \n\n");
      void isCurrent(identity, api.tokens, api.clock).then((current) => current || stream.end());
    },
    close: () => stream.end(),
  });
  stream.onClosed(remove);
  let isDone = false;
  return {
    send: (frame: CallFrame) => stream.send(`event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`),
    onGone: (gone: () => void) => stream.onClosed(() => isDone || gone()),
    end(): void {
      isDone = true;
      stream.end();
    },
  };
}
