import type { IncomingMessage } from "node:http";
import { type Duplex, duplexPair, Readable } from "node:stream";
import type { Haft } from "../runtime.ts";
import type { AllowedPlaces } from "./allowed-places.ts";
import { createAnswer } from "./answer-request.ts";
import { createDoor, type DoorOptions } from "./create-door.ts";
import { DoorError } from "./door-error.ts";
import { createIdentify } from "./identify.ts";
import { paramsOf } from "./match-path.ts";

export interface InProcessDoor {
  /** For `createClient`. The host's name does not matter. */
  fetch: typeof globalThis.fetch;
  close(): void;
}

// Not by import: that reads every export of the module, and one of them loads the runtime's whole implementation of fetch.
const { createServer, request } = process.getBuiltinModule("node:http");

const NO_PLACES: AllowedPlaces = { hosts: new Set(), ownOrigins: new Set(), otherOrigins: new Set() };
const MOST_BODY_BYTES = 16 * 1024 * 1024;

/**
 * The same door for this process alone: no port is opened, so that nobody else can knock. Tokens are asked for all the same:
 * they say who calls.
 */
export function openInProcess(
  haft: Haft,
  { log, ...options }: Pick<DoorOptions, "tokens" | "parts" | "info"> & { log(line: string): void },
): InProcessDoor {
  const { tokens } = options;
  const { clock } = haft.executor;
  const cookieName = (): string => "haft";
  const { door, routes, listen } = createDoor(haft, {
    ...options,
    warnings: [],
    secure: true,
    cookieName,
    places: () => NO_PLACES,
  });
  const identify = createIdentify({ tokens, clock, limit: door.limit, cookieName });
  const { answer, refuse } = createAnswer({ identify, places: () => NO_PLACES, mostBodyBytes: MOST_BODY_BYTES, log });
  const server = createServer((incoming, outgoing) => {
    const path = (incoming.url ?? "").split("?")[0]!;
    for (const route of routes) {
      const params = route.method === incoming.method ? paramsOf(route.path, path) : undefined;
      if (params) return void answer(route, params, incoming, outgoing);
    }
    refuse(incoming, outgoing, new DoorError("not_here", "This Haft does not have that"));
  });
  const stop = listen();
  const connections = new Set<Duplex>();

  const connect = (): Duplex => {
    const [near, far] = duplexPair();
    connections.add(near);
    // Neither end hears of the other's by itself.
    near.once("close", () => (connections.delete(near), far.destroy()));
    far.once("close", () => near.destroy());
    server.emit("connection", far);
    return near;
  };

  return {
    fetch: ((input: string | URL, init?: RequestInit) =>
      send(new URL(input), init ?? {}, connect)) as typeof globalThis.fetch,
    close() {
      stop();
      door.streams.close();
      for (const connection of connections) connection.destroy();
    },
  };
}

function send(
  url: URL,
  { method = "GET", headers, body, signal }: RequestInit,
  connect: () => Duplex,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        method,
        path: `${url.pathname}${url.search}`,
        headers: { host: url.host, ...(headers as Record<string, string>) },
        createConnection: () => connect(),
      },
      (incoming) => resolve(responseOf(incoming)),
    );
    const abort = (): void =>
      void asked.destroy(signal?.reason instanceof Error ? signal.reason : new Error("The request was aborted"));
    asked.on("error", reject);
    asked.on("close", () => signal?.removeEventListener("abort", abort));
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    asked.end(body ?? undefined);
  });
}

/** What the client reads of a Response. The runtime's own class would load its whole implementation of fetch. */
function responseOf(incoming: IncomingMessage): Response {
  const status = incoming.statusCode ?? 0;
  const text = async (): Promise<string> => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString("utf8");
  };
  return {
    ok: status >= 200 && status < 300,
    status,
    text,
    json: async () => JSON.parse(await text()) as unknown,
    get body() {
      return Readable.toWeb(incoming) as ReadableStream<Uint8Array>;
    },
  } as Response;
}
