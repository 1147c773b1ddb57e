import type { IncomingMessage, Server } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { ToolError } from "../core/error.ts";
import { parseJson } from "../core/parse-json.ts";
import { type OriginPolicy, checkOrigin } from "./allowed-places.ts";
import { logRefusal } from "./answer-request.ts";
import type { ApiContext } from "./door.ts";
import { HttpError, toRefusal } from "./door-error.ts";
import { type Identify, type Identity, isCurrent, requireScope, wrongToken } from "./identify.ts";
import { checkShape } from "./read-body.ts";
import { readQuery } from "./read-query.ts";
import { EVENT_QUERY, filterOf } from "./resources/events.ts";
import { type ServedClient, serveClient } from "./serve-client.ts";
import { API_HEADERS } from "./security-headers.ts";
import { startRun } from "./stream-call.ts";
import type { SocketReply, SocketRequest } from "./wire.ts";

const SOCKET_PATH = "/api/socket";
const PROTOCOL = "haft";
const TOKEN_PROTOCOL = "haft.token.";
const MAX_CALLS = 1000;

export interface SocketOptions {
  api: ApiContext;
  identify: Identify;
  originPolicy: () => OriginPolicy;
  maxBodyBytes: number;
  log: (line: string) => void;
}

/**
 * The WebSocket: events out, calls in. Who it is is settled in the request that opens it, so that nobody unknown ever sends a
 * message. Every other kind of upgrade is refused here too: left alone, it would hold its socket for ever.
 */
export function attachSocket(server: Server, { api, identify, originPolicy, maxBodyBytes, log }: SocketOptions): void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: maxBodyBytes,
    perMessageDeflate: false,
    // The protocol that holds the token is never said back.
    handleProtocols: (offered) => (offered.has(PROTOCOL) ? PROTOCOL : false),
  });
  server.on("upgrade", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    admit(incoming).then(
      ({ identity, filter, after }) =>
        sockets.handleUpgrade(incoming, socket, head, (opened) => serve(opened, identity, filter, after)),
      (thrown: unknown) => refuse(incoming, socket, thrown),
    );
  });

  async function admit(incoming: IncomingMessage) {
    const { headers, url = "" } = incoming;
    checkOrigin(headers, originPolicy(), { isPage: false });
    if (headers.upgrade?.toLowerCase() !== "websocket" || url.split("?")[0] !== SOCKET_PATH) {
      throw new HttpError(
        "bad_request",
        "There is no such upgrade here",
        `A WebSocket is at ${SOCKET_PATH}; send other requests without Upgrade.`,
      );
    }
    const token = tokenOf(headers["sec-websocket-protocol"]);
    const address = incoming.socket.remoteAddress ?? "";
    const identity = await identify({ headers, address, token });
    if (identity.kind === "session" && !originPolicy().ownOrigins.has(headers.origin ?? "")) {
      throw new HttpError("forbidden", "With a session, only the console may connect", "Use a bearer token.");
    }
    requireScope(identity, "read", "To hear of events");
    api.streams.admit();
    const query = readQuery(url, EVENT_QUERY);
    return { identity, filter: filterOf(query), after: query.text("after") };
  }

  function refuse(incoming: IncomingMessage, socket: Duplex, thrown: unknown): void {
    const { status, answer, headers, isOurs } = toRefusal(thrown);
    logRefusal(log, incoming, status, isOurs ? thrown : answer.error.message);
    const text = JSON.stringify(answer);
    const lines = Object.entries({
      ...API_HEADERS,
      ...headers,
      "content-type": "application/json",
      connection: "close",
    });
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}` +
        `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
  }

  function serve(
    socket: WebSocket,
    identity: Identity,
    filter: ReturnType<typeof filterOf>,
    after: string | undefined,
  ): void {
    const { feed, streams, tokens, clock, startedAt } = api;
    const send = (message: string): void => {
      if (socket.readyState !== socket.OPEN) return;
      socket.send(message);
      // What a client does not read is held in memory: it is told why it is let go, and let go.
      if (socket.bufferedAmount > streams.maxUnread) {
        socket.close(1013, "too slow");
        socket.terminate();
      }
    };
    send(feed.hello(after, { startedAt }).message);
    const stop = feed.read(filter, after, (entry) => send(entry.message));
    let isAlive = true;
    socket.on("pong", () => (isAlive = true));
    const remove = streams.add({
      heartbeat: () => {
        if (!isAlive) return socket.terminate();
        isAlive = false;
        socket.ping();
        send(feed.createEntry("heartbeat", { at: clock.now() }).message);
        void isCurrent(identity, tokens, clock).then((current) => current || socket.close(1008, "the token ended"));
      },
      close: () => socket.close(1001, "the server ends"),
    });
    const cancels = new Set<() => void>();
    const client = serveClient(api, {
      identity,
      answer: (answered) => answer(answered),
      createEntry: (type, data) => send(feed.createEntry(type, data).message),
    });
    const answer = (answered: SocketReply): void => send(feed.createEntry("answer", answered).message);
    socket.on("error", () => socket.terminate());
    socket.on("close", () => {
      stop();
      remove();
      for (const cancel of cancels) cancel();
      client.disconnected();
    });
    socket.on("message", (data, isBinary) => {
      const end = (): void => socket.close(1008, "the token ended");
      void onMessage(isBinary ? undefined : String(data as Buffer), { identity, cancels, answer, client, end });
    });
  }

  async function onMessage(
    text: string | undefined,
    { identity, cancels, answer, client, end }: SocketSession & { end(): void },
  ): Promise<void> {
    let request = "";
    try {
      const message = text === undefined ? undefined : parseJson(text);
      request = requestOf(message);
      const parsed = await checkShape("SocketRequest", message);
      // Between two beats too: whoever was shut out begins nothing more.
      if (!(await isCurrent(identity, api.tokens, api.clock))) {
        answer({ request, error: toRefusal(wrongToken(undefined)).answer.error });
        return end();
      }
      await handleRequest(parsed, { identity, cancels, answer, client });
    } catch (thrown) {
      const { error } = toRefusal(
        thrown instanceof ToolError ? new HttpError("bad_request", thrown.message) : thrown,
      ).answer;
      answer({ request, error });
    }
  }

  async function handleRequest(
    parsed: SocketRequest,
    { identity, cancels, answer, client }: SocketSession,
  ): Promise<void> {
    const { request } = parsed;
    if (parsed.type !== "call" && parsed.type !== "cancel") return client.handleRequest(parsed);
    if (parsed.type === "cancel") return answer({ request, cancelled: api.runs.cancel(parsed.callId, identity) });
    if (cancels.size >= MAX_CALLS)
      throw new HttpError("too_many_requests", "Too many calls at once", "Wait for some to end.");
    const early: Parameters<typeof answer>[0][] = [];
    let isStarted = false;
    const run = startRun(parsed.call, api, identity, (frame) =>
      isStarted ? answer({ request, frame }) : early.push({ request, frame }),
    );
    answer({ request, frame: { type: "started", callId: run.callId } });
    isStarted = true;
    early.forEach(answer);
    const cancel = (): void => run.cancel("its asker went away");
    if (!parsed.call.keepRunning && parsed.call.answer !== "background") cancels.add(cancel);
    void run.result.then(() => cancels.delete(cancel));
  }
}

interface SocketSession {
  identity: Identity;
  cancels: Set<() => void>;
  answer(answered: SocketReply): void;
  client: ServedClient;
}

function requestOf(message: unknown): string {
  const { request } = Object(message) as { request?: unknown };
  return typeof request === "string" ? request.slice(0, 256) : "";
}

function tokenOf(protocols: string | undefined): string | undefined {
  const offered = protocols?.split(",").map((protocol) => protocol.trim());
  return offered?.find((protocol) => protocol.startsWith(TOKEN_PROTOCOL))?.slice(TOKEN_PROTOCOL.length);
}
