import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { makeCertificate } from "../certificate/make-certificate.mjs";
import type { Dial } from "../../src/io/net/connections.ts";

/** A request as the server received it. */
export interface ReceivedRequest {
  method: string;
  host: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export interface LocalServer {
  port: number;
  origin: string;
  requests: ReceivedRequest[];
}

export type RequestHandler = (request: ReceivedRequest, response: ServerResponse) => void;

/** Starts a real server on this machine. It closes when the test ends. */
export async function startServer(
  handle: RequestHandler,
  certificate?: { key: string; cert: string },
): Promise<LocalServer> {
  const requests: ReceivedRequest[] = [];
  const listener = async (...[request, response]: Parameters<RequestListener>): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const { method = "", url: path = "", headers } = request;
    const received = { method, path, headers, host: headers.host ?? "", body: Buffer.concat(chunks).toString() };
    requests.push(received);
    handle(received, response);
  };
  const onRequest: RequestListener = (...args) => void listener(...args);
  const server = certificate ? createSecureServer(certificate, onRequest) : createServer(onRequest);
  const port = await listen(server);
  onTestFinished(() => server.closeAllConnections());
  return { port, origin: `${certificate ? "https" : "http"}://127.0.0.1:${port}`, requests };
}

/** Starts a TCP server, for responses that no HTTP server would send. */
export async function startSocket(listener: (socket: Socket) => void): Promise<number> {
  const { createServer: createSocketServer } = await import("node:net");
  const open = new Set<Socket>();
  const server = createSocketServer((socket) => {
    open.add(socket);
    socket.on("error", () => undefined);
    listener(socket);
  });
  onTestFinished(() => open.forEach((socket) => socket.destroy()));
  return listen(server);
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Redirects connections to public addresses to this machine and records them. */
export interface FakeNetwork {
  dialled: string[];
  dial: Dial;
  /** Valid for every host name that the tests use. */
  certificate: { key: string; cert: string };
}

export function createFakeNetwork(ports: { http?: number; https?: number }): FakeNetwork {
  const dialled: string[] = [];
  return {
    dialled,
    certificate: makeCertificate(["example.com", "other.example", "93.184.216.34"]),
    dial: ({ addresses, port }) => {
      dialled.push(...addresses.map((address) => `${address} ${port}`));
      const local = port === 443 ? ports.https : ports.http;
      return new Promise((resolve, reject) => {
        const socket = connect({ host: "127.0.0.1", port: local ?? 1 });
        socket.once("connect", () => resolve(socket)).once("error", reject);
      });
    },
  };
}

/** A resolver that gives these answers in turn and then repeats the last. */
export function resolving(...answers: readonly (readonly string[])[]) {
  let turn = 0;
  return async () => answers[Math.min(turn++, answers.length - 1)] ?? [];
}
