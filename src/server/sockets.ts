/** The WebSocket: events to the client; calls, and the tools of clients, to the server. */
import type { IncomingMessage, Server } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { checkBody } from "../api/check-request.ts";
import type { EventReader } from "../api/handlers/event-feed.ts";
import type { HostApi } from "../api/host-api.ts";
import { toApiError, toErrorAnswer } from "../api/handlers/to-api-error.ts";
import type { OpenStreams } from "../api/open-streams.ts";
import { checkQuery, readQuery } from "../api/query.ts";
import { ApiError } from "../contracts/errors.ts";
import { type EventMessage, EventQuery } from "../contracts/events.ts";
import { type Identity, requireScope } from "../contracts/identity.ts";
import { type ClientRequest, SOCKET_PATH, type SocketAnswer, SocketRequest } from "../contracts/socket.ts";
import { ToolError } from "../core/error.ts";
import { parseJson } from "../core/parse-json.ts";
import type { ClientLink, ClientTools } from "../models/client-tools.ts";
import { type Authenticator, invalidToken } from "./authentication.ts";
import { checkOrigin, type OriginPolicy } from "./origin-policy.ts";
import { API_HEADERS } from "./security-headers.ts";

const PROTOCOL = "haft";
const TOKEN_PROTOCOL = "haft.token.";
const MAX_CALLS = 1000;

export interface SocketOptions {
  api: HostApi;
  clients: ClientTools;
  streams: OpenStreams;
  authenticator: Authenticator;
  maxBodyBytes: number;
  /** Known when the server listens. */
  originPolicy(): OriginPolicy;
  /** Everything that was refused or failed. A fault is given as it was thrown. */
  onError(incoming: IncomingMessage, status: number, reason: unknown): void;
}

/** The identity is decided before a WebSocket opens. Other upgrades are refused here: they would keep their socket. */
export function attachSockets(server: Server, options: SocketOptions): void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: options.maxBodyBytes,
    perMessageDeflate: false,
    // The protocol that has the token is not repeated.
    handleProtocols: (offered) => (offered.has(PROTOCOL) ? PROTOCOL : false),
  });
  server.on("upgrade", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    admit(incoming, options).then(
      ({ identity, query }) =>
        sockets.handleUpgrade(incoming, socket, head, (opened) => {
          try {
            new Connection(opened, socket, identity, options).open(query);
          } catch {
            // The limit was reached meanwhile.
            opened.close(1013, "too many streams");
          }
        }),
      (thrown: unknown) => refuse(incoming, socket, thrown, options),
    );
  });
}

async function admit(incoming: IncomingMessage, { authenticator, originPolicy, streams }: SocketOptions) {
  const { headers, url = "", socket } = incoming;
  checkOrigin(incoming, originPolicy(), { isPage: false });
  const [path, search = ""] = url.split("?");
  if (headers.upgrade?.toLowerCase() !== "websocket" || path !== SOCKET_PATH) {
    const next = `The WebSocket is at ${SOCKET_PATH}; send other requests without Upgrade.`;
    throw new ApiError("bad_request", "This upgrade is not supported here", next);
  }
  const token = tokenOf(headers["sec-websocket-protocol"]);
  const identity = await authenticator.authenticate({ headers, remoteAddress: socket.remoteAddress, token });
  if (identity.kind === "session" && !originPolicy().ownOrigins.has(headers.origin ?? "")) {
    throw new ApiError("forbidden", "With a session, only the console may connect", "Use a bearer token.");
  }
  requireScope(identity, "read", "To read events");
  streams.requireFree();
  const query = checkQuery(EventQuery, readQuery(EventQuery, new URLSearchParams(search)));
  return { identity, query };
}

function tokenOf(protocols: string | undefined): string | undefined {
  const offered = protocols?.split(",").map((protocol) => protocol.trim());
  return offered?.find((protocol) => protocol.startsWith(TOKEN_PROTOCOL))?.slice(TOKEN_PROTOCOL.length);
}

function refuse(incoming: IncomingMessage, socket: Duplex, thrown: unknown, { onError }: SocketOptions): void {
  const error = toApiError(thrown);
  const status = error?.status ?? 500;
  onError(incoming, status, error ? error.message : thrown);
  const text = JSON.stringify(toErrorAnswer(thrown));
  const headers = { ...API_HEADERS, ...error?.headers, "content-type": "application/json", connection: "close" };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}` +
      `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
}

/** Messages are sent to many clients, so their bytes are kept as long as they are. */
const encoded = new WeakMap<EventMessage, Buffer>();

class Connection {
  readonly #socket: WebSocket;
  /** Below the WebSocket. */
  readonly #stream: Duplex;
  readonly #identity: Identity;
  readonly #options: SocketOptions;
  /** Of the calls that end with the connection. */
  readonly #cancels = new Set<() => void>();
  /** Calls whose result was not sent yet. */
  #awaited = 0;
  #link: ClientLink | undefined;
  #reader: EventReader | undefined;

  constructor(socket: WebSocket, stream: Duplex, identity: Identity, options: SocketOptions) {
    this.#socket = socket;
    this.#stream = stream;
    this.#identity = identity;
    this.#options = options;
  }

  open({ after, ...filter }: EventQuery): void {
    const { api, streams, authenticator } = this.#options;
    const socket = this.#socket;
    let isAlive = true;
    socket.on("pong", () => (isAlive = true));
    const remove = streams.add({
      heartbeat: () => {
        if (!isAlive) return socket.terminate();
        isAlive = false;
        socket.ping();
        void authenticator.isCurrent(this.#identity).then((current) => current || this.#endToken());
      },
      close: () => socket.close(1001, "the server ends"),
      isAwaited: () => this.#awaited > 0 && socket.readyState === socket.OPEN,
    });
    const reader = (this.#reader = api.feed.read(filter, after, (messages) => this.#sendAll(messages)));
    socket.on("error", () => socket.terminate());
    socket.on("close", () => {
      reader.stop();
      remove();
      for (const cancel of this.#cancels) cancel();
      this.#link?.disconnected();
    });
    socket.on("message", (data, isBinary) => void this.#onMessage(isBinary ? undefined : String(data as Buffer)));
  }

  /** A message that is not an event has the id of the last event: this client must have got that one. */
  #send(message: EventMessage): void {
    this.#reader?.flush();
    this.#sendAll([message]);
  }

  #sendAll(messages: readonly EventMessage[]): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    // All of them in one write.
    this.#stream.cork();
    for (const message of messages) {
      let bytes = encoded.get(message);
      if (!bytes) encoded.set(message, (bytes = Buffer.from(JSON.stringify(message))));
      socket.send(bytes, { binary: false });
    }
    this.#stream.uncork();
    // Unread messages are kept in memory: a client that does not read is disconnected.
    if (socket.bufferedAmount > this.#options.streams.maxUnread) {
      socket.close(1013, "too slow");
      socket.terminate();
    }
  }

  #answer(answer: SocketAnswer): void {
    this.#send({ id: this.#options.api.feed.lastId, type: "answer", data: answer });
  }

  #endToken(): void {
    this.#socket.close(1008, "the token ended");
  }

  async #onMessage(text: string | undefined): Promise<void> {
    let request = "";
    try {
      const message = text === undefined ? undefined : parse(text);
      request = requestOf(message);
      const parsed = checkBody(SocketRequest, message);
      // Between two heartbeats too: a revoked token starts nothing.
      if (!(await this.#options.authenticator.isCurrent(this.#identity))) {
        this.#answer({ request, ...toErrorAnswer(invalidToken()) });
        return this.#endToken();
      }
      await this.#handle(parsed);
    } catch (thrown) {
      this.#answer({ request, ...toErrorAnswer(thrown) });
    }
  }

  async #handle(message: SocketRequest): Promise<void> {
    const { request } = message;
    switch (message.type) {
      case "call":
        return this.#call(message);
      case "cancel": {
        const cancelled = this.#options.api.runner.cancel(message.callId, this.#identity);
        return this.#answer({ request, cancelled });
      }
      default:
        requireScope(this.#identity, "call", "To bring tools");
        try {
          return await this.#serveTools(message);
        } catch (error) {
          throw error instanceof ToolError ? clientError(error) : error;
        }
    }
  }

  #call({ request, call: { answer, ...call } }: Extract<SocketRequest, { type: "call" }>): void {
    if (this.#cancels.size >= MAX_CALLS) {
      throw new ApiError("too_many_requests", "Too many calls at once", "Wait for some to end.");
    }
    const run = this.#options.api.runner.follow(call, this.#identity, (frame) => this.#answer({ request, frame }));
    this.#awaited++;
    void run.result.then(() => this.#awaited--);
    if (call.keepRunning || answer === "background") return;
    run.isAttached = true;
    const cancel = (): void => run.cancel("the client disconnected");
    this.#cancels.add(cancel);
    void run.result.then(() => this.#cancels.delete(cancel));
  }

  async #serveTools(message: ClientRequest): Promise<void> {
    const { request } = message;
    switch (message.type) {
      case "register":
        return this.#register(message);
      case "unregister":
        await this.#link?.leave();
        return this.#answer({ request, registered: [] });
      case "result": {
        const { id, content, details, error } = message;
        if (!this.#link) {
          throw new ApiError("conflict", "This client has registered no tools", "Send `register` first.");
        }
        return this.#answer({ request, result: await this.#link.answer(id, { content, details, error }) });
      }
    }
  }

  #register({ request, client = "client", tools }: Extract<ClientRequest, { type: "register" }>): void {
    const { api, clients } = this.#options;
    const { id: owner, name: user } = this.#identity;
    // A call that waited is sent at once, but after the answer to the registration.
    const early: EventMessage[] = [];
    let isRegistered = false;
    const send = (message: EventMessage): void => {
      if (isRegistered) this.#send(message);
      else early.push(message);
    };
    this.#link = clients.connect({ owner, user, name: client }, tools, {
      call: (data) => send({ id: api.feed.lastId, type: "client_call", data }),
      ended: (id, reason) => send({ id: api.feed.lastId, type: "client_call_ended", data: { id, reason } }),
    });
    this.#answer({ request, registered: tools.map((tool) => tool.name) });
    isRegistered = true;
    early.forEach(send);
  }
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw error instanceof ToolError ? new ApiError("bad_request", error.summary, error.next) : error;
  }
}

function requestOf(message: unknown): string {
  const { request } = Object(message) as { request?: unknown };
  return typeof request === "string" ? request.slice(0, 256) : "";
}

function clientError({ code, summary, next }: ToolError): ApiError {
  if (code === "conflict") return new ApiError("conflict", summary, next);
  return new ApiError(code === "busy" ? "too_many_requests" : "bad_request", summary, next);
}
