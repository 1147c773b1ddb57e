import { createServer, type IncomingMessage, request as sendRequest, type ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { errorMessage } from "../../core/error.ts";
import type { OpenSocket } from "./connections.ts";

/** An HTTP proxy for programs that open their own connections (a browser, a confined command). It checks each one. */
export interface ForwardProxy {
  /** The loopback port it listens on; undefined if it does not listen. */
  readonly port: number | undefined;
  /** Serves a connection that was accepted elsewhere, such as in a network namespace. */
  accept(socket: Socket): void;
  /** Closes every connection. New ones are served. */
  disconnect(): void;
  close(): Promise<void>;
}

export interface ForwardProxyOptions {
  openSocket: OpenSocket;
  /** Whether it listens on a loopback port. Default: true. */
  listens?: boolean;
  /** Called for every refused connection. */
  onRefused?: (address: string, why: string, error: unknown) => void;
}

/** Of one proxy. Each takes up to two file descriptors of this process. */
const MAX_CONNECTIONS = 256;

/** Hop-by-hop headers: they concern the client and its proxy only. */
const HOP_HEADERS = ["proxy-connection", "proxy-authorization", "connection", "keep-alive", "upgrade", "te", "trailer"];

export async function startForwardProxy({
  openSocket,
  listens = true,
  onRefused,
}: ForwardProxyOptions): Promise<ForwardProxy> {
  const open = new Set<Duplex>();
  const clients = new Set<Duplex>();
  const server = createServer((request, response) => void forward(request, response));
  server.on("connect", (request, socket: Duplex, head: Buffer) => void tunnel(request.url ?? "", socket, head));
  server.on("connection", (socket: Socket) => {
    clients.add(track(socket));
    socket.once("close", () => clients.delete(socket));
    if (clients.size > MAX_CONNECTIONS) socket.destroy();
  });
  if (listens) {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", resolve);
    });
  }

  return {
    port: portOf(server),
    accept: (socket) => void server.emit("connection", socket),
    disconnect,
    async close() {
      disconnect();
      if (listens) await new Promise((resolve) => server.close(resolve));
    },
  };

  function disconnect(): void {
    for (const socket of open) socket.destroy();
  }

  function track<S extends Duplex>(socket: S): S {
    open.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => open.delete(socket));
    return socket;
  }

  async function tunnel(authority: string, client: Duplex, head: Buffer): Promise<void> {
    const address = readAuthority(authority);
    if (!address) return void client.end("HTTP/1.1 400 Bad Request\r\n\r\n");
    try {
      const remote = track(await openSocket(address));
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      if (head.length > 0) remote.write(head);
      remote.pipe(client).pipe(remote);
      remote.once("close", () => client.destroy());
      client.once("close", () => remote.destroy());
    } catch (error) {
      const why = refusal(authority, error);
      client.end(
        `HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\ncontent-length: ${Buffer.byteLength(why)}\r\n\r\n${why}`,
      );
    }
  }

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let url: URL;
    try {
      url = new URL(request.url ?? "");
      if (url.protocol !== "http:") throw new TypeError();
    } catch {
      return void response.writeHead(400).end("This is a proxy: request an absolute URL.");
    }
    try {
      const remote: Socket = track(await openSocket({ host: hostOf(url), port: Number(url.port || 80) }));
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => !HOP_HEADERS.includes(name)),
      );
      const requested = sendRequest({
        createConnection: () => remote,
        method: request.method,
        path: `${url.pathname}${url.search}`,
        headers: { ...headers, host: url.host, connection: "close" },
      });
      const fail = (): void => void (response.headersSent ? response.destroy() : response.writeHead(502).end());
      requested.once("response", (received) => {
        const { statusCode = 0 } = received;
        // What Node reads it does not always write, and what is thrown here would end the process.
        if (statusCode < 200) return void (fail(), received.destroy());
        response.writeHead(statusCode, received.headers);
        received.pipe(response);
      });
      requested.once("upgrade", (_received, socket) => (fail(), socket.destroy()));
      requested.once("error", fail);
      response.once("close", () => requested.destroy());
      request.pipe(requested);
    } catch (error) {
      response.writeHead(403, { "content-type": "text/plain; charset=utf-8" }).end(refusal(url.origin, error));
    }
  }

  function refusal(address: string, error: unknown): string {
    const why = errorMessage(error);
    onRefused?.(address, why, error);
    return why;
  }
}

function readAuthority(text: string): { host: string; port: number } | undefined {
  const [, host, port] = /^(\[[0-9a-f:.]+\]|[^:/@\s]+):(\d{1,5})$/i.exec(text) ?? [];
  return host === undefined ? undefined : { host: host.replace(/^\[(.*)\]$/, "$1"), port: Number(port) };
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

function portOf(server: Server): number | undefined {
  const address = server.address();
  return typeof address === "object" ? address?.port : undefined;
}
