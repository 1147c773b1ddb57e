import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { makeCertificate } from "../../../test/certificate/make-certificate.mjs";
import type { Dial } from "./connections.ts";

/** What a server was asked, as it came over the wire. */
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

/** A real server on this machine, gone when the test is over. */
export async function startServer(
  answer: RequestHandler,
  certificate?: { key: string; cert: string },
): Promise<LocalServer> {
  const requests: ReceivedRequest[] = [];
  const listener = async (...[request, response]: Parameters<RequestListener>): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = "", url: path = "", headers } = request;
    const one = { method, path, headers, host: headers.host ?? "", body: Buffer.concat(chunks).toString() };
    requests.push(one);
    answer(one, response);
  };
  const onRequest: RequestListener = (...words) => void listener(...words);
  const server = certificate ? createSecureServer(certificate, onRequest) : createServer(onRequest);
  const port = await listen(server);
  onTestFinished(() => server.closeAllConnections());
  return { port, origin: `${certificate ? "https" : "http"}://127.0.0.1:${port}`, requests };
}

/** Speaks whatever the listener writes: for answers that no HTTP server would give. */
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

/** A world in one table: public addresses are reached on this machine, and which were asked for is written down. */
export interface FakeWorld {
  dialled: string[];
  dial: Dial;
  /** Speaks for every name that is asked for here. */
  certificate: { key: string; cert: string };
}

export function createWorld(ports: { http?: number; https?: number }): FakeWorld {
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

/** Answers in turn, the last one for ever. */
export function answering(...answers: readonly (readonly string[])[]) {
  let turn = 0;
  return async () => answers[Math.min(turn++, answers.length - 1)] ?? [];
}
